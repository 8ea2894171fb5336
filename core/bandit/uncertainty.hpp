// The uncertainty of a linear model of rewards: z'P z, the variance of its prediction in units of the noise.
//
//     P = I before the first row;  after a row:  P -= k k' / (1 + z'k),  k = P z
//
// The constant and the first `most_exact` features have a full P. Buckets of further features, which stand for any
// number of words, have its diagonal only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bandit/context.hpp"

namespace unitless {

class Uncertainty {
  public:
    // Args: `exact`: the lower triangle of P, row by row, of the first slots; `rest`: the variances of the buckets, or
    // null before the first row with such a feature. Slots beyond the triangle have not been learned.
    Uncertainty(double* exact, std::size_t size, double* rest);

    double variance(const std::vector<std::uint32_t>& slots, const std::vector<double>& z) const;
    // Needs a triangle with all exact slots of the row, and `rest` if it has others.
    void learn(const std::vector<std::uint32_t>& slots, const std::vector<double>& z);

    static std::size_t doubles(std::size_t slots) { return slots * (slots + 1) / 2; }

  private:
    double* exact_;
    std::size_t slots_ = 0;  // of the triangle
    double* rest_;

    double at(std::size_t i, std::size_t j) const {
        if (i >= slots_ || j >= slots_) return i == j ? 1.0 : 0.0;
        return i < j ? exact_[j * (j + 1) / 2 + i] : exact_[i * (i + 1) / 2 + j];
    }
};

}  // namespace unitless
