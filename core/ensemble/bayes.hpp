// Bayes' rule over candidates that predict probabilities. After every row each candidate gets a fixed share of the
// weights, so that a candidate that was wrong can recover.
//
//   w_k <- (1 - a) w_k p_k(y) / sum of w p(y) + a/n
#pragma once

#include "ensemble/small_matrix.hpp"
#include "simd/elementary.hpp"

namespace unitless {

class Bayes {
  public:
    explicit Bayes(std::size_t candidates) : n_(candidates) {
        for (std::size_t k = 0; k < n_; ++k) weights_[k] = 1.0 / static_cast<double>(n_);
    }

    const double* weights() const { return weights_.data(); }

    // p: the candidates' probabilities of the label of a row that counts `weight` times. They are divided by the
    // largest, so that their sum cannot underflow: no weight is 0.
    void learn(const double* p, double weight, double share) {
        double most = p[0], sum = 0;
        for (std::size_t k = 1; k < n_; ++k) most = larger(most, p[k]);
        if (!(most > 0)) return;  // the label is impossible for all candidates
        for (std::size_t k = 0; k < n_; ++k) {
            const double relative = p[k] / most;
            sum += weights_[k] *= weight == 1.0 ? relative : exp(weight * log(relative));
        }
        const double kept = (1.0 - share) / sum, given = share / static_cast<double>(n_);
        for (std::size_t k = 0; k < n_; ++k) weights_[k] = kept * weights_[k] + given;
    }

    template <class Each>
    void numbers(Each each) {
        for (std::size_t k = 0; k < n_; ++k) each(weights_[k]);
    }
    bool sound() const {
        double sum = 0;
        for (std::size_t k = 0; k < n_; ++k) {
            if (!(weights_[k] > 0)) return false;
            sum += weights_[k];
        }
        return absolute(sum - 1.0) < 1e-6;
    }

  private:
    std::size_t n_;
    Candidates weights_{};
};

}  // namespace unitless
