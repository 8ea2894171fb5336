// What is to be learned of each row: its label, its importance weight, and the offset of its score.
#pragma once

#include <cstddef>

#include "simd/isa.hpp"

namespace unitless {

// y and weight: one per row; no weight means 1. Labels are as the loss wants them. `pace` multiplies the learning rate.
// `offset` is added to the row's score before the loss sees it; none means 0.
struct Labels {
    const double* y;
    const double* weight;
    const double* pace = nullptr;
    std::size_t new_classes = 0;  // how many of the classes among them are new
    const double* offset = nullptr;
};

inline namespace UNITLESS_ISA {

inline double weight_of(const Labels& labels, std::size_t r) { return labels.weight ? labels.weight[r] : 1.0; }
inline double offset_of(const Labels& labels, std::size_t r) { return labels.offset ? labels.offset[r] : 0.0; }
inline Labels labels_from(const Labels& labels, std::size_t r) {
    return {labels.y + r, labels.weight ? labels.weight + r : nullptr, labels.pace ? labels.pace + r : nullptr, 0,
            labels.offset ? labels.offset + r : nullptr};
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
