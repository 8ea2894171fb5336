// exp, expm1, log, log1p and 1/sqrt in plain arithmetic.
//
// The results of the C library differ in the last bit between systems and instruction sets, and so would every
// prediction. These functions use only IEEE +, -, *, / and integer operations on the bit pattern, in a fixed order, so
// they give the same bits wherever floating-point contraction is off. Errors are a few units in the last place.
#pragma once

#include <cstdint>

#include "simd/isa.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

inline constexpr double infinity = __builtin_huge_val();

template <class T>
T smaller(T a, T b) {
    return b < a ? b : a;
}
template <class T>
T larger(T a, T b) {
    return a < b ? b : a;
}
inline double absolute(double x) { return __builtin_fabs(x); }
// Returns x if y is positive, -x if y is negative.
inline double with_sign(double x, double y) {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    return __builtin_bit_cast(double,
                              __builtin_bit_cast(std::uint64_t, x) ^ (__builtin_bit_cast(std::uint64_t, y) & sign));
}
inline double square_root(double x) { return __builtin_sqrt(x); }
inline bool is_finite(double x) { return absolute(x) <= __DBL_MAX__; }

// (e^r - 1 - r) / r^2 for |r| <= 0.35: the Taylor series in Estrin's form, which shortens its latency.
inline double exp_tail(double r) {
    const double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    const double a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    const double b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    const double c = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
    return (a + r4 * b) + r8 * c;
}

// 2^(i/256), each computed as 2^(a/16) 2^(b/256).
struct RootsOfTwo {
    double at[256];
};
inline constexpr RootsOfTwo roots_of_two = [] {
    constexpr double coarse[16] = {
        0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
        0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
        0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
        0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
    constexpr double fine[16] = {
        0x1.0000000000000p+0, 0x1.00b1afa5abcbfp+0, 0x1.0163da9fb3335p+0, 0x1.02168143b0281p+0,
        0x1.02c9a3e778061p+0, 0x1.037d42e11bbccp+0, 0x1.04315e86e7f85p+0, 0x1.04e5f72f654b1p+0,
        0x1.059b0d3158574p+0, 0x1.0650a0e3c1f89p+0, 0x1.0706b29ddf6dep+0, 0x1.07bd42b72a836p+0,
        0x1.0874518759bc8p+0, 0x1.092bdf66607e0p+0, 0x1.09e3ecac6f383p+0, 0x1.0a9c79b1f3919p+0};
    RootsOfTwo table{};
    for (int i = 0; i < 256; ++i) table.at[i] = coarse[i / 16] * fine[i % 16];
    return table;
}();

// e^x = power (1 + grown) for |x| <= 700. With x = (k + f) ln 2/256, |f| <= 1/2, k = 256 n + i: `power` is 2^n
// 2^(i/256), from a table, and `grown` is a short series with a short latency. k * high is exact. The remaining part of
// k ln 2/256 is added to the power, which is known earlier.
struct Exponential {
    double power, grown;

    UNITLESS_INLINE explicit Exponential(double x) {
        constexpr double high = 0x1.62e42fef80000p-9, low = 0x1.1cf79abc9e3b4p-44;  // ln 2/256
        constexpr double shift = 0x1.8p52;  // adding it rounds to an integer in the low bits
        const double shifted = x * 0x1.71547652b82fep+8 + shift, k = shifted - shift;
        const auto n = static_cast<std::int32_t>(__builtin_bit_cast(std::uint64_t, shifted));
        const auto root = __builtin_bit_cast(std::uint64_t, roots_of_two.at[n & 255]);
        const auto exact = __builtin_bit_cast(double, root + (static_cast<std::uint64_t>(n >> 8) << 52));
        power = exact - exact * (k * low);
        const double r = x - k * high, r2 = r * r;
        grown = r + r2 * ((1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24));
    }
    static bool takes(double x) { return absolute(x) <= 700; }
};

// Computes e^x as a product of two factors, because the power of two alone may overflow.
UNITLESS_RARE inline double exp_of_extreme(double x) {
    if (!(x < 709.79)) return x > 0 ? infinity : x;  // the second case is NaN
    if (x < -745.2) return 0.0;
    const Exponential half(0.5 * x);
    const double root = half.power + half.power * half.grown;
    return root * root;
}

UNITLESS_INLINE double exp(double x) {
    if (!Exponential::takes(x)) return exp_of_extreme(x);
    const Exponential e(x);
    return e.power + e.power * e.grown;
}

// 1/(1 + e^x).
UNITLESS_INLINE double inverse_of_one_plus_exp(double x) {
    if (!Exponential::takes(x)) return 1.0 / (1.0 + exp_of_extreme(x));
    const Exponential e(x);
    return 1.0 / ((1.0 + e.power) + e.power * e.grown);
}

// e^x - 1 without the cancellation near 0.
inline double expm1(double x) {
    if (absolute(x) <= 0.35) return x + x * x * exp_tail(x);
    return exp(x) - 1.0;
}

// ln x for finite x > 0: x = 2^k m with m in [1/sqrt 2, sqrt 2), ln m = 2 artanh((m - 1)/(m + 1)).
inline double log(double x) {
    constexpr double ln2_high = 0x1.62e42fefa0000p-1, ln2_low = 0x1.cf79abc9e3b3ap-40;  // k * ln2_high is exact
    if (!(x > 0.0)) return x == 0.0 ? -infinity : __builtin_nan("");
    if (!(x <= __DBL_MAX__)) return infinity;
    double k = 0.0;
    if (x < __DBL_MIN__) {
        x *= 0x1p54;
        k = -54.0;
    }
    auto bits = __builtin_bit_cast(std::uint64_t, x);
    constexpr std::uint64_t half_root = 0x3fe6a09e667f3bcdULL;  // 1/sqrt 2
    const auto n = static_cast<std::int64_t>(bits - half_root) >> 52;
    bits -= static_cast<std::uint64_t>(n) << 52;
    k += static_cast<double>(n);
    const double f = __builtin_bit_cast(double, bits) - 1.0;
    const double s = f / (2.0 + f), q = s * s;
    double tail = 1.0 / 23;
    for (int odd = 21; odd >= 3; odd -= 2) tail = tail * q + 1.0 / odd;
    return k * ln2_high + (2.0 * s + (2.0 * s * q * tail + k * ln2_low));
}

// ln(1 + x) for x > -1. The quotient corrects the rounding of 1 + x (Kahan).
inline double log1p(double x) {
    const double u = 1.0 + x;
    if (u == 1.0) return x;
    if (!(u <= __DBL_MAX__)) return infinity;
    return log(u) * (x / (u - 1.0));
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
