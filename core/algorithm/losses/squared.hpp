// Squared loss, for labels that are numbers.
#pragma once

#include "algorithm/losses/facts.hpp"
#include "algorithm/options.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// L = (p - y)^2, y real. A step multiplies the error by exp(-2 tau).
struct Squared {
    static constexpr LossFacts facts{.name = "squared",
                                     .labels = LabelKind::number,
                                     .negative = -1,
                                     .scales_itself = true,
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

}  // namespace UNITLESS_ISA
}  // namespace unitless
