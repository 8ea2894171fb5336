// Sparse matrices on their way in.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "preparation/preparation.hpp"

namespace unitless {

class MatrixRows {
  public:
    explicit MatrixRows(const CompressedRows& input) : input_(input) {}

    std::size_t rows() const { return input_.rows; }
    std::size_t width() const { return std::max<std::size_t>(1, input_.entries / std::max<std::size_t>(1, rows())); }
    const CompressedRows& input() const { return input_; }

    // Are the rows before `end`, from one on, as an engine wants them, so that it can read them where they are? Then
    // they have been checked, too.
    bool are_plain(const Preparation& preparation, std::size_t first, std::size_t end) const {
        if (input_.wide_indices) return false;
        CompressedRows part = input_;
        part.row_starts = static_cast<const std::int32_t*>(input_.row_starts) + first;
        part.rows = end - first;
        return preparation.kernel().are_plain(part, preparation.features().column_mask());
    }

    // Throws if the matrix is malformed or holds what cannot be learned.
    void check(Preparation& preparation) { check(preparation, 0, input_.rows); }
    void check(Preparation& preparation, std::size_t first, std::size_t end) {
        double largest = 0;
        for (std::size_t r = first; r < end; ++r) {
            if (start(r) < 0 || start(r) > start(r + 1) || static_cast<std::size_t>(start(r + 1)) > input_.entries)
                throw InputError("the sparse matrix is malformed: its row starts do not rise", Place{r});
            for (std::size_t k = begin(r); k < begin(r + 1); ++k) {
                const std::int64_t column = column_at(k);
                if (column < 0 || static_cast<std::size_t>(column) >= input_.columns)
                    throw InputError("the sparse matrix is malformed: column index " + std::to_string(column) +
                                         " is outside its " + std::to_string(input_.columns) + " columns",
                                     Place{r});
                if (!std::isfinite(input_.values[k]))
                    throw_not_finite(input_.values[k], Place{r, static_cast<std::size_t>(column)});
                largest = std::max(largest, std::fabs(input_.values[k]));
            }
        }
        preparation.check_magnitude(largest);
        if (largest > 0x1p960)  // entries of one slot might add up to infinity
            preparation.in_batches(*this, first, end, Looking::predicting, nullptr, [](std::size_t, std::size_t) {});
    }

    // Sparse columns are not centred, unless they have been before.
    void settle(Preparation& preparation) const {
        if (!preparation.centring() || input_.columns == 0) return;
        const std::uint32_t last = preparation.features().column_slot(input_.columns - 1);
        const auto& known = preparation.centre().columns();
        if (last < known.size() && known[last].offset != Offset::unknown) return;
        for (std::size_t j = 0; j < input_.columns; ++j)
            preparation.centre_to_learn().settle(preparation.features().column_slot(j), Offset::kept);
    }

    // Calls action(first row, rows) for some rows at a time, which are the matrix's own: those before `end`, from one
    // on, all of which are plain.
    template <class Action>
    void in_place(const Preparation& preparation, std::size_t from, std::size_t end, Action action) const {
        constexpr std::size_t at_once = 4096;
        const auto* starts = static_cast<const std::int32_t*>(input_.row_starts);
        std::vector<std::size_t> row_ends;
        for (std::size_t first = from, rows; first < end; first += rows) {
            rows = std::min(at_once, end - first);
            row_ends.assign(starts + first + 1, starts + first + 1 + rows);
            action(first, SparseInput{.slots = static_cast<const std::uint32_t*>(input_.indices),
                                      .values = input_.values,
                                      .row_ends = row_ends.data(),
                                      .rows = rows,
                                      .first = static_cast<std::size_t>(starts[first]),
                                      .in_sequence = preparation.hashed(),
                                      .mask = preparation.features().column_mask(),
                                      .first_slot = 1});
        }
    }

    void forget() const {}

    // Rows stay as they are, except where columns are centred: there a zero is a value like any other.
    void begin_batch(Preparation& to, std::size_t first, std::size_t rows) const {
        if (!to.centre().any()) return;
        to.wide.values.assign(rows * input_.columns, 0.0);
        to.wide.features.resize(input_.columns);
        for (std::size_t j = 0; j < input_.columns; ++j) to.wide.features[j] = to.features().column_slot(j);
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t k = begin(first + r); k < begin(first + r + 1); ++k)
                to.wide.values[r * input_.columns + static_cast<std::size_t>(column_at(k))] += input_.values[k];
    }

    void add_row(Preparation& to, std::size_t row, std::size_t at, Looking looking, double weight) const {
        if (to.centre().any()) {
            to.centre_wide(at, input_.columns, looking, weight);
            to.row().add_rising(to.wide.features.data(), to.wide.values.data() + at * input_.columns, input_.columns);
            return;
        }
        const bool noting = to.notes();
        for (std::size_t k = begin(row); k < begin(row + 1); ++k) {
            const std::int64_t column = column_at(k);
            const std::uint32_t feature = to.features().column_slot(static_cast<std::uint64_t>(column));
            to.row().add(feature, input_.values[k]);
            if (noting && input_.values[k] != 0) to.note(feature, {}, column);
        }
    }

  private:
    CompressedRows input_;

    std::int64_t at(const void* indices, std::size_t k) const {
        return input_.wide_indices ? static_cast<const std::int64_t*>(indices)[k]
                                   : static_cast<const std::int32_t*>(indices)[k];
    }
    std::int64_t start(std::size_t r) const { return at(input_.row_starts, r); }
    std::size_t begin(std::size_t r) const { return static_cast<std::size_t>(start(r)); }
    std::int64_t column_at(std::size_t k) const { return at(input_.indices, k); }
};

}  // namespace unitless
