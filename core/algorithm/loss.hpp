// The losses. Each has the same three functions of the prediction p (a score) and the label y:
//
//   value(p, y)          L
//   slope(p, y)          dL/dp
//   change(p, y, g, tau) the importance-aware step (Karampatziakis & Langford 2011): how far p moves when it follows
//                        dp/dtime = -dL/dp from where it is for the time tau > 0, instead of jumping by -tau dL/dp.
//                        It never moves past the label. g is the slope at p, not 0.
//
// Forms are chosen so that nothing cancels: a change stays accurate when it is tiny. What else there is to know of a
// loss stands in its `facts`, and the list of all of them at the end: nothing else in the core knows a loss by name.
//
// T is a double, or a Vec8 where eight lanes are learned at once.
#pragma once

#include <type_traits>

#include "algorithm/options.hpp"
#include "algorithm/type_list.hpp"
#include "simd/elementary.hpp"
#include "simd/elementary8.hpp"
#include "simd/vec8.hpp"

namespace unitless {

// What labels a loss takes: any number, a number that is not negative, or one of two signs.
enum class LabelKind { number, count, sign };

// What is mixed where several models predict together: scores as they are, numbers, or the odds of classes.
enum class Mixing { scores, numbers, odds };

struct LossFacts {
    const char* name;
    LabelKind labels;
    double negative;            // in one-against-all, the label of the rows of other classes
    double vw_limit = 0;        // the limit of predictions that Vowpal Wabbit starts with
    bool paces_itself = false;  // a plain step is proportional to the label's unit
    double curvature = 0;       // the largest second derivative; 0: there is none that would say how far to go
    Mixing mixing = Mixing::scores;
    bool differences = false;  // p - y is all that matters: an offset of p may as well be taken from y
};

inline namespace UNITLESS_ISA {

template <class T>
T number(double x) {
    if constexpr (std::is_same_v<T, Vec8>) {
        return Vec8::all(x);
    } else {
        return x;
    }
}

// By how much v moves for each unit of z rate when the prediction, which moves `reach` times as far, changes by
// `change`.
inline double change_by_reach(double change, double slope, double speed, double reach) {
    const double per_reach = 1.0 / reach;
    return is_finite(per_reach) ? change * per_reach : -(speed * slope);
}

// L = (p - y)^2, y real. The error shrinks by exp(-2 tau).
struct Squared {
    static constexpr LossFacts facts{.name = "squared",
                                     .labels = LabelKind::number,
                                     .negative = -1,
                                     .paces_itself = true,
                                     .curvature = 2,
                                     .mixing = Mixing::numbers,
                                     .differences = true};
    explicit Squared(const Options&) {}
    template <class T>
    T value(T p, T y) const {
        return (p - y) * (p - y);
    }
    template <class T>
    T slope(T p, T y) const {
        return 2.0 * (p - y);
    }
    template <class T>
    T change(T p, T y, T, T tau) const {
        return (p - y) * expm1(-2.0 * tau);
    }
};

// L = log(1 + exp(-y p)), y = -1 or +1. With the margin m = y p, the margin gains delta, where
//   delta + exp(m) (exp(delta) - 1) = tau.
// Divided by 1 + exp(m), with b = exp(m)/(1 + exp(m)) and d = tau/(1 + exp(m)):
//   f(delta) = delta - d + b (exp(delta) - 1 - delta) = 0,
// convex and increasing, so that d (the gradient's step) is an upper bound.
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
    // The short steps, nearly all, without a division: change/reach = (change/d) s speed.
    UNITLESS_INLINE double move(double p, double y, double slope, double speed, double reach) const {
        const double s = absolute(slope), b = 1.0 - s, plain = s * speed, d = plain * reach;
        if (d <= 0.0625) return with_sign(plain * series(d, b), y);
        return change_by_reach(long_change(p, y, s, speed * reach), slope, speed, reach);
    }

    // Eight lanes: where all steps are short, the series; where some are not, Halley's method for those.
    UNITLESS_INLINE Vec8 slope(const Vec8& p, const Vec8& y) const { return evaluate(p, y).slope; }
    struct Evaluated {
        Vec8 m, small, slope;  // small = exp(-|m|)
    };
    UNITLESS_INLINE Vec8 value_of(const Vec8& m, const Vec8& small) const {
        return log1p_below_one(small) + larger(-m, Vec8::all(0.0));
    }
    UNITLESS_INLINE Evaluated evaluate(const Vec8& p, const Vec8& y) const {
        const Vec8 m = y * p, small = exp(-absolute(m)), part = 1.0 / (1.0 + small);
        return {m, small, -y * select(m > 0.0, small * part, part)};
    }
    UNITLESS_INLINE Vec8 change(const Vec8& p, const Vec8& y, const Vec8& slope, const Vec8& tau) const {
        return change_from([&]() UNITLESS_INLINE_LAMBDA { return p; }, y, slope, tau);
    }
    // The same where p is not at hand: short steps do without it.
    template <class Score>
    UNITLESS_INLINE Vec8 change_from(Score p, const Vec8& y, const Vec8& slope, const Vec8& tau) const {
        const Vec8 s = absolute(slope), b = 1.0 - s, d = s * tau;
        Vec8 delta = series(d, b);
        const Mask8 far = d > 0.0625;
        if (any(far)) delta = select(far, long_step(d, s, y * p(), tau, delta), delta);
        return y * delta;
    }

  private:
    // f reverted to a power series in d, cut off after d^10: to rounding up to d = 1/16, where nearly all steps are.
    // A column is the polynomial in b that multiplies d^3 ... d^10, a row its coefficients of b^1, b^2, ...
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

    // f in d, as in `series` below, for eight different b.
    static UNITLESS_INLINE Vec8 series(const Vec8& d, const Vec8& b) {
        const auto c = [&](int k) UNITLESS_INLINE_LAMBDA { return coefficient(k, b); };
        const Vec8 d2 = d * d, d4 = d2 * d2;
        const Vec8 first = (1.0 - d * (0.5 * b)) + d2 * (c(0) + d * c(1));
        const Vec8 second = (c(2) + d * c(3)) + d2 * (c(4) + d * c(5));
        return d * (first + d4 * (second + d4 * (c(6) + d * c(7))));
    }
    static UNITLESS_INLINE Vec8 coefficient(int k, const Vec8& b) {
        Vec8 horner = Vec8::all(table[k + 1][k]);
        for (int j = k; j >= 0; --j) horner = table[j][k] + b * horner;
        return b * horner;
    }
    // From the series, or from the better of two upper bounds (see `far` below), Halley's method (cubic). A lane that
    // has arrived stays where it is, so that it does not matter which other lanes are beside it.
    static UNITLESS_INLINE Vec8 long_step(const Vec8& d, const Vec8& s, const Vec8& m, const Vec8& tau,
                                          const Vec8& guess) {
        const Vec8 b = exp(m) * s;
        const Mask8 near = d <= 0.5;
        Vec8 delta = guess;
        if (any(~near)) {
            const Vec8 bound = log1p(smaller(tau * exp(-m), Vec8::all(0x1p1000)));
            delta = select(near, delta, smaller(d, bound));
        }
        Mask8 moving = d > 0.0625;
        for (int i = 0; i < 8 && any(moving); ++i) {
            const Vec8 grown = expm1(delta), f = (delta - d) + b * (grown - delta);
            const Vec8 f1 = 1.0 + b * grown, f2 = b + b * grown;
            const Vec8 step = f * f1 / (f1 * f1 - 0.5 * (f * f2));
            delta = select(moving, delta - step, delta);
            moving = moving & (absolute(step) > 1e-6 * delta);
        }
        const Mask8 deep = m < -300.0;
        if (!any(deep)) return delta;
        double out[width], from[4][width];
        delta.store(out);
        d.store(from[0]);
        b.store(from[1]);
        m.store(from[2]);
        tau.store(from[3]);
        for (int i = 0; i < present; ++i)
            if (from[2][i] < -300) out[i] = far(from[0][i], from[1][i], from[2][i], from[3][i]);
        return Vec8::load(out);
    }

    // f/d. The coefficients depend on b alone, which is known long before d: they cost no time on the way to the
    // update.
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
    // f to d^4, then Halley's method (cubic) twice.
    UNITLESS_RARE static double near(double d, double b) {
        const double third = b * (b * 0.5 - 1.0 / 6), fourth = b * (b * (5.0 / 12 - b * 0.625) - 1.0 / 24);
        return refine(refine(d * (1.0 + d * (b * -0.5 + d * (third + d * fourth))), d, b), d, b);
    }
    static double refine(double delta, double d, double b) {
        const double grown = expm1(delta);
        const double f = (delta - d) + b * (grown - delta), f1 = 1.0 + b * grown, f2 = b + b * grown;
        return delta - f * f1 / (f1 * f1 - 0.5 * (f * f2));
    }
    // Where exp(delta) dominates, log1p(tau/exp(m)) is the better upper bound. Newton's method falls monotonically.
    UNITLESS_RARE static double far(double d, double b, double m, double tau) {
        if (m < -300) {  // exp(m) is nothing: the new margin q = m + delta solves q + exp(q) = tau + m
            const double c = tau + m;
            if (c < -40) return tau;  // and so is exp(q)
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

// L = max(0, 1 - y p), y = -1 or +1. A step ends where the margin is 1: what is 1 to rounding must count as reached, or
// the last bit of a sum would decide whether H grows.
struct Hinge {
    static constexpr LossFacts facts{.name = "hinge", .labels = LabelKind::sign, .negative = -1};
    static constexpr double reached = 1.0 - 0x1p-40;
    explicit Hinge(const Options&) {}
    template <class T>
    T value(T p, T y) const {
        return larger(number<T>(0.0), 1.0 - y * p);
    }
    template <class T>
    T slope(T p, T y) const {
        return select(y * p < number<T>(reached), -y, number<T>(0.0));
    }
    template <class T>
    T change(T p, T y, T, T tau) const {
        return y * smaller(tau, 1.0 - y * p);
    }
};

// L = tau (y - p) below the label, (1 - tau) (p - y) above it: p estimates the tau-quantile.
struct Quantile {
    static constexpr LossFacts facts{
        .name = "quantile", .labels = LabelKind::number, .negative = -1, .differences = true};
    double tau;
    explicit Quantile(const Options& options) : tau(options.quantile) {}
    template <class T>
    T value(T p, T y) const {
        return select(p < y, tau * (y - p), (1.0 - tau) * (p - y));
    }
    template <class T>
    T slope(T p, T y) const {
        return select(p < y, number<T>(-tau), select(p > y, number<T>(1.0 - tau), number<T>(0.0)));
    }
    template <class T>
    T change(T p, T y, T slope, T time) const {
        const T jump = -slope * time;
        return select(jump > number<T>(0.0), smaller(jump, y - p), larger(jump, y - p));
    }
};

// L = exp(p) - y p + (y log y - y), y >= 0: half the deviance of a count y with mean exp(p).
// q = exp(-p) follows a linear equation, which gives p's change as -log1p(slope (1 - exp(-y tau))/y).
struct Poisson {
    static constexpr LossFacts facts{.name = "poisson", .labels = LabelKind::count, .negative = 0, .vw_limit = 50};
    explicit Poisson(const Options&) {}
    template <class T>
    T value(T p, T y) const {
        return (exp(p) - y * p) + select(y > number<T>(0.0), y * log(y) - y, number<T>(0.0));
    }
    template <class T>
    T slope(T p, T y) const {
        return exp(p) - y;
    }
    template <class T>
    T change(T p, T y, T slope, T tau) const {
        const T decay = select(y > number<T>(0.0), -expm1(-y * tau) / y, tau), part = slope * decay;
        return select(part > number<T>(-0.5), -log1p(part), -log(exp(-y * tau) + exp(p) * decay));
    }
};

// The importance-aware step of a learner of speed `speed`, as a move of v.
template <class Loss>
UNITLESS_INLINE double importance_aware_move(const Loss& loss, double p, double y, double slope, double speed,
                                             double reach) {
    if constexpr (std::is_same_v<Loss, Logistic>) {
        return loss.move(p, y, slope, speed, reach);
    } else {
        return change_by_reach(loss.change(p, y, slope, speed * reach), slope, speed, reach);
    }
}

using Losses = TypeList<Squared, Logistic, Hinge, Quantile, Poisson>;

}  // namespace UNITLESS_ISA
}  // namespace unitless
