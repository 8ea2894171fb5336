// Sparse learners, eight at once: FTRL-Proximal (McMahan et al. 2013, "Ad Click Prediction", Algorithm 1) in the
// dimensionless state of rule.hpp, so that one penalty means the same for every feature.
//
//   a = eta pace sqrt(t/N)
//   v = 0 where |u| <= l1 pace a, otherwise -(u - sgn(u) l1 pace a)/(sqrt(H) + l2 a)
//   H' = H + h (g z)^2;  u += h a g z - (sqrt(H') - sqrt(H)) v
//   on a new maximum, rho = s before / s now:  u *= rho, H *= rho^2
// where:
//   u   stands in v's place; the paper's z times a. With the a of its time in every step, weights stay what they are
//       when t/N moves, and without penalties this is NAG with plain gradients, to rounding
//   l1  the lane's penalty; with l2 that of all lanes. `pace` is the label's unit, which u has twice. The a and the
//   pace
//       of penalties are those before the row, which predictions know too
// The bias has no penalty. Steps are gradients': a path to the label, which importance-aware steps follow, would have
// to know which weights become zero on the way.
#pragma once

#include "engine/lanes/lane_rows.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

template <class Loss>
class ProximalRows {
  public:
    ProximalRows(const Options& options, const Octet& lanes, const LaneLabels& labels, double* memory)
        : options_(options),
          loss_(options),
          lanes_(lanes),
          labels_(labels),
          weights_(memory),
          rate_(Vec8::load(lanes.rate)),
          penalty_(rate_ * Vec8::load(lanes.penalty)),
          class_(Vec8::load(lanes.label)) {}

    void run(const Stage& stage, std::size_t rows) const {
        for (std::size_t r = 0; r < rows; ++r) {
            const StagedRow& row = stage.rows[r];
            const Vec8 raw = with_offset(labels_, r, dot(stage, row)), p = limited(options_, row, raw);
            p.store(lanes_.prediction + r * labels_.stride);
            if (row.weight > 0) learn(stage, row, r, raw, p);
        }
    }

  private:
    static constexpr double suspicious = 0x1p250;  // beyond this a lane is stopped: it has diverged
    const Options& options_;
    Loss loss_;
    Octet lanes_;
    LaneLabels labels_;
    double* weights_;  // v of the row's features
    Vec8 rate_, penalty_, class_;

    double* state(std::uint32_t slot) const { return lanes_.state + std::size_t{slot} * octet_doubles; }

    UNITLESS_INLINE Vec8 dot(const Stage& stage, const StagedRow& row) const {
        const Vec8 threshold = penalty_ * (row.pace * row.tempo), pull = rate_ * (options_.l2 * row.tempo);
        const Vec8 none = Vec8::all(0.0);
        Vec8 total = none;
        double* to = weights_;
        for (std::size_t k = row.begin; k < row.end; ++k, to += width) {
            const bool bias = stage.slot[k] == 0;
            const double* at = state(stage.slot[k]);
            const Vec8 v = weight(Vec8::load(at), Vec8::load(at + width), bias ? none : threshold, bias ? none : pull);
            v.store(to);
            total = total + v * Vec8::all(stage.z[k]);
        }
        return total;
    }

    static UNITLESS_INLINE Vec8 weight(const Vec8& u, const Vec8& H, const Vec8& threshold, const Vec8& pull) {
        const Vec8 beyond = absolute(u) - threshold;
        const Vec8 v = select(u > 0.0, -beyond, beyond) / (square_root(H) + pull);
        return select((beyond > 0.0) & ~(H < __DBL_MIN__), v, 0.0);
    }

    UNITLESS_INLINE void learn(const Stage& stage, const StagedRow& row, std::size_t r, const Vec8& raw,
                               const Vec8& p) const {
        const Vec8 y = label_of(labels_, r, class_);
        Vec8 slope;
        if constexpr (std::is_same_v<Loss, Logistic>) {
            const auto evaluated = loss_.evaluate(p, y);
            slope = evaluated.slope;
            if (lanes_.loss) evaluated.small.store(lanes_.loss + r * labels_.stride);
        } else {
            slope = loss_.slope(p, y);
            if (lanes_.loss) loss_.value(p, y).store(lanes_.loss + r * labels_.stride);
        }
        Vec8 step = rate_ * ((labels_.pace ? labels_.pace[r] : 1.0) * row.weight * row.damp) * slope;
        const Mask8 sound =
            (absolute(raw) <= suspicious) & (absolute(slope) <= suspicious) & (absolute(step) <= suspicious);
        if (any(~sound)) {
            note_divergence(lanes_, labels_, sound, r);
            slope = select(sound, slope, 0.0);
            step = select(sound, step, 0.0);
        }
        const Vec8 squared = slope * slope * Vec8::all(row.weight);
        const double* from = weights_;
        for (std::size_t k = row.begin; k < row.end; ++k, from += width) {
            double* at = state(stage.slot[k]);
            Vec8 u = Vec8::load(at), H = Vec8::load(at + width);
            if (const double rho = stage.rho[k]; row.grown && rho != 1.0) {
                u = u * Vec8::all(rho);
                H = H * Vec8::all(rho * rho);
            }
            const Vec8 now = H + squared * Vec8::all(stage.squared[k]);
            const Vec8 held = (square_root(now) - square_root(H)) * Vec8::load(from);
            (u + (step * Vec8::all(stage.z[k]) - held)).store(at);
            now.store(at + width);
        }
    }
};

// Lanes of any kind.
inline void run_any_lanes(const Options& options, const Octet* lanes, int octets, const LaneLabels& labels,
                          const Stage& stage, std::size_t rows, double* memory) {
    if (!options.proximal) return run_lanes(options, lanes, octets, labels, stage, rows, memory);
    with_loss(options.loss, [&](auto loss) {
        for (int o = 0; o < octets; ++o)
            ProximalRows<typename decltype(loss)::type>(options, lanes[o], labels, memory).run(stage, rows);
    });
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
