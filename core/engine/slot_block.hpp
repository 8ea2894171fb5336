// The numbers of a few slots, read from an engine or to be written into one: for merging.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace unitless {

struct SlotBlock {
    // Width: the number of values, which is the number of lanes, or twice it if v is averaged.
    std::size_t lanes = 0, width = 0;
    std::vector<double> scale;   // [slot]; 0: unused
    std::vector<double> H;       // [slot][lane]
    std::vector<double> values;  // [slot][lane]: v, then the average in units of the current scale

    SlotBlock(std::size_t slots, std::size_t lane_count, std::size_t value_count)
        : lanes(lane_count), width(value_count), scale(slots), H(slots * lane_count), values(slots * value_count) {}

    void clear(std::size_t slot) {
        scale[slot] = 0;
        std::fill_n(&H[slot * lanes], lanes, 0.0);
        std::fill_n(&values[slot * width], width, 0.0);
    }
};

}  // namespace unitless
