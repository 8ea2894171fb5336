// Converts the caller's numbers, of any type and stride, to rows of doubles in the kernel's order.
#pragma once

#include <cstring>

#include "rows/dense.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

template <class T>
void widen_row(const char* from, std::size_t count, double* to) {
    for (std::size_t j = 0; j < count; ++j) {
        T x;
        std::memcpy(&x, from + j * sizeof(T), sizeof(T));
        to[j] = static_cast<double>(x);
    }
}

template <class T>
void widen_column(const Column& column, std::size_t first, std::size_t rows, double* to, std::size_t row_length) {
    const char* from = column.data + static_cast<std::ptrdiff_t>(first) * column.stride;
    for (std::size_t r = 0; r < rows; ++r, from += column.stride, to += row_length) {
        T x;
        std::memcpy(&x, from, sizeof(T));
        *to = static_cast<double>(x);
    }
}

template <class Action>
void with_type(Type type, Action action) {
    switch (type) {
        case Type::f32:
            return action(float{});
        case Type::f64:
            return action(double{});
        case Type::i8:
            return action(std::int8_t{});
        case Type::i16:
            return action(std::int16_t{});
        case Type::i32:
            return action(std::int32_t{});
        case Type::i64:
            return action(std::int64_t{});
        case Type::u8:
            return action(std::uint8_t{});
        case Type::u16:
            return action(std::uint16_t{});
        case Type::u32:
            return action(std::uint32_t{});
        case Type::u64:
            return action(std::uint64_t{});
    }
}

// The position of a slot in a row. Slot 0, the bias, has none.
inline std::size_t position(std::uint32_t slot) { return slot - 1; }

// Converts a row of contiguous numbers to doubles.
inline void widen(const DenseRows& input, std::size_t row, double* to) {
    const char* from = input.data + static_cast<std::ptrdiff_t>(row) * input.row_stride;
    with_type(input.type, [&](auto x) { widen_row<decltype(x)>(from, input.column_count, to); });
}

#if defined(__AVX512F__) && __has_builtin(__builtin_shufflevector)

// Converts eight numbers to one register of doubles.
using Eight = double __attribute__((vector_size(64)));
template <class T>
Eight eight(const T* from) {
    using Numbers [[gnu::vector_size(64)]] = T;
    Numbers x;
    std::memcpy(&x, from, sizeof x);
    return __builtin_convertvector(x, Eight);
}

inline void store(Eight x, double* to) { std::memcpy(to, &x, sizeof x); }
inline Eight even_pairs(Eight a, Eight b) { return __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13); }
inline Eight odd_pairs(Eight a, Eight b) { return __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15); }

// Whether these eight columns have type T, contiguous values and consecutive slots.
template <class T>
bool is_strip(const Column* columns, Type type) {
    for (std::size_t i = 0; i < 8; ++i)
        if (columns[i].type != type || columns[i].stride != sizeof(T) || columns[i].slot != columns[0].slot + i)
            return false;
    return true;
}

// Converts a strip of eight such columns, eight rows at a time: transposes eight registers that hold a column each. It
// prefetches the next rows, because the processor does not predict this many streams.
template <class T>
void widen_strip(const Column* columns, std::size_t first, std::size_t rows, double* to, std::size_t row_length) {
    const T* from[8];
    for (std::size_t i = 0; i < 8; ++i) from[i] = reinterpret_cast<const T*>(columns[i].data) + first;
    for (std::size_t r = 0; r < rows; r += 8) {
        Eight x[8], pairs[8], fours[8];
        for (std::size_t i = 0; i < 8; ++i) {
            x[i] = eight(from[i] + r);
            __builtin_prefetch(from[i] + r + rows);
        }
        for (std::size_t i = 0; i < 8; i += 2) {
            pairs[i] = __builtin_shufflevector(x[i], x[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
            pairs[i + 1] = __builtin_shufflevector(x[i], x[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
        }
        for (std::size_t i = 0; i < 2; ++i) {
            fours[i] = even_pairs(pairs[i], pairs[i + 2]);     // rows i and i + 4
            fours[i + 2] = odd_pairs(pairs[i], pairs[i + 2]);  // rows i + 2 and i + 6
            fours[i + 4] = even_pairs(pairs[i + 4], pairs[i + 6]);
            fours[i + 6] = odd_pairs(pairs[i + 4], pairs[i + 6]);
        }
        double* row = to + r * row_length;
        for (std::size_t i = 0; i < 4; ++i) store(even_pairs(fours[i], fours[i + 4]), row + i * row_length);
        for (std::size_t i = 0; i < 4; ++i) store(odd_pairs(fours[i], fours[i + 4]), row + (i + 4) * row_length);
    }
}

// Converts as many columns from j on as can be done at once, and returns their number.
inline std::size_t widen_some(const DenseRows& input, std::size_t j, std::size_t first, std::size_t rows, double* block,
                              std::size_t row_length) {
    if (input.column_count < 8 || rows % 8) return 0;
    // The number of columns that are converted a second time.
    const std::size_t again = j + 8 > input.column_count ? j + 8 - input.column_count : 0;
    const Column* const columns = input.columns + (j - again);
    double* const to = block + position(columns[0].slot);
    if (is_strip<std::int64_t>(columns, Type::i64)) {
        widen_strip<std::int64_t>(columns, first, rows, to, row_length);
    } else if (is_strip<double>(columns, Type::f64)) {
        widen_strip<double>(columns, first, rows, to, row_length);
    } else {
        return 0;
    }
    return 8 - again;
}

#else

inline std::size_t widen_some(const DenseRows&, std::size_t, std::size_t, std::size_t, double*, std::size_t) {
    return 0;
}

#endif

// Converts rows [first, first + rows) of columns that are not contiguous, column by column. Positions without a column
// must be zero already.
inline void widen_block(const DenseRows& input, std::size_t first, std::size_t rows, double* block,
                        std::size_t row_length) {
    for (std::size_t j = 0; j < input.column_count; ++j) {
        if (const std::size_t done = widen_some(input, j, first, rows, block, row_length)) {
            j += done - 1;
            continue;
        }
        const Column& column = input.columns[j];
        with_type(column.type, [&](auto x) {
            widen_column<decltype(x)>(column, first, rows, block + position(column.slot), row_length);
        });
    }
}

inline void clear(double* block, std::size_t count) { std::memset(block, 0, count * sizeof(double)); }

// The input column of this position, for error messages.
inline std::size_t column_of(const DenseRows& input, std::size_t at) {
    if (!input.columns) return at;
    std::size_t j = 0;
    while (j + 1 < input.column_count && position(input.columns[j].slot) != at) ++j;
    return j;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
