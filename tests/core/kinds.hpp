// Rules and losses by name.
#pragma once

#include "algorithm/dispatch.hpp"

namespace unitless {

inline RuleKind rule_of(const char* name) { return rule_named(name).value(); }
inline LossKind loss_of(const char* name) { return loss_named(name).value(); }

}  // namespace unitless
