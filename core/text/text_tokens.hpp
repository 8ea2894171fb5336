// Lines and words of text, for the readers of named features.
#pragma once

#include <cstring>
#include <string_view>

#include "text/characters.hpp"
#include "text/delimiters.hpp"
#include "text/row_builder.hpp"

namespace unitless {

// The end of the token before a delimiter. Lines may end in \r\n.
inline const char* token_end(const char* delimiter) {
    return *delimiter == '\n' && delimiter[-1] == '\r' ? delimiter - 1 : delimiter;
}

// Everything up to the next blank, delimiter or line end, for messages.
inline std::string_view word_at(const char* begin, char delimiter) {
    const char* end = begin;
    while (!is_blank(*end) && *end != delimiter && *end != '\n' && *end != '\r') ++end;
    return between(begin, end);
}

// Reads the lines of [begin, end). `read_line(at, begin)` receives the first delimiter of a line, which it advances,
// and the line's first character. It returns false if the line is invalid.
template <char also, class ReadLine>
void read_lines(const char* begin, const char* end, Delimiters<also>& delimiters, RowBuilder& rows,
                ReadLine read_line) {
    delimiters.find(begin, end);
    rows.reserve(delimiters.count());
    const char* const* at = delimiters.places();
    while (begin < end) {
        // A file may be a concatenation of several files, so a byte order mark can begin any line.
        const bool byte_order_mark = std::memcmp(begin, "\xef\xbb\xbf", 3) == 0;
        if (byte_order_mark) [[unlikely]]
            begin += 3;
        if (!read_line(at, begin)) rows.drop_row();
        while (**at != '\n') ++at;
        rows.end_line();
        begin = *at++ + 1;
    }
}

constexpr const char* number_advice = "write a finite decimal number";

}  // namespace unitless
