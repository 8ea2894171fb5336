// All that an engine knows, for files and merging. Slots that were never other than zero are left out.
#pragma once

#include <cstdint>
#include <vector>

#include "algorithm/state.hpp"

namespace unitless {

// A learning rate of a head: see lanes.hpp.
struct Lane {
    std::uint32_t head, rate;  // rate: its place among the rates that there are
};

// How a lane has done so far: see selection.hpp.
struct LaneScores {
    double loss = 0;                         // the sum of its weighted losses
    double recent = 0;                       // the same with later examples counting for more
    double gap = 0, square = 0;              // loss less the leader's, and its squares: since rates were last dropped
    double total_gap = 0, total_square = 0;  // and before that
};

struct EngineState {
    Clock clock;
    std::vector<std::uint32_t> slots;
    std::vector<double> scale, v, H;  // v and H: [slot][lane]
    std::vector<Lane> lanes;
    std::vector<LaneScores> scores;  // by lane
    std::vector<double> followed;    // by head: loss of the predictions made
    std::vector<double> errors;      // by rate, of a sweep: weight of wrong classes
};

}  // namespace unitless
