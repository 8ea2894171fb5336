// Eight bytes of text as one number, the first byte lowest on every machine.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace unitless {

// So many bytes after a line's end must be readable, so that words can be loaded without looking where the line ends.
constexpr std::size_t text_padding = 64;

inline std::uint64_t load_word(const char* p) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

// The first 1 to 8 bytes; the others are zero.
inline std::uint64_t load_short(const char* p, std::size_t bytes) {
    return load_word(p) & (~std::uint64_t{0} >> (64 - 8 * bytes));
}

}  // namespace unitless
