// Finds characters in 64 bytes of text at once.
#pragma once

#include <cstdint>

#include "base/load_word.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace unitless {

// Bit i of the result is set if byte i of the 64 bytes at p is one of the wanted characters.
template <class... Char>
std::uint64_t positions_of(const char* p, Char... wanted) {
    std::uint64_t positions = 0;
#if defined(__SSE2__)
    for (int i = 0; i < 4; ++i) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
        __m128i found = _mm_setzero_si128();
        ((found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(wanted)))), ...);
        positions |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(found))) << (16 * i);
    }
#else
    constexpr std::uint64_t each_byte = 0x0101010101010101U, low_bits = 0x7f7f7f7f7f7f7f7fU;
    for (int i = 0; i < 8; ++i) {
        const std::uint64_t word = load_word(p + 8 * i);
        const auto high_bit_where_equal = [word](char c) {
            const std::uint64_t x = word ^ (each_byte * static_cast<unsigned char>(c));
            return ~(((x & low_bits) + low_bits) | x | low_bits);
        };
        const std::uint64_t found = (high_bit_where_equal(wanted) | ...);
        // The multiplication gathers the eight bits in the highest byte.
        positions |= (((found >> 7) * 0x0102040810204080U) >> 56) << (8 * i);
    }
#endif
    return positions;
}

}  // namespace unitless
