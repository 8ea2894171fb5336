// Where fields of text end: the places of a delimiter and of newlines, one after another. Found 64 bytes at a time, so
// that the next field is known before the present one is read.
#pragma once

#include <bit>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace unitless {

// Where the bytes at p are one of two characters, as bits.
inline std::uint64_t either(const char* p, char a, char b) {
    std::uint64_t found = 0;
#if defined(__SSE2__)
    const __m128i first = _mm_set1_epi8(a), second = _mm_set1_epi8(b);
    for (int i = 0; i < 4; ++i) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
        const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, first), _mm_cmpeq_epi8(x, second));
        found |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(hit))) << (16 * i);
    }
#else
    for (int i = 0; i < 64; ++i) found |= static_cast<std::uint64_t>(p[i] == a || p[i] == b) << i;
#endif
    return found;
}

// 64 bytes behind the last newline must be readable.
class FieldEnds {
  public:
    FieldEnds(const char* begin, char delimiter) : delimiter_(delimiter) { go_to(begin); }

    const char* next() {
        while (!left_) look(block_ + 64);
        const char* const end = block_ + std::countr_zero(left_);
        left_ &= left_ - 1;
        return end;
    }
    // Goes on from a place further on.
    void go_to(const char* place) {
        const auto behind = static_cast<std::size_t>(place - block_);
        if (block_ && behind < 64) {
            left_ &= ~std::uint64_t{0} << behind;
        } else {
            look(place);
        }
    }

  private:
    const char* block_ = nullptr;
    std::uint64_t left_ = 0;
    char delimiter_;

    void look(const char* place) {
        block_ = place;
        left_ = either(place, delimiter_, '\n');
    }
};

}  // namespace unitless
