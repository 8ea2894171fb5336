// Where rows of text begin, without reading what is in them: how many there are, and some places to begin from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace unitless {

struct RowPlaces {
    std::int64_t rows = 0;     // lines that are not blank
    std::int64_t numbers = 0;  // by which messages call rows: those of CSV are counted, of other text it is the lines
    std::vector<std::int64_t> offsets, rows_before, numbers_before;  // of each place
};

// Finds a place after every so many rows. The data begins with a row and ends with one.
class RowFinder {
  public:
    // Without a delimiter each line is a row; with one, quotes may hold newlines. After `comment`, if there is one,
    // nothing of a line counts. `since` rows came after the last place.
    RowFinder(char delimiter, char comment, std::int64_t every, std::int64_t since)
        : delimiter_(delimiter), comment_(comment), every_(every), since_(since) {}

    RowPlaces find(const char* data, std::size_t size) {
        const std::string_view text(data, size);
        std::size_t quote = delimiter_ ? text.find('"') : text.npos;
        for (std::size_t at = 0; at < size;) {
            const std::size_t end = row_end(text, at, quote);
            const std::string_view row = text.substr(at, end - at);
            const std::int64_t rows = delimiter_ ? table_rows(row) : !is_blank(row);
            found_.rows += rows;
            found_.numbers += delimiter_ ? rows : 1;
            since_ += rows;
            at = end;
            if (since_ >= every_) {
                found_.offsets.push_back(static_cast<std::int64_t>(at));
                found_.rows_before.push_back(found_.rows);
                found_.numbers_before.push_back(found_.numbers);
                since_ = 0;
            }
        }
        return found_;
    }

  private:
    char delimiter_, comment_;
    std::int64_t every_, since_;
    RowPlaces found_;

    // The end of the row that begins at a place. `quote` is the next one from there on, and then from the end on.
    std::size_t row_end(std::string_view text, std::size_t begin, std::size_t& quote) const {
        std::size_t newline = text.find('\n', begin);
        while (quote < newline) {
            const char before = quote == begin ? delimiter_ : text[quote - 1];
            if (before == delimiter_ || before == '\r') {
                std::size_t closing = text.find('"', quote + 1);
                while (closing != text.npos && closing + 1 < text.size() && text[closing + 1] == '"')
                    closing = text.find('"', closing + 2);
                if (closing == text.npos) {
                    quote = text.npos;
                    return text.size();
                }
                quote = closing;
                newline = text.find('\n', closing + 1);
            }
            quote = text.find('"', quote + 1);
        }
        return newline == text.npos ? text.size() : newline + 1;
    }

    bool is_blank(std::string_view text) const {
        const std::size_t first = text.find_first_not_of(" \t\r\n\v\f");
        return first == text.npos || (comment_ && text[first] == comment_);
    }

    // Readers of CSV leave out empty lines, and take a carriage return that is not in quotes for the end of a row.
    std::int64_t table_rows(std::string_view text) const {
        if (text.ends_with('\n')) text.remove_suffix(1);
        if (text.ends_with('\r')) text.remove_suffix(1);
        if (text.empty()) return 0;
        if (text.find('\r') == text.npos) return 1;
        std::int64_t rows = 0;
        bool in_quotes = false, in_row = false, field_begins = true;
        for (const char c : text) {
            if (c == '\r' && !in_quotes) {
                rows += in_row;
                in_row = false;
                field_begins = true;
                continue;
            }
            if (c == '"' && (in_quotes || field_begins)) in_quotes = !in_quotes;
            in_row = true;
            field_begins = c == delimiter_ || (c == '"' && !in_quotes);  // a doubled quote opens again
        }
        return rows + in_row;
    }
};

}  // namespace unitless
