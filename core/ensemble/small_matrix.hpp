// Vectors and symmetric matrices of the size of an ensemble, in fixed memory.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "algorithm/ldl.hpp"

namespace unitless {

inline constexpr std::size_t most_members = 7;
inline constexpr std::size_t most_inputs = most_members + 1;             // of a stacker: the members and the last label
inline constexpr std::size_t stackers = 2;                               // of a mixture, in addition to the members
inline constexpr std::size_t most_candidates = most_members + stackers;  // that share the weights of a mixture

using SmallVector = std::array<double, most_inputs>;
using SmallMatrix = std::array<SmallVector, most_inputs>;
using Candidates = std::array<double, most_candidates>;

UNITLESS_INLINE double dot(const double* a, const double* b, std::size_t n) {
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += a[k] * b[k];
    return sum;
}

// Calls the action with a number of inputs. The usual small numbers are compile-time constants, so that loops are
// unrolled.
template <class Action>
void with_size(std::size_t n, Action action) {
    if (n == 2) return action(std::integral_constant<std::size_t, 2>());
    if (n == 3) return action(std::integral_constant<std::size_t, 3>());
    if (n == 4) return action(std::integral_constant<std::size_t, 4>());
    action(n);
}

inline bool within(const double* x, std::size_t n, double limit) {
    for (std::size_t k = 0; k < n; ++k)
        if (!(x[k] <= limit && x[k] >= -limit)) return false;
    return true;
}

// The factors of a matrix (algorithm/ldl.hpp). Only its entries on and below the diagonal are read.
class Factors {
  public:
    UNITLESS_INLINE Factors(const SmallMatrix& m, std::size_t n) : n_(n) {
        positive_ = factorize(m[0].data(), 0, all());
    }

    // If false, rounding has made the matrix unusable.
    bool positive() const { return positive_; }

    // M^-1 b.
    UNITLESS_INLINE SmallVector solve(SmallVector b) {
        unitless::solve(all(), b.data());
        return b;
    }

    UNITLESS_INLINE SmallMatrix inverse() {
        SmallMatrix m{};
        SmallVector column;
        invert(all(), column.data(), m[0].data());
        return m;
    }

  private:
    std::size_t n_;
    bool positive_;
    SmallMatrix lower_;
    SmallVector scaled_, inverse_;

    UNITLESS_INLINE LdlMemory all() { return {lower_[0].data(), inverse_.data(), scaled_.data(), n_, most_inputs}; }
};

}  // namespace unitless
