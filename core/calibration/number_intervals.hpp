// Prediction intervals of numbers: p ± q s(p).
//
// s(p) is the scale of errors at the prediction (error_scale.hpp), and q a quantile of |error|/s (error_quantiles.hpp).
// The scale says where errors are large, and q makes the share of covered rows the level, whatever the scale is: it is
// conformal prediction with locally weighted errors (Lei, G'Sell, Rinaldo, Tibshirani, Wasserman, "Distribution-free
// predictive inference for regression", 2018, section 5.2), online. If no label was negative, the lower limit is at
// least 0; if none was positive, the upper limit is at most 0. (Among n + 1 rows the last one is the first with another
// sign with probability at most 1/(n + 1), and there is an interval only if n is so large that this is at most 1 -
// level.)
//
// Each row is measured by the scale of the rows before it. Only the first row is measured by its own error.
#pragma once

#include <cstddef>

#include "calibration/error_quantiles.hpp"
#include "calibration/error_scale.hpp"

namespace unitless {

struct Interval {
    double low, high;
};

class NumberIntervals {
  public:
    // Numbers in a state: the quantiles, the scale, whether a label was negative, whether one was positive.
    static constexpr std::size_t count = ErrorQuantiles::count + ErrorScale::count + 2;

    explicit NumberIntervals(const double* state);
    void save(double* state) const;

    // The interval of a prediction. `reach`: a quantile of |error|/s, which is the half width in units of the scale; if
    // it is infinite, because there are too few rows, so are both limits.
    Interval around(double prediction, double reach) const;

    // Learns predicted rows, in order. `weights`: null if each is 1; a row of weight 0 changes nothing. `low` and
    // `high`, if not null, receive the interval of each row before it is learned, not steady.
    void update(const double* predictions, const double* labels, const double* weights, std::size_t rows,
                const ErrorQuantiles::Level& at, double* low, double* high);

    // Learns the scale and the labels' sign only, from rows of weight above 0.
    void update_scale(const double* predictions, const double* labels, std::size_t rows);

    // |error| divided by the scale at the prediction.
    double scaled_error(double prediction, double label) const;

  private:
    ErrorQuantiles quantiles_;
    ErrorScale scale_;
    bool negative_, positive_;  // whether there was such a label

    void add(double prediction, double label);
};

}  // namespace unitless
