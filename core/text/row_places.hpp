// Counts the rows of a text without reading their values, and finds positions where a reader can start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/csv_rows.hpp"

namespace unitless {

struct RowPlaces {
    std::int64_t rows = 0;
    std::int64_t numbers = 0;  // rows as messages count them: in CSV the rows, in other text all lines
    std::vector<std::int64_t> offsets, rows_before, numbers_before;  // by position
};

// The number of rows that other CSV readers find in a part of a text that ends with its first newline outside quotes.
// They skip empty lines, and for them a carriage return outside quotes also ends a row.
inline std::int64_t count_csv_rows(std::string_view text, char delimiter) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty()) return 0;
    if (text.find('\r') == text.npos) return 1;
    std::int64_t rows = 0;
    RowEnds ends(text, delimiter, '\r');
    for (std::string_view row; !(row = ends.next_row()).empty();) rows += row != "\r";
    return rows;
}

// `comment`: the character that begins a comment, or '\0'.
inline bool is_blank_line(std::string_view line, char comment) {
    const std::size_t first = line.find_first_not_of(" \t\r\n\v\f");
    return first == line.npos || (comment && line[first] == comment);
}

// Finds a position after every `every` rows of a text of complete rows. `since`: the number of rows between the last
// position before the text and the text. Without a delimiter each line is a row.
inline RowPlaces find_row_places(std::string_view text, char delimiter, char comment, std::int64_t every,
                                 std::int64_t since) {
    RowPlaces found;
    RowEnds ends(text, delimiter);
    for (std::string_view row; !(row = ends.next_row()).empty();) {
        const std::int64_t rows = delimiter ? count_csv_rows(row, delimiter) : !is_blank_line(row, comment);
        found.rows += rows;
        found.numbers += delimiter ? rows : 1;
        since += rows;
        if (since >= every) {
            found.offsets.push_back(row.data() + row.size() - text.data());
            found.rows_before.push_back(found.rows);
            found.numbers_before.push_back(found.numbers);
            since = 0;
        }
    }
    return found;
}

}  // namespace unitless
