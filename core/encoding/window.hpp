// Decides from a window of examples whether the scale of a centered column should fall.
//
// A scale is the largest value so far. A column whose unit has become larger (from millimeters to meters) would keep
// the scale of the old unit forever. So every 4,000 examples: if all values of a column were far closer together than
// its scale, the scale and the mean are replaced by those of the window. Shorter windows would mistake a period of low
// variance for a change of unit.
//
// A scale that comes from one outlier, or from a column that drifts, is always far larger than the values around it. It
// must stay, because the weights were learned with it. Therefore a scale can fall only after it was proven: the first
// 128 values of some window had a spread that matches it. Most columns prove their scale in every window, and the rest
// of the window is then skipped.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace unitless {

struct Window {
    static constexpr std::uint64_t examples = 4000;  // the length of a window
    static constexpr double proof = 128;             // the number of values that can prove a scale
    static constexpr double spread = 8;              // a proven scale is at most this many times their root mean square
    static constexpr double enough = 1000;           // fewer values do not decide
    static constexpr double fall = 30;   // a falling scale is at least this many times the largest deviation
    static constexpr double grown = 16;  // and at most this many times its explanation (falls_from)

    double scale = 0;  // of the column when the window began
    double limit = 0;  // the scale, or the scale proven before if it is smaller
    double low = 0, high = 0;
    double first = 0;
    // Sums of the weighted distances from the first value, and of their squares, in units of the scale.
    double sum = 0, square = 0;
    double weight = 0;
    double count = 0;    // the number of values
    double inverse = 0;  // 1/scale

    Window() = default;
    Window(double begun_at, double proven)
        : scale(begun_at), limit(std::min(begun_at, proven)), inverse(1.0 / begun_at) {}
    // Whether a scale of this size has an inverse.
    static bool can_begin_at(double size) { return size > 0 && std::isfinite(1.0 / size); }

    // Adds a value to a window that is not over.
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
    // The mean square of the deviations from the mean, divided by the squared scale.
    double mean_square() const { return std::max(0.0, square / weight - (sum / weight) * (sum / weight)); }
    double root_mean_square() const { return scale * std::sqrt(mean_square()); }

    bool proves_scale() const { return count >= proof && spread * spread * mean_square() >= 1; }
    // Whether further values cannot change the decision. A column that does not vary does not show its unit.
    bool over() const {
        if (count < proof) return false;
        return proves_scale() || !(fall / 2 * (high - low) < limit) || (count >= enough && low == high);
    }

    // Whether the column's scale, which is now `now`, falls. If it has grown far beyond the proven scale, the reason
    // must be that the values have moved, as they do when a unit or an offset changes, and not an outlier.
    bool falls_from(double now, double proven, double mean_before) const {
        return !over() && count >= enough && fall * largest_deviation() < std::min(now, proven) &&
               now <= grown * std::max(proven, std::fabs(mean() - mean_before));
    }

    // Whether learning can produce this state.
    bool is_sound() const {
        const bool counted = count >= 0 && std::isfinite(count) && std::floor(count) == count;
        const bool begun = count > 0 ? weight > 0 && low <= first && first <= high
                                     : low == 0 && high == 0 && first == 0 && weight == 0 && sum == 0 && square == 0;
        return can_begin_at(scale) && std::isfinite(scale) && limit >= 0 && limit <= scale && std::isfinite(low) &&
               std::isfinite(high) && std::isfinite(weight) && !(square < 0) && counted && begun && !over();
    }
};

}  // namespace unitless
