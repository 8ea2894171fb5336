// The state of second-order learners on one stream: one set of scales and positions, and v and P for each lane.
//
// A lane has a prior and a rate of forgetting (Forgets). The leader is chosen by loss, as among learning rates
// (lanes/selection.hpp). All heads of a lane share its P. A model whose set of classes may grow has one more head, the
// last, for the spare class: the state of a class before its first row.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "engine/lanes/lanes.hpp"
#include "engine/newton/kernel.hpp"
#include "engine/setup.hpp"
#include "engine/state.hpp"

namespace unitless {

// Ordered so that neighbors are similar: from strong priors to fast forgetting. A leader changes only to a neighbor.
inline constexpr std::array<Forgets, 6> all_candidates{
    {{1, 0, 0}, {1e-2, 0, 0}, {1e-4, 0, 0}, {1e-2, 1e-5, 1e-5}, {1e-2, 1e-3, 1e-3}, {1e-2, 1e-2, 100}}};

// The position of a learner's first candidate.
inline std::uint32_t first_candidate(Forgetting forgetting) {
    return forgetting == Forgetting::fastest ? all_candidates.size() - 1 : 0;
}
// In log odds, a bias that moves by about 1 a row follows any stream; one that is faster only repeats the last label.
inline std::vector<Forgets> candidates_of(Forgetting forgetting, NewtonLoss loss) {
    const bool without_fastest = forgetting == Forgetting::slowly;
    std::vector<Forgets> all(all_candidates.begin() + first_candidate(forgetting),
                             all_candidates.end() - (without_fastest ? 1 : 0));
    if (loss != NewtonLoss::squared)
        for (Forgets& one : all) one.bias_drift = std::min(one.bias_drift, 1.0);
    return all;
}

class NewtonLanes {
  public:
    struct State {
        ZeroedDoubles half, border, v;  // v: [head][most_places]
        std::vector<double> bias_v;     // by head
        double corner = 0;
        double recent[2] = {0, 0};  // for squared loss: losses of the mean and of its shrunk form

        explicit State(std::size_t heads)
            : half(half_size), border(most_places), v(heads * most_places), bias_v(heads) {}
        State(const State& other) : State(other, other.bias_v.size(), 0) {}
        State(State&&) = default;
        State& operator=(State&&) = default;
        // A copy with more heads, which are copies of the last head.
        State(const State& other, std::size_t heads, std::size_t more) : State(heads + more) {
            std::copy_n(other.half.data(), half_size, half.data());
            std::copy_n(other.border.data(), most_places, border.data());
            for (std::size_t head = 0; head < heads + more; ++head) {
                const std::size_t from = std::min(head, heads - 1);
                std::copy_n(other.v.data() + from * most_places, most_places, v.data() + head * most_places);
                bias_v[head] = other.bias_v[from];
            }
            corner = other.corner;
            std::copy_n(other.recent, 2, recent);
        }
    };

    // A lane's rate is its position among the candidates.
    NewtonLanes(std::vector<Forgets> candidates, std::vector<Lane> lanes, std::size_t head_count)
        : candidates_(std::move(candidates)), lanes_(std::move(lanes)) {
        for (const Lane& lane : lanes_) {
            states_.emplace_back(head_count);
            states_.back().corner = 1.0 / candidates_[lane.rate].prior;
        }
    }

    // ---- The interface for Selection: candidates of one head

    const std::vector<Lane>& lanes() const { return lanes_; }
    static constexpr std::size_t heads() { return 1; }
    std::size_t begin(std::size_t head) const { return head * lanes_.size(); }
    const std::vector<Forgets>& rates() const { return candidates_; }
    // Replaces the lanes: lane k gets the state of lane from[k].
    void rearrange(std::vector<Lane> lanes, std::size_t /*heads*/, const std::vector<std::size_t>& from) {
        std::vector<State> states;
        for (const std::size_t k : from) states.emplace_back(states_[k]);
        lanes_ = std::move(lanes);
        states_ = std::move(states);
    }

    // ---- The state

    std::size_t size() const { return lanes_.size(); }
    State& state(std::size_t lane) { return states_[lane]; }
    const State& state(std::size_t lane) const { return states_[lane]; }
    // Predicting rows changes nothing that the result points to.
    NewtonLane lane(std::size_t k) const {
        State& own = const_cast<State&>(states_[k]);
        return {candidates_[lanes_[k].rate], own.half.data(),  own.border.data(), &own.corner, own.v.data(),
                own.bias_v.data(),           own.bias_v.size()};
    }
    // Adds heads that are copies of the last head.
    void add_heads(std::size_t count) {
        std::vector<State> states;
        for (const State& state : states_) states.emplace_back(state, state.bias_v.size(), count);
        states_ = std::move(states);
    }
    std::size_t bytes() const {
        std::size_t total = 0;
        for (const State& state : states_) total += half_size + (state.bias_v.size() + 1) * (most_places + 1);
        return total * sizeof(double);
    }

  private:
    std::vector<Forgets> candidates_;
    std::vector<Lane> lanes_;
    std::vector<State> states_;
};

}  // namespace unitless
