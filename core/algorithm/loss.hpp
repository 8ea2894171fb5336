// The losses. Each has three functions of the prediction p (a score) and the label y:
//
//   value(p, y)          L
//   slope(p, y)          dL/dp
//   change(p, y, g, tau) the importance-aware step (Karampatziakis & Langford 2011): how far p moves along
//                        dp/dtime = -dL/dp in the time tau > 0. The plain gradient step would be -tau dL/dp.
//                        The step never moves p past the label. g is the slope at p, not 0.
//
// The functions take doubles, or Vecs when one call updates several learners. Their formulas avoid cancellation, so
// that a tiny change stays accurate. A loss declares its other properties in its `facts`. This file lists all losses;
// no other file of the core knows a loss by name.
//
// The loss is chosen at run time, once or twice per row. Next to a hundred multiplications this costs nothing, and it
// makes the kernels compile five times faster.
#pragma once

#include "algorithm/losses/hinge.hpp"
#include "algorithm/losses/logistic.hpp"
#include "algorithm/losses/poisson.hpp"
#include "algorithm/losses/quantile.hpp"
#include "algorithm/losses/squared.hpp"
#include "algorithm/type_list.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

using Losses = TypeList<Squared, Logistic, Hinge, Quantile, Poisson>;

// Calls action(the loss that the options name). The first two losses are the most common, and are inlined. The others
// are called, so that their code takes no registers from the first two: inlining them would cost a fifth of the time of
// a row.
template <class First, class Second, class... Others, class Action>
UNITLESS_RARE auto with_other_loss(const Options& options, TypeList<First, Second, Others...>, const Action& action) {
    return with_type_at(static_cast<std::size_t>(options.loss) - 2, TypeList<Others...>{},
                        [&](auto type) { return action(typename decltype(type)::type(options)); });
}
template <class Action>
UNITLESS_INLINE auto with_loss(const Options& options, const Action& action) {
    if (options.loss == LossKind{0}) return action(Squared(options));
    if (options.loss == LossKind{1}) return action(Logistic(options));
    return with_other_loss(options, Losses{}, action);
}

// The slope and the value of a loss at a prediction.
template <class T>
struct Measured {
    T slope, value;
};
template <class T>
UNITLESS_INLINE Measured<T> measure(const Options& options, const T& p, const T& y) {
    return with_loss(options, [&](const auto& loss) UNITLESS_INLINE_LAMBDA {
        if constexpr (requires { loss.measure(p, y); }) {
            const auto [slope, value] = loss.measure(p, y);
            return Measured<T>{slope, value};
        } else {
            return Measured<T>{loss.slope(p, y), loss.value(p, y)};
        }
    });
}

template <class T>
UNITLESS_INLINE T slope_of(const Options& options, const T& p, const T& y) {
    return with_loss(options, [&](const auto& loss) UNITLESS_INLINE_LAMBDA { return loss.slope(p, y); });
}

// Returns the factor of the update of v. `reach` is the change of the prediction per unit of this factor, and `speed`
// the learning rate times the sample weight and the rule's damp. The factor gives the importance-aware step, or the
// plain gradient step where 1/reach is not finite.
UNITLESS_INLINE double importance_aware_move(const Options& options, double p, double y, double slope, double speed,
                                             double reach) {
    return with_loss(options, [&](const auto& loss) UNITLESS_INLINE_LAMBDA {
        if constexpr (requires { loss.move(p, y, slope, speed, reach); }) {
            return loss.move(p, y, slope, speed, reach);
        } else {
            return change_by_reach(loss.change(p, y, slope, speed * reach), slope, speed, reach);
        }
    });
}

// `score()` returns the prediction; short logistic steps do not need it. Learners whose slope is 0, or whose reach is
// not a normal number, do not move.
template <class Score, int n>
UNITLESS_INLINE Vec<n> importance_aware_move(const Options& options, const Score& score, const Vec<n>& y,
                                             const Vec<n>& slope, const Vec<n>& speed, const Vec<n>& reach) {
    const Mask<n> moving = (absolute(slope) > 0.0) & (reach > __DBL_MIN__);
    const Vec<n> whole = select(moving, reach, 1.0), downhill = select(moving, slope, 1.0), tau = speed * whole;
    const Vec<n> per_whole = 1.0 / whole;  // computed here so that the division does not wait for `change`
    const Vec<n> change = with_loss(options, [&](const auto& loss) UNITLESS_INLINE_LAMBDA {
        if constexpr (requires { loss.change_from(score, y, downhill, tau); }) {
            return loss.change_from(score, y, downhill, tau);
        } else {
            return loss.change(score(), y, downhill, tau);
        }
    });
    return select(moving, change * per_whole, 0.0);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
