// How rows are to be predicted.
#pragma once

#include <cstddef>

#include "simd/isa.hpp"

namespace unitless {

struct Asking {
    bool extrapolate;      // the plain linear model, without the limits of what has been seen
    const double* offset;  // one per row, added to its score; null: there are none

    Asking(bool extrapolated, const double* offsets = nullptr) : extrapolate(extrapolated), offset(offsets) {}
};

inline namespace UNITLESS_ISA {

inline double offset_of(const Asking& asking, std::size_t r) { return asking.offset ? asking.offset[r] : 0.0; }
inline Asking asking_from(const Asking& asking, std::size_t r) {
    return {asking.extrapolate, asking.offset ? asking.offset + r : nullptr};
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
