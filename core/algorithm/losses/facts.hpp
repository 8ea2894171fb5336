// What a loss tells about itself, and what all of them are written with.
#pragma once

#include <type_traits>

#include "simd/elementary.hpp"
#include "simd/elementary8.hpp"
#include "simd/vec8.hpp"

namespace unitless {

// The labels that a loss takes: any number, a number that is not negative, or one of two signs.
enum class LabelKind { number, count, sign };

// What an ensemble combines: scores, numbers, or the log odds of classes.
enum class Mixing { scores, numbers, odds };

struct LossFacts {
    const char* name;
    LabelKind labels;
    double negative;             // in one-against-all, the label of the rows of other classes
    double vw_limit = 0;         // the limit of predictions that Vowpal Wabbit starts with
    bool scales_itself = false;  // a plain gradient step is proportional to the label's unit
    double curvature = 0;        // the largest second derivative; 0: there is none
    Mixing mixing = Mixing::scores;
    bool differences = false;  // the loss depends on p - y alone: an offset of p can be taken from y instead
};

inline namespace UNITLESS_ISA {

// A number as a T: a double, or several equal ones.
template <class T>
T constant(double x) {
    if constexpr (std::is_same_v<T, double>) {
        return x;
    } else {
        return T::all(x);
    }
}

// By how much v moves for each unit of its step when the prediction, which moves `reach` times as far, changes by
// `change`; where 1/reach is no number, by the plain gradient's step.
inline double change_by_reach(double change, double slope, double speed, double reach) {
    const double per_reach = 1.0 / reach;
    return is_finite(per_reach) ? change * per_reach : -(speed * slope);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
