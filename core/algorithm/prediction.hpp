// From the sum of v z to a prediction: the row's offset, and the limits that the options ask for.
#pragma once

#include "algorithm/options.hpp"
#include "algorithm/state.hpp"
#include "simd/elementary.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// A score with its row's offset. An offset of 0 is not added: that would turn -0 into 0.
inline double with_offset(double score, double offset) { return offset != 0 ? score + offset : score; }

// The prediction within the range of earlier labels, where the options ask for it.
inline double limit(const Options& options, const Clock& clock, double p) {
    if (options.clip == Clip::none || !(clock.label_min <= clock.label_max)) return p;
    return smaller(larger(p, clock.label_min), clock.label_max);
}

// A prediction without learning; the plain linear model has no limit.
inline double limit(const Options& options, const Clock& clock, double p, bool extrapolate) {
    return extrapolate && options.order == Order::paper ? p : limit(options, clock, p);
}

// The prediction of a row that is learned: Vowpal Wabbit's range includes the row's own label.
inline double limit(const Options& options, const Clock& clock, double p, double y) {
    if (options.clip != Clip::vw) return limit(options, clock, p);
    return smaller(larger(p, smaller(clock.label_min, y)), larger(clock.label_max, y));
}

inline void widen_label_range(const Options& options, Clock& clock, double y) {
    if (options.clip == Clip::none) return;
    clock.label_min = smaller(clock.label_min, y);
    clock.label_max = larger(clock.label_max, y);
}

// The weight with which a row's z and prediction see the row: 1, so that they do not know its own. Vowpal Wabbit's do.
inline double seen_weight(const Options& options, double h) { return options.order == Order::vw ? h : 1.0; }

}  // namespace UNITLESS_ISA
}  // namespace unitless
