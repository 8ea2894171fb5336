// exp, expm1, log, log1p for eight or four numbers at once: the methods of elementary.hpp without branches. Arguments
// outside the range of floating-point numbers are limited to its ends, so that no result is infinite.
#pragma once

#include "simd/elementary.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// With x = n ln 2 + r, |r| <= ln 2/2: `power` is 2^n, and `grown` is e^r - 1 by its series.
template <int n>
struct Exponentials {
    Vec<n> power, grown;

    UNITLESS_INLINE explicit Exponentials(const Vec<n>& argument) {
        constexpr double shift = 0x1.8p52;  // adding it rounds to an integer in the low bits
        const Vec<n> x = larger(smaller(argument, Vec<n>::all(709.0)), Vec<n>::all(-708.0));
        const Vec<n> shifted = x * 0x1.71547652b82fep+0 + shift, whole = shifted - shift;
        const Vec<n> r = (x - whole * 0x1.62e42fefa0000p-1) - whole * 0x1.cf79abc9e3b3ap-40;
        for (int i = 0; i < Vec<n>::registers; ++i)
            power.part[i] = (typename Vec<n>::Register)(((typename Vec<n>::Bits)shifted.part[i] + 1023) << 52);
        const Vec<n> r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
        const Vec<n> a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
        const Vec<n> b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
        const Vec<n> c = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
        grown = r + r2 * ((a + r4 * b) + r8 * c);
    }
};

template <int n>
UNITLESS_INLINE Vec<n> exp(const Vec<n>& x) {
    const Exponentials<n> e(x);
    return e.power + e.power * e.grown;
}

template <int n>
UNITLESS_INLINE Vec<n> expm1(const Vec<n>& x) {
    const Exponentials<n> e(x);
    return (e.power - 1.0) + e.power * e.grown;
}

// ln x = k ln 2 + ln m with x = 2^k m, m in [1/sqrt 2, sqrt 2), and ln m = 2 artanh(s), |s| <= 0.172.
template <int n>
UNITLESS_INLINE Vec<n> log(const Vec<n>& argument) {
    using Register = typename Vec<n>::Register;
    using Bits = typename Vec<n>::Bits;
    constexpr std::uint64_t half_root = 0x3fe6a09e667f3bcdULL;  // 1/sqrt 2
    const Vec<n> x = larger(smaller(argument, Vec<n>::all(__DBL_MAX__)), Vec<n>::all(__DBL_MIN__));
    Vec<n> k, m;
    for (int i = 0; i < Vec<n>::registers; ++i) {
        const Bits bits = (Bits)x.part[i];
        // Converts the exponent, counted from 2^-1074, to a double: it becomes the low bits of 2^52.
        const Bits exponent = (bits - half_root + (std::uint64_t{1} << 62)) >> 52;
        k.part[i] = (Register)(exponent | 0x4330000000000000ULL) - (0x1p52 + 1024.0);
        m.part[i] = (Register)(bits - ((exponent - 1024) << 52));
    }
    const Vec<n> f = m - 1.0, s = f / (2.0 + f), q = s * s;
    Vec<n> tail = Vec<n>::all(1.0 / 23);
    for (int odd = 21; odd >= 3; odd -= 2) tail = tail * q + 1.0 / odd;
    return k * 0x1.62e42fefa0000p-1 + (2.0 * s + (2.0 * s * q * tail + k * 0x1.cf79abc9e3b3ap-40));
}

// ln(1 + x). The quotient corrects the rounding of 1 + x (Kahan).
template <int n>
UNITLESS_INLINE Vec<n> log1p(const Vec<n>& x) {
    const Vec<n> u = 1.0 + x, gap = u - 1.0;
    return select(gap == 0.0, x, log(u) * (x / select(gap == 0.0, Vec<n>::all(1.0), gap)));
}

// ln(1 + x) for 0 <= x <= 1: 2 artanh(x/(2 + x)).
template <int n>
UNITLESS_INLINE Vec<n> log1p_below_one(const Vec<n>& x) {
    const Vec<n> s = x / (2.0 + x), q = s * s, q2 = q * q, q4 = q2 * q2;  // q <= 1/9
    const auto pair = [&](double a, double b) { return a + q * b; };
    const Vec<n> low = (pair(1.0, 1.0 / 3) + q2 * pair(1.0 / 5, 1.0 / 7)) +
                       q4 * (pair(1.0 / 9, 1.0 / 11) + q2 * pair(1.0 / 13, 1.0 / 15));
    const Vec<n> high = (pair(1.0 / 17, 1.0 / 19) + q2 * pair(1.0 / 21, 1.0 / 23)) +
                        q4 * (pair(1.0 / 25, 1.0 / 27) + q2 * pair(1.0 / 29, 1.0 / 31));
    return 2.0 * s * (low + q4 * q4 * high);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
