// The implicit step of logistic loss: a step that uses the slope at its own end point.
#pragma once

#include "simd/elementary.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// Solves s = 1/(1 + e^(margin + tau s)) for s: the slope at the end of a step that adds delta = tau s to the margin.
//
// Newton's method within a bracket. The slope at the start is larger than s, so tau/(1 + e^margin) is an upper bound of
// delta; the point where tau/(1 + e^...) falls below 1 is another. Each iteration moves one end of the bracket, so the
// loop ends for all inputs. The second derivative of delta - tau s is below tau/10, so after an iteration of length
// `moved` the error is below tau moved^2/20. Two iterations are nearly always enough.
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
