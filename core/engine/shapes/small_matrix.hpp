// Vectors and symmetric matrices as large as the number of experts, in fixed memory.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "simd/isa.hpp"

namespace unitless {

inline constexpr std::size_t most_experts = 8;
inline constexpr std::size_t stackers = 2;                             // beside the experts of a mixture
inline constexpr std::size_t most_speakers = most_experts + stackers;  // what a mixture's top weighs

using SmallVector = std::array<double, most_experts>;
using SmallMatrix = std::array<SmallVector, most_experts>;
using Speakers = std::array<double, most_speakers>;

UNITLESS_INLINE double dot(const double* a, const double* b, std::size_t n) {
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

// Calls the action with the number of experts, which is a constant to it where there are as few as there mostly are:
// loops over them are then unrolled.
template <class Action>
void with_size(std::size_t n, Action action) {
    if (n == 2) return action(std::integral_constant<std::size_t, 2>());
    if (n == 3) return action(std::integral_constant<std::size_t, 3>());
    action(n);
}

inline bool within(const double* x, std::size_t n, double limit) {
    for (std::size_t k = 0; k < n; ++k)
        if (!(x[k] <= limit && x[k] >= -limit)) return false;
    return true;
}

// M = L D L', D diagonal, L with ones on the diagonal. Only what is on and below M's diagonal is read.
class Factors {
  public:
    UNITLESS_INLINE Factors(const SmallMatrix& m, std::size_t n) : n_(n), positive_(true) {
        for (std::size_t i = 0; i < n; ++i) {
            double pivot = m[i][i];
            for (std::size_t j = 0; j < i; ++j) {
                double scaled = m[i][j];  // L[i][j] D[j]
                for (std::size_t k = 0; k < j; ++k) scaled -= lower_[j][k] * scaled_[k];
                scaled_[j] = scaled;
                lower_[i][j] = scaled * inverse_[j];
                pivot -= scaled * lower_[i][j];
            }
            positive_ = positive_ && pivot > 0;
            inverse_[i] = 1.0 / pivot;
        }
    }

    // If not, rounding has made the matrix worthless.
    bool positive() const { return positive_; }

    // M^-1 b.
    UNITLESS_INLINE SmallVector solve(SmallVector b) const {
        for (std::size_t i = 1; i < n_; ++i) b[i] -= dot(lower_[i].data(), b.data(), i);
        for (std::size_t i = n_; i-- > 0;) {
            b[i] *= inverse_[i];
            for (std::size_t k = i + 1; k < n_; ++k) b[i] -= lower_[k][i] * b[k];
        }
        return b;
    }

    UNITLESS_INLINE SmallMatrix inverse() const {
        SmallMatrix m{};
        for (std::size_t j = 0; j < n_; ++j) {
            SmallVector unit{};
            unit[j] = 1.0;
            const SmallVector column = solve(unit);
            for (std::size_t i = j; i < n_; ++i) m[i][j] = m[j][i] = column[i];
        }
        return m;
    }

  private:
    std::size_t n_;
    bool positive_;
    SmallMatrix lower_;
    SmallVector scaled_, inverse_;
};

}  // namespace unitless
