// State as numbers by name, for files.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.hpp"
#include "engine/state.hpp"

namespace unitless {

inline const std::vector<double>& numbers_named(const std::vector<NamedNumbers>& all, std::string_view name) {
    for (const NamedNumbers& one : all)
        if (one.name == name) return one.numbers;
    throw InputError("the model has no numbers '" + std::string(name) + "'");
}

// Is it a whole number below the limit?
inline bool is_count(double x, std::size_t limit) {
    return x >= 0 && x < static_cast<double>(limit) && x == std::floor(x);
}

}  // namespace unitless
