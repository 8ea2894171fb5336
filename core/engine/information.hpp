// Covariances become information, and information covariances: for merging of learners that keep a P (second order).
//
// Sums are taken in a fixed order, so that all machines give the same bits.
#pragma once

#include <cstddef>

namespace unitless {

// The inverse of a positive definite matrix of n rows, [i][j], in its place. Only what is on and below the diagonal is
// read. A pivot that rounding has lost counts as the least that it could have been; gives whether there was none.
bool invert(double* matrix, std::size_t n);

// to = matrix from, of n numbers.
void multiply(const double* matrix, const double* from, std::size_t n, double* to);

}  // namespace unitless
