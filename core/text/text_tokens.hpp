// Words of a line, for the readers of text.
#pragma once

#include <string_view>

#include "text/parse_number.hpp"
#include "text/utf8.hpp"

namespace unitless {

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline std::string_view between(const char* begin, const char* end) {
    return {begin, static_cast<std::size_t>(end - begin)};
}

// The end of the token before a delimiter. Lines may end in \r\n.
inline const char* token_end(const char* delimiter) {
    return *delimiter == '\n' && delimiter[-1] == '\r' ? delimiter - 1 : delimiter;
}

// All that stands there without a blank between, for messages.
inline std::string_view word_at(const char* begin, char delimiter) {
    const char* end = begin;
    while (!is_blank(*end) && *end != delimiter && *end != '\n' && *end != '\r') ++end;
    return between(begin, end);
}

inline bool begins_with_byte_order_mark(const char* line) { return std::memcmp(line, "\xef\xbb\xbf", 3) == 0; }

// Why a line is bad, and what to do about it.
struct Problem {
    const char* what = nullptr;
    std::string_view text = {};
    const char* advice = nullptr;
};

constexpr const char* number_advice = "write a finite decimal number";

}  // namespace unitless
