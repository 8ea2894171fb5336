// The hot path of second-order learners: what their engine passes to the kernels, which are compiled once per
// instruction set. All versions give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rows/labels.hpp"

namespace unitless {

// P of the features is symmetric. Of row i the columns up to the end of its block of eight are stored, so that a new
// feature is a row at the end. The bias is separate, because it would make most widths just exceed a block.
inline constexpr std::size_t most_features = 100, most_places = 104;

inline namespace UNITLESS_ISA {

constexpr std::size_t half_row(std::size_t i) {
    const std::size_t block = i / 8;
    return 32 * block * (block + 1) + i % 8 * (block + 1) * 8;
}
constexpr std::size_t half_size = half_row(most_places);
// The index of the entry of two positions.
constexpr std::size_t half_entry(std::size_t i, std::size_t j) { return i > j ? half_row(i) + j : half_row(j) + i; }

// Within a block on the diagonal both halves are stored.
inline void set_entry(double* half, std::size_t i, std::size_t j, double value) {
    half[half_entry(i, j)] = value;
    if (i / 8 == j / 8) half[half_row(i < j ? i : j) + (i < j ? j : i)] = value;
}

}  // namespace UNITLESS_ISA

enum class NewtonLoss { squared, logistic, classes };

// The prior and the forgetting of a lane: P = I/prior at the start, and each row adds `drift` to P's diagonal, and
// `bias_drift` to the bias's entry: the variance of the drift of the weights until the next row.
struct Forgets {
    double prior, drift, bias_drift;
};

struct NewtonLane {
    Forgets how;
    double* half;             // P of the features
    double *border, *corner;  // P of the bias with the features, and with itself
    double* v;                // [head][most_places]
    double* bias_v;           // by head
    std::size_t heads;
};

// A scale that grows with a row, rho = scale before / scale now; 0: the feature is new.
struct Growth {
    std::size_t place;
    double rho;
};

struct NewtonRow {
    double weight;         // 0: predict only
    std::size_t features;  // the number of features with a position when the row is learned
    std::size_t first_growth, end_growth;
    double label_min, label_max;  // limits of the prediction
    double y, offset;             // y: a number, a sign, or the number of a head
};

struct NewtonRows {
    const NewtonRow* rows;
    std::size_t count;
    const double* z;  // [row][stride]
    std::size_t stride;
    const Growth* growths;
    bool bias;
    bool extrapolate;  // predictions are those of the linear model, not corrected for uncertainty
};

// The size of a lane's prediction of a row: one number; for squared loss two, the mean and its shrunk form; for classes
// one per head.
constexpr std::size_t prediction_width(NewtonLoss loss, std::size_t heads) {
    return loss == NewtonLoss::squared ? 2 : loss == NewtonLoss::logistic ? 1 : heads;
}

inline namespace UNITLESS_ISA {

inline std::size_t padded_heads(std::size_t heads) { return (heads + 7) / 8 * 8; }
inline std::size_t run_doubles(NewtonLoss loss, std::size_t heads) {
    return loss == NewtonLoss::classes ? 6 * padded_heads(heads) : 0;
}

}  // namespace UNITLESS_ISA

struct NewtonKernel {
    // Predicts and learns rows. Returns the first row that would make the lane overflow, which is not learned; or
    // `count`. `memory`: scratch of `run_doubles`.
    std::size_t (*run)(NewtonLoss, const NewtonLane&, const NewtonRows&, double* predictions, double* memory);
    // The losses of predictions, [row]; for squared loss [row][2].
    void (*losses)(NewtonLoss, const NewtonRows&, std::size_t heads, const double* predictions, double* loss);
    // The log odds of each class against the others (algorithm/log_odds.hpp). `open`: the last head is the spare class.
    void (*log_odds)(const double* scores, std::size_t heads, bool open, double* to);
};

extern const NewtonKernel newton_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const NewtonKernel newton_kernel_avx2, newton_kernel_avx512;
#endif

}  // namespace unitless
