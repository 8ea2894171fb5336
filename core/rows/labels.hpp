// What is to be learned of each row: its label and its importance weight.
#pragma once

#include <cstddef>

#include "simd/isa.hpp"

namespace unitless {

// y and weight: one per row; no weight means 1. Labels are as the loss wants them. `pace` multiplies the learning rate.
struct Labels {
    const double* y;
    const double* weight;
    const double* pace = nullptr;
    std::size_t new_classes = 0;  // how many of the classes among them are new
};

inline namespace UNITLESS_ISA {

inline double weight_of(const Labels& labels, std::size_t r) { return labels.weight ? labels.weight[r] : 1.0; }
inline Labels labels_from(const Labels& labels, std::size_t r) {
    return {labels.y + r, labels.weight ? labels.weight + r : nullptr, labels.pace ? labels.pace + r : nullptr, 0};
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
