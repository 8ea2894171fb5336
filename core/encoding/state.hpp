// The complete state of the encoder, for model files and merging.
#pragma once

#include <string>
#include <vector>

#include "encoding/center.hpp"
#include "encoding/features.hpp"
#include "encoding/interactions.hpp"

namespace unitless {

struct EncoderState {
    Space space = Space::unset;
    std::size_t columns = 0;
    std::vector<std::string> names;
    std::vector<Interactions::Product> products;
    std::vector<std::uint32_t> center_features;
    std::vector<Center::Column> center;
    std::vector<Center::Watched> windows;  // by feature, like `center`
};

}  // namespace unitless
