// The numbers of a few slots, taken out of an engine or about to be put into one: what merging works with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace unitless {

struct SlotBlock {
    std::size_t lanes = 0, width = 0;  // width: of values; as many as lanes, or twice as many where v is averaged
    std::vector<double> scale;         // [slot]; 0: never met
    std::vector<double> H;             // [slot][lane]
    std::vector<double> values;        // [slot][lane]: v, then the average in units of the present scale

    SlotBlock(std::size_t slots, std::size_t lane_count, std::size_t value_count)
        : lanes(lane_count), width(value_count), scale(slots), H(slots * lane_count), values(slots * value_count) {}

    void clear(std::size_t slot) {
        scale[slot] = 0;
        std::fill_n(&H[slot * lanes], lanes, 0.0);
        std::fill_n(&values[slot * width], width, 0.0);
    }
};

}  // namespace unitless
