// The scales of scale.hpp for eight features at once, with the same bits. If a value or a scale is near the ends of the
// floating-point range, each feature uses scale.hpp separately.
#pragma once

#include <type_traits>

#include "algorithm/scale.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

template <class Scale>
inline constexpr bool is_maximum = std::is_base_of_v<MaxScale, Scale>;

struct Observed8 {
    Vec8 z, rho;
};

// Eight features with a MaxScale. `inverse` is 1 over the larger of |x| and s, so that ratio(x, s) and ratio(s, |x|)
// are products. `ordinary`: no scale is near the ends of the floating-point range.
struct EightMaxima {
    Vec8 x, s, maximum, inverse;
    Mask8 beyond;
    bool ordinary;

    UNITLESS_INLINE EightMaxima(const Vec8& values, const Vec8& scale) : x(values), s(scale) {
        const Vec8 magnitude = absolute(x), floor = Vec8::all(scale_floor);
        maximum = larger(magnitude, s);
        beyond = magnitude > s;
        inverse = 1.0 / larger(maximum, floor);
        ordinary = !any((maximum > scale_ceiling) | ((maximum < floor) & (maximum > 0.0)));
    }
    UNITLESS_INLINE Vec8 sign() const { return select(x < 0.0, -1.0, 1.0); }
};

// Whether RmsScale::observe needs none of its special cases for these eight features. Zeros never need one.
UNITLESS_INLINE bool are_ordinary_squares(const Vec8& x, const Vec8& r, double root_h) {
    const double margin = 2 + root_h;  // keeps r finite
    const Vec8 limit = smaller(r * Vec8::all(RmsScale::negligible / margin), Vec8::all(scale_ceiling / margin));
    const Mask8 odd = (r < Vec8::all(scale_floor)) | (r > Vec8::all(scale_ceiling)) | beyond(x, limit);
    return !any(odd & ~(x == 0.0));
}
// The divisor of x: its scale, or 1 for x = 0, whose scale may be 0.
UNITLESS_INLINE Vec8 divisor_of(const Vec8& x, const Vec8& r) { return select(x == 0.0, 1.0, r); }

// Turns x of eight features into z and updates their scales; see `observe` in scale.hpp. `as`: the sample weight that z
// uses for its own row.
template <class Scale>
UNITLESS_RARE Observed8 observe_each(const Vec8& x, Vec8& s, double h, double as) {
    double value[width], scale[width], rho[width];
    x.store(value);
    s.store(scale);
    for (int i = 0; i < width; ++i) {
        const Observed seen = value[i] == 0 ? Observed{0.0, 1.0} : Scale::observe(scale[i], value[i], h, as);
        value[i] = seen.z;
        rho[i] = seen.rho;
    }
    s = Vec8::load(scale);
    return {Vec8::load(value), Vec8::load(rho)};
}
template <class Scale>
UNITLESS_INLINE Observed8 observe(const Vec8& x, Vec8& s, double h, double as) {
    if constexpr (is_maximum<Scale>) {
        if (const EightMaxima eight(x, s); eight.ordinary) {
            s = eight.maximum;
            return {select(eight.beyond, eight.sign(), x * eight.inverse),
                    select(eight.beyond & (eight.s > 0.0), eight.s * eight.inverse, 1.0)};
        }
    } else if constexpr (std::is_same_v<Scale, RawScale>) {
        s = larger(absolute(x), s);
        return {x, Vec8::all(1.0)};
    } else if (const double root_h = square_root(h); are_ordinary_squares(x, s, root_h)) {
        const Vec8 once = x * (1.0 / divisor_of(x, s)), q = once * root_h, root = square_root(1.0 + q * q),
                   rho = 1.0 / root;
        s = s * root;
        if (h == as) return {q * rho * (1.0 / root_h), rho};
        return {once * (1.0 / square_root(1.0 + once * once)), rho};  // z for a weight of 1
    }
    return observe_each<Scale>(x, s, h, as);
}

// Returns the z that `observe` would return for weight 1, or x/s without a limit. Changes nothing.
template <class Scale>
UNITLESS_RARE Vec8 peek_each(const Vec8& x, const Vec8& s, bool extrapolate) {
    double value[width], scale[width];
    x.store(value);
    s.store(scale);
    for (int i = 0; i < width; ++i)
        if (value[i] != 0) value[i] = extrapolate ? Scale::linear(scale[i], value[i]) : Scale::peek(scale[i], value[i]);
    return Vec8::load(value);
}
template <class Scale>
UNITLESS_INLINE Vec8 peek(const Vec8& x, const Vec8& s, bool extrapolate) {
    if constexpr (is_maximum<Scale>) {
        const EightMaxima eight(x, s);
        if (eight.ordinary && !(extrapolate && any(eight.beyond))) {
            Vec8 limited = eight.sign();
            if constexpr (std::is_same_v<Scale, ShrinkingMaxScale>) limited = eight.s * eight.inverse * limited;
            return select(eight.beyond, limited, x * eight.inverse);
        }
    } else if constexpr (std::is_same_v<Scale, RawScale>) {
        return x;
    } else if (!extrapolate && are_ordinary_squares(x, s, 1.0)) {
        const Vec8 q = x * (1.0 / divisor_of(x, s));
        return q * (1.0 / square_root(1.0 + q * q));
    }
    return peek_each<Scale>(x, s, extrapolate);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
