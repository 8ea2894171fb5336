// The properties that a loss declares, and the functions that all losses use.
#pragma once

#include <type_traits>

#include "simd/elementary.hpp"
#include "simd/elementary8.hpp"
#include "simd/vec8.hpp"

namespace unitless {

// The labels that a loss accepts: any number, a number that is not negative, or -1 and +1.
enum class LabelKind { number, count, sign };

// What an ensemble combines for this loss: scores, numbers, or the log odds of classes.
enum class Mixing { scores, numbers, odds };

struct LossFacts {
    const char* name;
    LabelKind labels;
    double negative;             // the label of rows of other classes in one-vs-all
    double vw_limit = 0;         // Vowpal Wabbit's initial limit of predictions
    bool scales_itself = false;  // a plain gradient step is proportional to the label's unit
    double curvature = 0;        // the largest second derivative; 0: it is not bounded
    Mixing mixing = Mixing::scores;
    bool differences = false;  // the loss depends only on p - y, so an offset of p can be subtracted from y instead
};

inline namespace UNITLESS_ISA {

// Converts a number to T: a double, or a register of equal doubles.
template <class T>
T constant(double x) {
    if constexpr (std::is_same_v<T, double>) {
        return x;
    } else {
        return T::all(x);
    }
}

// Returns the factor of the update of v that changes the prediction by `change`, where `reach` is the change of the
// prediction per unit of the factor. If 1/reach is not finite, returns the factor of the plain gradient step.
inline double change_by_reach(double change, double slope, double speed, double reach) {
    const double per_reach = 1.0 / reach;
    return is_finite(per_reach) ? change * per_reach : -(speed * slope);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
