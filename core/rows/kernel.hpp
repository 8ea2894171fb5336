// What is done with whole arrays of rows before they are learned, compiled once per instruction set.
#pragma once

#include "rows/dense.hpp"
#include "rows/sparse.hpp"

namespace unitless {

// How many entries more than a row has the arrays behind it have room for: eight are written at a time.
inline constexpr std::size_t row_margin = 8;

struct RowKernel {
    // Well-formed, slots (the column's bits in `mask`) rising within a row, ordinary numbers other than zero.
    bool (*are_plain)(const CompressedRows&, std::uint64_t mask);
    // Copies columns' numbers; false if one of them is not below `limit`.
    bool (*copy_below)(const std::uint32_t* from, std::size_t count, std::uint32_t limit, std::uint32_t* to);
    // Rows of float32 or float64 that lie side by side, as rows of (slot, value): see dense_collect.hpp.
    void (*collect)(const DenseInput&, std::uint32_t* slots, double* values, std::size_t* row_ends);
    // Rows of columns that do not lie side by side, put so; positions that no column feeds must be zero already.
    void (*widen)(const DenseInput&, std::size_t first, std::size_t rows, double* to, std::size_t row_length);
};

extern const RowKernel row_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const RowKernel row_kernel_avx2, row_kernel_avx512;
#endif

}  // namespace unitless
