// Memory for rows of (slot, value) whose number of entries is known to be limited.
#pragma once

#include <cstdint>
#include <vector>

#include "rows/kernel.hpp"

namespace unitless {

struct CollectedRows {
    std::vector<std::uint32_t> slots;
    std::vector<double> values;
    std::vector<std::size_t> row_ends;
    std::size_t rows = 0;

    void reserve(std::size_t count, std::size_t entries) {
        if (slots.size() < entries + row_margin) {
            values.resize(entries + row_margin);
            slots.resize(entries + row_margin);  // last: if memory runs out before, the next call sees that it did
        }
        if (row_ends.size() < count) row_ends.resize(count);
    }
    // Rows without what `leave` says of its slot.
    template <class Leave>
    void leave_out(Leave leave) {
        std::size_t at = 0;
        for (std::size_t r = 0, k = 0; r < rows; ++r) {
            for (; k < row_ends[r]; ++k) {
                slots[at] = slots[k];
                values[at] = values[k];
                at += !leave(slots[k]);
            }
            row_ends[r] = at;
        }
    }
    SparseInput view() const { return {slots.data(), values.data(), row_ends.data(), rows}; }
    std::size_t bytes() const { return slots.capacity() * 12 + row_ends.capacity() * 8; }
};

}  // namespace unitless
