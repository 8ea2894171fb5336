// How large the errors of predictions are: quantiles of |error| that follow a stream, for intervals around predictions.
//
// The quantile tracking of Angelopoulos, Candès, Tibshirani, "Conformal PID control for time series prediction" (2023),
// after Gibbs, Candès, "Adaptive conformal inference under distribution shift" (2021):
//
//     R += (|r| - R) / min(n, 1000)
//     q  = max(0, q + g R (1[|r| > q] - (1 - level)))
//
// where r is the error of row n, R its mean size of late, and g the gain: 0.2, in the first 50 rows more. If q is too
// small, errors beyond it come too often, and it rises; so the share of the rows beyond q tends to 1 - level whatever
// the data does. R carries the unit of the label, and nothing else does.
//
// q is never at rest. Whoever follows each row needs it so; for many predictions in a row without labels its mean over
// the last rows, S += (q - S) 2/min(n, 1000), is a better answer: the steady quantiles.
//
// A row of weight h moves R and q as h rows of the mean weight would, but q not past the row's own error by more than
// one row of the mean weight could: many rows would turn back there.
#pragma once

#include <array>
#include <cstddef>

#include "simd/elementary.hpp"

namespace unitless {

class ErrorQuantiles {
  public:
    static constexpr std::array<double, 8> levels = {0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999};
    // Numbers in a state: rows, weight, R, the quantiles, the steady ones.
    static constexpr std::size_t count = 3 + 2 * levels.size();

    // A level that somebody asks for. Between two of ours |error| is taken to grow with log(1/(1 - level)), as it does
    // for exponential tails; below the first, from 0.
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
        std::size_t above_ = 0;  // the first of our levels that is not below
        double share_;           // how far this one is on the way there from the level before
    };

    explicit ErrorQuantiles(const double* state);
    void save(double* state) const;

    // How far from the prediction the truth lies at most, at a level; infinite while there are too few rows to say so:
    // of n errors and the one to come, the largest is beyond the others with probability 1/(n + 1). A level never
    // reaches less far than a smaller one, though their quantiles may cross on the way.
    double reach(const Level& at, bool steady) const;

    // The errors of rows, in order; weights: none if each is 1. An error that is not finite is beyond every
    // quantile and does not count for R. `reaches`, if given, gets what `reach` says before each row, not steadily.
    void follow(const double* errors, const double* weights, std::size_t rows, const Level& at, double* reaches);

  private:
    double rows_, weight_, size_;
    std::array<double, levels.size()> quantiles_, steady_;

    template <bool weighted>
    void follow_rows(const double* errors, const double* weights, std::size_t rows, const Level& at, double* reaches);
};

}  // namespace unitless
