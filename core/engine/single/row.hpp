// One row of a single learner: predict, compute the loss, update (Algorithms 1 and 2).
//
// The bias is part of every row and is separate from the terms: a register chunk for it would be mostly empty.
#pragma once

#include "algorithm/loss.hpp"
#include "algorithm/prediction.hpp"
#include "algorithm/step.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

enum class Learned { yes, skipped, diverged };

// What is learned for a row.
struct Example {
    double y, h;  // label, sample weight
    double rate;  // learning rate times the label's scale
    double offset;
};

// The bias's part of sum v z, in a prediction without learning.
template <class Rule>
double bias_term(const Options& options, const Slot& bias, bool extrapolate) {
    using Scale = typename Rule::Scale;
    const double one = options.bias ? 1.0 : 0.0;
    return bias.v * (extrapolate ? Scale::linear(bias.scale, one) : Scale::peek(bias.scale, one));
}
template <class Rule>
double gain_without_learning(const Clock& clock, bool extrapolate) {
    return Rule::gain(extrapolate ? clock.t : clock.t + 1);
}
template <class Rule>
double predict(const Options& options, const Clock& clock, const FeatureTerms& terms, const Slot& bias,
               bool extrapolate) {
    return gain_without_learning<Rule>(clock, extrapolate) *
           dot(terms, Vec8::first(bias_term<Rule>(options, bias, extrapolate)));
}

template <class Rule>
class SingleRow {
  public:
    explicit SingleRow(const Options& options) : options_(options) {}

    // Learns the row whose z the terms have. `grown`: some rho is not 1. If the result is `skipped` (order "vw", no
    // loss) or `diverged`, the caller must discard the terms. A skipped row counts in the clock; a diverged row changes
    // nothing.
    UNITLESS_INLINE Learned learn(const FeatureTerms& terms, Slot& bias_slot, bool grown, const Example& row,
                                  Clock& clock, double& prediction) const {
        const double h = row.h, as = seen_weight(options_, h), t = clock.t + h, seen_t = clock.t + as;
        Slot bias = bias_slot;  // written back when the row has not diverged
        const Observed one = observe_bias<typename Rule::Scale>(bias.scale, options_.bias ? 1.0 : 0.0, h, as);
        double raw = 0;
        if (options_.order == Order::vw) {
            raw =
                with_offset(Rule::gain(clock.t) * dot_before_rescaling(terms, bias.v * (one.z / one.rho)), row.offset);
            prediction = limit(options_, clock, raw, row.y);
            if (!is_finite(raw)) return Learned::diverged;
            if (!(measure(options_, prediction, row.y).value > 0)) {
                clock.t = t;
                clock.examples += 1;
                widen_label_range(options_, clock, row.y);
                return Learned::skipped;
            }
        }
        rescale(Rule::rescale, one.rho, bias.v, bias.H);
        if (grown) rescale(Rule::rescale, terms);
        const Sums sums = sums_of(terms, bias.v, one.z);
        if (options_.order == Order::paper) {
            raw = with_offset(Rule::gain(seen_t) * sums.vz, row.offset);
            prediction = limit(options_, clock, raw, row.y);
        }
        const double T = clock.T + h, N = clock.N + h * (Rule::gain_squared(seen_t) * sums.zz);
        const double slope = slope_of(options_, prediction, row.y);
        const bool ordinary = absolute(raw) + absolute(slope) + (t + N + row.rate) <= suspicious;
        if (!ordinary && !all_finite(raw, slope, t, N, slope * slope * h, row.rate)) return Learned::diverged;
        if (slope != 0 && N > 0 && !move(terms, bias, one.z, row, prediction, slope, t, seen_t, T / N))
            return Learned::diverged;
        if (!ordinary && !all_finite(terms, bias)) return Learned::diverged;
        bias_slot = bias;
        clock.t = t;
        clock.T = T;
        clock.N = N;
        clock.examples += 1;
        widen_label_range(options_, clock, row.y);
        return Learned::yes;
    }

  private:
    struct Sums {
        double vz, zz;
    };
    static constexpr double suspicious = 0x1p300;  // if a number is larger, each result is checked
    static constexpr double longest_move = 0x1p500;
    const Options& options_;

    template <class... Numbers>
    UNITLESS_RARE static bool all_finite(Numbers... numbers) {
        return (is_finite(numbers) && ...);
    }
    UNITLESS_RARE static bool all_finite(const FeatureTerms& terms, const Slot& bias) {
        bool finite = is_finite(bias.scale) && is_finite(bias.v) && is_finite(bias.H);
        for (std::size_t k = 0; k < terms.count; ++k)
            for (int i = 0; i < width; ++i) finite = finite && is_finite(terms.v(k)[i]) && is_finite(terms.H(k)[i]);
        return finite;
    }

    // The sums of v z and of z^2, including the bias.
    static UNITLESS_INLINE Sums sums_of(const FeatureTerms& terms, double bias_v, double bias_z) {
        Vec8 vz = Vec8::first(bias_v * bias_z), zz = Vec8::first(bias_z * bias_z);
        for (std::size_t i = 0; i < terms.count; ++i) {
            const Vec8 z = terms.z(i);
            vz = vz + Vec8::load(terms.v(i)) * z;
            zz = zz + z * z;
        }
        return {sum(vz), sum(zz)};
    }

    // Order "vw": sum v z with the weights and scales before this row, where x/s = z/rho.
    static double dot_before_rescaling(const FeatureTerms& terms, double bias) {
        Vec8 total = Vec8::first(bias);
        for (std::size_t i = 0; i < terms.count; ++i)
            total = total + Vec8::load(terms.v(i)) * (terms.z(i) / terms.rho(i));
        return sum(total);
    }

    // Steps 2.(d). The prediction is gain sum v z, so v += move step changes it by move gain reach. Plain gradient
    // step: move = -speed slope. The importance-aware step computes `move` from the loss.
    UNITLESS_INLINE bool move(const FeatureTerms& terms, Slot& bias, double bias_z, const Example& row, double p,
                              double slope, double t, double seen_t, double t_over_N) const {
        const double squared = row.h * (slope * slope);
        const double bias_step = accumulate<Rule::adaptive>(bias.H, bias_z, squared, row.h);
        const double reach = Rule::gain(seen_t) * accumulate<Rule::adaptive>(terms, Vec8::all(squared), row.h,
                                                                             Vec8::first(bias_z * bias_step));
        const bool falling = !Rule::adaptive && options_.schedule == Schedule::root;
        const double rate = falling ? row.rate / square_root(t) : row.rate;
        const double speed = rate * row.h * Rule::damp(t_over_N);
        double move = -(speed * slope);
        if (options_.importance_aware) {
            if (!(reach > 0)) return true;
            move = importance_aware_move(options_, p, row.y, slope, speed, reach);
        }
        if (!(absolute(move) <= longest_move)) return false;
        add(terms, Vec8::all(move));
        bias.v += move * bias_step;
        return true;
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
