// Single values of dense input, and their largest magnitude, for checks and messages.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "rows/dense_input.hpp"

namespace unitless {

inline double value_at(const DenseRows& input, std::size_t row, std::size_t j) {
    double value = 0;
    if (input.columns) {
        const Column& column = input.columns[j];
        with_type(column.type, [&](auto x) { widen_column<decltype(x)>(column, row, 1, &value, 1); });
    } else {
        with_type(input.type, [&](auto x) {
            const Column column{input.data + j * sizeof x, input.row_stride, input.type, 0};
            widen_column<decltype(x)>(column, row, 1, &value, 1);
        });
    }
    return value;
}

// Whether all numbers are aligned to their size, as the kernels require.
inline bool is_aligned(const DenseRows& input) {
    const auto fits = [](const char* data, std::ptrdiff_t stride, Type type) {
        std::size_t size = 1;
        with_type(type, [&](auto x) { size = sizeof x; });
        return (reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(stride)) % size == 0;
    };
    if (!input.columns) return fits(input.data, input.row_stride, input.type);
    for (std::size_t j = 0; j < input.column_count; ++j)
        if (!fits(input.columns[j].data, input.columns[j].stride, input.columns[j].type)) return false;
    return true;
}

// An upper bound of the magnitudes of some numbers; NaN if one of them may be unusable. It compares only the leading 32
// bits, as integers, because this vectorizes everywhere.
template <class T>
double largest_of(const char* from, std::ptrdiff_t stride, std::size_t count) {
    if constexpr (!std::is_floating_point_v<T>) {
        return 0;  // integers are always usable
    } else {
        std::int32_t largest = 0;
        const auto scan = [&](std::ptrdiff_t step) {
            for (std::size_t i = 0; i < count; ++i, from += step) {
                std::int32_t bits;
                std::memcpy(&bits, from + (sizeof(T) - 4), 4);
                bits &= 0x7fffffff;
                largest = largest < bits ? bits : largest;
            }
        };
        if (stride == sizeof(T)) {
            scan(sizeof(T));
        } else {
            scan(stride);
        }
        if constexpr (sizeof(T) == 4) {
            const float x = std::bit_cast<float>(largest);
            return x < 0x1p996 ? x : std::numeric_limits<double>::quiet_NaN();
        } else {
            const double x = std::bit_cast<double>(static_cast<std::int64_t>(largest) << 32);
            return x < 0x1p996 ? x : std::numeric_limits<double>::quiet_NaN();
        }
    }
}

inline double largest_of(const DenseRows& input) {
    double largest = 0;
    const auto take = [&](double x) { largest = std::isnan(x) || x > largest ? x : largest; };
    for (std::size_t j = 0; input.columns && j < input.column_count && !std::isnan(largest); ++j) {
        const Column& column = input.columns[j];
        with_type(column.type, [&](auto x) { take(largest_of<decltype(x)>(column.data, column.stride, input.rows)); });
    }
    if (input.columns) return largest;
    with_type(input.type, [&](auto x) {
        using T = decltype(x);
        if (input.row_stride == static_cast<std::ptrdiff_t>(input.column_count * sizeof(T)))
            return take(largest_of<T>(input.data, sizeof(T), input.rows * input.column_count));
        for (std::size_t r = 0; r < input.rows && !std::isnan(largest); ++r)
            take(largest_of<T>(input.data + static_cast<std::ptrdiff_t>(r) * input.row_stride, sizeof(T),
                               input.column_count));
    });
    return largest;
}

}  // namespace unitless
