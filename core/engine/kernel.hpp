// The hot path's interface: what the learner hands to a kernel, and the kernels that were compiled.
//
// A kernel is a table of functions from one source (kernel.cpp), compiled for one instruction set. All give the same
// bits. Everything here is plain data: kernels share no inline code with the rest (isa.hpp says why).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "algorithm/options.hpp"
#include "algorithm/state.hpp"

namespace unitless {

enum class Type { f32, f64, i8, i16, i32, i64, u8, u16, u32, u64 };

// A column of numbers and the slot that it feeds.
struct Column {
    const char* data;
    std::ptrdiff_t stride;
    Type type;
    std::uint32_t slot;
    bool indicator = false;  // of booleans: never centred
    std::string_view name = {};
    std::int64_t number = -1;  // where it has no name
};

// Rows of equally typed numbers that lie side by side; column j feeds slot 1 + j. Used when `columns` is null.
// Otherwise `columns` has one entry per column.
struct DenseInput {
    const char* data;
    std::ptrdiff_t row_stride;
    Type type;
    const Column* columns;
    std::size_t column_count;
    std::size_t rows;
    bool indicators = false;  // all of them
};

// Rows of (slot, value), slots rising within a row, no value zero. What `slots` holds are slots, or a matrix's own
// columns.
struct SparseInput {
    const std::uint32_t* slots;
    const double* values;
    const std::size_t* row_ends;
    std::size_t rows;
    std::size_t first = 0;         // where the first row begins
    bool in_sequence = false;      // a row's features fill the pack one after another, in whichever lanes that gives
    std::uint32_t mask = ~0u;      // for columns: the bits that say the slot,
    std::uint32_t first_slot = 0;  // and the slot of column 0

    std::uint32_t slot(std::size_t k) const { return first_slot + (slots[k] & mask); }
    std::size_t begin(std::size_t r) const { return r ? row_ends[r - 1] : first; }
    std::size_t end(std::size_t r) const { return row_ends[r]; }
    std::size_t entries() const { return rows ? end(rows - 1) - first : 0; }
    SparseInput part(std::size_t from, std::size_t to) const {
        return {slots, values, row_ends + from, to - from, begin(from), in_sequence, mask, first_slot};
    }
};

// Compressed sparse rows as the caller has them. Indices are 32 or 64 bit.
struct CompressedRows {
    const double* values;
    const void* indices;
    const void* row_starts;
    bool wide_indices;
    std::size_t rows, columns, entries;
};

// y and weight: one per row; no weight means 1. Labels are as the loss wants them. `pace` multiplies the learning rate.
struct Labels {
    const double* y;
    const double* weight;
    const double* pace = nullptr;
    std::size_t new_classes = 0;  // how many of the classes among them are new

    Labels from(std::size_t r) const { return {y + r, weight ? weight + r : nullptr, pace ? pace + r : nullptr, 0}; }
    double weight_of(std::size_t r) const { return weight ? weight[r] : 1.0; }
};

enum class Status { ok, not_finite, diverged };

struct Outcome {
    Status status = Status::ok;
    std::size_t row = 0, column = 0;
};

// ---- lanes: see lane_rows.hpp

// What all lanes need to know of a row: its part of the stage's arrays, and the clock's values at that time.
struct StagedRow {
    std::size_t begin, end;
    double weight;  // 0: predict only
    double spread, damp, root_t, zz;
    double label_min, label_max;  // before the row
    bool grown;                   // some rho is not 1
    bool tiny;                    // some z^2 is below `tiny_square`
};
inline constexpr double tiny_square = 0x1p-100;

// Rows with their scales applied.
struct Stage {
    StagedRow* rows;
    std::uint32_t* slot;
    double *z, *squared, *rho;  // squared: z^2
    double* before;             // scales of the current row's features before it, to go back to
};
inline constexpr std::size_t stage_margin = 8;  // room that the arrays have beyond the last feature

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
};
inline constexpr std::size_t octet_doubles = 16;

struct LaneLabels {
    const double* y;  // a label, or the number of a class
    const double* pace;
    bool classes;
    double negative;     // what a lane's label is where the class is another
    std::size_t stride;  // of the arrays of results
};

struct LaneKernel {
    // Rows of float32 or float64 that lie side by side, as rows of (slot, value): see dense_collect.hpp.
    void (*collect)(const DenseInput&, std::uint32_t* slots, double* values, std::size_t* row_ends);
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

// ---- one row at a time: see placed_kernel.cpp

// A row whose features have their places in a pack of their own, which mirrors their slots. Where no feature stands,
// all is zero; all chunks are listed as active.
struct PlacedRow {
    Pack pack;
    double* x;                   // the row's values, by place; the pack's x is z alone
    const std::uint32_t* place;  // of each feature
    std::size_t count, chunks;
    bool plain;  // every scale has a normal inverse
};

struct PlacedKernel {
    bool (*supports)(const Options&);
    void (*load)(const Options&, const void* slots, PlacedRow&);
    // Writes the slots too. Diverged: they are as before, and the row is to be loaded again.
    Status (*learn)(const Options&, Clock&, void* slots, PlacedRow&, double y, double h, double eta,
                    double& prediction);
    double (*predict)(const Options&, const Clock&, const PlacedRow&, bool extrapolate);
};

// Where the scores of two classes are added up.
struct TwoClassSums {
    static constexpr std::size_t count = 5, bin_bits = 20, bins = std::size_t{2} << bin_bits;
    double* sums;      // loss, errors, Brier score, weight, squared weight
    double* by_score;  // weight by the score's leading bits (sign, exponent, eight of fraction), negative class first
};

struct Kernel {
    const char* name;
    bool (*supported)();
    // The pack mirrors all slots (pack_chunks of them); `block` holds block_doubles(pack_chunks).
    Outcome (*learn_dense)(const Options&, Clock&, const Pack&, std::size_t pack_chunks, double* block,
                           const DenseInput&, const Labels&, double* predictions);
    Outcome (*predict_dense)(const Options&, const Clock&, const Pack&, std::size_t pack_chunks, double* block,
                             const DenseInput&, bool extrapolate, double* predictions);
    // `slots` is the learner's array of Slot64 or Slot32; the pack has room for the longest row.
    Outcome (*learn_sparse)(const Options&, Clock&, const Pack&, std::size_t pack_chunks, void* slots,
                            const SparseInput&, const Labels&, double* predictions);
    void (*predict_sparse)(const Options&, const Clock&, const Pack&, std::size_t pack_chunks, const void* slots,
                           const SparseInput&, bool extrapolate, double* predictions);
    // Well-formed, slots (the column's bits in `mask`) rising within a row, ordinary numbers other than zero.
    bool (*are_plain)(const CompressedRows&, std::uint64_t mask);
    // The loss alone, for evaluation and tests: which = 0 value, 1 slope, 2 importance-aware change.
    void (*loss)(const Options&, int which, const double* p, const double* y, const double* tau, std::size_t n,
                 double* out);
    const LaneKernel* lanes;
    const PlacedKernel* placed;
    // Rows of columns that do not lie side by side, put so; positions that no column feeds must be zero already.
    void (*widen)(const DenseInput&, std::size_t first, std::size_t rows, double* to, std::size_t row_length);
    // Two classes with logistic loss; without weights each row counts 1.
    void (*score)(const double* p, const bool* positive, const double* weight, std::size_t n, const TwoClassSums&);
};

// How many rows a block holds: as many as stay in the first-level cache.
inline constexpr std::size_t block_rows(std::size_t pack_chunks) {
    const std::size_t rows = 2048 / (8 * pack_chunks);
    return rows < 1 ? 1 : rows > 64 ? 64 : rows;
}

// The memory that a block needs: z and rho of its rows.
inline constexpr std::size_t block_doubles(std::size_t pack_chunks) {
    return 2 * block_rows(pack_chunks) * 8 * pack_chunks;
}

extern const Kernel kernel_baseline;
extern const LaneKernel lane_kernel_baseline;
extern const PlacedKernel placed_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const Kernel kernel_avx2, kernel_avx512;
extern const LaneKernel lane_kernel_avx2, lane_kernel_avx512;
extern const PlacedKernel placed_kernel_avx2, placed_kernel_avx512;
#endif

}  // namespace unitless
