// Rows in the making: a row that turns out to be bad leaves nothing behind, not even the names that it was first to
// use.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "text/name_table.hpp"
#include "text/text_rows.hpp"
#include "text/utf8.hpp"

namespace unitless {

// Text as it can be shown in a message: short, and printable.
inline std::string shown(std::string_view text) {
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

    // There is room for so many entries more.
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
    // The row is to be read anew; it has added no names.
    void restart_row() { entries_ = row_begin_; }
    void end_row(double label, double weight, std::string_view tag = {}, double offset = 0) {
        rows_.features.row_ends.push_back(entries_);
        rows_.label.push_back(label);
        rows_.weight.push_back(weight);
        rows_.line.push_back(rows_.lines);
        if (offset != 0 || !rows_.offset.empty()) {
            rows_.offset.resize(rows_.label.size() - 1);  // zeros: the rows so far have none
            rows_.offset.push_back(offset);
        }
        if (!tag.empty() || !rows_.tag_ends.empty()) {
            rows_.tag_ends.resize(rows_.label.size() - 1);  // zeros: the rows so far have none
            rows_.tag_text.insert(rows_.tag_text.end(), tag.begin(), tag.end());
            rows_.tag_ends.push_back(rows_.tag_text.size());
        }
    }
    // Drops the row. `Describe` is only asked while there is room for messages.
    template <class Describe>
    void drop_row(Describe describe) {
        entries_ = row_begin_;
        names.rewind(row_names_);
        ++rows_.bad_count;
        if (rows_.bad.size() < most_messages) rows_.bad.push_back({rows_.lines, describe()});
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
    TextRows rows_;
    // Kept from chunk to chunk, so that memory is not cleared and fetched anew for each.
    std::unique_ptr<std::uint32_t[]> ids_;
    std::unique_ptr<double[]> values_;
    std::size_t entries_ = 0, capacity_ = 0, row_begin_ = 0, row_names_ = 0;

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
