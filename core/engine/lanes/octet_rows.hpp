// A row of eight lanes: the step of algorithm/step.hpp with one learner per register position. Lanes, softmax, curves
// and trees are built from these pieces.
#pragma once

#include "algorithm/loss.hpp"
#include "algorithm/step.hpp"
#include "engine/lanes/kernel.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

inline constexpr double suspicious = 0x1p500;  // a lane whose numbers go beyond has diverged: it learns no more

UNITLESS_INLINE LearnerTerms terms_of(double* state, const Stage& stage, const StagedRow& row, double* steps) {
    return {state, stage.slot + row.begin, stage.z + row.begin, stage.rho + row.begin, steps, row.end - row.begin};
}

// What every lane of an octet is to learn of a row.
UNITLESS_INLINE Vec8 label_of(const LaneLabels& labels, std::size_t r, const Vec8& classes) {
    const Vec8 label = Vec8::all(labels.y[r]);
    return labels.classes ? select(classes == label, 1.0, labels.negative) : label;
}

// The scores of a row with its offset. An offset of 0 is not added: that would turn -0 into 0.
UNITLESS_INLINE Vec8 with_offset(const LaneLabels& labels, std::size_t r, const Vec8& scores) {
    return labels.offset && labels.offset[r] != 0 ? scores + Vec8::all(labels.offset[r]) : scores;
}

// Predictions within the range of the labels before the row, where the options ask for it.
UNITLESS_INLINE Vec8 limited(const Options& options, const StagedRow& row, const Vec8& p) {
    if (options.clip == Clip::none || !(row.label_min <= row.label_max)) return p;
    return smaller(larger(p, Vec8::all(row.label_min)), Vec8::all(row.label_max));
}

// How far v moves for each unit of its step (2.(d)), given the slopes and the reach of the prediction. `score()` gives
// the prediction. `factor`: the label's scale, times what the rule makes of t/N.
template <bool adaptive, class Score>
UNITLESS_INLINE Vec8 move_of(const Options& options, const StagedRow& row, double factor, const Vec8& rate,
                             const Score& score, const Vec8& y, const Vec8& slope, const Vec8& reach) {
    const bool falling = !adaptive && options.schedule == Schedule::root;
    const Vec8 speed = rate * (factor * row.weight * (falling ? 1.0 / row.root_t : 1.0));
    if (!options.importance_aware) return -(speed * slope);
    return importance_aware_move(options, score, y, slope, speed, reach);
}

// Notes the lanes of an octet that are not sound at row r: their numbers have run away.
UNITLESS_RARE inline void note_divergence(const Octet& octet, const LaneLabels& labels, const Mask8& sound,
                                          std::size_t r) {
    double flags[width];
    select(sound, 0.0, 1.0).store(flags);
    for (int i = 0; i < width; ++i) {
        if (flags[i] == 0) continue;
        if (octet.diverged_at[i] == Octet::never) octet.diverged_at[i] = r;
        if (octet.loss) octet.loss[r * labels.stride + static_cast<unsigned>(i)] = infinity;
    }
}

// H grows; gives how far the prediction moves for each unit of a move of v.
template <bool adaptive>
UNITLESS_INLINE Vec8 reach_of(const LearnerTerms& terms, const StagedRow& row, const Vec8& slope) {
    return row.gain * accumulate<adaptive>(terms, slope * slope * row.weight, row.weight, Vec8::all(0.0));
}

// The move of lanes that have not diverged; the others stay where they are.
UNITLESS_INLINE Vec8 sound_move(const Octet& octet, const LaneLabels& labels, std::size_t r, const Vec8& move) {
    if (!any_beyond(move, Vec8::all(suspicious))) [[likely]]
        return move;
    const Mask8 sound = absolute(move) <= suspicious;
    note_divergence(octet, labels, sound, r);
    return select(sound, move, 0.0);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
