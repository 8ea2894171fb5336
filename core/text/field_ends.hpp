// Finds the ends of fields, one after another: the positions of a delimiter and of newlines. It processes 64 bytes at a
// time, so that the processor knows the next field before it has read the current one.
#pragma once

#include <bit>
#include <cstdint>

#include "text/byte_positions.hpp"

namespace unitless {

// 64 bytes after the last newline must be readable.
class FieldEnds {
  public:
    FieldEnds(const char* begin, char delimiter) : delimiter_(delimiter) { look(begin); }

    const char* next() {
        while (!unread_) look(block_ + 64);
        const char* const end = block_ + std::countr_zero(unread_);
        unread_ &= unread_ - 1;
        return end;
    }
    // Continues at a position that is not before the last field's end.
    void go_to(const char* place) {
        const auto skipped = static_cast<std::size_t>(place - block_);
        if (skipped < 64) {
            unread_ &= ~std::uint64_t{0} << skipped;
        } else {
            look(place);
        }
    }

  private:
    const char* block_;
    std::uint64_t unread_;  // the ends in the block that `next` has not returned
    char delimiter_;

    void look(const char* place) {
        block_ = place;
        unread_ = positions_of(place, delimiter_, '\n');
    }
};

}  // namespace unitless
