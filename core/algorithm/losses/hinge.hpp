// Hinge loss, for two classes.
#pragma once

#include "algorithm/losses/facts.hpp"
#include "algorithm/options.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// L = max(0, 1 - y p), y = -1 or +1. A step ends where the margin is 1. A margin that is 1 up to rounding must count as
// 1; otherwise the last bit of a sum would decide whether H grows.
struct Hinge {
    static constexpr LossFacts facts{.name = "hinge", .labels = LabelKind::sign, .negative = -1};
    static constexpr double reached = 1.0 - 0x1p-40;
    explicit Hinge(const Options&) {}
    template <class T>
    T value(T p, T y) const {
        return larger(constant<T>(0.0), 1.0 - y * p);
    }
    template <class T>
    T slope(T p, T y) const {
        return select(y * p < constant<T>(reached), -y, constant<T>(0.0));
    }
    template <class T>
    T change(T p, T y, T, T tau) const {
        return y * smaller(tau, 1.0 - y * p);
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
