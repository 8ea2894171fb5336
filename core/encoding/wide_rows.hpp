// Some rows of numbers as contiguous doubles, [row][column], with the feature of each column.
#pragma once

#include <cstdint>
#include <vector>

#include "rows/dense_input.hpp"

namespace unitless {

struct WideRows {
    std::vector<Column> columns;          // in the order of their features; columns without a feature come last
    std::vector<std::uint32_t> features;  // of the columns that have one
    bool are_first_features = false;      // whether they are features 1, 2, 3, ...
    std::vector<std::size_t> places;      // for tables: by column of the table, its position here
    std::vector<double> values;

    // The number of columns with features.
    std::size_t count() const { return features.size(); }
    double* row(std::size_t at) { return values.data() + at * columns.size(); }

    // Must be called after `features` has been set.
    void settle_features() {
        are_first_features = true;
        for (std::size_t j = 0; j < count(); ++j) are_first_features &= features[j] == 1 + j;
    }

    // Fills `values` with rows [first, first + rows) of the columns.
    void widen_columns(std::size_t first, std::size_t rows) {
        values.resize(rows * columns.size());
        for (std::size_t j = 0; j < columns.size(); ++j)
            with_type(columns[j].type, [&](auto x) {
                widen_column<decltype(x)>(columns[j], first, rows, values.data() + j, columns.size());
            });
    }
    // Fills `values` from contiguous rows, whose columns all have features.
    void widen_rows(const DenseRows& input, std::size_t first, std::size_t rows) {
        values.resize(rows * columns.size());
        for (std::size_t r = 0; r < rows; ++r) widen(input, first + r, row(r));
    }
};

}  // namespace unitless
