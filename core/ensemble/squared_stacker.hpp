// Least squares over the differences of the members' predictions p from their mean m: the prediction is m + w x, x = p
// - m, within the range of the labels so far.
//
//   w = (A + n s I + 1e-12 diag A)^-1 b, s = V/N the stacker's own squared error (0: w = 0)
//   f = max(0, 1 - h/t):  A = f A + x x';  b = f b + x (y - m);  V = f V + (prediction - y)^2;  N = f N + 1
//
// A row that counts several times adds that many times as much. A, b and V have the square of the unit that the caller
// chooses; w has no unit.
#pragma once

#include "ensemble/small_matrix.hpp"
#include "simd/elementary.hpp"

namespace unitless {

class SquaredStacker {
  public:
    SquaredStacker(std::size_t members, double forgetting) : n_(members), forgetting_(forgetting) {}

    // The stacker's difference from the members' mean, in the unit of x.
    double predict(const double* x) const { return dot(w_.data(), x, n_); }

    void change_unit(double squared_ratio) {
        for (std::size_t i = 0; i < n_; ++i) {
            for (std::size_t j = 0; j < n_; ++j) a_[i][j] *= squared_ratio;
            b_[i] *= squared_ratio;
        }
        v_ *= squared_ratio;
    }

    // Learns row t. `label` is y - m and `error` is prediction - y, both in the unit, like x.
    void learn(const double* x, double label, double error, double weight, double t) {
        const double f = larger(0.0, 1.0 - forgetting_ / t);
        for (std::size_t i = 0; i < n_; ++i) {
            const double counted = weight * x[i];
            for (std::size_t j = 0; j < n_; ++j) a_[i][j] = f * a_[i][j] + counted * x[j];
            b_[i] = f * b_[i] + counted * label;
        }
        v_ = f * v_ + weight * (error * error);
        total_ = f * total_ + weight;
        set_weights();
    }

    // Computes w for the next row.
    void set_weights() {
        w_ = {};
        const double s = v_ / total_;
        if (!(s > 0)) return;
        SmallMatrix m;
        for (std::size_t i = 0; i < n_; ++i) {
            for (std::size_t j = 0; j < i; ++j) m[i][j] = a_[i][j];
            m[i][i] = a_[i][i] + static_cast<double>(n_) * s + 1e-12 * a_[i][i];
        }
        Factors factors(m, n_);
        if (factors.positive()) w_ = factors.solve(b_);
    }

    template <class Each>
    void numbers(Each each) {
        for (std::size_t i = 0; i < n_; ++i) {
            for (std::size_t j = 0; j < n_; ++j) each(a_[i][j]);
            each(b_[i]);
        }
        each(v_);
        each(total_);
    }
    bool sound() const {
        for (std::size_t i = 0; i < n_; ++i)
            if (!(a_[i][i] >= 0)) return false;
        return v_ >= 0 && total_ >= 0;
    }

  private:
    std::size_t n_;
    double forgetting_;  // h
    SmallMatrix a_{};
    SmallVector b_{}, w_{};
    double v_ = 0, total_ = 0;
};

}  // namespace unitless
