// Sparse matrices on their way in.
//
// They are the caller's memory, which another thread may change at any time. So a row's start and a column's number are
// read once, checked, and used; what was checked in an earlier pass over the rows does not count.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/limits.hpp"
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
            const auto [from, to] = entries(r);
            bool sound = true;
            for (std::size_t k = from; k < to; ++k) {
                const double size = std::fabs(input_.values[k]);
                const auto column = static_cast<std::uint64_t>(at(input_.indices, k));  // below zero: too large
                sound &= (column < input_.columns) & (size <= largest_value);
                largest = size > largest ? size : largest;
            }
            if (!sound) throw_unsound(r, from, to);
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

    // Calls action(first row, rows) for some rows at a time, with the matrix's own values: those before `end`, from one
    // on, all of which are plain. Where columns are hashed, the mask keeps any number within bounds.
    template <class Action>
    void in_place(const Preparation& preparation, std::size_t from, std::size_t end, Action action) const {
        constexpr std::size_t rows_at_once = 4096, entries_at_once = 32768;
        const std::size_t at_once = std::min(rows_at_once, entries_at_once / width() + 1);
        const auto* starts = static_cast<const std::uint32_t*>(input_.row_starts);
        const auto* indices = static_cast<const std::uint32_t*>(input_.indices);
        const auto limit = static_cast<std::uint32_t>(std::min(input_.columns, std::size_t{1} << 31));
        std::vector<std::size_t> row_ends;
        std::vector<std::uint32_t, Unset<std::uint32_t>> columns;
        for (std::size_t first = from, rows; first < end; first += rows) {
            rows = std::min(at_once, end - first);
            row_ends.assign(starts + first, starts + first + rows + 1);
            const std::size_t begin = row_ends[0], count = row_ends[rows] - begin;
            if (!std::is_sorted(row_ends.begin(), row_ends.end()) || row_ends[rows] > input_.entries)
                throw_starts(first);
            if (!preparation.hashed()) {
                if (columns.size() < count) columns.resize(count);
                if (!preparation.kernel().copy_below(indices + begin, count, limit, columns.data()))
                    throw_changed(first);
            }
            for (std::size_t& row_end : row_ends) row_end -= begin;
            action(first, SparseInput{.slots = preparation.hashed() ? indices + begin : columns.data(),
                                      .values = input_.values + begin,
                                      .row_ends = row_ends.data() + 1,
                                      .rows = rows,
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
            for (auto [k, end] = entries(first + r); k < end; ++k)
                to.wide.values[r * input_.columns + column_at(k, first + r)] += input_.values[k];
    }

    void add_row(Preparation& to, std::size_t row, std::size_t at, Looking looking, double weight) const {
        if (to.centre().any()) {
            to.centre_wide(at, input_.columns, looking, weight);
            to.row().add_rising(to.wide.features.data(), to.wide.values.data() + at * input_.columns, input_.columns);
            return;
        }
        const bool noting = to.notes();
        for (auto [k, end] = entries(row); k < end; ++k) {
            const std::size_t column = column_at(k, row);
            const std::uint32_t feature = to.features().column_slot(column);
            to.row().add(feature, input_.values[k]);
            if (noting && input_.values[k] != 0) to.note(feature, {}, static_cast<std::int64_t>(column));
        }
    }

  private:
    CompressedRows input_;

    std::int64_t at(const void* indices, std::size_t k) const {
        return input_.wide_indices ? static_cast<const std::int64_t*>(indices)[k]
                                   : static_cast<const std::int32_t*>(indices)[k];
    }
    struct Entries {
        std::size_t begin, end;
    };
    Entries entries(std::size_t row) const {
        const std::int64_t begin = at(input_.row_starts, row), end = at(input_.row_starts, row + 1);
        if (begin < 0 || begin > end || static_cast<std::size_t>(end) > input_.entries) throw_starts(row);
        return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end)};
    }
    std::size_t column_at(std::size_t k, std::size_t row) const {
        const std::int64_t column = at(input_.indices, k);
        if (column < 0 || static_cast<std::size_t>(column) >= input_.columns) throw_column(column, row);
        return static_cast<std::size_t>(column);
    }
    [[noreturn]] UNITLESS_RARE static void throw_starts(std::size_t row) {
        throw InputError("the sparse matrix is malformed: its row starts do not rise", Place{row});
    }
    [[noreturn]] UNITLESS_RARE void throw_unsound(std::size_t row, std::size_t from, std::size_t to) const {
        for (std::size_t k = from; k < to; ++k) {
            const std::size_t column = column_at(k, row);
            if (!is_usable(input_.values[k])) throw_bad_value(input_.values[k], Place{row, column});
        }
        throw_changed(row);
    }
    [[noreturn]] UNITLESS_RARE static void throw_changed(std::size_t row) {
        throw InputError("the sparse matrix is malformed: it was changed while it was read", Place{row});
    }
    [[noreturn]] UNITLESS_RARE void throw_column(std::int64_t column, std::size_t row) const {
        throw InputError("the sparse matrix is malformed: column index " + std::to_string(column) + " is outside its " +
                             std::to_string(input_.columns) + " columns",
                         Place{row});
    }
};

}  // namespace unitless
