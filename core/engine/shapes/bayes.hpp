// Bayes' rule over speakers that give probabilities, with a fixed share: a speaker that was wrong can come back.
//
//   w_k <- (1 - a) w_k p_k(y) / sum of w p(y) + a/n
#pragma once

#include "engine/shapes/small_matrix.hpp"
#include "simd/elementary.hpp"

namespace unitless {

class Bayes {
  public:
    explicit Bayes(std::size_t speakers) : n_(speakers) {
        for (std::size_t k = 0; k < n_; ++k) weights_[k] = 1.0 / static_cast<double>(n_);
    }

    const double* weights() const { return weights_.data(); }

    // loss: -log p_k(y), of a row that counts `weight` times. The best one's is taken from all of them first: so their
    // sum cannot vanish, because the share leaves everyone something.
    void learn(const double* loss, double weight, double share) {
        double least = loss[0], sum = 0;
        for (std::size_t k = 1; k < n_; ++k) least = smaller(least, loss[k]);
        for (std::size_t k = 0; k < n_; ++k) sum += weights_[k] *= exp(weight * (least - loss[k]));
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
    Speakers weights_{};
};

}  // namespace unitless
