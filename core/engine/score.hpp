// Metrics of predictions of two classes: sums over rows in the order of the rows, however they are divided into calls.
#pragma once

#include "algorithm/loss.hpp"
#include "engine/kernel.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

inline void score_two_classes(const double* p, const bool* positive, const double* weight, std::size_t n,
                              const TwoClassSums& to) {
    const Logistic logistic{Options{}};
    double loss = to.sums[0], errors = to.sums[1], brier = to.sums[2], total = to.sums[3], squared = to.sums[4];
    for (std::size_t first = 0; first < n; first += width) {
        const std::size_t rows = smaller<std::size_t>(width, n - first);
        double score[width] = {}, label[width], value[width], wrong[width];
        for (std::size_t i = 0; i < rows; ++i) score[i] = p[first + i];
        for (std::size_t i = 0; i < width; ++i) label[i] = i < rows && positive[first + i] ? 1.0 : -1.0;
        const auto measured = logistic.measure(Vec8::load(score), Vec8::load(label));
        measured.value.store(value);
        (measured.slope * measured.slope).store(wrong);  // the slope is the probability of the other class
        for (std::size_t i = 0; i < rows; ++i) {
            const double h = weight ? weight[first + i] : 1.0;
            const bool hit = label[i] > 0;
            loss += value[i] * h;
            errors += (score[i] > 0) != hit ? h : 0.0;
            brier += wrong[i] * h;
            total += h;
            squared += h * h;
            const auto bits = __builtin_bit_cast(std::uint64_t, score[i] + 0.0);  // adding 0 turns -0 into 0
            to.by_score[bits >> (64 - TwoClassSums::bin_bits) | std::size_t{hit} << TwoClassSums::bin_bits] += h;
        }
    }
    to.sums[0] = loss;
    to.sums[1] = errors;
    to.sums[2] = brier;
    to.sums[3] = total;
    to.sums[4] = squared;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
