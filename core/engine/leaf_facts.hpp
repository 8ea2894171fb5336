// The statistics of a leaf of a tree (trees/trees.hpp), in memory and in model files.
#pragma once

#include <cstdint>

namespace unitless {

struct LeafFacts {
    float weight, square;  // sums over the observed rows: weights, and squared residuals
    std::uint32_t stage, need, rows;
    std::uint32_t text;  // one bit per candidate: whether it tests text
};

}  // namespace unitless
