// The hot path of many learners over one stream: what their engine hands to the kernels, which are compiled once per
// instruction set. All give the same bits.
#pragma once

#include "algorithm/options.hpp"
#include "algorithm/state.hpp"
#include "rows/labels.hpp"
#include "rows/sparse.hpp"

namespace unitless {

// What all lanes need to know of a row: its part of the stage's arrays, and the clock's values at that time.
struct StagedRow {
    std::size_t begin, end;
    double weight;  // 0: predict only
    double spread, damp, root_t, zz;
    double label_min, label_max;  // before the row
    double pace, tempo;           // of proximal learners, before the row: the pace, and that times the damp
    bool grown;                   // some rho is not 1
    bool tiny;                    // some z^2 is below `tiny_square`
};
inline constexpr double tiny_square = 0x1p-100;

// Rows with their scales applied.
struct Stage {
    StagedRow* rows;
    std::uint32_t* slot;
    double *z, *squared, *rho;  // squared: z^2; rho: of rows that have `grown` alone
    double* before;             // scales of the current row's features before it, to go back to
};

// Eight lanes. state: [slot][v of 8, H of 8]; label: the class that each lane learns to tell from the rest. The arrays
// of results have one row per example; `loss` may be null. `run` leaves in it what `losses` needs.
struct Octet {
    static constexpr std::size_t never = ~std::size_t{0};
    double* state;
    const double* rate;
    const double* label;
    double* prediction;
    double* loss;
    std::size_t* diverged_at;  // the first row at which a lane's numbers ran away; its updates are left out from there
    const double* penalty;     // of proximal learners
};
inline constexpr std::size_t octet_doubles = 16;
inline constexpr std::size_t leaf_doubles = 8;  // of a leaf (shapes/): it has weights alone

struct LaneLabels {
    const double* y;  // a label, or the number of a class
    const double* pace;
    bool classes;
    double negative;                 // what a lane's label is where the class is another
    std::size_t stride;              // of the arrays of results
    const double* offset = nullptr;  // of each row's score; null: there are none
};

struct LaneKernel {
    // Observes the rows' scales; gives the number of rows staged: fewer than asked if one leaves the range of numbers.
    std::size_t (*stage_learn)(const Options&, Clock&, double* scale, const SparseInput&, const Labels&, const Stage&);
    void (*stage_predict)(const Options&, const Clock&, double* scale, const SparseInput&, bool extrapolate,
                          const Stage&);
    // `octets` (1 or 2) of them; `memory` holds 8 doubles for each and for each feature of the longest row.
    void (*run)(const Options&, const Octet*, int octets, const LaneLabels&, const Stage&, std::size_t rows,
                double* memory);
    // The same where only the first four lanes of the octets are anyone's.
    void (*run_four)(const Options&, const Octet*, int octets, const LaneLabels&, const Stage&, std::size_t rows,
                     double* memory);
    // Each row's losses, after `run`, wherever rows were learned.
    void (*losses)(const Options&, const Octet&, const LaneLabels&, const Stage&, std::size_t rows);
};

void run_four_baseline(const Options&, const Octet*, int, const LaneLabels&, const Stage&, std::size_t, double*);
void run_four_avx2(const Options&, const Octet*, int, const LaneLabels&, const Stage&, std::size_t, double*);

extern const LaneKernel lane_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const LaneKernel lane_kernel_avx2, lane_kernel_avx512;
#endif

}  // namespace unitless
