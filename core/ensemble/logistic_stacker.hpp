// A second-order logistic learner over x, the members' log odds and the last label (+1 or -1; 0: none), which starts as
// the members' mean.
//
//   m = o + mean(members) + u x, v = x'Cx:  prediction m/sqrt(1 + pi v/8)
//   u ~ Normal(0, C), C = 0.1 I before the first row
//   g = 1/(1 + e^(y m + v g)):  u += y g C x;  H = g (1 - g);  C -= H/(1 + H v) (Cx)(Cx)';  C += q I
//
// o is the row's offset, which the members' scores x do not include. The step is implicit: g is the loss's slope after
// the step. A row that counts h times has h g and h H.
#pragma once

#include "algorithm/implicit_logistic.hpp"
#include "ensemble/small_matrix.hpp"
#include "simd/elementary.hpp"

namespace unitless {

class LogisticStacker {
  public:
    static constexpr double limit = 30.0;  // of the members' log odds

    LogisticStacker(std::size_t members, double drift) : n_(members + 1), drift_(drift) {
        for (std::size_t k = 0; k < n_; ++k) covariance_[k][k] = 0.1 + drift_;
    }

    double predict(const double* x, double offset) const {
        const Belief belief(*this, x, offset);
        return belief.mean / square_root(1.0 + pi_eighth * belief.variance);
    }

    void learn(const double* x, double y, double weight, double offset) {
        const Belief belief(*this, x, offset);
        const double g = implicit_logistic_slope(y * belief.mean, weight * belief.variance);
        const double H = weight * g * (1.0 - g), f = H / (1.0 + H * belief.variance);
        for (std::size_t i = 0; i < n_; ++i) {
            u_[i] += y * weight * g * belief.k[i];
            for (std::size_t j = 0; j < n_; ++j) covariance_[i][j] -= f * (belief.k[i] * belief.k[j]);
            covariance_[i][i] += drift_;
        }
    }

    template <class Each>
    void numbers(Each each) {
        for (std::size_t i = 0; i < n_; ++i) {
            each(u_[i]);
            for (std::size_t j = 0; j < n_; ++j) each(covariance_[i][j]);
        }
    }
    // Whether all numbers are below a limit that no learned state comes near.
    bool sound() const {
        bool all = within(u_.data(), n_, 1e12);
        for (std::size_t i = 0; i < n_; ++i) all = all && within(covariance_[i].data(), n_, 1e12);
        return all;
    }

  private:
    static constexpr double pi_eighth = 0x1.921fb54442d18p-2;  // pi/8
    std::size_t n_;
    double drift_;  // q: the variance of the drift of u from one row to the next
    SmallVector u_{};
    SmallMatrix covariance_{};

    // The distribution of a row's score: mean, variance, and k = C x.
    struct Belief {
        SmallVector k;
        double mean = 0, variance = 0;

        Belief(const LogisticStacker& of, const double* x, double offset) {
            double sum = 0;
            for (std::size_t i = 0; i < of.n_; ++i) {
                k[i] = dot(of.covariance_[i].data(), x, of.n_);
                variance += x[i] * k[i];
                if (i + 1 < of.n_) sum += x[i];
            }
            mean = offset + (sum / static_cast<double>(of.n_ - 1) + dot(of.u_.data(), x, of.n_));
            variance = larger(0.0, variance);  // it can be negative only by rounding
        }
    };
};

}  // namespace unitless
