// A second-order softmax learner over x[class][input], which starts as the members' mean. The inputs of a class are the
// members' log probabilities and, last, whether it is the last label.
//
//   score_c = w x_c;  prediction softmax(score/sqrt(1 + pi/8 d'Cd)), d = x_first - x_second of the two highest scores
//   w ~ Normal(w, C), C = 0.1 I before the first row
//   learning: w becomes the w' that minimizes (w' - w)'C^-1(w' - w)/2 - log p_y(w');  C = (C^-1 + Cov_p(x))^-1 + q I
//
// The minimum is approximated by three Newton steps, each of which changes no weight by more than a half. A row that
// counts h times has h log p_y and h Cov_p(x).
#pragma once

#include "ensemble/small_matrix.hpp"
#include "simd/elementary.hpp"

namespace unitless {

class ClassStacker {
  public:
    ClassStacker(std::size_t members, double drift) : n_(members + 1), drift_(drift) {
        for (std::size_t k = 0; k < n_; ++k) {
            if (k < members) w_[k] = 1.0 / static_cast<double>(members);
            covariance_[k][k] = 0.1 + drift_;
        }
    }

    // p: [class], the probabilities.
    void predict(const double* x, std::size_t classes, double* p) const {
        std::size_t first = 0, second = classes;
        for (std::size_t c = 0; c < classes; ++c) {
            p[c] = dot(w_.data(), x + c * n_, n_);
            if (c == 0) continue;
            if (p[c] > p[first]) {
                second = first;
                first = c;
            } else if (second == classes || p[c] > p[second]) {
                second = c;
            }
        }
        double variance = 0;
        if (second < classes) {
            SmallVector d{};
            for (std::size_t i = 0; i < n_; ++i) d[i] = x[first * n_ + i] - x[second * n_ + i];
            for (std::size_t i = 0; i < n_; ++i) variance += d[i] * dot(covariance_[i].data(), d.data(), n_);
        }
        softmax(p, classes, 1.0 / square_root(1.0 + pi_eighth * larger(0.0, variance)));
    }

    // p: scratch for [class].
    void learn(const double* x, std::size_t classes, std::size_t y, double weight, double* p) {
        with_size(n_, [&](const auto n) UNITLESS_INLINE_LAMBDA { learn(x, classes, y, weight, p, n); });
    }

    template <class Each>
    void numbers(Each each) {
        for (std::size_t i = 0; i < n_; ++i) {
            each(w_[i]);
            for (std::size_t j = 0; j < n_; ++j) each(covariance_[i][j]);
        }
    }
    // Whether all numbers are below a limit that no learned state comes near.
    bool sound() const {
        bool all = within(w_.data(), n_, 1e12);
        for (std::size_t i = 0; i < n_; ++i) all = all && within(covariance_[i].data(), n_, 1e12);
        return all;
    }

  private:
    static constexpr double pi_eighth = 0x1.921fb54442d18p-2;  // pi/8
    std::size_t n_;
    double drift_;  // q: the variance of the drift of w from one row to the next
    SmallVector w_{};
    SmallMatrix covariance_{};

    // Converts scores to probabilities.
    UNITLESS_INLINE static void softmax(double* p, std::size_t classes, double factor) {
        double highest = p[0], sum = 0;
        for (std::size_t c = 1; c < classes; ++c) highest = larger(highest, p[c]);
        for (std::size_t c = 0; c < classes; ++c) sum += p[c] = exp(factor * (p[c] - highest));
        for (std::size_t c = 0; c < classes; ++c) p[c] /= sum;
    }

    // The mean and covariance of x over the classes.
    struct Moments {
        SmallVector mean{};
        SmallMatrix covariance{};

        UNITLESS_INLINE Moments(const SmallVector& w, const double* x, std::size_t classes, std::size_t n, double* p) {
            for (std::size_t c = 0; c < classes; ++c) p[c] = dot(w.data(), x + c * n, n);
            softmax(p, classes, 1.0);
            for (std::size_t c = 0; c < classes; ++c)
                for (std::size_t i = 0; i < n; ++i) mean[i] += p[c] * x[c * n + i];
            for (std::size_t c = 0; c < classes; ++c) {
                SmallVector d;
                for (std::size_t i = 0; i < n; ++i) {
                    d[i] = x[c * n + i] - mean[i];
                    for (std::size_t j = 0; j <= i; ++j) covariance[i][j] += p[c] * (d[i] * d[j]);
                }
            }
        }
    };

    // m plus the weighted covariance; only the half that Factors reads.
    UNITLESS_INLINE static SmallMatrix added(SmallMatrix m, const Moments& moments, double weight, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j <= i; ++j) m[i][j] += weight * moments.covariance[i][j];
        return m;
    }

    UNITLESS_INLINE void learn(const double* x, std::size_t classes, std::size_t y, double weight, double* p,
                               std::size_t n) {
        Factors now(covariance_, n);
        if (!now.positive()) return;
        const SmallMatrix precision = now.inverse();
        SmallVector w = w_;
        for (int step = 0; step < 3; ++step) {
            const Moments moments(w, x, classes, n, p);
            SmallVector slope{}, away{};
            for (std::size_t i = 0; i < n; ++i) away[i] = w[i] - w_[i];
            for (std::size_t i = 0; i < n; ++i)
                slope[i] = weight * (x[y * n + i] - moments.mean[i]) - dot(precision[i].data(), away.data(), n);
            const SmallVector move = Factors(added(precision, moments, weight, n), n).solve(slope);
            double furthest = 0;
            for (std::size_t i = 0; i < n; ++i) {
                w[i] += smaller(0.5, larger(-0.5, move[i]));
                furthest = larger(furthest, absolute(move[i]));
            }
            if (furthest < 1e-9) break;  // the next step would be about the square of this one
        }
        Factors then(added(precision, Moments(w, x, classes, n, p), weight, n), n);
        if (!then.positive()) return;
        w_ = w;
        covariance_ = then.inverse();
        for (std::size_t i = 0; i < n; ++i) covariance_[i][i] += drift_;
    }
};

}  // namespace unitless
