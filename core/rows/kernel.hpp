// What is done with whole arrays of rows before they are learned, compiled once per instruction set.
#pragma once

#include <cstdint>

#include "rows/dense.hpp"
#include "rows/sparse.hpp"

namespace unitless {

// Arrays that rows are written to have room for so many entries more: eight are written at a time.
inline constexpr std::size_t row_margin = 8;

struct RowKernel {
    // Rows of float32 or float64 that lie side by side, as rows of (slot, value): see dense_collect.hpp.
    void (*collect)(const DenseRows&, std::uint32_t* slots, double* values, std::size_t* row_ends);
    // Rows of columns that do not lie side by side, put so; positions that no column feeds must be zero already.
    void (*widen)(const DenseRows&, std::size_t first, std::size_t rows, double* to, std::size_t row_length);
    // Rows of sparse matrices: see sparse_entries.hpp.
    bool (*are_ordinary)(const SparseRows&, std::size_t first, std::size_t end);
    bool (*copy_rows)(const SparseRows&, std::size_t first, std::size_t rows, std::size_t entries, std::uint32_t mask,
                      std::uint32_t* slots, double* values, std::size_t* row_ends);
};

extern const RowKernel row_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const RowKernel row_kernel_avx2, row_kernel_avx512;
#endif

}  // namespace unitless
