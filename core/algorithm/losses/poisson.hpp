// Poisson loss, for counts.
#pragma once

#include "algorithm/losses/facts.hpp"
#include "algorithm/options.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// L = exp(p) - y p + (y log y - y), y >= 0: half the deviance of a count y with mean exp(p).
// With q = exp(-p), dp/dtime = -dL/dp is a linear equation, so p changes by -log1p(slope (1 - exp(-y tau))/y).
struct Poisson {
    static constexpr LossFacts facts{.name = "poisson", .labels = LabelKind::count, .negative = 0, .vw_limit = 50};
    explicit Poisson(const Options&) {}
    template <class T>
    T value(T p, T y) const {
        return (exp(p) - y * p) + select(y > constant<T>(0.0), y * log(y) - y, constant<T>(0.0));
    }
    template <class T>
    T slope(T p, T y) const {
        return exp(p) - y;
    }
    template <class T>
    T change(T p, T y, T slope, T tau) const {
        const T decay = select(y > constant<T>(0.0), -expm1(-y * tau) / y, tau), part = slope * decay;
        return select(part > constant<T>(-0.5), -log1p(part), -log(exp(-y * tau) + exp(p) * decay));
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
