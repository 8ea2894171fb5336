// The label without its unit and offset: y = c + u, c the first label, and the learning rate multiplied by R, the
// running size of u, where a step has no unit of its own. Then y -> a y + b maps predictions the same way.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

namespace unitless {

struct Target {
    bool on = false, paced = true, started = false;
    double centre = 0;                       // c
    double weight = 0, sum = 0, square = 0;  // of the labels: sum h, sum h u, sum h u^2

    // The label of one example becomes u; gives the pace, R or 1. Examples without weight are not looked at. A label
    // whose square leaves the range of numbers becomes infinite, so that the learner diverges there, and is not kept.
    double observe(double& y, double h) {
        if (h > 0 && !started) {
            started = true;
            centre = y;
        }
        y -= centre;
        if (h > 0) {
            const double more = weight + h, total = sum + h * y, squares = square + h * (y * y);
            if (!std::isfinite(more + total + squares)) return y = std::numeric_limits<double>::infinity();
            weight = more;
            sum = total;
            square = squares;
        }
        return pace();
    }
    double pace() const { return !paced ? 1.0 : weight > 0 ? std::sqrt(square / weight) : 0.0; }
};

}  // namespace unitless
