// One row of an octet: the step of algorithm/step.hpp with one learner per register position. Lanes, softmax, curves
// and trees use these functions. `Numbers`: one number per learner, Vec8 or Vec4.
#pragma once

#include "algorithm/loss.hpp"
#include "algorithm/step.hpp"
#include "engine/lanes/kernel.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

inline constexpr double suspicious = 0x1p500;  // a lane with a larger number has diverged, and learns no more

template <class Numbers>
UNITLESS_INLINE LearnerTerms<Numbers> terms_of(double* state, const Stage& stage, const StagedRow& row, double* steps) {
    return {state, stage.slot + row.begin, stage.z + row.begin, stage.rho + row.begin, steps, row.end - row.begin};
}

// The label of a row for every lane of an octet.
template <class Numbers>
UNITLESS_INLINE Numbers label_of(const LaneLabels& labels, std::size_t r, const Numbers& classes) {
    const Numbers label = Numbers::all(labels.y[r]);
    return labels.classes ? select(classes == label, 1.0, labels.negative) : label;
}

// Adds the row's offset to the scores. An offset of 0 is not added, because -0 + 0 is 0.
template <class Numbers>
UNITLESS_INLINE Numbers with_offset(const LaneLabels& labels, std::size_t r, const Numbers& scores) {
    return labels.offset && labels.offset[r] != 0 ? scores + Numbers::all(labels.offset[r]) : scores;
}

// Limits predictions to the range of the labels before the row, if the options set this limit.
template <class Numbers>
UNITLESS_INLINE Numbers limited(const Options& options, const StagedRow& row, const Numbers& p) {
    if (options.clip == Clip::none || !(row.label_min <= row.label_max)) return p;
    return smaller(larger(p, Numbers::all(row.label_min)), Numbers::all(row.label_max));
}

// The factor of the update of v (2.(d)), from the slopes and the reach of the prediction. `score()` returns the
// prediction. `factor`: the label's scale times the rule's damp.
template <bool adaptive, class Numbers, class Score>
UNITLESS_INLINE Numbers move_of(const Options& options, const StagedRow& row, double factor, const Numbers& rate,
                                const Score& score, const Numbers& y, const Numbers& slope, const Numbers& reach) {
    const bool falling = !adaptive && options.schedule == Schedule::root;
    const Numbers speed = rate * (factor * row.weight * (falling ? 1.0 / row.root_t : 1.0));
    if (!options.importance_aware) return -(speed * slope);
    return importance_aware_move(options, score, y, slope, speed, reach);
}

// Records the lanes of an octet that diverged at row r, because they are not `sound`.
template <int n>
UNITLESS_RARE void note_divergence(const Octet& octet, const LaneLabels& labels, const Mask<n>& sound, std::size_t r) {
    double flags[n];
    select(sound, 0.0, 1.0).store(flags);
    for (int i = 0; i < n; ++i) {
        if (flags[i] == 0) continue;
        if (octet.diverged_at[i] == Octet::never) octet.diverged_at[i] = r;
        if (octet.loss) octet.loss[r * labels.stride + static_cast<unsigned>(i)] = infinity;
    }
}

// Adds to H, and returns the change of the prediction per unit of the factor of v's update.
template <bool adaptive, class Numbers>
UNITLESS_INLINE Numbers reach_of(const LearnerTerms<Numbers>& terms, const StagedRow& row, const Numbers& slope) {
    return row.gain * accumulate<adaptive>(terms, slope * slope * row.weight, row.weight, Numbers::all(0.0));
}

// The factor for lanes that have not diverged; 0 for the others.
template <class Numbers>
UNITLESS_INLINE Numbers sound_move(const Octet& octet, const LaneLabels& labels, std::size_t r, const Numbers& move) {
    const auto sound = absolute(move) <= suspicious;
    if (!any(~sound)) [[likely]]
        return move;
    note_divergence(octet, labels, sound, r);
    return select(sound, move, 0.0);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
