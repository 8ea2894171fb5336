// From the options' values to types, once per call; no inner loop asks again.
#pragma once

#include <type_traits>

#include "algorithm/loss.hpp"
#include "algorithm/rule.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

template <class Action>
auto with_loss(LossKind kind, Action action) {
    switch (kind) {
        case LossKind::squared:
            return action(std::type_identity<Squared>{});
        case LossKind::logistic:
            return action(std::type_identity<Logistic>{});
        case LossKind::hinge:
            return action(std::type_identity<Hinge>{});
        case LossKind::quantile:
            return action(std::type_identity<Quantile>{});
        case LossKind::poisson:
            break;
    }
    return action(std::type_identity<Poisson>{});
}

template <class Action>
auto with_rule(RuleKind kind, Action action) {
    switch (kind) {
        case RuleKind::gd:
            return action(std::type_identity<GD>{});
        case RuleKind::ag:
            return action(std::type_identity<AG>{});
        case RuleKind::ng:
            return action(std::type_identity<NG>{});
        case RuleKind::nag:
            return action(std::type_identity<NAG>{});
        case RuleKind::snag:
            break;
    }
    return action(std::type_identity<SNAG>{});
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
