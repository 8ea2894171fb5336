// Converts between covariance and information matrices, for merging second-order learners, which store a covariance P.
//
// Sums run in a fixed order, so that all machines give the same bits.
#pragma once

#include <cstddef>

namespace unitless {

// Inverts a positive definite matrix of n rows, [i][j], in place. It reads only the entries on and below the diagonal.
// A pivot that is lost to rounding counts as its smallest possible value. Returns whether no pivot was lost.
bool invert(double* matrix, std::size_t n);

// to = matrix * from, where both are vectors of n numbers.
void multiply(const double* matrix, const double* from, std::size_t n, double* to);

}  // namespace unitless
