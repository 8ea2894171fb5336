// Turns the sum of v z into a prediction: adds the row's offset and applies the limits that the options set.
#pragma once

#include "algorithm/options.hpp"
#include "algorithm/state.hpp"
#include "simd/elementary.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// Adds the row's offset to its score. An offset of 0 is not added, because -0 + 0 is 0.
inline double with_offset(double score, double offset) { return offset != 0 ? score + offset : score; }

// Limits the prediction to the range of earlier labels, if the options set this limit.
inline double limit(const Options& options, const Clock& clock, double p) {
    if (options.clip == Clip::none || !(clock.label_min <= clock.label_max)) return p;
    return smaller(larger(p, clock.label_min), clock.label_max);
}

// Limits a prediction of a row that is not learned. The plain linear model (`extrapolate`) has no limit.
inline double limit(const Options& options, const Clock& clock, double p, bool extrapolate) {
    return extrapolate && options.order == Order::paper ? p : limit(options, clock, p);
}

// Limits the prediction of a row that is being learned. Vowpal Wabbit's range includes the row's own label.
inline double limit(const Options& options, const Clock& clock, double p, double y) {
    if (options.clip != Clip::vw) return limit(options, clock, p);
    return smaller(larger(p, smaller(clock.label_min, y)), larger(clock.label_max, y));
}

inline void widen_label_range(const Options& options, Clock& clock, double y) {
    if (options.clip == Clip::none) return;
    clock.label_min = smaller(clock.label_min, y);
    clock.label_max = larger(clock.label_max, y);
}

// The sample weight that z and the prediction use for their own row. It is 1, because a prediction must not depend on
// the weight of its own row. Vowpal Wabbit uses the row's weight.
inline double seen_weight(const Options& options, double h) { return options.order == Order::vw ? h : 1.0; }

}  // namespace UNITLESS_ISA
}  // namespace unitless
