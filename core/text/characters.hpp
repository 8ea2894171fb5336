// ASCII characters, independent of the locale, and text between two pointers.
#pragma once

#include <algorithm>
#include <string_view>

namespace unitless {

inline std::string_view between(const char* begin, const char* end) {
    return {begin, static_cast<std::size_t>(end - begin)};
}

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
inline bool is_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }

// Whether text equals a word of lower-case letters, ignoring the case of the text.
inline bool equals_ignoring_case(std::string_view text, std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                      [](char c, char letter) { return (c | 0x20) == letter; });
}

}  // namespace unitless
