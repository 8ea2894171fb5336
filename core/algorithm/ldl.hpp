// LDL decomposition of a symmetric positive definite matrix: M = L D L', where D is diagonal and L has a unit diagonal.
// It solves M x = b and inverts M. Sums run in a fixed order, so that all machines give the same bits.
//
// Matrices are stored row by row, `stride` numbers apart. If the caller's n and stride are constants, all loops have
// constant lengths.
#pragma once

#include <cstddef>

#include "simd/isa.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

struct LdlMemory {
    double* lower;    // L, n rows
    double* inverse;  // 1/D
    double* scaled;   // scratch: n numbers
    std::size_t n, stride;
};

// Reads M on and below its diagonal. A pivot that is not above `least` times its diagonal entry is lost to rounding: it
// is replaced by that product, or by the smallest number, and the result is false.
UNITLESS_INLINE bool factorize(const double* m, double least, const LdlMemory& to) {
    bool sound = true;
    for (std::size_t i = 0; i < to.n; ++i) {
        const double* const row = m + i * to.stride;
        double* const lower = to.lower + i * to.stride;
        double pivot = row[i];
        for (std::size_t j = 0; j < i; ++j) {
            double scaled = row[j];  // L[i][j] D[j]
            for (std::size_t k = 0; k < j; ++k) scaled -= to.lower[j * to.stride + k] * to.scaled[k];
            to.scaled[j] = scaled;
            lower[j] = scaled * to.inverse[j];
            pivot -= scaled * lower[j];
        }
        const double limit = least * row[i];
        if (!(pivot > limit && pivot > 0)) [[unlikely]] {
            sound = false;
            pivot = limit > __DBL_MIN__ ? limit : __DBL_MIN__;
        }
        to.inverse[i] = 1.0 / pivot;
    }
    return sound;
}

// Replaces b by M^-1 b. b must be 0 before position `first`, and the result is not computed there.
UNITLESS_INLINE void solve(const LdlMemory& factors, double* b, std::size_t first = 0) {
    const std::size_t n = factors.n;
    for (std::size_t i = first + 1; i < n; ++i)
        for (std::size_t k = first; k < i; ++k) b[i] -= factors.lower[i * factors.stride + k] * b[k];
    for (std::size_t i = n; i-- > first;) {
        b[i] *= factors.inverse[i];
        for (std::size_t k = i + 1; k < n; ++k) b[i] -= factors.lower[k * factors.stride + i] * b[k];
    }
}

// Writes M^-1, both halves. `column`: scratch for n numbers.
UNITLESS_INLINE void invert(const LdlMemory& factors, double* column, double* to) {
    const std::size_t n = factors.n, stride = factors.stride;
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t i = j; i < n; ++i) column[i] = i == j ? 1.0 : 0.0;
        solve(factors, column, j);
        for (std::size_t i = j; i < n; ++i) to[i * stride + j] = to[j * stride + i] = column[i];
    }
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
