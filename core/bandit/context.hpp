// Contexts without units: z = (x - mean) / deviation for numbers, x / (root of the mean square) for other features, and
// 1 for features beyond the first `most_exact`, which are told apart by a hash alone. Features that are absent from a
// row have z = 0: a number then counts as its mean, other features as 0.
//
// All z are divided by the root of d, the mean number of features of a row, so that a row has |z| near 1 whatever d is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace unitless {

// Slot 0 is the constant's. The features in slots 1 to `most_exact` have covariances; the slots after them are buckets,
// which have variances only.
constexpr std::size_t most_exact = 100, buckets = 4096;

class ContextScales {
  public:
    // Numbers in a state: rows, features in all rows; by slot: its unit, rows, mean, sum of squared deviations.
    static constexpr std::size_t count = 2 + 4 * (most_exact + 1);

    explicit ContextScales(double* state) : state_(state) {}

    // Counts a row and returns its z. Slots up to `centered` are numbers, from which the mean is subtracted.
    std::vector<double> observe(const std::vector<std::uint32_t>& slots, const std::vector<double>& x,
                                std::size_t centered);

  private:
    double* state_;
};

}  // namespace unitless
