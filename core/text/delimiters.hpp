// Finds the ends of all tokens in a text: the positions of blanks, tabs, newlines, colons and one more character. It
// processes 64 bytes at a time. The readers then go from token to token without reading the characters between.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "text/byte_positions.hpp"

namespace unitless {

template <char also>
class Delimiters {
  public:
    // Finds the delimiters of [begin, end), and perhaps some after it. text_padding bytes after `end` must be readable.
    void find(const char* begin, const char* end) {
        count_ = 0;
        for (; begin < end; begin += 64) {
            if (count_ + 64 + 8 > capacity_) grow();
            std::uint64_t positions = positions_of(begin, ' ', ':', '\n', '\t', also);
            const std::size_t found = count_ones(positions);
            // Each iteration writes eight positions, found or not, which needs fewer branches. The next block
            // overwrites the surplus.
            constexpr std::uint64_t never_zero = std::uint64_t{1} << 63;  // because ctz of zero is undefined
            const char** to = places_.get() + count_;
            for (std::size_t written = 0; written < found; written += 8, to += 8) {
                for (int i = 0; i < 8; ++i) {
                    to[i] = begin + __builtin_ctzll(positions | never_zero);
                    positions &= positions - 1;
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

    // std::popcount is a function call on machines without the instruction.
    static std::size_t count_ones(std::uint64_t x) {
        x -= (x >> 1) & 0x5555555555555555U;
        x = (x & 0x3333333333333333U) + ((x >> 2) & 0x3333333333333333U);
        x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fU;
        return static_cast<std::size_t>((x * 0x0101010101010101U) >> 56);
    }
};

}  // namespace unitless
