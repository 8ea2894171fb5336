// Are compressed rows as the kernel wants its rows? Nearly all are, and one quick look over the whole of them tells.
#pragma once

#include <type_traits>

#include "rows/sparse.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// Numbers other than zero whose products are numbers too. As an integer zero less one is the largest of all.
inline bool all_ordinary(const double* values, std::size_t count) {
    constexpr std::uint64_t limit = __builtin_bit_cast(std::uint64_t, 0x1p500);
    std::uint64_t unusual = 0;
    for (std::size_t k = 0; k < count; ++k) {
        const std::uint64_t magnitude = __builtin_bit_cast(std::uint64_t, values[k]) << 1 >> 1;
        unusual |= magnitude - 1 >= limit;
    }
    return unusual == 0;
}

// In blocks of rows that stay in the cache, each looked at as one long row: slots may only fall where a row begins.
template <class Index>
bool all_plain(const CompressedRows& input, std::uint64_t mask) {
    using Column = std::make_unsigned_t<Index>;  // what is negative is then too large
    const auto* row_starts = static_cast<const Column*>(input.row_starts);
    const auto* columns = static_cast<const Column*>(input.indices);
    constexpr std::uint64_t most = std::uint64_t{1} << (8 * sizeof(Index) - 1);
    const auto kept = static_cast<Column>(mask),
               limit = static_cast<Column>(input.columns < most ? input.columns : most);
    const auto falls_at = [&](std::size_t k) -> Column { return (columns[k] & kept) <= (columns[k - 1] & kept); };
    constexpr std::size_t block = 64;
    Column starts[block + 1];  // what another thread writes meanwhile does not matter
    for (std::size_t first = 0; first < input.rows; first += block) {
        const std::size_t rows = first + block < input.rows ? block : input.rows - first;
        __builtin_memcpy(starts, row_starts + first, (rows + 1) * sizeof(Column));
        for (std::size_t r = 0; r < rows; ++r)
            if (starts[r] > starts[r + 1]) return false;
        const std::size_t begin = starts[0], end = starts[rows];
        if (end > input.entries) return false;
        if (begin == end) continue;
        Column outside = columns[begin] >= limit, falls = 0, between_rows = 0;
        for (std::size_t k = begin + 1; k < end; ++k) {
            outside |= columns[k] >= limit;
            falls += falls_at(k);
        }
        for (std::size_t r = 1; r < rows; ++r)
            if (starts[r] > begin && starts[r] < starts[r + 1]) between_rows += falls_at(starts[r]);
        if (outside || falls != between_rows || !all_ordinary(input.values + begin, end - begin)) return false;
    }
    return true;
}

inline bool copy_below(const std::uint32_t* from, std::size_t count, std::uint32_t limit, std::uint32_t* to) {
    std::uint32_t largest = 0;
    for (std::size_t k = 0; k < count; ++k) {
        const std::uint32_t column = from[k];
        to[k] = column;
        largest = column > largest ? column : largest;
    }
    return count == 0 || largest < limit;
}

// Well-formed, columns rising within a row also after masking, numbers other than zero that are not huge.
inline bool are_plain(const CompressedRows& input, std::uint64_t mask) {
    return input.wide_indices ? all_plain<std::int64_t>(input, mask) : all_plain<std::int32_t>(input, mask);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
