// The parts of a merged learner: which slots and lanes of each model correspond to its own.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/merging.hpp"

namespace unitless {

class Learner;

struct MergedPart {
    const Learner* learner;
    // The model's state when the merge was planned. If it has learned since, the plan is no longer valid.
    double t;
    std::uint64_t examples;
    std::size_t lane_count;

    std::vector<std::uint32_t> lanes;  // by lane of the merged learner: the model's lane for it
    // Merged slots below `direct` have the same number in the model; the following ones are listed. None: the model
    // does not have the slot.
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    std::size_t direct;
    const std::uint32_t* listed;
    std::size_t listed_count;
    // Numbers to add to the values of some slots, in their order, [slot][value].
    const std::uint32_t* moved;
    std::size_t moved_count;
    const double* by;

    std::uint32_t own_slot(std::size_t slot) const {
        if (slot < direct) return static_cast<std::uint32_t>(slot);
        return slot - direct < listed_count ? listed[slot - direct] : none;
    }
};

}  // namespace unitless
