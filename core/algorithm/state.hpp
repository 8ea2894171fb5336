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
struct alignas(32) Slot64 {
    double scale, v, H;
};
struct alignas(16) Slot32 {
    double scale;
    float v, H;
};
static_assert(sizeof(Slot64) == 32 && sizeof(Slot32) == 16);

// The stream so far.
struct Clock {
    double t = 0;                // total weight of the examples (the paper's t)
    double T = 0;                // the weight that went into N: t, but order "vw" leaves out examples without loss
    double N = 0;                // sum of z^2
    std::uint64_t examples = 0;  // their number
    double label_min = 0, label_max = 0;
    double pace = 1;  // of the last example; proximal learners keep it
};

// Features in the order in which the kernel reads them: in chunks of eight, the feature of slot j in lane (j - 1)
// mod 8. For dense input the pack mirrors all slots for the length of a call (slot j at position j - 1); for sparse
// input it holds one row. The bias, slot 0, stands apart: it is in every row, and a lane of its own would be mostly
// empty.
struct Pack {
    Slot64* bias;
    double* x;  // the row: x on the way in, z when its scale has been applied
    double* scale;
    double* inverse;  // 1/scale, dense only
    double* v;
    double* H;
    double* rho;   // scale before / scale now
    double* step;  // z/sqrt(H) between the two halves of an update
    std::uint32_t* slot;
    std::uint32_t* active;  // chunks with a feature other than zero
};

}  // namespace unitless
