#include "encoding/sparse_source.hpp"

#include <cmath>
#include <string>

#include "base/limits.hpp"
#include "encoding/dense_source.hpp"
#include "encoding/encoder.hpp"

namespace unitless {

void SparseSource::check_features(const Encoder& encoder) const {
    if (encoder.raw())
        throw InputError("a learner with curves or trees does not accept sparse matrices",
                         "pass a dense array, or create the learner with model_type='linear'");
    encoder.check_columns(input_.columns);
}

void SparseSource::check_interactions(const Encoder& encoder) const { check_listed_columns(encoder, input_.columns); }

void SparseSource::check_values(const Encoder& encoder, std::size_t first, std::size_t end) {
    if (encoder.kernel().are_ordinary(input_, first, end)) return;
    double largest = 0;
    std::size_t longest = 0;
    for (std::size_t r = first; r < end; ++r) {
        const auto [from, to] = entries(r);
        longest = std::max(longest, to - from);
        for (std::size_t k = from; k < to; ++k) {
            const std::size_t column = column_at(k, r);
            const double value = input_.values[k];
            if (!is_usable(value)) throw_bad_value(value, Place{r, column});
            largest = std::max(largest, std::fabs(value));
        }
    }
    encoder.check_magnitude(largest, longest);
}

// Sparse columns are not centered, unless they were centered before.
void SparseSource::begin_learning(Encoder& encoder, bool counts) {
    encoder.use_columns(input_.columns);
    if (!counts || !encoder.centering() || input_.columns == 0) return;
    if (encoder.center().is_settled(encoder.features().column_slot(input_.columns - 1))) return;
    for (std::size_t j = 0; j < input_.columns; ++j)
        encoder.center_to_learn().settle(encoder.features().column_slot(j), Offset::kept);
}

std::size_t SparseSource::encode(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                                 const double* weight) {
    if (!to.features().has_columns()) return to.add_empty_rows(first, most);
    if (to.center().any()) return encode_centered(to, first, most, purpose, weight);
    if (!to.interactions().any() && copy(to, first, most)) return most;
    const bool noting = to.notes();
    return to.add_rows(first, most, purpose, weight, [&](std::size_t row, std::size_t, const RowUse&) {
        for (auto [k, end] = entries(row); k < end; ++k) {
            const std::size_t column = column_at(k, row);
            const std::uint32_t feature = to.features().column_slot(column);
            const double value = input_.values[k];
            to.builder().add(feature, value);
            if (noting && value != 0) to.note(feature, {}, static_cast<std::int64_t>(column));
        }
    });
}

// Adds all rows at once, if their entries are in order.
bool SparseSource::copy(Encoder& to, std::size_t first, std::size_t rows) const {
    if (rows == 0) return true;
    const std::size_t begin = entries(first).begin, end = entries(first + rows - 1).end;
    if (end < begin) return false;
    return to.builder().add_rows(rows, end - begin, [&](std::uint32_t* slots, double* values, std::size_t* row_ends) {
        return to.kernel().copy_rows(input_, first, rows, end - begin, to.features().column_mask(), slots, values,
                                     row_ends);
    });
}

// In a centered column, zero is a value like any other.
std::size_t SparseSource::encode_centered(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                                          const double* weight) const {
    WideRows& wide = to.wide;
    wide.columns.resize(input_.columns);
    wide.features.resize(input_.columns);
    for (std::size_t j = 0; j < input_.columns; ++j) {
        wide.features[j] = to.features().column_slot(j);
        wide.columns[j].name = {};
        wide.columns[j].number = static_cast<std::int64_t>(j);
    }
    wide.settle_features();
    most = std::min(most, Encoder::entries_per_batch / std::max<std::size_t>(1, input_.columns) + 1);
    wide.values.assign(most * input_.columns, 0.0);
    return to.add_rows(first, most, purpose, weight, [&](std::size_t row, std::size_t at, const RowUse& use) {
        for (auto [k, end] = entries(row); k < end; ++k) wide.row(at)[column_at(k, row)] += input_.values[k];
        to.add_wide_row(at, use);
    });
}

SparseSource::Entries SparseSource::entries(std::size_t row) const {
    const std::int64_t begin = at(input_.row_starts, row), end = at(input_.row_starts, row + 1);
    if (begin < 0 || begin > end || static_cast<std::size_t>(end) > input_.entries)
        throw InputError("the sparse matrix is malformed: its row starts must not decrease", Place{row});
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
}

std::size_t SparseSource::column_at(std::size_t k, std::size_t row) const {
    const std::int64_t column = at(input_.indices, k);
    if (column < 0 || static_cast<std::size_t>(column) >= input_.columns)
        throw InputError("the sparse matrix is malformed: column index " + std::to_string(column) + " is outside its " +
                             std::to_string(input_.columns) + " columns",
                         Place{row});
    return static_cast<std::size_t>(column);
}

}  // namespace unitless
