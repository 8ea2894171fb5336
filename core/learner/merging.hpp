// What a merged learner is made of: which slots and lanes of each model stand for its own.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/merging.hpp"

namespace unitless {

class Learner;

struct MergedPart {
    const Learner* learner;
    // What was known of it when the merge was planned. If it has learned since, the plan is not its own any more.
    double t;
    std::uint64_t examples;
    std::size_t lane_count;

    std::vector<std::uint32_t> lanes;  // by lane of the merged one: its own that stands for it
    // The merged slots below `direct` are its own ones; those that follow are listed. None: a slot that it has not.
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    std::size_t direct;
    const std::uint32_t* listed;
    std::size_t listed_count;
    // What is added to the values of some slots, in their order, [slot][value].
    const std::uint32_t* moved;
    std::size_t moved_count;
    const double* by;

    std::uint32_t own_slot(std::size_t slot) const {
        if (slot < direct) return static_cast<std::uint32_t>(slot);
        return slot - direct < listed_count ? listed[slot - direct] : none;
    }
};

}  // namespace unitless
