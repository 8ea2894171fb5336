// The compiled kernels: tables of functions, one table per instruction set. All give the same bits.
#pragma once

#include <string>
#include <vector>

#include "algorithm/options.hpp"
#include "engine/lanes/kernel.hpp"
#include "engine/newton/kernel.hpp"
#include "engine/single/kernel.hpp"
#include "engine/softmax/kernel.hpp"
#include "rows/kernel.hpp"

namespace unitless {

// Sums over the scores of two classes.
struct TwoClassSums {
    static constexpr std::size_t count = 5, bin_bits = 20, bins = std::size_t{2} << bin_bits;
    double* sums;      // loss, errors, Brier score, weight, squared weight
    double* by_score;  // weight by the score's leading bits (sign, exponent, eight of fraction), negative class first
};

struct TreeKernel;  // trees/kernel.hpp

struct Kernel {
    const char* name;
    bool (*supported)();
    const RowKernel* rows;
    const SingleKernel* single;
    const LaneKernel* lanes;
    const TreeKernel* trees;
    const SoftmaxKernel* softmax;
    const NewtonKernel* newton;
    // Only the loss, for evaluation and tests: which = 0 value, 1 slope, 2 importance-aware change.
    void (*loss)(const Options&, int which, const double* p, const double* y, const double* tau, std::size_t n,
                 double* out);
    // Evaluates two classes with logistic loss; without weights each row counts 1.
    void (*score)(const double* p, const bool* positive, const double* weight, std::size_t n, const TwoClassSums&);
};

extern const Kernel kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const Kernel kernel_avx2, kernel_avx512;
#endif

}  // namespace unitless
