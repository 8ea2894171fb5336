// A second-order logistic learner over the experts' log odds x, which starts as their mean.
//
//   m = o + mean(x) + u x, v = x'Cx:  says m/sqrt(1 + pi v/8)          u ~ Normal(0, C), C = 0.1 I before the first row
//   g = 1/(1 + e^(y m + v g)):    u += y g C x;  H = g (1 - g);  C -= H/(1 + H v) (Cx)(Cx)';  C += q I
//
// o is the row's offset: x is what the experts say beside it. The step is implicit: g is the loss's slope after it. A
// row that counts h times has h g and h H.
#pragma once

#include "engine/shapes/small_matrix.hpp"
#include "simd/elementary.hpp"

namespace unitless {

class LogisticStacker {
  public:
    static constexpr double limit = 30.0;  // of the log odds that it is given

    LogisticStacker(std::size_t experts, double walk) : n_(experts), walk_(walk) {
        for (std::size_t k = 0; k < n_; ++k) covariance_[k][k] = 0.1 + walk_;
    }

    double say(const double* x, double offset) const {
        const View view(*this, x, offset);
        return view.mean / square_root(1.0 + pi_eighth * view.variance);
    }

    void learn(const double* x, double y, double weight, double offset) {
        const View view(*this, x, offset);
        const double g = slope(y * view.mean, weight * view.variance), H = weight * g * (1.0 - g);
        const double f = H / (1.0 + H * view.variance);
        for (std::size_t i = 0; i < n_; ++i) {
            u_[i] += y * weight * g * view.k[i];
            for (std::size_t j = 0; j < n_; ++j) covariance_[i][j] -= f * (view.k[i] * view.k[j]);
            covariance_[i][i] += walk_;
        }
    }

    template <class Each>
    void numbers(Each each) {
        for (std::size_t i = 0; i < n_; ++i) {
            each(u_[i]);
            for (std::size_t j = 0; j < n_; ++j) each(covariance_[i][j]);
        }
    }
    // No state that was ever learned comes near to this.
    bool sound() const {
        bool all = within(u_.data(), n_, 1e12);
        for (std::size_t i = 0; i < n_; ++i) all = all && within(covariance_[i].data(), n_, 1e12);
        return all;
    }

  private:
    static constexpr double pi_eighth = 0x1.921fb54442d18p-2;  // pi/8
    std::size_t n_;
    double walk_;  // q: what u may have moved from one row to the next
    SmallVector u_{};
    SmallMatrix covariance_{};

    // What it makes of a row.
    struct View {
        SmallVector k;
        double mean = 0, variance = 0;

        View(const LogisticStacker& of, const double* x, double offset) {
            double sum = 0;
            for (std::size_t i = 0; i < of.n_; ++i) {
                k[i] = dot(of.covariance_[i].data(), x, of.n_);
                variance += x[i] * k[i];
                sum += x[i];
            }
            mean = offset + (sum / static_cast<double>(of.n_) + dot(of.u_.data(), x, of.n_));
            variance = larger(0.0, variance);  // below 0 it can only be by rounding
        }
    };

    // g = 1/(1 + e^(z + v g)) by Newton's method, which bisection helps where the curve bends: g falls in v g, so what
    // g would be without it is an upper bound; and another is that v g takes z + v g to where v/(1 + e^...) is below 1.
    static double slope(double z, double v) {
        double high = inverse_of_one_plus_exp(z), low = 0;
        double g = high / (1.0 + v * high * (1.0 - high));  // Newton's first step, from 0
        if (v * high > 1.0) {
            high = smaller(high, (larger(0.0, -z) + log1p(v)) / v);
            g = smaller(g, high);
        }
        for (int step = 0; step < 60; ++step) {
            const double s = inverse_of_one_plus_exp(z + v * g), gap = g - s;
            (gap > 0 ? high : low) = g;
            double next = g - gap / (1.0 + v * s * (1.0 - s));
            if (!(next >= low && next <= high)) next = 0.5 * (low + high);
            const double moved = v * absolute(next - g);
            g = next;
            if (!(moved > 4e-9)) break;  // what is left of g is less than half the square of this, relative to g
        }
        return g;
    }
};

}  // namespace unitless
