// What is to be learned of each row: its label, its sample weight, and the offset of its score.
#pragma once

#include <cstddef>

#include "simd/isa.hpp"

namespace unitless {

// One number per row in each array; a null array stands for weights of 1, label scales of 1 and offsets of 0.
struct Labels {
    const double* y = nullptr;  // as the loss takes them; null: rows that are only predicted
    const double* weight = nullptr;
    const double* label_scale = nullptr;  // the label's running unit, which multiplies the learning rate
    std::size_t new_classes = 0;          // how many of the classes among them are new
    const double* offset = nullptr;       // added to the row's score before the loss sees it
};

inline namespace UNITLESS_ISA {

inline double weight_of(const Labels& labels, std::size_t r) { return labels.weight ? labels.weight[r] : 1.0; }
inline double offset_of(const Labels& labels, std::size_t r) { return labels.offset ? labels.offset[r] : 0.0; }
inline double label_scale_of(const Labels& labels, std::size_t r) {
    return labels.label_scale ? labels.label_scale[r] : 1.0;
}
// The labels of the rows from r on.
inline Labels labels_from(const Labels& labels, std::size_t r) {
    const auto from = [r](const double* array) { return array ? array + r : nullptr; };
    return {from(labels.y), from(labels.weight), from(labels.label_scale), 0, from(labels.offset)};
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
