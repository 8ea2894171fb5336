// From the caller's numbers, of any type and stride, to rows of doubles in the kernel's order.
#pragma once

#include <cstring>

#include "kernel.hpp"
#include "vec8.hpp"

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

// Where a slot stands in a row: the bias, slot 0, is not among them.
inline std::size_t position(std::uint32_t slot) { return slot - 1; }

// A row whose numbers lie side by side, as doubles.
inline void widen(const DenseInput& input, std::size_t row, double* to) {
    const char* from = input.data + static_cast<std::ptrdiff_t>(row) * input.row_stride;
    with_type(input.type, [&](auto x) { widen_row<decltype(x)>(from, input.column_count, to); });
}

// Rows [first, first + rows) of columns that do not lie side by side, column by column. Positions that no column feeds
// must be zero already.
inline void widen_block(const DenseInput& input, std::size_t first, std::size_t rows, double* block,
                        std::size_t row_length) {
    for (std::size_t j = 0; j < input.column_count; ++j) {
        const Column& column = input.columns[j];
        with_type(column.type, [&](auto x) {
            widen_column<decltype(x)>(column, first, rows, block + position(column.slot), row_length);
        });
    }
}

inline void clear(double* block, std::size_t count) { std::memset(block, 0, count * sizeof(double)); }

// Which input column feeds this position: for error messages.
inline std::size_t column_of(const DenseInput& input, std::size_t at) {
    if (!input.columns) return at;
    std::size_t j = 0;
    while (j + 1 < input.column_count && position(input.columns[j].slot) != at) ++j;
    return j;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
