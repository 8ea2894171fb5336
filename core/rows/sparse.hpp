// A compressed sparse matrix in the caller's memory. Indices have 32 or 64 bits.
#pragma once

#include <cstddef>

namespace unitless {

struct SparseRows {
    const double* values;
    const void* indices;
    const void* row_starts;
    bool wide_indices;
    std::size_t rows, columns, entries;
};

}  // namespace unitless
