// Removes the unit and offset of the label: y = c + u, where c is the first label. For losses whose steps do not have
// the label's unit, the learning rate is multiplied by R, the running size of u. Then replacing y by a y + b replaces
// every prediction p by a p + b.
//
// One wrong label must not dominate R or the weights. A label is far if it lies outside the range of all n earlier
// labels, at least three, by more than 16 + 1024/n times that range. Correct labels are hardly ever far. A far label is
// learned as the nearest label of the range, unless another far label occurred within the last 100 rows: then the
// labels really reach that far, and it is learned unchanged. Rows that were learned in an earlier pass confirm nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace unitless {

struct LabelUnit {
    bool on = false;                         // whether the unit is learned
    bool in_rate = true;                     // whether R multiplies the learning rate
    bool started = false;                    // whether there has been a label
    bool repeated = false;                   // the rows were learned before, in an earlier pass
    double center = 0;                       // c
    double weight = 0, sum = 0, square = 0;  // of the labels: sum h, sum h u, sum h u^2
    double far_rows = 0;                     // for this many more rows, a far label is learned unchanged
    double limited = 0;                      // the number of far labels learned as the nearest label
    // The range of u and the number of labels. Engines store them too, and model files take them from there.
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    double rows = 0;

    // Replaces the label of one example by u, and returns the factor of the learning rate, R or 1. Examples of weight 0
    // change nothing. A label whose square overflows becomes infinite, so that the learner diverges there, and is not
    // stored.
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
            return;  // without a range no label is far
        far_rows = confirming_rows;
        if (confirmed) return;
        limited += 1;
        u = std::clamp(u, low, high);
    }
};

}  // namespace unitless
