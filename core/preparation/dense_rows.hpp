// Dense rows on their way in.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "base/workers.hpp"
#include "preparation/preparation.hpp"
#include "rows/dense_input.hpp"
#include "rows/dense_values.hpp"

namespace unitless {

class DenseRows {
  public:
    // `names`: of the columns, where they have some.
    explicit DenseRows(const DenseInput& input, const std::vector<std::string>* names = nullptr)
        : input_(input), names_(names) {}

    std::size_t rows() const { return input_.rows; }
    std::size_t width() const { return std::max<std::size_t>(1, input_.column_count); }
    const DenseInput& input() const { return input_; }

    Place place(std::size_t row, std::size_t column) const {
        if (names_) return {row, (*names_)[column]};
        return {row, column};
    }

    [[noreturn]] void throw_bad_value_at(std::size_t row, std::size_t column) const {
        throw_bad_value(value_at(input_, row, column), place(row, column));
    }

    // Throws if a value cannot be learned.
    void check(Preparation& preparation) { check(preparation, 0, input_.rows, largest_magnitude()); }
    // The same for the rows before `end` from one on, by this thread alone.
    void check(Preparation& preparation, std::size_t first, std::size_t end) {
        check(preparation, first, end, largest_of(part(first, end - first).input()));
    }

    // Some of the rows.
    class Part {
      public:
        Part(const DenseInput& input, std::size_t first, std::size_t rows) : input_(input) {
            input_.rows = rows;
            if (first == 0) return;
            if (!input.columns) {
                input_.data += static_cast<std::ptrdiff_t>(first) * input.row_stride;
                return;
            }
            columns_.assign(input.columns, input.columns + input.column_count);
            for (Column& column : columns_) column.data += static_cast<std::ptrdiff_t>(first) * column.stride;
            input_.columns = columns_.data();
        }
        Part(const Part&) = delete;
        const DenseInput& input() const { return input_; }

      private:
        DenseInput input_;
        std::vector<Column> columns_;
    };
    Part part(std::size_t first, std::size_t rows) const { return Part(input_, first, rows); }

    // Which columns are centred is settled when they are first learned from.
    void settle(Preparation& preparation) const {
        for (std::size_t j = 0; preparation.centring() && j < input_.column_count; ++j) {
            const bool indicator = input_.columns ? input_.columns[j].indicator : input_.indicators;
            preparation.centre_to_learn().settle(
                input_.columns ? input_.columns[j].slot : preparation.features().column_slot(j),
                indicator ? Offset::kept : Offset::removed);
        }
    }

    // Rows of floats are taken a batch at a time, where nothing is to be done with them on the way.
    bool collect(Preparation& to, std::size_t first, std::size_t rows) const {
        if (input_.type != Type::f32 && input_.type != Type::f64) return false;
        if (!is_aligned(input_) || !side_by_side(to) || to.interactions().any()) return false;
        DenseInput part = input_;
        part.data += static_cast<std::ptrdiff_t>(first) * input_.row_stride;
        part.rows = rows;
        to.collect(part);
        return true;
    }

    void forget() const {}

    // As doubles, [row][column], columns in the order of their features.
    void begin_batch(Preparation& to, std::size_t first, std::size_t rows) const {
        if (side_by_side(to)) return;
        const std::size_t columns = input_.column_count;
        auto& [values, features, sorted] = to.wide;
        values.resize(rows * columns);
        features.resize(columns);
        sorted.resize(columns);
        if (input_.columns) {
            sorted.assign(input_.columns, input_.columns + columns);
            std::stable_sort(sorted.begin(), sorted.end(),
                             [](const Column& a, const Column& b) { return a.slot < b.slot; });
            for (std::size_t j = 0; j < columns; ++j) {
                const std::int64_t number = sorted[j].number;
                features[j] =
                    number < 0 ? sorted[j].slot : to.features().column_slot(static_cast<std::uint64_t>(number));
                with_type(sorted[j].type,
                          [&](auto x) { widen_column<decltype(x)>(sorted[j], first, rows, &values[j], columns); });
            }
            return;
        }
        for (std::size_t j = 0; j < columns; ++j) {
            features[j] = to.features().column_slot(j);
            sorted[j].number = static_cast<std::int64_t>(j);
        }
        for (std::size_t r = 0; r < rows; ++r) widen(input_, first + r, values.data() + r * columns);
    }

    void add_row(Preparation& to, std::size_t row, std::size_t at, Looking looking, double weight) const {
        const std::size_t columns = input_.column_count;
        if (side_by_side(to)) {
            if (to.raw()) to.mention(input_, row);
            const char* from = input_.data + static_cast<std::ptrdiff_t>(row) * input_.row_stride;
            with_type(input_.type, [&](auto x) { to.row().add_side_by_side<decltype(x)>(from, columns, 1); });
            return;
        }
        const double* values = to.wide.values.data() + at * columns;
        const std::uint32_t* features = to.wide.features.data();
        for (std::size_t j = 0; to.raw() && j < columns; ++j) to.mention(features[j], values[j]);
        to.centre_wide(at, columns, looking, weight);
        if (!to.hashed()) return to.row().add_rising(features, values, columns);
        for (std::size_t j = 0; j < columns; ++j) {
            to.row().add(features[j], values[j]);
            if (values[j] != 0 && to.notes()) to.note(features[j], to.wide.columns[j].name, to.wide.columns[j].number);
        }
    }

  private:
    DenseInput input_;
    const std::vector<std::string>* names_;

    // Can the rows' non-zero numbers be taken as they lie?
    bool side_by_side(const Preparation& to) const { return !input_.columns && !to.centre().any() && !to.hashed(); }

    void check(Preparation& preparation, std::size_t first, std::size_t end, double largest) {
        for (std::size_t r = first; std::isnan(largest) && r < end; ++r)
            for (std::size_t j = 0; j < input_.column_count; ++j)
                if (!is_usable(value_at(input_, r, j))) throw_bad_value_at(r, j);
        if (std::isnan(largest)) largest = largest_value;
        preparation.check_magnitude(largest);
        if (largest > 0x1p960 && preparation.hashed())  // entries of one slot might add up to infinity
            preparation.in_batches(*this, first, end, Looking::predicting, nullptr, [](std::size_t, std::size_t) {});
    }

    // All threads look for it: nothing else can begin before.
    double largest_magnitude() const {
        constexpr std::size_t rows_each = 4096;
        const std::size_t parts = input_.columns ? input_.column_count : (input_.rows + rows_each - 1) / rows_each;
        if (parts < 2 || input_.rows < rows_each) return largest_of(input_);
        std::vector<double> found(parts);
        in_parts(workers(), parts, [&](std::size_t i) {
            DenseInput part = input_;
            if (input_.columns) {
                part.columns += i;
                part.column_count = 1;
            } else {
                part.data += static_cast<std::ptrdiff_t>(i * rows_each) * input_.row_stride;
                part.rows = std::min(rows_each, input_.rows - i * rows_each);
            }
            found[i] = largest_of(part);
        });
        double largest = 0;
        for (const double x : found) largest = std::isnan(x) || x > largest ? x : largest;
        return largest;
    }
};

}  // namespace unitless
