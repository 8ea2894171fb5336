// Curves: each column of numbers is cut at values that it has shown, and the interval that a value falls into is a
// feature. Cuts are comparisons of values with values, so that a curve sees their order and nothing else: any monotone
// change of a column changes no bit. Cuts never move; they only become more, where many values fall.
//
// A leaf is an interval. It keeps its last values, and counts those that fell into it since it was made; when there
// are enough of them, it is cut at their median. What a cut does to weights is the experts' to do: they are told.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/errors.hpp"
#include "engine/shapes/kernel.hpp"

namespace unitless {

class Curves {
  public:
    static constexpr std::size_t enough = 32;      // values in a leaf before it may be cut, and those that it keeps
    static constexpr std::size_t usual = 16;       // leaves of a curve; from there on only large ones are cut,
    static constexpr std::size_t most = 32;        // up to this
    static constexpr std::size_t each = most + 1;  // places for leaves of a column: the last is for values missing
    static_assert(most - 1 <= most_thresholds);

    // A leaf has become two: those of its values that are not above the threshold stay, the others go to `right`.
    struct Cut {
        std::uint32_t leaf, right;
        double share;  // of the values that stay
        bool first;    // of its column: before, there was no feature
    };

    // Columns that join; text has no curve.
    void reserve(std::size_t columns, const unsigned char* kinds) {
        for (std::size_t j = columns_.size(); j < columns; ++j) add_column(kinds[j] == 0);
    }
    std::size_t columns() const { return columns_.size(); }
    std::size_t leaf_count() const { return columns_.size() * each; }
    std::size_t leaves_of(std::size_t column) const { return columns_[column].number ? counts_[column] + 1u : 0; }

    // The leaves of a row, as features; gives how many. Columns that have never been cut have none.
    std::size_t find(const ShapeKernel& kernel, const double* row, std::size_t columns, std::uint32_t* leaves) {
        intervals_.resize(columns_.size());
        kernel.locate(thresholds_.data(), counts_.data(), row, columns, intervals_.data());
        std::size_t found = 0;
        for (std::size_t j = 0; j < columns; ++j) {
            if (!columns_[j].number) continue;
            const bool missing = row[j] != row[j];
            leaves[found] = leaf(j, missing ? most : places_[j * most + intervals_[j]]);
            found += missing || counts_[j] > 0;
        }
        return found;
    }

    // After a row that `find` was asked for has been learned, `examples` in all: counts its values; calls
    // action(cut) where a leaf becomes two.
    template <class Action>
    void learn(const double* row, std::size_t columns, std::uint64_t examples, Action action) {
        for (std::size_t j = 0; j < columns; ++j) {
            if (row[j] != row[j] || !columns_[j].number || counts_[j] + 1u >= most) continue;
            const std::size_t place = places_[j * most + intervals_[j]], at = j * most + place;
            std::uint64_t& seen = seen_[at];
            rings_[at * enough + seen % enough] = row[j];
            seen += 1;
            if (seen < enough || (counts_[j] + 1u >= usual && seen * usual < examples)) continue;
            if (const Cut cut = split(j, intervals_[j], place); cut.right != cut.leaf) action(cut);
        }
    }

    // ---- state

    struct Interval {
        double low, high;  // the threshold below, and the one above; infinite at the ends
        std::uint32_t leaf;
    };
    std::vector<Interval> intervals_of(std::size_t column) const {
        std::vector<Interval> all;
        const double infinite = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < leaves_of(column); ++i)
            all.push_back({i ? thresholds_[column * most_thresholds + i - 1] : -infinite,
                           i < counts_[column] ? thresholds_[column * most_thresholds + i] : infinite,
                           leaf(column, places_[column * most + i])});
        return all;
    }

    void save(std::vector<double>& counts, std::vector<double>& thresholds, std::vector<double>& places,
              std::vector<double>& seen, std::vector<double>& values) const;
    // Throws if that is not what `save` could have given.
    void load(const std::vector<double>& counts, const std::vector<double>& thresholds,
              const std::vector<double>& places, const std::vector<double>& seen, const std::vector<double>& values);

    std::size_t bytes() const {
        return columns_.size() * (sizeof(Column) + 1 + most_thresholds * 8 + most * (1 + 8 + enough * 8));
    }

  private:
    struct Column {
        bool number;
    };
    std::vector<Column> columns_;
    std::vector<double> thresholds_;    // [column][most_thresholds], rising
    std::vector<std::uint8_t> counts_;  // of thresholds
    std::vector<std::uint8_t> places_;  // [column][interval]: the leaf's place
    std::vector<std::uint64_t> seen_;   // [column][place]
    std::vector<double> rings_;         // [column][place][enough]
    std::vector<std::uint8_t> intervals_;

    static std::uint32_t leaf(std::size_t column, std::size_t place) {
        return static_cast<std::uint32_t>(column * each + place);
    }

    void add_column(bool number) {
        columns_.push_back({number});
        thresholds_.resize(columns_.size() * most_thresholds, std::numeric_limits<double>::infinity());
        counts_.push_back(0);
        places_.resize(columns_.size() * most);
        seen_.resize(columns_.size() * most);
        rings_.resize(columns_.size() * most * enough);
    }

    // At the median of the values kept, or at the largest below it if none is above; not at all if all are equal.
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

inline void Curves::save(std::vector<double>& counts, std::vector<double>& thresholds, std::vector<double>& places,
                         std::vector<double>& seen, std::vector<double>& values) const {
    for (std::size_t j = 0; j < columns_.size(); ++j) {
        counts.push_back(static_cast<double>(leaves_of(j)));
        for (std::size_t i = 0; i < leaves_of(j); ++i) {
            if (i < counts_[j]) thresholds.push_back(thresholds_[j * most_thresholds + i]);
            const std::size_t place = places_[j * most + i], at = j * most + place;
            places.push_back(static_cast<double>(place));
            seen.push_back(static_cast<double>(seen_[at]));
            values.insert(values.end(), &rings_[at * enough], &rings_[at * enough] + enough);
        }
    }
}

inline void Curves::load(const std::vector<double>& counts, const std::vector<double>& thresholds,
                         const std::vector<double>& places, const std::vector<double>& seen,
                         const std::vector<double>& values) {
    Curves fresh;
    std::size_t leaves = 0, cuts = 0;
    const auto require = [](bool sound) {
        if (!sound) throw InputError("the curves are not such as learning gives");
    };
    for (const double count : counts) {
        require(count >= 0 && count <= most && count == std::floor(count));
        fresh.add_column(count > 0);
        leaves += static_cast<std::size_t>(count);
        cuts += count > 0 ? static_cast<std::size_t>(count) - 1 : 0;
    }
    require(thresholds.size() == cuts && places.size() == leaves && seen.size() == leaves &&
            values.size() == leaves * enough);
    std::size_t at_leaf = 0, at_cut = 0;
    for (std::size_t j = 0; j < counts.size(); ++j) {
        const auto count = static_cast<std::size_t>(counts[j]);
        bool met[most] = {};
        for (std::size_t i = 0; i < count; ++i) {
            const double place = places[at_leaf], rows = seen[at_leaf];
            require(place >= 0 && place < static_cast<double>(count) && place == std::floor(place));
            require(rows >= 0 && rows < 0x1p53 && rows == std::floor(rows));
            const auto to = static_cast<std::size_t>(place);
            require(!met[to]);
            met[to] = true;
            fresh.places_[j * most + i] = static_cast<std::uint8_t>(to);
            fresh.seen_[j * most + to] = static_cast<std::uint64_t>(rows);
            for (std::size_t k = 0; k < enough; ++k) {
                require(std::isfinite(values[at_leaf * enough + k]));
                fresh.rings_[(j * most + to) * enough + k] = values[at_leaf * enough + k];
            }
            ++at_leaf;
            if (i + 1 == count) break;
            const double threshold = thresholds[at_cut++];
            require(std::isfinite(threshold) && (i == 0 || threshold > thresholds[at_cut - 2]));
            fresh.thresholds_[j * most_thresholds + i] = threshold;
        }
        if (count) fresh.counts_[j] = static_cast<std::uint8_t>(count - 1);
    }
    *this = std::move(fresh);
}

}  // namespace unitless
