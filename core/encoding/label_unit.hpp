// The label without its unit and offset: y = c + u, c the first label, and the learning rate multiplied by R, the
// running size of u, where a step has no unit of its own. Then y -> a y + b maps predictions the same way.
//
// One wrong label must not capture R, or the weights. A label is far if it lies outside the range of all n labels
// before it, at least three, by more than 16 + 1024/n times that range: labels without errors hardly ever do. A far
// label is learned as the nearest label of the range, unless another far one came within the last 100 rows: then the
// labels really go that far, and it is learned as it is. Rows that have been learned before confirm nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace unitless {

struct LabelUnit {
    bool on = false;                         // is the unit learned at all?
    bool in_rate = true;                     // does R multiply the learning rate?
    bool started = false;                    // has there been a label?
    bool repeated = false;                   // rows have been learned before, in an earlier pass
    double center = 0;                       // c
    double weight = 0, sum = 0, square = 0;  // of the labels: sum h, sum h u, sum h u^2
    double far_rows = 0;                     // for so many more rows a far label is learned as it is
    double limited = 0;                      // far labels that were learned as the nearest label of the range
    // The range of u and the number of labels. Engines keep them too: files have them from there.
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    double rows = 0;

    // The label of one example becomes u; gives what multiplies the learning rate, R or 1. Examples without
    // weight change nothing. A label
    // whose square leaves the range of numbers becomes infinite, so that the learner diverges there, and is not kept.
    double observe(double& y, double h) {
        if (h > 0 && !started) {
            started = true;
            center = y;
        }
        y -= center;
        if (h > 0) {
            limit(y);
            const double more = weight + h, total = sum + h * y, squares = square + h * (y * y);
            if (!std::isfinite(more + total + squares)) return y = std::numeric_limits<double>::infinity();
            weight = more;
            sum = total;
            square = squares;
            low = std::min(low, y);
            high = std::max(high, y);
            rows += 1;
        }
        return scale();
    }
    double scale() const { return !in_rate ? 1.0 : weight > 0 ? std::sqrt(square / weight) : 0.0; }

  private:
    static constexpr double far_ranges = 16, early_ranges = 1024, fewest_rows = 3, confirming_rows = 100;

    void limit(double& u) {
        const double range = high - low, margin = range * (far_ranges + early_ranges / rows);
        const bool confirmed = far_rows > 0 && !repeated;
        if (far_rows > 0) far_rows -= 1;
        if (rows < fewest_rows || !(range > 0) || (low - margin <= u && u <= high + margin))
            return;  // without a range nothing is far
        far_rows = confirming_rows;
        if (confirmed) return;
        limited += 1;
        u = std::clamp(u, low, high);
    }
};

}  // namespace unitless
