// What a centred column has shown within a window of examples: is its scale to fall?
//
// A column whose unit has become larger (millimetres, now metres) keeps the scale of the old one for ever: a scale is
// the largest value so far. So every 4,000 examples, if a column's values have all been far closer together than its
// scale says, the scale becomes theirs, and so does the mean. Shorter windows would take a calm time for another unit.
//
// Nearly every window of a column is over with its first few rows, for two of its values are far enough apart to say
// that its scale is right: then there is nothing to be kept of it any more.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace unitless {

struct Window {
    static constexpr std::uint64_t examples = 4000;  // that a window is long
    static constexpr double enough = 1000;           // values: fewer do not say what a column is like
    static constexpr double fall = 30;               // the scale must be so many times the largest deviation

    double scale = 0;  // of the column when the window began
    double low = 0, high = 0;
    double mean = 0, weight = 0;
    double square = 0;  // sum of the weighted squared deviations, in units of the scale
    double count = 0;   // values, whatever their weights

    // Are its values so far apart that the scale will not fall, whatever follows?
    bool over() const { return !(fall / 2 * (high - low) < scale); }

    // The next value, of a window that is not over.
    void observe(double x, double h) {
        x += 0.0;  // turns -0 into 0
        low = count > 0 ? std::min(low, x) : x;
        high = count > 0 ? std::max(high, x) : x;
        count += 1;
        if (over()) return;
        weight += h;
        const double before = count > 1 ? x - mean : 0.0;
        mean = count > 1 ? std::clamp(mean + h / weight * before, low, high) : x;
        square += std::max(0.0, h * (before / scale) * ((x - mean) / scale));
    }

    double largest_deviation() const { return std::max(high - mean, mean - low); }
    double root_mean_square() const { return scale * std::sqrt(square / weight); }

    // Does a scale of this size fall? One that never varied says nothing of its unit.
    bool falls_from(double size) const {
        return !over() && count >= enough && low < high && fall * largest_deviation() < size;
    }

    // Could learning have given it?
    bool is_sound() const {
        const bool counted = count >= 0 && std::isfinite(count) && std::floor(count) == count;
        const bool begun = count > 0 ? weight > 0 && low <= mean && mean <= high
                                     : low == 0 && high == 0 && mean == 0 && weight == 0 && square == 0;
        return scale > 0 && std::isfinite(scale) && std::isfinite(low) && std::isfinite(high) &&
               std::isfinite(weight) && square >= 0 && std::isfinite(square) && counted && begun && !over();
    }
};

}  // namespace unitless
