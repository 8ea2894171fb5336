// Scales remove a feature's unit: they turn x into the dimensionless z (section 3, steps 2.(a)).
//
// Each scale has three functions:
//   observe(s, x, h)   learns x with weight h: updates s, returns z and rho = s before / s now. z is computed as if h
//                      were 1: a prediction must not depend on its own row's weight, which may reveal the label
//   peek(s, x)         returns the z that `observe` would return; changes nothing
//   linear(s, x)       returns x/s without a limit, for the plain linear model
// s = 0 means that all values of the feature were zero so far. Its v and H are then zero, and rho is 1 (there is
// nothing to rescale). Division by a scale is multiplication by its inverse, which dense input computes once per change
// of the scale. Multiplying x and s by a power of two changes no bit of z.
#pragma once

#include <type_traits>

#include "simd/elementary.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// Scales in this range have an inverse that is a normal number.
inline constexpr double scale_floor = 0x1p-1000, scale_ceiling = 0x1p1000;

// x/s. Scales near the ends of the floating-point range are first multiplied by a power of two.
inline double ratio(double x, double s) {
    if (s < scale_floor) return (x * 0x1p200) * (1.0 / (s * 0x1p200));
    if (s > scale_ceiling) return (x * 0x1p-200) * (1.0 / (s * 0x1p-200));
    return x * (1.0 / s);
}

struct Observed {
    double z, rho;
};

inline double sign_of(double x) { return __builtin_copysign(1.0, x); }

// s = max |x|, for NG and NAG.
struct MaxScale {
    static Observed observe(double& s, double x, double /*h*/, double /*as*/ = 1.0) {
        const double magnitude = absolute(x);
        if (magnitude > s) {
            const double rho = s > 0 ? ratio(s, magnitude) : 1.0;
            s = magnitude;
            return {sign_of(x), rho};
        }
        return {x == 0 ? 0.0 : ratio(x, s), 1.0};
    }
    static double linear(double s, double x) { return s > 0 ? ratio(x, s) : 0.0; }
};

// The bias feature, which is 1 in every example (`one`), or 0 if the model has no bias.
template <class Scale>
Observed observe_bias(double& s, double one, double h, double as = 1.0) {
    if constexpr (std::is_base_of_v<MaxScale, Scale>)
        if (s == one) return {one, 1.0};  // true from the second example on
    return Scale::observe(s, one, h, as);
}

// NAG keeps v when a scale grows, so a value x beyond the scale has z = sign(x) (Algorithm 2, 2.(a).i).
struct HoldingMaxScale : MaxScale {
    static double peek(double s, double x) { return absolute(x) > s ? sign_of(x) : x == 0 ? 0.0 : ratio(x, s); }
};

// NG multiplies v by rho when a scale grows, so a value x beyond the scale has z = s/x (Algorithm 1, 2.(a).i).
struct ShrinkingMaxScale : MaxScale {
    static double peek(double s, double x) {
        if (absolute(x) > s) return s > 0 ? ratio(s, absolute(x)) * sign_of(x) : 0.0;
        return x == 0 ? 0.0 : ratio(x, s);
    }
};

// r = sqrt(sum h x^2), for sNAG, whose scale is r/sqrt(t). The state is r, updated by r' = r sqrt(1 + (x/r)^2), because
// the sum of squares can leave the floating-point range when x does not.
struct RmsScale {
    // If the ratio of r and x is larger, the smaller of them does not change the result.
    static constexpr double negligible = 0x1p300;

    // `as`: the sample weight that z uses for its own row. It is 1, or h in Vowpal Wabbit's order (Order::vw).
    static Observed observe(double& r, double x, double h, double as = 1.0) {
        if (x == 0) return {0.0, 1.0};
        if (h != as) {
            double before = r;
            const Observed seen = observe(r, x, h, h);
            return {is_finite(seen.z) ? observe(before, x, as, as).z : seen.z, seen.rho};
        }
        const double root_h = square_root(h), q = r > 0 ? ratio(x, r) * root_h : infinity;
        if (!(absolute(q) < negligible)) {
            const double rho = r > 0 ? 1.0 / absolute(q) : 1.0;
            r = absolute(x) * root_h;
            if (!is_finite(r)) return {__builtin_nan(""), rho};
            return {sign_of(x) * (1.0 / root_h), rho};
        }
        const double root = square_root(1.0 + q * q), rho = 1.0 / root;
        r *= root;
        if (!is_finite(r)) return {__builtin_nan(""), rho};  // overflow: the example is rejected as divergent
        return {(q * rho) * (1.0 / root_h), rho};
    }
    static double peek(double r, double x) { return observe(r, x, 1.0).z; }
    static double linear(double r, double x) { return r > 0 ? ratio(x, r) : 0.0; }
};

// No scale: GD and AG use x unchanged. s = max |x| is stored for reports.
struct RawScale {
    static Observed observe(double& s, double x, double /*h*/, double /*as*/ = 1.0) {
        if (absolute(x) > s) s = absolute(x);
        return {x, 1.0};
    }
    static double peek(double /*s*/, double x) { return x; }
    static double linear(double /*s*/, double x) { return x; }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
