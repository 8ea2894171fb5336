// The state of a learner: a few numbers for the stream and three per feature.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unitless {

// One feature. Only `scale` has a unit; v and H have none.
//   scale   s = max |x| (NG, NAG); r = sqrt(sum x^2) (sNAG); max |x|, for reports only (GD, AG)
//   v       w s (NG, NAG), w r/sqrt(t) (sNAG), w (GD, AG)
//   H       G/s^2 (NAG, sNAG), G (AG); sum of z^2 (NG) or x^2 (GD) over the examples that changed v, for merging only
// A slot never crosses a cache line, and has the width of an AVX register.
struct alignas(32) Slot {
    double scale, v, H;
};
static_assert(sizeof(Slot) == 32);

// The state of the stream.
struct Clock {
    double t = 0;                // total weight of the examples (the paper's t)
    double T = 0;                // the weight that N includes: t, but order "vw" leaves out examples without loss
    double N = 0;                // sum of z^2
    std::uint64_t examples = 0;  // the number of examples
    double label_min = 0, label_max = 0;
    double label_scale = 1;  // the label's unit at the last example, which proximal learners use
};

}  // namespace unitless
