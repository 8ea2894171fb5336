// Dense rows in the caller's memory: numbers of any type and stride.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace unitless {

enum class Type { f32, f64, i8, i16, i32, i64, u8, u16, u32, u64 };

// A column of numbers, and the slot of its feature.
struct Column {
    const char* data;
    std::ptrdiff_t stride;
    Type type;
    std::uint32_t slot;
    bool indicator = false;  // a column of booleans, which is never centered
    std::string_view name = {};
    std::int64_t number = -1;  // identifies a column without a name
};

// If `columns` is null, the rows are contiguous numbers of one type, and column j has slot 1 + j. Otherwise `columns`
// has one entry per column.
struct DenseRows {
    const char* data;
    std::ptrdiff_t row_stride;
    Type type;
    const Column* columns;
    std::size_t column_count;
    std::size_t rows;
    bool indicators = false;  // all columns are indicators
};

// Returns rows [first, first + count). `columns` is memory for their columns.
inline DenseRows rows_of(const DenseRows& input, std::size_t first, std::size_t count, std::vector<Column>& columns) {
    DenseRows part = input;
    part.rows = count;
    if (first == 0) return part;
    if (!input.columns) {
        part.data += static_cast<std::ptrdiff_t>(first) * input.row_stride;
        return part;
    }
    columns.assign(input.columns, input.columns + input.column_count);
    for (Column& column : columns) column.data += static_cast<std::ptrdiff_t>(first) * column.stride;
    part.columns = columns.data();
    return part;
}

}  // namespace unitless
