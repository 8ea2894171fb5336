// What a leaf of a tree has noticed so far (trees/trees.hpp), in memory and in files.
#pragma once

#include <cstdint>

namespace unitless {

struct LeafFacts {
    float weight, square;  // of the rows watched: their weights, and squared residuals
    std::uint32_t stage, need, rows;
    std::uint32_t text;  // a bit for each candidate that asks for text
};

}  // namespace unitless
