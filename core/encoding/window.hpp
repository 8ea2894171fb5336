// What a centered column has shown within a window of examples: is its scale to fall?
//
// A column whose unit has become larger (millimetres, now metres) would keep the scale of the old unit for ever: a
// scale is the largest value so far. So every 4,000 examples, if a column's values have all been far closer together
// than its scale says, the scale becomes theirs, and so does the mean. Shorter windows would take a calm time for
// another unit.
//
// But a scale that comes from one outlier, or from a column that drifts, is far larger than the values around it all
// the time, and must stay: the weights were learned so. Therefore a scale has to be proven first: the first values of
// some window, 128 in a row, spread as far as it says. Most columns prove theirs in every window, and what follows in
// the window need not be looked at any more.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace unitless {

struct Window {
    static constexpr std::uint64_t examples = 4000;  // that a window is long
    static constexpr double proof = 128;             // values: do they spread as far as the scale says?
    static constexpr double spread = 8;              // it is at most so many times their root mean square then
    static constexpr double enough = 1000;           // values: fewer do not say what a column is like now
    static constexpr double fall = 30;               // a scale that falls is so many times the largest deviation
    static constexpr double grown = 16;              // and at most so many times what explains it

    double scale = 0;  // of the column when the window began
    double limit = 0;  // that, or the scale that was proven before if it is smaller
    double low = 0, high = 0;
    double first = 0;
    double sum = 0, square = 0;  // of the weighted distances from the first value, and their squares, over the scale
    double weight = 0;
    double count = 0;    // values, whatever their weights
    double inverse = 0;  // of the scale

    Window() = default;
    Window(double begun_at, double proven)
        : scale(begun_at), limit(std::min(begun_at, proven)), inverse(1.0 / begun_at) {}
    // Has a scale of this size an inverse?
    static bool can_begin_at(double size) { return size > 0 && std::isfinite(1.0 / size); }

    // The next value, of a window that is not over.
    void observe(double x, double h) {
        x += 0.0;  // turns -0 into 0
        if (count == 0) low = high = first = x;
        low = std::min(low, x);
        high = std::max(high, x);
        const double distance = (x - first) * inverse;
        sum += h * distance;
        square += h * distance * distance;
        weight += h;
        count += 1;
    }

    double mean() const { return std::clamp(first + scale * (sum / weight), low, high); }
    double largest_deviation() const { return std::max(high - mean(), mean() - low); }
    // Of the deviations from the mean, over the scale.
    double mean_square() const { return std::max(0.0, square / weight - (sum / weight) * (sum / weight)); }
    double root_mean_square() const { return scale * std::sqrt(mean_square()); }

    bool proves_scale() const { return count >= proof && spread * spread * mean_square() >= 1; }
    // Is there nothing more to be learned from it? A column that does not vary says nothing of its unit.
    bool over() const {
        if (count < proof) return false;
        return proves_scale() || !(fall / 2 * (high - low) < limit) || (count >= enough && low == high);
    }

    // Does the column's scale fall, if it is this one now? If it has grown far beyond the one that was proven, that
    // must be because the values have gone elsewhere, as they do when a unit or an offset changes, and not by an
    // outlier.
    bool falls_from(double now, double proven, double mean_before) const {
        return !over() && count >= enough && fall * largest_deviation() < std::min(now, proven) &&
               now <= grown * std::max(proven, std::fabs(mean() - mean_before));
    }

    // Could learning have given it?
    bool is_sound() const {
        const bool counted = count >= 0 && std::isfinite(count) && std::floor(count) == count;
        const bool begun = count > 0 ? weight > 0 && low <= first && first <= high
                                     : low == 0 && high == 0 && first == 0 && weight == 0 && sum == 0 && square == 0;
        return can_begin_at(scale) && std::isfinite(scale) && limit >= 0 && limit <= scale && std::isfinite(low) &&
               std::isfinite(high) && std::isfinite(weight) && !(square < 0) && counted && begun && !over();
    }
};

}  // namespace unitless
