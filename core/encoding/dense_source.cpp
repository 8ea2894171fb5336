#include "encoding/dense_source.hpp"

#include <algorithm>
#include <cmath>

#include "base/limits.hpp"
#include "encoding/encoder.hpp"
#include "rows/dense_values.hpp"

namespace unitless {
namespace {

// Whether the kernel can read the numbers from the caller's memory.
bool collectable(const DenseRows& input, const Encoder& to) {
    const bool floats = input.type == Type::f32 || input.type == Type::f64;
    return floats && !input.columns && is_aligned(input) && !to.center().any() && !to.hashed() && !to.raw() &&
           !to.interactions().any();
}

}  // namespace

void check_listed_columns(const Encoder& encoder, std::size_t count) {
    const auto has = [count](const Selector& selector) {
        return selector.column >= 0 && static_cast<std::size_t>(selector.column) < count;
    };
    encoder.check_listed(has, std::to_string(count) + " columns, to be named by their numbers");
}

void DenseSource::check_features(const Encoder& encoder) const { encoder.check_columns(input_.column_count); }

void DenseSource::check_interactions(const Encoder& encoder) const {
    check_listed_columns(encoder, input_.column_count);
}

void DenseSource::check_values(const Encoder& encoder, std::size_t first, std::size_t end) {
    std::vector<Column> columns;
    double largest = largest_of(rows_of(input_, first, end - first, columns));
    if (std::isnan(largest)) {
        for (std::size_t r = first; r < end; ++r)
            for (std::size_t j = 0; j < input_.column_count; ++j)
                if (!is_usable(value_at(input_, r, j))) throw_bad_value_at(r, j);
        largest = largest_value;
    }
    encoder.check_magnitude(largest, input_.column_count);
}

void DenseSource::throw_bad_value_at(std::size_t row, std::size_t column) const {
    const double value = value_at(input_, row, column);
    if (names_) throw_bad_value(value, {row, (*names_)[column]});
    throw_bad_value(value, {row, column});
}

void DenseSource::begin_learning(Encoder& encoder, bool counts) {
    encoder.use_columns(input_.column_count);
    for (std::size_t j = 0; counts && encoder.centering() && j < input_.column_count; ++j) {
        const bool indicator = input_.columns ? input_.columns[j].indicator : input_.indicators;
        encoder.center_to_learn().settle(encoder.features().column_slot(j), indicator ? Offset::kept : Offset::removed);
    }
}

std::size_t DenseSource::encode(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                                const double* weight) {
    if (!to.features().has_columns()) return to.add_empty_rows(first, most);
    if (collectable(input_, to)) {
        DenseRows part = input_;
        part.data += static_cast<std::ptrdiff_t>(first) * input_.row_stride;
        part.rows = most;
        to.builder().add_rows(most, most * input_.column_count,
                              [&](std::uint32_t* slots, double* values, std::size_t* row_ends) {
                                  to.kernel().collect(part, slots, values, row_ends);
                                  return true;
                              });
        return most;
    }
    begin_wide(to, first, most);
    return to.add_rows(first, most, purpose, weight,
                       [&](std::size_t, std::size_t at, const RowUse& use) { to.add_wide_row(at, use); });
}

void DenseSource::begin_wide(Encoder& to, std::size_t first, std::size_t rows) const {
    WideRows& wide = to.wide;
    const std::size_t count = input_.column_count;
    wide.features.resize(count);
    wide.columns.resize(count);
    for (std::size_t j = 0; j < count; ++j) {
        wide.features[j] = to.features().column_slot(j);
        if (input_.columns) wide.columns[j] = input_.columns[j];
        wide.columns[j].name = {};
        wide.columns[j].number = static_cast<std::int64_t>(j);
    }
    wide.settle_features();
    if (input_.columns) {
        wide.widen_columns(first, rows);
    } else {
        wide.widen_rows(input_, first, rows);
    }
}

}  // namespace unitless
