// Quantile loss, for labels that are numbers.
#pragma once

#include "algorithm/losses/facts.hpp"
#include "algorithm/options.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// L = tau (y - p) where p is below the label, (1 - tau) (p - y) where p is above: p estimates the tau-quantile.
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
        return select(p < y, constant<T>(-tau), select(p > y, constant<T>(1.0 - tau), constant<T>(0.0)));
    }
    template <class T>
    T change(T p, T y, T slope, T time) const {
        const T jump = -slope * time;
        return select(jump > constant<T>(0.0), smaller(jump, y - p), larger(jump, y - p));
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
