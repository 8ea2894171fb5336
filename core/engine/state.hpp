// All that an engine knows, for files and merging. Slots that were never other than zero are left out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithm/state.hpp"
#include "base/errors.hpp"

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

// Losses are counted, and rates chosen by them, unless that is suspended: then all scores stay what they are.
struct Choosing {
    static constexpr double going_on = -1;
    double suspended_at = going_on;  // the total weight at which it was
    double missed = 0;               // the weight of earlier examples that were not counted

    bool suspended() const { return suspended_at != going_on; }
    void suspend(double t) {
        if (!suspended()) suspended_at = t;
    }
    void resume(double t) {
        if (suspended()) missed += t - suspended_at;
        suspended_at = going_on;
    }
};

// What a shape (shapes/) adds to the state, by name.
struct NamedNumbers {
    std::string name;
    std::vector<double> numbers;
};

struct EngineState {
    Clock clock;
    std::vector<std::uint32_t> slots;
    std::vector<double> scale, v, H;    // v and H: [slot][lane]
    std::vector<double> average;        // of v, as it is; where v is averaged
    std::vector<double> average_scale;  // by slot: the scale in whose unit that is
    double averaged_t = 0;              // the total weight at the last look: see averaging.hpp
    std::uint64_t next_look = 0;        // the number of examples then
    bool keeps_average = false;         // predictions are made with it
    std::vector<Lane> lanes;
    std::vector<LaneScores> scores;  // by lane
    std::vector<double> followed;    // by head: loss of the predictions made
    std::vector<double> errors;      // by rate, of a sweep: weight of wrong classes
    Choosing choosing;
    std::vector<NamedNumbers> shape;
};

// Throws if it is not a state that learning could have given. The bias is 1 in every example, so that its scale is not
// less than that; other scales are those of some value.
inline void check_slots(const EngineState& state, std::size_t slots) {
    for (const std::uint32_t slot : state.slots)
        if (slot >= slots) throw InputError("a slot is outside the model's features");
    for (std::size_t k = 0; k < std::min(state.scale.size(), state.slots.size()); ++k) {
        const double s = state.scale[k];
        if (!(s > 0 && std::isfinite(s))) throw InputError("a scale is not a positive number");
        // A model of Vowpal Wabbit's may share the place of its constant with some feature: then it is larger.
        if (state.slots[k] == 0 && s < std::min(1.0, std::sqrt(state.clock.T) * (1 - 1e-3)))
            throw InputError("the scale of the bias does not agree with the total weight of the examples");
    }
}
// The same of a shape: it knows no columns beyond those of the model, as many as its curves say.
inline void check_columns(const EngineState& state, std::size_t columns) {
    for (const NamedNumbers& one : state.shape)
        if (one.name == "curve.leaves" && one.numbers.size() > columns)
            throw InputError("a curve is outside the model's columns");
}

}  // namespace unitless
