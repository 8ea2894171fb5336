// AdaHedge (de Rooij, van Erven, Grünwald, Koolen 2014): weights from losses of any size, without parameters.
//
//   w_k = e^(-L_k ln n / D) / sum
//
// D is the sum of the mixability gaps: the loss of the weighted mean minus the mix loss. The weights are mixed with
// equal weights, whose share is min(1/2, 1/t). Losses and D are multiplied by 1 - 1/(t + 1) after row t. While D is 0,
// the candidates with the smallest loss share all the weight.
//
// Only ratios of losses matter. Losses may have any unit; the caller reports a change of the unit.
#pragma once

#include "ensemble/small_matrix.hpp"
#include "simd/elementary.hpp"

namespace unitless {

class AdaHedge {
  public:
    explicit AdaHedge(std::size_t candidates) : n_(candidates), log_n_(log(static_cast<double>(candidates))) {
        set_weights(1);
    }

    // The weights of the candidates for the next row.
    const double* weights() const { return weights_.data(); }

    void change_unit(double ratio) {
        for (std::size_t k = 0; k < n_; ++k) losses_[k] *= ratio;
        cost_ *= ratio;
    }

    // Learns row t, with the losses `loss` in the unit.
    void learn(const double* loss, double t) {
        double least = loss[0], mean = 0;
        for (std::size_t k = 1; k < n_; ++k) least = smaller(least, loss[k]);
        for (std::size_t k = 0; k < n_; ++k) mean += weights_[k] * loss[k];
        double mix = least;
        if (cost_ > 0) {
            double sum = 0;
            for (std::size_t k = 0; k < n_; ++k) sum += weights_[k] * exp((least - loss[k]) / cost_ * log_n_);
            mix -= log(sum) * (cost_ / log_n_);
        }
        const double kept = 1.0 - 1.0 / (t + 1.0);
        cost_ = kept * (cost_ + larger(0.0, mean - mix));
        for (std::size_t k = 0; k < n_; ++k) losses_[k] = kept * (losses_[k] + loss[k]);
        set_weights(t + 1.0);
    }

    // Computes the weights before row t from the losses.
    void set_weights(double t) {
        double least = losses_[0], sum = 0;
        for (std::size_t k = 1; k < n_; ++k) least = smaller(least, losses_[k]);
        for (std::size_t k = 0; k < n_; ++k) {
            const double behind = losses_[k] - least;
            sum += weights_[k] = cost_ > 0 ? exp(-behind / cost_ * log_n_) : behind > 0 ? 0.0 : 1.0;
        }
        const double share = smaller(0.5, 1.0 / t), kept = (1.0 - share) / sum, given = share / static_cast<double>(n_);
        for (std::size_t k = 0; k < n_; ++k) weights_[k] = kept * weights_[k] + given;
    }

    template <class Each>
    void numbers(Each each) {
        for (std::size_t k = 0; k < n_; ++k) each(losses_[k]);
        each(cost_);
    }
    bool sound() const {
        for (std::size_t k = 0; k < n_; ++k)
            if (!(losses_[k] >= 0)) return false;
        return cost_ >= 0;
    }

  private:
    std::size_t n_;
    double log_n_, cost_ = 0;
    Candidates losses_{}, weights_{};
};

}  // namespace unitless
