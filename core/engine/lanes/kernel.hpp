// The hot path of many learners on one stream, compiled once per instruction set. All versions give the same bits.
//
// Lanes are learners that share their scales. Rows are staged once for all lanes: x becomes z, and the scales and the
// clock are updated. Then each octet (eight lanes) processes the staged rows by itself.
#pragma once

#include "algorithm/options.hpp"
#include "algorithm/state.hpp"
#include "rows/batch.hpp"

namespace unitless {

// What all lanes need of a row: its entries in the stage's arrays, and the values of the clock at that time.
struct StagedRow {
    std::size_t begin, end;
    double weight;  // 0: predict only
    double gain, damp, root_t, zz;
    double label_min, label_max;         // before the row
    double label_scale, penalty_factor;  // for proximal learners, before the row: the label's unit, and it times damp
    bool grown;                          // some rho is not 1
};

// Rows with their scales applied.
struct Stage {
    StagedRow* rows;
    std::uint32_t* slot;
    double *z, *rho;
    double* before;  // the scales before the current row, to undo it
};

// Eight lanes. state: [slot][v of 8, H of 8]; label: each lane's class in one-vs-all. The arrays of results have one
// row per example; `loss` may be null.
struct Octet {
    static constexpr std::size_t never = ~std::size_t{0};
    double* state;
    const double* rate;
    const double* label;
    double* prediction;
    double* loss;
    std::size_t* diverged_at;  // by lane: the first row at which the lane diverged; it learns nothing from there on
    const double* penalty;     // for proximal learners
    std::size_t lanes = 8;     // lanes in use; if four or fewer, the results of the others are undefined
};
inline constexpr std::size_t octet_doubles = 16;
inline constexpr std::size_t octets_at_once = 8;  // octets that a kernel processes together in a row
inline constexpr std::size_t leaf_doubles = 8;    // a leaf of a curve or tree has only weights

// What the lanes learn for each row.
struct LaneLabels {
    const double* y = nullptr;  // a label, or the number of a class
    const double* label_scale = nullptr;
    bool classes = false;
    double negative = 0;             // a lane's label for rows of other classes
    std::size_t stride = 0;          // of the arrays of results
    const double* offset = nullptr;  // by row, added to its score; null: no offsets
};

inline namespace UNITLESS_ISA {

inline double label_scale_of(const LaneLabels& labels, std::size_t r) {
    return labels.label_scale ? labels.label_scale[r] : 1.0;
}
// The size of a kernel's scratch, by the number of octets and the length of the longest row.
inline std::size_t steps_doubles(std::size_t octets, std::size_t longest) {
    return 8 * longest * (octets < octets_at_once ? octets : octets_at_once);
}

}  // namespace UNITLESS_ISA

struct LaneKernel {
    // Updates the scales with the rows. Returns the number of staged rows: fewer than given if one overflows.
    std::size_t (*stage_learn)(const Options&, Clock&, double* scale, const Batch&, const Stage&);
    void (*stage_predict)(const Options&, const Clock&, double* scale, const Batch&, bool extrapolate, const Stage&);
    // Runs `count` octets over the staged rows; `steps` is scratch of `steps_doubles`.
    void (*run)(const Options&, const Octet*, std::size_t count, const LaneLabels&, const Stage&, std::size_t rows,
                double* steps);
};

extern const LaneKernel lane_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const LaneKernel lane_kernel_avx2, lane_kernel_avx512;
#endif

}  // namespace unitless
