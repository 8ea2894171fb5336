// Builds rows of named features from text. A row that turns out to be invalid leaves nothing behind, not even the names
// that it used first.
#pragma once

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "text/name_table.hpp"
#include "text/text_rows.hpp"
#include "text/utf8.hpp"

namespace unitless {

// Quotes text for a message: short, and printable.
inline std::string printable(std::string_view text) {
    constexpr std::size_t most = 40;
    const bool plain = text.size() <= most && is_utf8(text);
    std::string to = "'";
    for (const char c : text.substr(0, most)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f && (plain || byte < 0x80)) {
            to += c;
        } else {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
            to += escaped;
        }
    }
    return to + (text.size() > most ? "...'" : "'");
}

class RowBuilder {
  public:
    static constexpr std::size_t most_messages = 1000;

    NameTable names;

    void clear() {
        names.clear();
        entries_ = row_begin_ = row_names_ = 0;
        rows_ = {};
    }

    // Reserves memory for `entries` calls of `add`.
    void reserve(std::size_t entries) {
        if (entries_ + entries > capacity_) grow(entries);
    }

    void begin_row() {
        row_begin_ = entries_;
        row_names_ = names.size();
        names.mark();
    }
    void add(std::uint32_t id, double value) {
        ids_[entries_] = id;
        values_[entries_++] = value;
    }
    // Discards the entries of a row that has added no names, so that it can be read again.
    void restart_row() { entries_ = row_begin_; }
    void end_row(double label, double weight, std::string_view tag = {}, double offset = 0) {
        rows_.end_row(entries_, label, weight, rows_.lines, tag, offset);
    }
    // Records why the row is invalid, for `drop_row`. Always returns false, for readers to return. `text` must live
    // until then.
    bool fail(const char* what, std::string_view text, const char* advice) {
        problem_ = {what, text, advice};
        return false;
    }
    void drop_row() {
        entries_ = row_begin_;
        names.rewind(row_names_);
        ++rows_.bad_count;
        if (rows_.bad.size() < most_messages)
            rows_.bad.push_back({rows_.lines, problem_.what + printable(problem_.text) + "; " + problem_.advice});
    }
    void end_line() { ++rows_.lines; }

    TextRows finish(std::size_t bytes_used) {
        NamedRows& features = rows_.features;
        features.text = names.text();
        features.name_ends = names.ends();
        features.ids.assign(ids_.get(), ids_.get() + entries_);
        features.values.assign(values_.get(), values_.get() + entries_);
        rows_.bytes_used = bytes_used;
        return std::move(rows_);
    }

  private:
    struct Problem {
        const char* what = "";
        std::string_view text = {};
        const char* advice = "";
    };

    TextRows rows_;
    // Reused for all chunks, so that their memory is allocated and first accessed only once.
    std::unique_ptr<std::uint32_t[]> ids_;
    std::unique_ptr<double[]> values_;
    std::size_t entries_ = 0, capacity_ = 0, row_begin_ = 0, row_names_ = 0;
    Problem problem_;

    void grow(std::size_t entries) {
        capacity_ = 2 * capacity_ + entries;
        auto ids = std::make_unique_for_overwrite<std::uint32_t[]>(capacity_);
        auto values = std::make_unique_for_overwrite<double[]>(capacity_);
        if (entries_ > 0) {
            std::memcpy(ids.get(), ids_.get(), entries_ * sizeof(std::uint32_t));
            std::memcpy(values.get(), values_.get(), entries_ * sizeof(double));
        }
        ids_ = std::move(ids);
        values_ = std::move(values);
    }
};

}  // namespace unitless
