// Maps option values to types, and names to option values.
#pragma once

#include <optional>
#include <string_view>

#include "algorithm/loss.hpp"
#include "algorithm/rule.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// Calls action(std::type_identity<the rule>).
template <class Action>
auto with_rule(RuleKind kind, Action action) {
    return with_type_at(static_cast<std::size_t>(kind), Rules{}, action);
}

inline LossFacts facts_of(LossKind kind) {
    return with_type_at(static_cast<std::size_t>(kind), Losses{},
                        [](auto loss) { return decltype(loss)::type::facts; });
}
inline const char* name_of(RuleKind kind) {
    return with_rule(kind, [](auto rule) { return decltype(rule)::type::name; });
}
inline bool is_adaptive(RuleKind kind) {
    return with_rule(kind, [](auto rule) { return decltype(rule)::type::adaptive; });
}

inline std::optional<LossKind> loss_named(std::string_view name) {
    std::optional<LossKind> found;
    for_each_type(Losses{}, [&](std::size_t place, auto loss) {
        if (name == decltype(loss)::type::facts.name) found = static_cast<LossKind>(place);
    });
    return found;
}
inline std::optional<RuleKind> rule_named(std::string_view name) {
    std::optional<RuleKind> found;
    for_each_type(Rules{}, [&](std::size_t place, auto rule) {
        if (name == decltype(rule)::type::name) found = static_cast<RuleKind>(place);
    });
    return found;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
