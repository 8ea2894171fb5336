// Curves: each column of numbers is cut at some of its values, and the interval of a value is a feature. Cuts compare
// values with values, so a curve depends only on their order: a monotone transformation of a column changes no bit.
// Cuts never move; new ones are added where many values fall.
//
// A leaf is an interval. It stores its last values, and counts the values since it was created. When there are enough,
// it is cut at their median. `learn` reports each cut, and the leaf learners adapt their weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/state.hpp"
#include "trees/kernel.hpp"

namespace unitless {

class Curves {
  public:
    static constexpr std::size_t enough = 32;  // values in a leaf before it may be cut; it stores this many
    static constexpr std::size_t usual = 16;   // leaves of a curve; beyond this number only large leaves are cut,
    static constexpr std::size_t most = 32;    // up to this number
    // Positions for the leaves of a column; the last is for missing values.
    static constexpr std::size_t each = most + 1;
    static_assert(most - 1 <= most_thresholds);

    // A leaf was cut: its values up to the threshold stay, the others go to `right`.
    struct Cut {
        std::uint32_t leaf, right;
        double share;  // of the values that stay
        bool first;    // the column's first cut: it had no feature before
    };

    // Adds columns. Text columns have no curve.
    void reserve(std::size_t columns, const unsigned char* kinds) {
        for (std::size_t j = numbers_.size(); j < columns; ++j) add_column(kinds[j] == 0);
    }
    std::size_t columns() const { return numbers_.size(); }

    // Writes the leaves of a row, as features, and returns their number. Columns that were never cut have none.
    // `intervals`: the positions of its values, for `learn`.
    std::size_t find(const TreeKernel& kernel, const double* row, std::size_t columns, std::uint32_t* leaves,
                     std::vector<std::uint8_t>& intervals) const {
        intervals.resize(numbers_.size());
        kernel.locate(thresholds_.data(), counts_.data(), row, columns, intervals.data());
        std::size_t found = 0;
        for (std::size_t j = 0; j < columns; ++j) {
            if (!numbers_[j]) continue;
            const bool missing = row[j] != row[j];
            leaves[found] = leaf(j, missing ? most : places_[j * most + intervals[j]]);
            found += missing || counts_[j] > 0;
        }
        return found;
    }

    // Counts the values of a row that was learned; `find` computed its intervals. `examples`: the number of examples
    // learned so far. Calls action(cut) when a leaf is cut.
    template <class Action>
    void learn(const double* row, std::size_t columns, const std::vector<std::uint8_t>& intervals,
               std::uint64_t examples, Action action) {
        for (std::size_t j = 0; j < columns; ++j) {
            if (row[j] != row[j] || !numbers_[j] || counts_[j] + 1u >= most) continue;
            const std::size_t place = places_[j * most + intervals[j]], at = j * most + place;
            std::uint64_t& seen = seen_[at];
            rings_[at * enough + seen % enough] = row[j];
            seen += 1;
            if (seen < enough || (counts_[j] + 1u >= usual && seen * usual < examples)) continue;
            if (const Cut cut = split(j, intervals[j], place); cut.right != cut.leaf) action(cut);
        }
    }

    void save(CurveState& to) const;
    // Throws InputError if `save` cannot produce this state.
    void load(const CurveState& from);

    std::size_t bytes() const { return numbers_.size() * (2 + most_thresholds * 8 + most * (1 + 8 + enough * 8)); }

  private:
    std::vector<char> numbers_;         // by column: whether it has numbers
    std::vector<double> thresholds_;    // [column][most_thresholds], increasing
    std::vector<std::uint8_t> counts_;  // of thresholds
    std::vector<std::uint8_t> places_;  // [column][interval]: the leaf's position
    std::vector<std::uint64_t> seen_;   // [column][place]
    std::vector<double> rings_;         // [column][place][enough]

    std::size_t leaves_of(std::size_t column) const { return numbers_[column] ? counts_[column] + 1u : 0; }
    static std::uint32_t leaf(std::size_t column, std::size_t place) {
        return static_cast<std::uint32_t>(column * each + place);
    }

    void add_column(bool number) {
        numbers_.push_back(number);
        thresholds_.resize(numbers_.size() * most_thresholds, std::numeric_limits<double>::infinity());
        counts_.push_back(0);
        places_.resize(numbers_.size() * most);
        seen_.resize(numbers_.size() * most);
        rings_.resize(numbers_.size() * most * enough);
    }

    // Cuts at the median of the stored values, or at the largest value below it if none is above. Does nothing if all
    // are equal.
    Cut split(std::size_t column, std::size_t interval, std::size_t place) {
        const std::size_t at = column * most + place;
        double sorted[enough];
        std::copy_n(&rings_[at * enough], enough, sorted);
        std::sort(sorted, sorted + enough);
        seen_[at] = 0;
        double threshold = sorted[(enough - 1) / 2];
        if (threshold == sorted[enough - 1]) {
            const double* const first = std::lower_bound(sorted, sorted + enough, threshold);
            if (first == sorted) return {};
            threshold = first[-1];
        }
        const auto stay = std::upper_bound(sorted, sorted + enough, threshold) - sorted;
        const std::size_t count = counts_[column]++, fresh = count + 1;
        double* const thresholds = &thresholds_[column * most_thresholds];
        std::uint8_t* const places = &places_[column * most];
        std::copy_backward(thresholds + interval, thresholds + count, thresholds + count + 1);
        std::copy_backward(places + interval + 1, places + count + 1, places + count + 2);
        thresholds[interval] = threshold;
        places[interval + 1] = static_cast<std::uint8_t>(fresh);
        seen_[column * most + fresh] = 0;
        return {leaf(column, place), leaf(column, fresh), static_cast<double>(stay) / enough, count == 0};
    }
};

}  // namespace unitless
