// The hot path of second-order learners: what their engine hands to the kernels, which are compiled once per
// instruction set. All give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rows/labels.hpp"

namespace unitless {

// P of the features is symmetric: of row i the columns up to the end of its block of eight are stored, so that a
// feature that joins is a row at the end. The bias stands apart, because it would make most widths just exceed a block.
inline constexpr std::size_t most_features = 100, most_places = 104;

inline namespace UNITLESS_ISA {

constexpr std::size_t half_row(std::size_t i) {
    const std::size_t block = i / 8;
    return 32 * block * (block + 1) + i % 8 * (block + 1) * 8;
}
constexpr std::size_t half_size = half_row(most_places);
// Where the entry of two places is.
constexpr std::size_t half_entry(std::size_t i, std::size_t j) { return i > j ? half_row(i) + j : half_row(j) + i; }

// Within a block on the diagonal both halves are stored.
inline void set_entry(double* half, std::size_t i, std::size_t j, double value) {
    half[half_entry(i, j)] = value;
    if (i / 8 == j / 8) half[half_row(i < j ? i : j) + (i < j ? j : i)] = value;
}

}  // namespace UNITLESS_ISA

enum class SecondOrderLoss { squared, logistic, classes };

// How a lane begins and forgets: P = I/prior, and after each row P's diagonal grows by `walk`, that of the bias by
// `bias_walk`.
struct Walk {
    double prior, walk, bias_walk;
};

struct SecondOrderLane {
    Walk how;
    double* half;             // P of the features
    double *border, *corner;  // P of the bias with the features, and with itself
    double* v;                // [head][most_places]
    double* bias_v;           // by head
    std::size_t heads;
};

// A scale that grows with a row, rho = scale before / scale now; 0: the feature is met for the first time.
struct Growth {
    std::size_t place;
    double rho;
};

struct SecondOrderRow {
    double weight;         // 0: predict only
    std::size_t features;  // that have a place when the row is learned
    std::size_t first_growth, end_growth;
    double label_min, label_max;  // limits of what is said
    double y, offset;             // y: a number, a sign, or the number of a head
};

struct SecondOrderRows {
    const SecondOrderRow* rows;
    std::size_t count;
    const double* z;  // [row][stride]
    std::size_t stride;
    const Growth* growths;
    bool bias;
    bool plain;  // what is said is the linear model's, whatever is known of its uncertainty
};

// What a lane says of a row: one number; of squared loss two, with and without shrinkage; of classes one for each head.
constexpr std::size_t said_each(SecondOrderLoss loss, std::size_t heads) {
    return loss == SecondOrderLoss::squared ? 2 : loss == SecondOrderLoss::logistic ? 1 : heads;
}

inline namespace UNITLESS_ISA {

inline std::size_t padded_heads(std::size_t heads) { return (heads + 7) / 8 * 8; }
inline std::size_t run_doubles(SecondOrderLoss loss, std::size_t heads) {
    return loss == SecondOrderLoss::classes ? 6 * padded_heads(heads) : 0;
}

}  // namespace UNITLESS_ISA

struct SecondOrderKernel {
    // Says and learns rows. Gives the first one that would take the lane beyond all numbers, and is left out; or
    // `count`. `memory`: `run_doubles` of working memory.
    std::size_t (*run)(SecondOrderLoss, const SecondOrderLane&, const SecondOrderRows&, double* said, double* memory);
    // The losses of what was said, [row]; of squared loss [row][2].
    void (*losses)(SecondOrderLoss, const SecondOrderRows&, std::size_t heads, const double* said, double* loss);
    // Logarithms of the odds of each class against the others.
    void (*odds)(const double* said, std::size_t heads, double* to);
};

extern const SecondOrderKernel second_order_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const SecondOrderKernel second_order_kernel_avx2, second_order_kernel_avx512;
#endif

}  // namespace unitless
