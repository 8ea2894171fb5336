// Everything that an engine knows, for files and merging: plain data. Slots that were never other than zero are left
// out. The names of the fields, and what is a sound value of each, stand in state_fields.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "algorithm/state.hpp"
#include "base/errors.hpp"
#include "engine/leaf_facts.hpp"

namespace unitless {

// A learning rate of a head: see lanes.hpp.
struct Lane {
    std::uint32_t head, rate;  // rate: its place among the rates that there are
};

// How a lane has done so far: see selection.hpp.
struct LaneScores {
    double loss = 0;                         // the sum of its weighted losses
    double recent = 0;                       // that sum, later examples counting for more
    double gap = 0, square = 0;              // loss less the leader's, and its squares: since rates were last dropped
    double total_gap = 0, total_square = 0;  // and before that
};

// Losses are counted, and rates chosen by them, unless that is suspended: then all scores stay as they are.
struct Choosing {
    std::optional<double> suspended_at;  // the total weight at that time
    double missed = 0;                   // the weight of earlier examples that were not counted

    bool suspended() const { return suspended_at.has_value(); }
    void suspend(double t) {
        if (!suspended()) suspended_at = t;
    }
    void resume(double t) {
        if (suspended()) missed += t - *suspended_at;
        suspended_at.reset();
    }
};

// Lanes: what they have learned, and how they have done.
struct LaneState {
    std::vector<double> v, H;  // [slot][lane]
    std::vector<Lane> lanes;
    std::vector<LaneScores> scores;  // by lane
    std::vector<double> followed;    // by head: loss of the predictions made
};

// Second-order learners (newton/): P without its diagonal, which is H.
struct NewtonState {
    std::vector<std::uint32_t> order;  // slots by their place in P
    std::vector<double> P;             // [lane][place]: the entry with the bias, then those with earlier places
    std::vector<double> recent;        // [lane][2]: losses of what is predicted with and without shrinkage
    std::optional<std::uint64_t> met;  // classes with a head of their own, where classes may join
};

// Where columns are cut (trees/curves.hpp).
struct CurveState {
    std::vector<std::uint32_t> leaves;  // by column: how many; 0 for text
    std::vector<double> thresholds;     // by column, one less than leaves
    std::vector<std::uint32_t> places;  // by leaf, those of a column from low values to high: its number there
    std::vector<std::uint64_t> seen;    // by leaf: values since it was made
    std::vector<double> values;         // [leaf][Curves::enough]: the last ones
    std::optional<bool> met;            // some row had a leaf; a merged model does not know
};

// Trees (trees/trees.hpp).
struct TreeState {
    std::uint32_t candidates = 0;              // of each leaf; 0: no tree has begun
    double unit = 0;                           // of residuals
    std::vector<std::uint32_t> sizes;          // by tree: its leaves
    std::vector<std::uint32_t> random;         // [tree][2]: the state of its random numbers, upper half first
    std::vector<double> low, high;             // by node: a text question is enclosed by what is no value
    std::vector<std::uint32_t> column, child;  // by node
    std::vector<std::uint32_t> place;          // by node: of its leaf
    std::vector<LeafFacts> facts;              // by leaf
    std::vector<double> sums;                  // [leaf][head]
    std::vector<double> watched;               // [leaf][candidate]: low, column, rows, and sums by head
};

// A learner over leaves (trees/leaf_learner.hpp). Slots and scales are those of the engine that it belongs to.
struct LeafState {
    std::vector<std::uint32_t> leaves;  // those that were ever other than zero
    std::vector<double> weights;        // [leaf][lane]
    std::vector<double> evidence;       // [leaf][head]
    std::vector<double> rows;           // by leaf: about how many had it
    double N = 0;
    std::optional<LaneState> lanes;  // none: those of the engine
};

struct MemberState;

struct EngineState : LaneState {
    Clock clock;  // without the label's scale, which follows from the labels
    std::vector<std::uint32_t> slots;
    std::vector<double> scale;
    std::vector<double> average;        // of v, as it is; where v is averaged
    std::vector<double> average_scale;  // by slot: the scale in whose unit that is
    double averaged_t = 0;              // the total weight when the average was last updated: see averaging.hpp
    std::uint64_t next_look = 0;        // the number of examples at its next update
    std::vector<double> errors;         // by rate, of a sweep: weight of wrong classes
    Choosing choosing;
    std::optional<std::uint64_t> announced_classes;  // of a softmax that has not met all of them

    std::optional<NewtonState> newton;

    // Of an ensemble. The fields above are those of its linear member, or of its curves where these are alone.
    std::optional<double> linear_N;            // of the linear member, where it has added up z^2 in another order
    std::optional<std::uint64_t> classes_met;  // of an ensemble with engines as members
    std::optional<CurveState> curves;
    std::optional<LeafState> curve_learner, tree_learner;
    std::optional<TreeState> trees;
    std::optional<std::vector<double>> mixture;
    std::vector<MemberState> members;
};

// An engine that is a member of an ensemble.
struct MemberState {
    std::string name;
    EngineState state;
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
    for (const MemberState& member : state.members) check_slots(member.state, slots);
}
// Throws if curves know more columns than the model has.
inline void check_columns(const EngineState& state, std::size_t columns) {
    if (state.curves && state.curves->leaves.size() > columns)
        throw InputError("a curve is outside the model's columns");
}

}  // namespace unitless
