// Sparse learners, eight at once: FTRL-Proximal (McMahan et al. 2013, "Ad Click Prediction", Algorithm 1) in the
// dimensionless state of rule.hpp, so that one penalty has the same meaning for every feature.
//
//   a = eta R sqrt(t/N)
//   v = 0 where |u| <= l1 R a, otherwise -(u - sgn(u) l1 R a)/(sqrt(H) + l2 a)
//   H' = H + h (g z)^2;  u += h a g z - (sqrt(H') - sqrt(H)) v
//   on a new maximum, rho = s before / s now:  u *= rho, H *= rho^2
// where:
//   u   is stored in the place of v. It is the z of McMahan et al. times a. Each step uses the a of its time, so
//       weights stay constant when t/N changes; without penalties this is NAG with plain gradient steps, up to rounding
//   R   is the label's scale, which u contains twice
//   l1  is the lane's penalty; l2 is common to all lanes. Penalties use a and R before the row, because predictions
//       know only these
// The bias has no penalty. Steps are plain gradient steps: an importance-aware step would have to know which weights
// become zero during the step.
#pragma once

#include "engine/lanes/octet_rows.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

class ProximalRows {
  public:
    ProximalRows(const Options& options, const Octet& octet, const LaneLabels& labels, double* memory)
        : options_(options),
          octet_(octet),
          labels_(labels),
          weights_(memory),
          rate_(Vec8::load(octet.rate)),
          penalty_(rate_ * Vec8::load(octet.penalty)),
          class_(Vec8::load(octet.label)) {}

    void run(const Stage& stage, std::size_t rows) const {
        for (std::size_t r = 0; r < rows; ++r) {
            const StagedRow& row = stage.rows[r];
            const Vec8 raw = with_offset(labels_, r, dot(stage, row)), p = limited(options_, row, raw);
            p.store(octet_.prediction + r * labels_.stride);
            if (row.weight > 0) learn(stage, row, r, raw, p);
        }
    }

  private:
    static constexpr double largest = 0x1p250;  // a lane with a larger number has diverged
    const Options& options_;
    Octet octet_;
    LaneLabels labels_;
    double* weights_;  // v of the row's features
    Vec8 rate_, penalty_, class_;

    double* state(std::uint32_t slot) const { return octet_.state + std::size_t{slot} * octet_doubles; }

    Vec8 dot(const Stage& stage, const StagedRow& row) const {
        const Vec8 threshold = penalty_ * (row.label_scale * row.penalty_factor),
                   pull = rate_ * (options_.l2 * row.penalty_factor);
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

    static Vec8 weight(const Vec8& u, const Vec8& H, const Vec8& threshold, const Vec8& pull) {
        const Vec8 beyond = absolute(u) - threshold;
        const Vec8 v = select(u > 0.0, -beyond, beyond) / (square_root(H) + pull);
        return select((beyond > 0.0) & ~(H < __DBL_MIN__), v, 0.0);
    }

    void learn(const Stage& stage, const StagedRow& row, std::size_t r, const Vec8& raw, const Vec8& p) const {
        const Measured<Vec8> measured = measure(options_, p, label_of(labels_, r, class_));
        if (octet_.loss) measured.value.store(octet_.loss + r * labels_.stride);
        Vec8 slope = measured.slope;
        const double label_scale = labels_.label_scale ? labels_.label_scale[r] : 1.0;
        Vec8 step = rate_ * (label_scale * row.weight * row.damp) * slope;
        const Mask8 sound = (absolute(raw) <= largest) & (absolute(slope) <= largest) & (absolute(step) <= largest);
        if (any(~sound)) {
            note_divergence(octet_, labels_, sound, r);
            slope = select(sound, slope, 0.0);
            step = select(sound, step, 0.0);
        }
        const Vec8 squared = slope * slope * Vec8::all(row.weight);
        const double* from = weights_;
        for (std::size_t k = row.begin; k < row.end; ++k, from += width) {
            double* at = state(stage.slot[k]);
            Vec8 u = Vec8::load(at), H = Vec8::load(at + width);
            if (row.grown) rescale(Rescale::v_by_rho, Vec8::all(stage.rho[k]), u, H);
            const double z = stage.z[k];
            const Vec8 now = H + squared * (z * z);
            const Vec8 held = (square_root(now) - square_root(H)) * Vec8::load(from);
            (u + (step * z - held)).store(at);
            now.store(at + width);
        }
    }
};

inline void run_proximal(const Options& options, const Octet* octets, std::size_t count, const LaneLabels& labels,
                         const Stage& stage, std::size_t rows, double* memory) {
    for (std::size_t o = 0; o < count; ++o) ProximalRows(options, octets[o], labels, memory).run(stage, rows);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
