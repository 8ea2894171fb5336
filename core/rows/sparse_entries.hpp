// The entries of sparse matrices: a quick check of all entries, and copies of some rows.
//
// The caller owns the matrix, and another thread may change it at any time. So each value is read once into a register
// or into memory of the core, and checked and used there.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "rows/sparse.hpp"
#include "simd/isa.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// Columns below zero are too large when read as unsigned numbers.
template <class Index>
std::make_unsigned_t<Index> column_limit(const SparseRows& input) {
    constexpr std::uint64_t most = std::uint64_t{1} << (8 * sizeof(Index) - 1);
    return static_cast<std::make_unsigned_t<Index>>(input.columns < most ? input.columns : most);
}

// Whether rows [first, end) are well-formed, with magnitudes below 2^500. Works in blocks of rows that stay in the
// cache.
template <class Index>
bool are_ordinary(const SparseRows& input, std::size_t first, std::size_t end) {
    using Column = std::make_unsigned_t<Index>;
    const auto* row_starts = static_cast<const Column*>(input.row_starts);
    const auto* columns = static_cast<const Column*>(input.indices);
    const Column limit = column_limit<Index>(input);
    constexpr std::uint64_t largest = __builtin_bit_cast(std::uint64_t, 0x1p500);
    constexpr std::size_t block = 64;
    Column starts[block + 1];
    for (std::size_t rows; first < end; first += rows) {
        rows = first + block < end ? block : end - first;
        std::memcpy(starts, row_starts + first, (rows + 1) * sizeof(Column));
        for (std::size_t r = 0; r < rows; ++r)
            if (starts[r] > starts[r + 1]) return false;
        if (starts[rows] > input.entries) return false;
        Column outside = 0;
        std::uint64_t large = 0;
        for (std::size_t k = starts[0]; k < starts[rows]; ++k) outside |= columns[k] >= limit;
        for (std::size_t k = starts[0]; k < starts[rows]; ++k)
            large |= (__builtin_bit_cast(std::uint64_t, input.values[k]) << 1 >> 1) >= largest;
        if (outside || large) return false;
    }
    return true;
}

// Copies the entries of `rows` rows from `first` on. A column's slot is 1 + (column & mask). `entries` is the number of
// entries that was counted before, and the size of the memory. Returns false if the rows break the rules of a batch
// (slots increase within a row, no value is zero), or if the matrix is malformed.
template <class Index>
bool copy_rows(const SparseRows& input, std::size_t first, std::size_t rows, std::size_t entries, std::uint32_t mask,
               std::uint32_t* slots, double* values, std::size_t* row_ends) {
    using Column = std::make_unsigned_t<Index>;
    const auto* row_starts = static_cast<const Column*>(input.row_starts) + first;
    const std::size_t begin = row_starts[0];
    if (begin > input.entries || entries > input.entries - begin) return false;
    for (std::size_t r = 0, last = 0; r < rows; ++r) {
        row_ends[r] = static_cast<std::size_t>(row_starts[r + 1]) - begin;
        if (row_ends[r] < last || row_ends[r] > entries) return false;
        last = row_ends[r];
    }
    if (rows == 0 || row_ends[rows - 1] != entries) return false;
    const auto* columns = static_cast<const Column*>(input.indices) + begin;
    const Column limit = column_limit<Index>(input);
    Column outside = 0;
    for (std::size_t k = 0; k < entries; ++k) {
        const Column column = columns[k];
        outside |= column >= limit;
        slots[k] = 1 + (static_cast<std::uint32_t>(column) & mask);
    }
    std::uint64_t zero = 0;
    for (std::size_t k = 0; k < entries; ++k) {
        values[k] = input.values[begin + k];
        zero |= values[k] == 0;
    }
    // Compares neighbors over all rows at once: slots may decrease only where a row begins.
    std::uint32_t falls = 0, between_rows = 0;
    for (std::size_t k = 1; k < entries; ++k) falls += slots[k] <= slots[k - 1];
    for (std::size_t r = 0; r + 1 < rows; ++r) {
        const std::size_t k = row_ends[r];
        if (k > 0 && k < row_ends[r + 1]) between_rows += slots[k] <= slots[k - 1];
    }
    return !outside && !zero && falls == between_rows;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
