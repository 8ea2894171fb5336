// Slots of several models become those of one.
//
// Each weight is averaged by the squared gradients G that stand behind it. With rho = scale/common scale, G in units of
// the common scale is rho^2 H: ratios of scales are all that is needed, so that nothing here has a unit.
//
// Of proximal learners u and sqrt(H), which are sums over the examples, add up: evidence for a weight that was too
// little in every model may be enough in all of them. A weight w is kept in the common scale if sqrt(H) follows it and
// u does not.
#pragma once

#include <vector>

#include "engine/slot_block.hpp"

namespace unitless {

struct Merging {
    bool unit_free;     // v = w s and H = G/s^2; otherwise they are w and G themselves
    bool sums_squares;  // scales are roots of sums of squares, which add up; otherwise the largest counts
    bool shrinks;       // the rule makes v smaller when a scale grows
    bool bounded;       // v is averaged instead of w
    bool proximal;      // v is the u of proximal learners (lanes/proximal_rows.hpp)
    bool base;          // the last model is the one that the others were continued from: what they added since counts
    std::vector<double> t;  // by model: the total weight of its examples
    double merged_t;
};

// `parts`: the same slots of every model. The first `count` slots.
void combine(const Merging& how, const std::vector<SlotBlock>& parts, std::size_t count, SlotBlock& to);

}  // namespace unitless
