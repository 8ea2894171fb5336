// Work on whole arrays of rows before they are learned, compiled once per instruction set.
#pragma once

#include <cstdint>

#include "rows/dense.hpp"
#include "rows/sparse.hpp"

namespace unitless {

// Arrays for rows must have space for this many additional entries, because eight entries are written at a time.
inline constexpr std::size_t row_margin = 8;

struct RowKernel {
    // Converts contiguous rows of float32 or float64 to rows of (slot, value): see dense_collect.hpp.
    void (*collect)(const DenseRows&, std::uint32_t* slots, double* values, std::size_t* row_ends);
    // Makes rows of columns contiguous. Positions without a column must be zero already.
    void (*widen)(const DenseRows&, std::size_t first, std::size_t rows, double* to, std::size_t row_length);
    // For rows of sparse matrices: see sparse_entries.hpp.
    bool (*are_ordinary)(const SparseRows&, std::size_t first, std::size_t end);
    bool (*copy_rows)(const SparseRows&, std::size_t first, std::size_t rows, std::size_t entries, std::uint32_t mask,
                      std::uint32_t* slots, double* values, std::size_t* row_ends);
};

extern const RowKernel row_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const RowKernel row_kernel_avx2, row_kernel_avx512;
#endif

}  // namespace unitless
