// Rows as engines read them: the one type between the caller's data and the engines.
//
// Types of rows:
//   DenseRows   an array of numbers           (rows/dense.hpp)
//   SparseRows  a compressed sparse matrix    (rows/sparse.hpp)
//   NamedRows   rows of (name, value)         (rows/named_rows.hpp)
//   Table       columns of numbers and text   (rows/table.hpp)
//   Batch       rows of any of these, encoded: features have slots, values are centered, products are added
//
// How a row reaches an engine:
//   1. encoding/ gathers some hundred rows into a Batch, and the engine learns or predicts the Batch.
//   2. A row that is learned or predicted by itself is a Batch of one row. If all its names are known and in order, the
//      Batch points to the caller's entries.
//   3. Dense rows of a plain single learner are read from the caller's memory, for speed
//      (DenseReader in engine/capabilities.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "rows/labels.hpp"
#include "simd/isa.hpp"

namespace unitless {

struct Batch {
    std::size_t rows = 0;
    // The entries (slot, value) of all rows. Slots increase within a row, no slot occurs twice, and no value is zero.
    const std::uint32_t* slots = nullptr;
    const double* values = nullptr;
    const std::size_t* row_ends = nullptr;
    std::size_t first = 0;  // the first entry of the first row

    // Values before encoding, for curves and trees: [row][column], with `raw_stride` numbers per row. NaN: the row has
    // no value in this column. The value of a text column is the number of the row's feature.
    const double* raw = nullptr;
    std::size_t raw_stride = 0;
    const std::uint32_t* raw_counts = nullptr;  // by row: the number of columns known at that time; null: no raw values
    const unsigned char* raw_kinds = nullptr;   // by column: 0 numbers, 1 text

    Labels labels{};
    std::size_t row = 0;  // the number of the first row in the caller's data, for error messages
};

inline namespace UNITLESS_ISA {

inline std::size_t begin_of(const Batch& batch, std::size_t r) { return r ? batch.row_ends[r - 1] : batch.first; }
inline std::size_t end_of(const Batch& batch, std::size_t r) { return batch.row_ends[r]; }
inline std::size_t entries_end(const Batch& batch) { return batch.rows ? end_of(batch, batch.rows - 1) : batch.first; }
inline std::size_t entries_of(const Batch& batch) { return entries_end(batch) - batch.first; }
inline double weight_of(const Batch& batch, std::size_t r) { return weight_of(batch.labels, r); }
inline double offset_of(const Batch& batch, std::size_t r) { return offset_of(batch.labels, r); }
inline double label_scale_of(const Batch& batch, std::size_t r) { return label_scale_of(batch.labels, r); }

// The length of the longest row.
inline std::size_t longest_row(const Batch& batch) {
    std::size_t longest = 0;
    for (std::size_t r = 0; r < batch.rows; ++r) {
        const std::size_t length = end_of(batch, r) - begin_of(batch, r);
        longest = length > longest ? length : longest;
    }
    return longest;
}

// Rows [from, to) of the batch.
inline Batch part_of(const Batch& batch, std::size_t from, std::size_t to) {
    Batch part = batch;
    part.rows = to - from;
    part.row_ends += from;
    part.first = begin_of(batch, from);
    if (batch.raw_counts) {
        part.raw += from * batch.raw_stride;
        part.raw_counts += from;
    }
    part.labels = labels_from(batch.labels, from);
    part.row += from;
    return part;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
