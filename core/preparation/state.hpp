// All that the preparation of rows knows, for files and merging.
#pragma once

#include <string>
#include <vector>

#include "preparation/centre.hpp"
#include "preparation/features.hpp"
#include "preparation/interactions.hpp"

namespace unitless {

struct PreparationState {
    Space space = Space::unset;
    std::size_t columns = 0;
    std::vector<std::string> names;
    std::vector<Interactions::Product> products;
    std::vector<std::uint32_t> centre_features;
    std::vector<Centre::Column> centre;
    std::vector<Centre::Watched> windows;  // by feature, too
};

}  // namespace unitless
