// exp, expm1, log, log1p for eight numbers at once, for the lanes: the same ideas as in elementary.hpp without
// branches. Arguments that leave the range of floating-point numbers are held at its ends, so that nothing becomes
// infinite.
#pragma once

#include "simd/elementary.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// x = n ln 2 + r with |r| <= ln 2/2: gives 2^n, and e^r - 1 by its series.
struct Exponential8 {
    Vec8 power, grown;

    UNITLESS_INLINE explicit Exponential8(const Vec8& argument) {
        constexpr double shift = 0x1.8p52;  // adding it rounds to an integer, which then stands in the low bits
        const Vec8 x = larger(smaller(argument, Vec8::all(709.0)), Vec8::all(-708.0));
        const Vec8 shifted = x * 0x1.71547652b82fep+0 + shift, n = shifted - shift;
        const Vec8 r = (x - n * 0x1.62e42fefa0000p-1) - n * 0x1.cf79abc9e3b3ap-40;
        for (int i = 0; i < Vec8::registers; ++i) power.part[i] = (Register)(((Bits)shifted.part[i] + 1023) << 52);
        const Vec8 r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
        const Vec8 a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
        const Vec8 b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
        const Vec8 c = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
        grown = r + r2 * ((a + r4 * b) + r8 * c);
    }
};

UNITLESS_INLINE Vec8 exp(const Vec8& x) {
    const Exponential8 e(x);
    return e.power + e.power * e.grown;
}

UNITLESS_INLINE Vec8 expm1(const Vec8& x) {
    const Exponential8 e(x);
    return (e.power - 1.0) + e.power * e.grown;
}

// 2 artanh(s) = ln((1 + s)/(1 - s)) for |s| <= 0.172, for x = 2^k m with m in [1/sqrt 2, sqrt 2).
UNITLESS_INLINE Vec8 log(const Vec8& argument) {
    constexpr std::uint64_t half_root = 0x3fe6a09e667f3bcdULL;  // 1/sqrt 2
    const Vec8 x = larger(smaller(argument, Vec8::all(__DBL_MAX__)), Vec8::all(__DBL_MIN__));
    Vec8 k, m;
    for (int i = 0; i < Vec8::registers; ++i) {
        const Bits bits = (Bits)x.part[i];
        // The exponent, counted from 2^-1074, as a number: put under the leading bit of 2^52.
        const Bits n = (bits - half_root + (std::uint64_t{1} << 62)) >> 52;
        k.part[i] = (Register)(n | 0x4330000000000000ULL) - (0x1p52 + 1024.0);
        m.part[i] = (Register)(bits - ((n - 1024) << 52));
    }
    const Vec8 f = m - 1.0, s = f / (2.0 + f), q = s * s;
    Vec8 tail = Vec8::all(1.0 / 23);
    for (int odd = 21; odd >= 3; odd -= 2) tail = tail * q + 1.0 / odd;
    return k * 0x1.62e42fefa0000p-1 + (2.0 * s + (2.0 * s * q * tail + k * 0x1.cf79abc9e3b3ap-40));
}

// The quotient undoes the rounding of 1 + x (Kahan).
UNITLESS_INLINE Vec8 log1p(const Vec8& x) {
    const Vec8 u = 1.0 + x, gap = u - 1.0;
    return select(gap == 0.0, x, log(u) * (x / select(gap == 0.0, Vec8::all(1.0), gap)));
}

// ln(1 + x) for 0 <= x <= 1: 2 artanh(x/(2 + x)).
UNITLESS_INLINE Vec8 log1p_below_one(const Vec8& x) {
    const Vec8 s = x / (2.0 + x), q = s * s, q2 = q * q, q4 = q2 * q2;  // q <= 1/9
    const auto pair = [&](double a, double b) { return a + q * b; };
    const Vec8 low = (pair(1.0, 1.0 / 3) + q2 * pair(1.0 / 5, 1.0 / 7)) +
                     q4 * (pair(1.0 / 9, 1.0 / 11) + q2 * pair(1.0 / 13, 1.0 / 15));
    const Vec8 high = (pair(1.0 / 17, 1.0 / 19) + q2 * pair(1.0 / 21, 1.0 / 23)) +
                      q4 * (pair(1.0 / 25, 1.0 / 27) + q2 * pair(1.0 / 29, 1.0 / 31));
    return 2.0 * s * (low + q4 * q4 * high);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
