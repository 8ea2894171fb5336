// From the caller's numbers, of any type and stride, to rows of doubles in the kernel's order: slot 0 is the bias.
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

// Rows [first, first + rows) of the input as `block`. Positions that no column feeds must be zero already: `clear`
// does it, once per call.
inline void clear(double* block, std::size_t count) { std::memset(block, 0, count * sizeof(double)); }

inline void widen(const DenseInput& input, std::size_t first, std::size_t rows, bool bias, double* block,
                  std::size_t row_length) {
    if (input.columns) {
        for (std::size_t j = 0; j < input.column_count; ++j) {
            const Column& column = input.columns[j];
            with_type(column.type,
                      [&](auto x) { widen_column<decltype(x)>(column, first, rows, block + column.slot, row_length); });
        }
        for (std::size_t r = 0; r < rows; ++r) block[r * row_length] = bias ? 1.0 : 0.0;
        return;
    }
    with_type(input.type, [&](auto x) {
        for (std::size_t r = 0; r < rows; ++r) {
            double* row = block + r * row_length;
            widen_row<decltype(x)>(input.data + static_cast<std::ptrdiff_t>(first + r) * input.row_stride,
                                   input.column_count, row + 1);
            row[0] = bias ? 1.0 : 0.0;
            for (std::size_t j = input.column_count + 1; j < row_length; ++j) row[j] = 0.0;
        }
    });
}

// Which input column feeds this slot: for error messages.
inline std::size_t column_of(const DenseInput& input, std::size_t slot) {
    if (!input.columns) return slot - 1;
    for (std::size_t j = 0; j < input.column_count; ++j)
        if (input.columns[j].slot == slot) return j;
    return 0;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
