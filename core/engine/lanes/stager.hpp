// Stages rows for the lanes: computes once what all lanes share. These are steps 2.(a) to (c) of the paper's
// algorithms: x becomes z, and the scales, t and N are updated.
#pragma once

#include "algorithm/prediction.hpp"
#include "algorithm/rule.hpp"
#include "algorithm/scale8.hpp"
#include "engine/lanes/kernel.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

template <class Rule>
class Stager {
    using Scale = typename Rule::Scale;

  public:
    // `scale`: by slot.
    Stager(const Options& options, double* scale, const Batch& batch, const Stage& to)
        : options_(options), one_(options.bias ? 1.0 : 0.0), scale_(scale), batch_(batch), to_(to) {}

    // Returns false if a value overflows: the row is not learned, and nothing has changed.
    bool learn(std::size_t r, Clock& clock) {
        const double h = weight_of(batch_, r);
        if (h == 0) {
            predict(r, clock, false);
            return true;
        }
        StagedRow& row = begin(r, clock.label_min, clock.label_max);
        if (options_.proximal) set_penalty(row, clock);
        const double bias_before = scale_[0];
        const Observed one = observe_bias<Scale>(scale_[0], one_, h);
        if (one_ != 0) put(0, one.z, one.rho);
        Mask8 grown{};
        Vec8 squares = Vec8::all(0.0);
        for_eight(r, [&](std::size_t at, const std::uint32_t* slots, const Vec8& x, std::size_t count)
                         UNITLESS_INLINE_LAMBDA {
                             const Vec8 before = Vec8::gather(scale_, slots);
                             Vec8 s = before;
                             const Observed8 seen = observe<Scale>(x, s, h, 1.0);
                             before.store(to_.before + at);
                             if (any_beyond(s, before)) scatter(s, slots, count);
                             grown = grown | (seen.rho < 1.0);
                             squares = squares + seen.z * seen.z;
                             put_eight(slots, seen.z, seen.rho, count);
                         });
        row.zz = (one_ != 0 ? one.z * one.z : 0.0) + sum(squares);
        const double t = clock.t + h, N = clock.N + h * (Rule::gain_squared(clock.t + 1) * row.zz);
        if (!is_finite(t) || !is_finite(N)) {
            scale_[0] = bias_before;
            const std::size_t first = begin_of(batch_, r);
            for (std::size_t k = first; k < end_of(batch_, r); ++k) scale_[batch_.slots[k]] = to_.before[k - first];
            return false;
        }
        row.end = at_;
        row.grown = one.rho != 1.0 || any(grown);
        row.weight = h;
        row.gain = Rule::gain(clock.t + 1);
        clock.t = t;
        clock.T += h;
        clock.N = N;
        clock.examples += 1;
        row.damp = N > 0 ? Rule::damp(clock.T / N) : 0.0;
        row.root_t = square_root(t);
        if (options_.proximal) clock.label_scale = label_scale_of(batch_, r);
        if (options_.clip == Clip::labels) widen_label_range(options_, clock, batch_.labels.y[r]);
        return true;
    }

    // Stages a row without learning it.
    void predict(std::size_t r, const Clock& clock, bool extrapolate) {
        // The plain linear model has no limit.
        StagedRow& row = extrapolate ? begin(r, infinity, -infinity) : begin(r, clock.label_min, clock.label_max);
        if (options_.proximal) set_penalty(row, clock);
        if (one_ != 0) put(0, extrapolate ? Scale::linear(scale_[0], one_) : Scale::peek(scale_[0], one_), 1.0);
        for_eight(
            r, [&](std::size_t, const std::uint32_t* slots, const Vec8& x, std::size_t count) UNITLESS_INLINE_LAMBDA {
                const Vec8 z = peek<Scale>(x, Vec8::gather(scale_, slots), extrapolate);
                put_eight(slots, z, Vec8::all(1.0), count);
            });
        row.end = at_;
        row.weight = 0;
        row.grown = false;
        row.gain = Rule::gain(extrapolate ? clock.t : clock.t + 1);
    }

  private:
    const Options& options_;
    double one_;
    double* scale_;
    const Batch& batch_;
    Stage to_;
    std::size_t at_ = 0;

    StagedRow& begin(std::size_t r, double label_min, double label_max) const {
        StagedRow& row = to_.rows[r];
        row.begin = at_;
        row.label_min = label_min;
        row.label_max = label_max;
        return row;
    }

    // Sets what proximal learners need for their weights before the row.
    static void set_penalty(StagedRow& row, const Clock& clock) {
        row.label_scale = clock.label_scale;
        row.penalty_factor = clock.label_scale * (clock.N > 0 ? Rule::damp(clock.T / clock.N) : 1.0);
    }

    void put(std::uint32_t slot, double z, double rho) {
        to_.slot[at_] = slot;
        to_.z[at_] = z;
        to_.rho[at_] = rho;
        ++at_;
    }
    // Writes eight entries, of which the first `count` are valid; the arrays have a margin.
    UNITLESS_INLINE void put_eight(const std::uint32_t* slots, const Vec8& z, const Vec8& rho, std::size_t count) {
        __builtin_memcpy(to_.slot + at_, slots, width * sizeof(*slots));
        z.store(to_.z + at_);
        rho.store(to_.rho + at_);
        at_ += count;
    }
    void scatter(const Vec8& s, const std::uint32_t* slots, std::size_t count) const {
        double now[width];
        s.store(now);
        for (std::size_t i = 0; i < count; ++i) scale_[slots[i]] = now[i];
    }

    // Calls action(position in the row, eight slots, their values, the number of valid ones) for all entries of a row.
    // The last eight are filled up with the bias's slot and the value zero.
    template <class Action>
    UNITLESS_INLINE void for_eight(std::size_t r, const Action& action) const {
        const std::size_t first = begin_of(batch_, r), count = end_of(batch_, r) - first;
        const std::uint32_t* const slots = batch_.slots + first;
        const double* const values = batch_.values + first;
        std::size_t k = 0;
        for (; k + width <= count; k += width) action(k, slots + k, Vec8::load(values + k), width);
        if (k == count) return;
        std::uint32_t last[width];
        Vec8::load_places(slots + k, count - k, last);
        action(k, last, Vec8::load(values + k, count - k), count - k);
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
