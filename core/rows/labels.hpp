// What a learner learns for each row: its label, its sample weight, and the offset of its score.
#pragma once

#include <cstddef>

#include "simd/isa.hpp"

namespace unitless {

// Each array has one number per row. A null array means weights of 1, label scales of 1 or offsets of 0.
struct Labels {
    const double* y = nullptr;  // encoded for the loss; null: the rows are only predicted
    const double* weight = nullptr;
    const double* label_scale = nullptr;  // the label's running unit, which multiplies the learning rate
    std::size_t new_classes = 0;          // the number of new classes among the labels
    const double* offset = nullptr;       // added to the row's score before the loss is computed
};

inline namespace UNITLESS_ISA {

inline double weight_of(const Labels& labels, std::size_t r) { return labels.weight ? labels.weight[r] : 1.0; }
inline double offset_of(const Labels& labels, std::size_t r) { return labels.offset ? labels.offset[r] : 0.0; }
inline double label_scale_of(const Labels& labels, std::size_t r) {
    return labels.label_scale ? labels.label_scale[r] : 1.0;
}
// The labels from row r on.
inline Labels labels_from(const Labels& labels, std::size_t r) {
    const auto from = [r](const double* array) { return array ? array + r : nullptr; };
    return {from(labels.y), from(labels.weight), from(labels.label_scale), 0, from(labels.offset)};
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
