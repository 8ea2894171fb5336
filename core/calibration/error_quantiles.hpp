// Quantiles of |error| over a stream of predictions, for prediction intervals.
//
// The quantile tracking of Angelopoulos, Candès, Tibshirani, "Conformal PID control for time series prediction" (2023),
// after Gibbs, Candès, "Adaptive conformal inference under distribution shift" (2021):
//
//     R += (|r| - R) / min(n, 1000)
//     q  = max(0, q + g R (1[|r| > q] - (1 - level)))
//
// where r is the error of row n, R the mean size of the errors of about the last 1000 rows, and g the gain: 0.2, and
// more in the first 50 rows. If q is too small, errors exceed it too often, and it rises. So the share of rows whose
// errors exceed q tends to 1 - level, whatever the data is. Errors may have any unit; those of numbers are divided by
// their scale before (number_intervals.hpp).
//
// Every row changes q. A caller that updates the quantiles after each row needs this q. For many predictions without
// labels between them, the mean of q over the last rows is more accurate: S += (q - S) 2/min(n, 1000), the steady
// quantile.
//
// A row of weight h changes R and q as h rows of the mean weight would. But q passes the row's own error by at most the
// change of one row of the mean weight, because several rows would turn back there.
#pragma once

#include <array>
#include <cstddef>

#include "simd/elementary.hpp"

namespace unitless {

class ErrorQuantiles {
  public:
    // The levels whose quantiles are tracked.
    static constexpr std::array<double, 8> levels = {0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999};
    // Numbers in a state: rows, weight, R, the quantiles, the steady quantiles.
    static constexpr std::size_t count = 3 + 2 * levels.size();

    // Any level up to the largest tracked one. Between two tracked levels |error| is assumed to grow with log(1/(1 -
    // level)), as it does for exponential tails; below the first level, from 0.
    class Level {
      public:
        explicit Level(double level) : level_(level) {
            while (above_ + 1 < levels.size() && levels[above_] < level) ++above_;
            const double start = above_ == 0 ? 0.0 : log1p(-levels[above_ - 1]);
            share_ = levels[above_] == level ? 1.0 : (log1p(-level) - start) / (log1p(-levels[above_]) - start);
        }

      private:
        friend class ErrorQuantiles;
        double level_;
        std::size_t above_ = 0;  // the first tracked level that is not below
        double share_;           // the position between the tracked level before (0) and that one (1)
    };

    explicit ErrorQuantiles(const double* state);
    void save(double* state) const;

    // Half the width of the prediction interval at a level. It is infinite while there are too few rows: among n errors
    // and the next one, the next one is the largest with probability 1/(n + 1). It never decreases with the level,
    // though the tracked quantiles may cross for a while.
    double half_width(const Level& at, bool steady) const;

    // Learns the errors of rows, in order. `weights`: null if each is 1. An error that is not finite exceeds every
    // quantile and does not count for R. `half_widths`, if not null, receives the half width before each row, not
    // steady.
    void update(const double* errors, const double* weights, std::size_t rows, const Level& at, double* half_widths);

  private:
    double rows_, weight_, size_;
    std::array<double, levels.size()> quantiles_, steady_;

    template <bool weighted>
    void update_rows(const double* errors, const double* weights, std::size_t rows, const Level& at,
                     double* half_widths);
};

}  // namespace unitless
