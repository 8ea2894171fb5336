// Reads eight bytes of text as one number. The first byte is the lowest on every machine.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace unitless {

// This many bytes after a line must be readable, so that words can be loaded without a check for the end of the line.
constexpr std::size_t text_padding = 64;

inline std::uint64_t load_word(const char* p) {
    std::uint64_t word;
    std::memcpy(&word, p, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    return word;
}

// Reads the first 1 to 8 bytes; the other bytes of the result are zero.
inline std::uint64_t load_short(const char* p, std::size_t bytes) {
    return load_word(p) & (~std::uint64_t{0} >> (64 - 8 * bytes));
}

}  // namespace unitless
