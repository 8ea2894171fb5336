// What a learner remembers: a few numbers for the stream and three per feature.
#pragma once

#include <cstddef>
#include <cstdint>

namespace unitless {

// One feature. The unit is in `scale` alone; v and H have none.
//   scale   s = max |x| (NG, NAG); r = sqrt(sum x^2) (sNAG); max |x|, for reports only (GD, AG)
//   v       w s (NG, NAG), w r/sqrt(t) (sNAG), w (GD, AG)
//   H       G/s^2 (NAG, sNAG), G (AG); sum of z^2 (NG) or x^2 (GD) over the examples that moved v, which only merging
//   reads
// No slot lies in two lines of the cache, and one is as wide as a register.
struct alignas(32) Slot {
    double scale, v, H;
};
static_assert(sizeof(Slot) == 32);

// The stream so far.
struct Clock {
    double t = 0;                // total weight of the examples (the paper's t)
    double T = 0;                // the weight that went into N: t, but order "vw" leaves out examples without loss
    double N = 0;                // sum of z^2
    std::uint64_t examples = 0;  // their number
    double label_min = 0, label_max = 0;
    double label_scale = 1;  // the label's unit at the last example, which proximal learners keep
};

}  // namespace unitless
