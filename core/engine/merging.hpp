// Merges the slots of several models.
//
// Each weight is averaged in proportion to its squared gradients G. With rho = scale/common scale, G in units of the
// common scale is rho^2 H. Only ratios of scales occur, so nothing here has a unit.
//
// For proximal learners, u and sqrt(H) are sums over the examples, and are added: evidence for a weight may be too
// little in each model, but enough in all of them. A weight w stays constant in the common scale if sqrt(H) is rescaled
// and u is not.
#pragma once

#include <vector>

#include "engine/slot_block.hpp"

namespace unitless {

struct Merging {
    bool unit_free;         // v = w s and H = G/s^2; otherwise they are w and G themselves
    bool sums_squares;      // scales are roots of sums of squares, which are added; otherwise the largest scale is used
    bool shrinks;           // the rule shrinks v when a scale grows
    bool bounded;           // v is averaged instead of w
    bool proximal;          // v is the u of proximal learners (lanes/proximal_rows.hpp)
    std::vector<double> t;  // by model: the total weight of its examples
    double merged_t;
};

// `parts`: the same slots of every model. Merges the first `count` slots.
void combine(const Merging& how, const std::vector<SlotBlock>& parts, std::size_t count, SlotBlock& to);

}  // namespace unitless
