// Sparse rows: compressed ones as the caller has them, and rows of (slot, value) as an engine reads them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/isa.hpp"

namespace unitless {

// Compressed sparse rows as the caller has them. Indices are 32 or 64 bit.
struct CompressedRows {
    const double* values;
    const void* indices;
    const void* row_starts;
    bool wide_indices;
    std::size_t rows, columns, entries;
};

// Rows of (slot, value), no slot twice in a row, no value zero. What `slots` holds are slots, or a matrix's own
// columns.
struct SparseInput {
    const std::uint32_t* slots;
    const double* values;
    const std::size_t* row_ends;
    std::size_t rows;
    std::size_t first = 0;         // where the first row begins
    bool in_sequence = false;      // a row's features fill the pack one after another, in whichever lanes that gives
    std::uint32_t mask = ~0u;      // for columns: the bits that say the slot,
    std::uint32_t first_slot = 0;  // and the slot of column 0
    // The pack's lane for a slot is (slot - 1) mod 8; from `lanes_from` on it is what `lanes` says, where there is one.
    const std::uint8_t* lanes = nullptr;
    std::uint32_t lanes_from = 0;
    // Values as they came, for engines that look at their order: [row][raw column], `raw_stride` numbers a row.
    // Not-a-number: there is none. Of a column of text the number of the feature that the row has.
    const double* raw = nullptr;
    std::size_t raw_stride = 0;
    const std::uint32_t* raw_counts = nullptr;  // by row: the raw columns that were known then; null: there is no `raw`
    const unsigned char* raw_kinds = nullptr;   // by raw column: 0 numbers, 1 text
};

inline namespace UNITLESS_ISA {

inline std::uint32_t slot_at(const SparseInput& input, std::size_t k) {
    return input.first_slot + (input.slots[k] & input.mask);
}
inline std::size_t lane_of(const SparseInput& input, std::uint32_t slot) {
    return input.lanes && slot >= input.lanes_from ? input.lanes[slot - input.lanes_from] : (slot - 1) % 8;
}
inline std::size_t begin_of(const SparseInput& input, std::size_t r) { return r ? input.row_ends[r - 1] : input.first; }
inline std::size_t end_of(const SparseInput& input, std::size_t r) { return input.row_ends[r]; }
inline std::size_t entries_of(const SparseInput& input) {
    return input.rows ? end_of(input, input.rows - 1) - input.first : 0;
}
inline SparseInput part_of(const SparseInput& input, std::size_t from, std::size_t to) {
    SparseInput part = input;
    part.row_ends += from;
    part.rows = to - from;
    part.first = begin_of(input, from);
    if (input.raw_counts) {
        part.raw += from * input.raw_stride;
        part.raw_counts += from;
    }
    return part;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
