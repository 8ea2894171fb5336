// Where a text's tokens end: the places of all blanks, tabs, newlines, colons and one more character. Found 64 bytes at
// a time, so that what follows can go from token to token without looking at what is between.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

#include "base/load_word.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace unitless {

template <char also>
class Delimiters {
  public:
    // Of [begin, end), and perhaps of some bytes behind, which must be readable (see text_padding).
    void find(const char* begin, const char* end) {
        count_ = 0;
        for (; begin < end; begin += 64) {
            if (count_ + 64 + 8 > capacity_) grow();
            std::uint64_t places = delimiters(begin);
            const std::size_t found = count_ones(places);
            // Eight at a time whether or not there are that many: the next ones are written over what is too much.
            constexpr std::uint64_t last = std::uint64_t{1} << 63;  // so that there always is one
            const char** to = places_.get() + count_;
            for (std::size_t written = 0; written < found; written += 8, to += 8) {
                for (int i = 0; i < 8; ++i) {
                    to[i] = begin + __builtin_ctzll(places | last);
                    places &= places - 1;
                }
            }
            count_ += found;
        }
    }
    std::size_t count() const { return count_; }
    const char* const* places() const { return places_.get(); }

  private:
    std::unique_ptr<const char*[]> places_;
    std::size_t count_ = 0, capacity_ = 0;

    void grow() {
        const std::size_t capacity = 2 * capacity_ + 4096;
        auto places = std::make_unique_for_overwrite<const char*[]>(capacity);
        if (count_ > 0) std::memcpy(places.get(), places_.get(), count_ * sizeof(const char*));
        places_ = std::move(places);
        capacity_ = capacity;
    }

    // Without the instruction for it, which not every machine has, std::popcount is a function call.
    static std::size_t count_ones(std::uint64_t x) {
        x -= (x >> 1) & 0x5555555555555555U;
        x = (x & 0x3333333333333333U) + ((x >> 2) & 0x3333333333333333U);
        x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fU;
        return static_cast<std::size_t>((x * 0x0101010101010101U) >> 56);
    }

    static std::uint64_t delimiters(const char* p) {
        std::uint64_t all = 0;
#if defined(__SSE2__)
        for (int i = 0; i < 4; ++i) {
            const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
            const auto is = [&](char wanted) { return _mm_cmpeq_epi8(c, _mm_set1_epi8(wanted)); };
            const __m128i any =
                _mm_or_si128(_mm_or_si128(is(' '), is(':')), _mm_or_si128(_mm_or_si128(is('\n'), is('\t')), is(also)));
            all |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(any))) << (16 * i);
        }
#else
        for (int i = 0; i < 8; ++i) {
            const std::uint64_t word = load_word(p + 8 * i);
            constexpr std::uint64_t low = 0x7f7f7f7f7f7f7f7fU;
            const auto is = [&](char wanted) {  // the high bit of each byte that is
                const std::uint64_t x = word ^ (0x0101010101010101U * static_cast<unsigned char>(wanted));
                return ~(((x & low) + low) | x | low);
            };
            const std::uint64_t any = is(' ') | is(':') | is('\n') | is('\t') | is(also);
            all |= (((any >> 7) * 0x0102040810204080U) >> 56) << (8 * i);
        }
#endif
        return all;
    }
};

}  // namespace unitless
