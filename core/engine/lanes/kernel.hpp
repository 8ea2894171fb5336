// The hot path of many learners over one stream: what their engines call, compiled once per instruction set. All give
// the same bits.
//
// Lanes are learners that share their scales. Rows are staged once for all of them: x becomes z, the scales and the
// clock move on. Then each octet (eight lanes) goes through the staged rows by itself.
#pragma once

#include "algorithm/options.hpp"
#include "algorithm/state.hpp"
#include "rows/batch.hpp"

namespace unitless {

// What all lanes need to know of a row: its entries in the stage's arrays, and the clock's values at that time.
struct StagedRow {
    std::size_t begin, end;
    double weight;  // 0: predict only
    double gain, damp, root_t, zz;
    double label_min, label_max;         // before the row
    double label_scale, penalty_factor;  // of proximal learners, before the row: the label's unit, and that times damp
    bool grown;                          // some rho is not 1
};

// Rows with their scales applied.
struct Stage {
    StagedRow* rows;
    std::uint32_t* slot;
    double *z, *rho;
    double* before;  // scales of the current row's features before it, to go back to
};

// Eight lanes. state: [slot][v of 8, H of 8]; label: the class that each lane learns to tell from the rest. The arrays
// of results have one row per example; `loss` may be null.
struct Octet {
    static constexpr std::size_t never = ~std::size_t{0};
    double* state;
    const double* rate;
    const double* label;
    double* prediction;
    double* loss;
    std::size_t* diverged_at;  // by lane: the first row at which its numbers ran away; it learns nothing from there on
    const double* penalty;     // of proximal learners
    std::size_t lanes = 8;     // in use; of four or fewer, the others' results may be anything
};
inline constexpr std::size_t octet_doubles = 16;
inline constexpr std::size_t octets_at_once = 8;  // that a kernel takes through a row together
inline constexpr std::size_t leaf_doubles = 8;    // a leaf of a curve or tree has weights alone

// What the lanes learn of each row.
struct LaneLabels {
    const double* y = nullptr;  // a label, or the number of a class
    const double* label_scale = nullptr;
    bool classes = false;
    double negative = 0;             // a lane's label where the class is another
    std::size_t stride = 0;          // of the arrays of results
    const double* offset = nullptr;  // of each row's score; null: there are none
};

inline namespace UNITLESS_ISA {

inline double label_scale_of(const LaneLabels& labels, std::size_t r) {
    return labels.label_scale ? labels.label_scale[r] : 1.0;
}
// Scratch of a kernel for so many octets and rows of so many entries.
inline std::size_t steps_doubles(std::size_t octets, std::size_t longest) {
    return 8 * longest * (octets < octets_at_once ? octets : octets_at_once);
}

}  // namespace UNITLESS_ISA

struct LaneKernel {
    // Observes the rows' scales; gives the number of rows staged: fewer than asked if one leaves the range of numbers.
    std::size_t (*stage_learn)(const Options&, Clock&, double* scale, const Batch&, const Stage&);
    void (*stage_predict)(const Options&, const Clock&, double* scale, const Batch&, bool extrapolate, const Stage&);
    // The staged rows through `count` octets; `steps` holds `steps_doubles`.
    void (*run)(const Options&, const Octet*, std::size_t count, const LaneLabels&, const Stage&, std::size_t rows,
                double* steps);
};

extern const LaneKernel lane_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const LaneKernel lane_kernel_avx2, lane_kernel_avx512;
#endif

}  // namespace unitless
