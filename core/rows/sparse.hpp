// A compressed sparse matrix as the caller has it. Indices are 32 or 64 bit.
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
