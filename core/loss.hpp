// The losses. Each has the same four functions of the prediction p (a score) and the label y:
//
//   value(p, y)      L
//   slope(p, y)      dL/dp
//   step(p, y, e, P) the importance-aware step u (Karampatziakis & Langford 2011): follow dp/de = -P dL/dp for the
//                    time e = eta h instead of taking one jump of length e. The prediction moves by u P, where
//                    P = sum_i rate_i x_i^2, and never past the label. P > 0, and slope is the one above, not 0.
//
// Forms are chosen so that nothing cancels: the step stays accurate when it is tiny.
#pragma once

#include "elementary.hpp"
#include "options.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

inline double smaller(double a, double b) { return b < a ? b : a; }
inline double larger(double a, double b) { return a < b ? b : a; }

// L = (p - y)^2, y real. Closed form: the error shrinks by exp(-2 e P).
struct Squared {
    explicit Squared(const Options&) {}
    double value(double p, double y) const { return (p - y) * (p - y); }
    double slope(double p, double y) const { return 2.0 * (p - y); }
    double step(double p, double y, double, double e, double P) const {
        const double error = p - y, decay = expm1(-2.0 * (e * P));
        return error * decay / P;
    }
};

// L = log(1 + exp(-y p)), y = -1 or +1. With the margin m = y p, the margin gains delta, where
//   delta + exp(m) (exp(delta) - 1) = e P.
// Divided by 1 + exp(m), with b = exp(m)/(1 + exp(m)) and d = e P/(1 + exp(m)):
//   f(delta) = delta - d + b (exp(delta) - 1 - delta) = 0,
// convex and increasing, so that d (the gradient's step) is an upper bound.
struct Logistic {
    explicit Logistic(const Options&) {}
    double value(double p, double y) const {
        const double m = y * p;
        return m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
    }
    double slope(double p, double y) const { return -y / (1.0 + exp(y * p)); }
    double step(double p, double y, double slope, double e, double P) const {
        const double s = absolute(slope);  // 1/(1 + exp(m))
        const double d = s * (e * P);
        return y * (d <= 0.5 ? near(d, 1.0 - s) : far(d, exp(y * p) * s, y * p, e * P)) / P;
    }

  private:
    // The reverted series to d^4, then Halley's method (cubic) once or twice: to rounding.
    static double near(double d, double b) {
        const double third = b * (b * 0.5 - 1.0 / 6), fourth = b * (b * (5.0 / 12 - b * 0.625) - 1.0 / 24);
        const double once = refine(d * (1.0 + d * (b * -0.5 + d * (third + d * fourth))), d, b);
        return d <= 0.06 ? once : refine(once, d, b);
    }
    static double refine(double delta, double d, double b) {
        const double grown = expm1(delta);
        const double f = (delta - d) + b * (grown - delta), f1 = 1.0 + b * grown, f2 = b + b * grown;
        return delta - f * f1 / (f1 * f1 - 0.5 * (f * f2));
    }
    // Where exp(delta) dominates, log1p(e P/exp(m)) is the better upper bound. Newton's method falls monotonically.
    static double far(double d, double b, double m, double eP) {
        double delta = smaller(d, log1p(eP * exp(-m)));
        for (int i = 0; i < 64; ++i) {
            const double grown = expm1(delta);
            const double next = delta - ((delta - d) + b * (grown - delta)) / (1.0 + b * grown);
            if (!(next < delta)) break;
            delta = next;
        }
        return delta;
    }
};

// L = max(0, 1 - y p), y = -1 or +1.
struct Hinge {
    explicit Hinge(const Options&) {}
    double value(double p, double y) const { return larger(0.0, 1.0 - y * p); }
    double slope(double p, double y) const { return y * p < 1.0 ? -y : 0.0; }
    double step(double p, double y, double, double e, double P) const { return y * smaller(e, (1.0 - y * p) / P); }
};

// L = tau (y - p) below the label, (1 - tau) (p - y) above it: p estimates the tau-quantile.
struct Quantile {
    double tau;
    explicit Quantile(const Options& options) : tau(options.quantile) {}
    double value(double p, double y) const { return p < y ? tau * (y - p) : (1.0 - tau) * (p - y); }
    double slope(double p, double y) const { return p < y ? -tau : p > y ? 1.0 - tau : 0.0; }
    double step(double p, double y, double slope, double e, double P) const {
        const double jump = -slope * e, all = (y - p) / P;
        return jump > 0 ? smaller(jump, all) : larger(jump, all);
    }
};

// L = exp(p) - y p + (y log y - y), y >= 0: half the deviance of a count y with mean exp(p).
// q = exp(-p) follows a linear equation, which gives p's change as -log1p(slope (1 - exp(-y e P))/y).
struct Poisson {
    explicit Poisson(const Options&) {}
    double value(double p, double y) const { return (exp(p) - y * p) + (y > 0 ? y * log(y) - y : 0.0); }
    double slope(double p, double y) const { return exp(p) - y; }
    double step(double, double y, double slope, double e, double P) const {
        const double decay = y > 0 ? -expm1(-y * (e * P)) / y : e * P;
        return -log1p(slope * decay) / P;
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
