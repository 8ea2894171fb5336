// The complete state of an engine, for model files and merging: plain data. Slots that were always zero are left out.
// state_fields.hpp has the names and valid values of the fields.
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
    std::uint32_t head, rate;  // rate: its position among the rates
};

// The losses of a lane so far: see lanes/selection.hpp.
struct LaneScores {
    double loss = 0;    // the sum of its weighted losses
    double recent = 0;  // that sum, in which later examples count more
    // Sums of (loss - leader's loss) and its square since rates were last dropped.
    double gap = 0, square = 0;
    double total_gap = 0, total_square = 0;  // and before that

    void add(const LaneScores& other) {
        loss += other.loss;
        recent += other.recent;
        gap += other.gap;
        square += other.square;
        total_gap += other.total_gap;
        total_square += other.total_square;
    }
};

// Whether losses are counted and rates chosen by them. While this is suspended, all scores stay constant.
struct Choosing {
    std::optional<double> suspended_at;  // the total weight when it was suspended
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

// The weights and scores of lanes.
struct LaneState {
    std::vector<double> v, H;  // [slot][lane]
    std::vector<Lane> lanes;
    std::vector<LaneScores> scores;  // by lane
    std::vector<double> followed;    // by head: loss of the predictions made
};

// Second-order learners (newton/): P without its diagonal, which is H.
struct NewtonState {
    std::vector<std::uint32_t> order;  // slots by their position in P
    // [lane][position]: the entry with the bias, then the entries with earlier positions.
    std::vector<double> P;
    std::vector<double> recent;        // [lane][2]: losses of predictions with and without shrinkage
    std::optional<std::uint64_t> met;  // the number of classes with their own head, if classes may join
};

// The thresholds of curves (trees/curves.hpp).
struct CurveState {
    std::vector<std::uint32_t> leaves;  // by column: the number of leaves; 0 for text
    std::vector<double> thresholds;     // by column, one less than leaves
    std::vector<std::uint32_t> places;  // by leaf, in increasing order of values within a column: its number
    std::vector<std::uint64_t> seen;    // by leaf: the number of values since it was created
    std::vector<double> values;         // [leaf][Curves::enough]: the last values
    std::optional<bool> met;            // whether some row had a leaf; unknown for a merged model
};

// Trees (trees/trees.hpp).
struct TreeState {
    std::uint32_t candidates = 0;              // of each leaf; 0: no tree has started
    double unit = 0;                           // the unit of residuals
    std::vector<std::uint32_t> sizes;          // by tree: the number of leaves
    std::vector<std::uint32_t> random;         // [tree][2]: the state of its random numbers, upper half first
    std::vector<double> low, high;             // by node: a text test has bounds that are not values
    std::vector<std::uint32_t> column, child;  // by node
    std::vector<std::uint32_t> place;          // by node: the position of its leaf
    std::vector<LeafFacts> facts;              // by leaf
    std::vector<double> sums;                  // [leaf][head]
    std::vector<double> watched;               // [leaf][candidate]: low, column, rows, and sums by head
};

// A learner of leaf weights (trees/leaf_learner.hpp). Its slots and scales are those of its engine.
struct LeafState {
    std::vector<std::uint32_t> leaves;  // the leaves that were ever nonzero
    std::vector<double> weights;        // [leaf][lane]
    std::vector<double> evidence;       // [leaf][head]
    std::vector<double> rows;           // by leaf: the approximate number of rows that reached it
    double N = 0;
    std::optional<std::vector<double>> advantage;  // trees/advantage.hpp; a merged model has none
    std::optional<std::vector<double>> began;      // t, T, N, examples when it began anew; a merged model has none
    std::optional<LaneState> lanes;                // empty: the lanes of the engine
};

struct MemberState;

struct EngineState : LaneState {
    Clock clock;  // without the label's scale, which follows from the labels
    std::vector<std::uint32_t> slots;
    std::vector<double> scale;
    std::vector<double> average;        // of v, if v is averaged
    std::vector<double> average_scale;  // by slot: the scale in whose unit the average is
    double averaged_t = 0;              // the total weight at the last update of the average: see averaging.hpp
    std::uint64_t next_look = 0;        // the number of examples at the next update of the average
    std::vector<double> errors;         // by rate, in a sweep: the weight of misclassified rows
    Choosing choosing;
    std::optional<std::uint64_t> announced_classes;  // for a softmax that has not seen all its classes

    std::optional<NewtonState> newton;

    // For an ensemble. The fields above are those of its linear member, or of its curves if there is no linear member.
    std::optional<double> linear_N;            // of the linear member, if it has added z^2 in a different order
    std::optional<std::uint64_t> classes_met;  // for an ensemble with engines as members
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

// Throws if learning cannot produce this state. The bias is 1 in every example, so its scale is at least 1. Every scale
// is the magnitude of some value.
inline void check_slots(const EngineState& state, std::size_t slots) {
    for (const std::uint32_t slot : state.slots)
        if (slot >= slots) throw InputError("a slot is outside the model's features");
    for (std::size_t k = 0; k < std::min(state.scale.size(), state.slots.size()); ++k) {
        const double s = state.scale[k];
        if (!(s > 0 && std::isfinite(s))) throw InputError("a scale is not a positive number");
        // In a model of Vowpal Wabbit the constant may share its slot with a feature; then its scale is larger.
        if (state.slots[k] == 0 && s < std::min(1.0, std::sqrt(state.clock.T) * (1 - 1e-3)))
            throw InputError("the scale of the bias does not agree with the total weight of the examples");
    }
    for (const MemberState& member : state.members) check_slots(member.state, slots);
}
// Throws if there are curves for columns that the model does not have.
inline void check_columns(const EngineState& state, std::size_t columns) {
    if (state.curves && state.curves->leaves.size() > columns)
        throw InputError("a curve is outside the model's columns");
}

}  // namespace unitless
