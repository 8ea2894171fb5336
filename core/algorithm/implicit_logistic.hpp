// The implicit step of logistic loss: the one whose slope is taken where the step ends.
#pragma once

#include "simd/elementary.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// The slope s = 1/(1 + e^(margin + tau s)) at the end of a step that adds delta = tau s to the margin.
//
// Newton's method within a bracket. Without the step, s would be larger: an upper bound of delta is tau/(1 + e^margin),
// and another is where tau/(1 + e^...) is below 1. Both ends move, so that it ends whatever the numbers are. The second
// derivative of delta - tau s is less than tau/10: after a step of length `moved`, less than tau moved^2/20 is left.
// Nearly always two steps are enough.
inline double implicit_logistic_slope(double margin, double tau) {
    const double first = inverse_of_one_plus_exp(margin);
    double low = 0, high = tau * first;
    if (!(high > 0)) return first;
    if (high > 1) high = smaller(high, larger(-margin, 0.0) + log1p(tau));
    double delta = smaller(high, tau * first / (1.0 + tau * (first * (1.0 - first))));
    for (int i = 0; i < 100; ++i) {
        const double s = inverse_of_one_plus_exp(margin + delta), excess = delta - tau * s;
        (excess > 0 ? high : low) = delta;
        double next = delta - excess / (1.0 + tau * (s * (1.0 - s)));
        if (!(next >= low && next <= high)) next = 0.5 * (low + high);
        const double moved = absolute(next - delta);
        delta = next;
        if (0.05 * tau * (moved * moved) <= 1e-16 * delta) break;
    }
    return delta / tau;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
