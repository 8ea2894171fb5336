// Logistic loss, for two classes.
#pragma once

#include "algorithm/losses/facts.hpp"
#include "algorithm/options.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// L = log(1 + exp(-y p)), y = -1 or +1. A step of length tau adds delta to the margin m = y p, where
//   delta + exp(m) (exp(delta) - 1) = tau.
// Divided by 1 + exp(m), with b = exp(m)/(1 + exp(m)) and d = tau/(1 + exp(m)), this is
//   f(delta) = delta - d + b (exp(delta) - 1 - delta) = 0.
// f is convex and increasing, so d (the plain gradient step) is an upper bound of delta.
struct Logistic {
    static constexpr LossFacts facts{.name = "logistic",
                                     .labels = LabelKind::sign,
                                     .negative = -1,
                                     .vw_limit = 50,
                                     .curvature = 0.25,
                                     .mixing = Mixing::odds};
    explicit Logistic(const Options&) {}
    double value(double p, double y) const {
        const double m = y * p;
        return m > 0 ? log1p(exp(-m)) : log1p(exp(m)) - m;
    }
    double slope(double p, double y) const { return with_sign(inverse_of_one_plus_exp(with_sign(p, y)), -y); }
    double change(double p, double y, double slope, double tau) const {
        const double s = absolute(slope), b = 1.0 - s, d = s * tau;  // s = 1/(1 + exp(m))
        return d <= 0.0625 ? with_sign(d * series(d, b), y) : long_change(p, y, s, tau);
    }
    // Nearly all steps are short, and need no division: change/reach = (change/d) s speed.
    UNITLESS_INLINE double move(double p, double y, double slope, double speed, double reach) const {
        const double s = absolute(slope), b = 1.0 - s, plain = s * speed, d = plain * reach;
        if (d <= 0.0625) return with_sign(plain * series(d, b), y);
        return change_by_reach(long_change(p, y, s, speed * reach), slope, speed, reach);
    }

    // Several learners at once. Short steps use the series; Halley's method corrects the others.
    template <int n>
    struct SlopeAndValue {
        Vec<n> slope, value;
    };
    template <int n>
    UNITLESS_INLINE SlopeAndValue<n> measure(const Vec<n>& p, const Vec<n>& y) const {
        const Vec<n> m = y * p, small = exp(-absolute(m));
        return {slope_from(m, small, y), log1p_below_one(small) + larger(-m, Vec<n>::all(0.0))};
    }
    template <int n>
    UNITLESS_INLINE Vec<n> value(const Vec<n>& p, const Vec<n>& y) const {
        return measure(p, y).value;
    }
    template <int n>
    UNITLESS_INLINE Vec<n> slope(const Vec<n>& p, const Vec<n>& y) const {
        const Vec<n> m = y * p;
        return slope_from(m, exp(-absolute(m)), y);
    }
    template <int n>
    UNITLESS_INLINE Vec<n> change(const Vec<n>& p, const Vec<n>& y, const Vec<n>& slope, const Vec<n>& tau) const {
        return change_from([&]() UNITLESS_INLINE_LAMBDA { return p; }, y, slope, tau);
    }
    // `score()` returns p; short steps do not need it.
    template <class Score, int n>
    UNITLESS_INLINE Vec<n> change_from(const Score& score, const Vec<n>& y, const Vec<n>& slope,
                                       const Vec<n>& tau) const {
        const Vec<n> s = absolute(slope), b = 1.0 - s, d = s * tau;
        Vec<n> delta = series(d, b);
        const Mask<n> far = d > 0.0625;
        if (any(far)) delta = select(far, long_step(d, s, y * score(), tau, delta), delta);
        return y * delta;
    }

  private:
    // `small` is exp(-|m|).
    template <int n>
    static UNITLESS_INLINE Vec<n> slope_from(const Vec<n>& m, const Vec<n>& small, const Vec<n>& y) {
        const Vec<n> part = 1.0 / (1.0 + small);
        return -y * select(m > 0.0, small * part, part);
    }

    // The inverse of f as a power series in d, up to d^10. It is exact to rounding for d <= 1/16, and nearly all steps
    // are this short. Column k is the polynomial in b that multiplies d^(k + 3); row j has the coefficients of b^(j +
    // 1).
    static constexpr double table[9][width] = {
        {-1.0 / 6, -1.0 / 24, -1.0 / 120, -1.0 / 720, -1.0 / 5040, -1.0 / 40320, -1.0 / 362880, -1.0 / 3628800},
        {1.0 / 2, 5.0 / 12, 5.0 / 24, 7.0 / 90, 17.0 / 720, 41.0 / 6720, 167.0 / 120960, 253.0 / 907200},
        {0, -5.0 / 8, -7.0 / 8, -49.0 / 72, -137.0 / 360, -65.0 / 384, -1529.0 / 24192, -6193.0 / 302400},
        {0, 0, 7.0 / 8, 7.0 / 4, 15.0 / 8, 407.0 / 288, 8657.0 / 10368, 1859.0 / 4536},
        {0, 0, 0, -21.0 / 16, -55.0 / 16, -605.0 / 128, -15587.0 / 3456, -173173.0 / 51840},
        {0, 0, 0, 0, 33.0 / 16, 429.0 / 64, 13013.0 / 1152, 113113.0 / 8640},
        {0, 0, 0, 0, 0, -429.0 / 128, -5005.0 / 384, -5005.0 / 192},
        {0, 0, 0, 0, 0, 0, 715.0 / 128, 2431.0 / 96},
        {0, 0, 0, 0, 0, 0, 0, -2431.0 / 256}};

    // delta/d by the series, for several values of b.
    template <int n>
    static UNITLESS_INLINE Vec<n> series(const Vec<n>& d, const Vec<n>& b) {
        const auto c = [&](int k) UNITLESS_INLINE_LAMBDA { return coefficient(k, b); };
        const Vec<n> d2 = d * d, d4 = d2 * d2;
        const Vec<n> first = (1.0 - d * (0.5 * b)) + d2 * (c(0) + d * c(1));
        const Vec<n> second = (c(2) + d * c(3)) + d2 * (c(4) + d * c(5));
        return d * (first + d4 * (second + d4 * (c(6) + d * c(7))));
    }
    template <int n>
    static UNITLESS_INLINE Vec<n> coefficient(int k, const Vec<n>& b) {
        Vec<n> horner = Vec<n>::all(table[k + 1][k]);
        for (int j = k; j >= 0; --j) horner = table[j][k] + b * horner;
        return b * horner;
    }
    // Halley's method (cubic convergence), which starts at the series or at the smaller of two upper bounds (see `far`
    // below). A learner that has converged keeps its value, so that its result does not depend on the others in its
    // register.
    template <int n>
    static UNITLESS_INLINE Vec<n> long_step(const Vec<n>& d, const Vec<n>& s, const Vec<n>& m, const Vec<n>& tau,
                                            const Vec<n>& guess) {
        const Vec<n> b = exp(m) * s;
        const Mask<n> near = d <= 0.5;
        Vec<n> delta = guess;
        if (any(~near)) {
            const Vec<n> bound = log1p(smaller(tau * exp(-m), Vec<n>::all(0x1p1000)));
            delta = select(near, delta, smaller(d, bound));
        }
        Mask<n> moving = d > 0.0625;
        for (int i = 0; i < 8 && any(moving); ++i) {
            const Vec<n> grown = expm1(delta), f = (delta - d) + b * (grown - delta);
            const Vec<n> f1 = 1.0 + b * grown, f2 = b + b * grown;
            const Vec<n> step = f * f1 / (f1 * f1 - 0.5 * (f * f2));
            delta = select(moving, delta - step, delta);
            moving = moving & (absolute(step) > 1e-6 * delta);
        }
        const Mask<n> deep = m < -300.0;
        if (!any(deep)) return delta;
        double out[n], from[4][n];
        delta.store(out);
        d.store(from[0]);
        b.store(from[1]);
        m.store(from[2]);
        tau.store(from[3]);
        for (int i = 0; i < n; ++i)
            if (from[2][i] < -300) out[i] = far(from[0][i], from[1][i], from[2][i], from[3][i]);
        return Vec<n>::load(out);
    }

    // delta/d by the series. Its coefficients depend only on b, which is known long before d, so computing them does
    // not delay the update.
    static UNITLESS_INLINE double series(double d, double b) {
        const double b2 = b * b, b4 = b2 * b2;
        const auto pair = [&](int k)
                              UNITLESS_INLINE_LAMBDA { return Vec8::load(table[k]) + b * Vec8::load(table[k + 1]); };
        const Vec8 low = pair(0) + b2 * pair(2), high = pair(4) + b2 * pair(6);
        const Vec8 c = b * (low + b4 * (high + b4 * Vec8::load(table[8])));
        const double d2 = d * d, d4 = d2 * d2;
        const double first = (1.0 - d * (0.5 * b)) + d2 * (at<0>(c) + d * at<1>(c));
        const double second = (at<2>(c) + d * at<3>(c)) + d2 * (at<4>(c) + d * at<5>(c));
        return first + d4 * (second + d4 * (at<6>(c) + d * at<7>(c)));
    }
    UNITLESS_RARE static double long_change(double p, double y, double s, double tau) {
        const double d = s * tau;
        return y * (d <= 0.5 ? near(d, 1.0 - s) : far(d, exp(y * p) * s, y * p, tau));
    }
    // Starts at the series up to d^4, then applies Halley's method (cubic convergence) twice.
    UNITLESS_RARE static double near(double d, double b) {
        const double third = b * (b * 0.5 - 1.0 / 6), fourth = b * (b * (5.0 / 12 - b * 0.625) - 1.0 / 24);
        return refine(refine(d * (1.0 + d * (b * -0.5 + d * (third + d * fourth))), d, b), d, b);
    }
    static double refine(double delta, double d, double b) {
        const double grown = expm1(delta);
        const double f = (delta - d) + b * (grown - delta), f1 = 1.0 + b * grown, f2 = b + b * grown;
        return delta - f * f1 / (f1 * f1 - 0.5 * (f * f2));
    }
    // Where exp(delta) dominates, log1p(tau/exp(m)) is the smaller upper bound. From there Newton's method decreases
    // monotonically.
    UNITLESS_RARE static double far(double d, double b, double m, double tau) {
        if (m < -300) {  // exp(m) is negligible: the new margin q = m + delta solves q + exp(q) = tau + m
            const double c = tau + m;
            if (c < -40) return tau;  // exp(q) is negligible too
            double q = c > 1 ? log(c) : smaller(c, 0.0);
            for (int i = 0; i < 64; ++i) {
                const double next = q - ((q - c) + exp(q)) / (1.0 + exp(q));
                if (!(next < q)) break;
                q = next;
            }
            return q - m;
        }
        double delta = smaller(d, log1p(tau * exp(-m)));
        for (int i = 0; i < 64; ++i) {
            const double grown = expm1(delta);
            const double next = delta - ((delta - d) + b * (grown - delta)) / (1.0 + b * grown);
            if (!(next < delta)) break;
            delta = next;
        }
        return delta;
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
