// One example: predict, measure the loss, update. The heart of Algorithms 1 and 2, over a pack.
#pragma once

#include <cstdint>

#include "algorithm/loss.hpp"
#include "algorithm/rule.hpp"
#include "algorithm/state.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// sum v z over the active chunks; the bias's part comes first.
UNITLESS_INLINE double dot(const Pack pack, std::size_t active, double bias) {
    Vec8 total = Vec8::first(bias);
    for (std::size_t k = 0; k < active; ++k) {
        const std::size_t at = pack.active[k] * width;
        total = total + Vec8::load(pack.v + at) * Vec8::load(pack.x + at);
    }
    return sum(total);
}

// What the bias adds to a prediction that is asked for, and the factor of it all; with or without the limit of what has
// been seen.
template <class Rule>
double bias_part(const Options& options, const Pack& pack, bool extrapolate) {
    using Scale = typename Rule::Scale;
    const double one = options.bias ? 1.0 : 0.0, s = pack.bias->scale;
    return pack.bias->v * (extrapolate ? Scale::linear(s, one) : Scale::peek(s, one));
}
template <class Rule>
double spread_asked(const Clock& clock, bool extrapolate) {
    return Rule::spread(extrapolate ? clock.t : clock.t + 1);
}

// The prediction for the z in the pack.
template <class Rule>
double predict(const Options& options, const Clock& clock, const Pack pack, std::size_t active, bool extrapolate) {
    return spread_asked<Rule>(clock, extrapolate) * dot(pack, active, bias_part<Rule>(options, pack, extrapolate));
}

// A score with its row's offset. Where there is none nothing is added: that would turn -0 into 0.
inline double with_offset(double score, double offset) { return offset != 0 ? score + offset : score; }

// The prediction within the labels' range so far, where the options ask for it.
inline double limit(const Options& options, const Clock& clock, double p) {
    if (options.clip == Clip::none || !(clock.label_min <= clock.label_max)) return p;
    return smaller(larger(p, clock.label_min), clock.label_max);
}

// A prediction that was asked for; the plain linear model knows no limit.
inline double limit_asked(const Options& options, const Clock& clock, double p, bool extrapolate) {
    return extrapolate && options.order == Order::paper ? p : limit(options, clock, p);
}

// Vowpal Wabbit's range includes the label that is being predicted.
inline double limit(const Options& options, const Clock& clock, double p, double y) {
    if (options.clip != Clip::vw) return limit(options, clock, p);
    return smaller(larger(p, smaller(clock.label_min, y)), larger(clock.label_max, y));
}

inline void widen_label_range(Clock& clock, double y) {
    clock.label_min = smaller(clock.label_min, y);
    clock.label_max = larger(clock.label_max, y);
}

// v and H as float32 can hold them. Plain rounding would stop them from growing after some 2^24 equal updates, so the
// 29 bits that go are rounded up with the probability that they stand for; the random bits are a function of the
// example's number and the slot, and so the same however the stream is fed. Numbers beyond float32's range become
// infinite.
struct Narrowing {
    // T is a number of 64 bits, or several of them.
    template <class T>
    static UNITLESS_INLINE T random(T slot, std::uint64_t example) {
        T key = slot * std::uint64_t{0x9e3779b97f4a7c15} + example * std::uint64_t{0xd1b54a32d192ed03};
        key = (key ^ (key >> 32)) * std::uint64_t{0xd6e8feb86659fd93};
        return key ^ (key >> 29);
    }
    template <class T>
    static UNITLESS_INLINE T rounded(T bits, T random) {
        constexpr std::uint64_t low = (std::uint64_t{1} << 29) - 1;
        return (bits + (random & low)) & ~low;
    }
};

// False if a value leaves float32's range.
inline bool narrow(double& v, double& H, std::uint32_t slot, std::uint64_t example) {
    const auto stochastic = [](double x, std::uint64_t random) {
        const auto bits = Narrowing::rounded(__builtin_bit_cast(std::uint64_t, x), random);
        return static_cast<double>(static_cast<float>(__builtin_bit_cast(double, bits)));
    };
    const auto random = Narrowing::random(std::uint64_t{slot}, example);
    v = stochastic(v, random);
    H = stochastic(H, random >> 29);
    return absolute(v) <= __FLT_MAX__ && H <= __FLT_MAX__;
}

// The same of eight features. True where a value leaves float32's range.
UNITLESS_INLINE Mask8 narrow(Vec8& v, Vec8& H, const std::uint32_t* slots, std::uint64_t example) {
    using Floats = float __attribute__((vector_size(register_width * sizeof(float))));
    using Slots = std::uint32_t __attribute__((vector_size(register_width * sizeof(std::uint32_t))));
    const auto stochastic = [](Register& x, const Bits& random) UNITLESS_INLINE_LAMBDA {
        const auto rounded = (Register)Narrowing::rounded((Bits)x, random);
        x = __builtin_convertvector(__builtin_convertvector(rounded, Floats), Register);
    };
    for (int i = 0; i < Vec8::registers; ++i) {
        Slots some;  // they may lie anywhere
        __builtin_memcpy(&some, slots + i * register_width, sizeof some);
        const Bits random = Narrowing::random(__builtin_convertvector(some, Bits), example);
        stochastic(v.part[i], random);
        stochastic(H.part[i], random >> 29);
    }
    return ~((absolute(v) <= __FLT_MAX__) & (H <= __FLT_MAX__));
}

// The weight with which a row's z and prediction see the row: 1, so that they do not know its own. Vowpal Wabbit's do.
inline double seen_weight(const Options& options, double h) { return options.order == Order::vw ? h : 1.0; }

enum class Learned { yes, skipped, diverged };

template <class Rule, class Loss, bool aware>
class Row {
  public:
    explicit Row(const Options& options) : options_(options), loss_(options) {}

    // Learn from the z in the pack; `offset` is added to the score. Skipped (order "vw", no loss) or diverged: the pack
    // is to be dropped.
    UNITLESS_INLINE Learned learn(const Pack pack, std::size_t active, bool grown, double y, double h, double eta,
                                  double offset, Clock& clock, double& prediction) const {
        // Nothing is written to the clock or the bias until the example is known to be good.
        const double as = seen_weight(options_, h), t = clock.t + h, seen_t = clock.t + as;
        Slot64 bias{pack.bias->scale, pack.bias->v, pack.bias->H};
        const Observed one = observe_bias<typename Rule::Scale>(bias.scale, options_.bias ? 1.0 : 0.0, h, as);
        double raw = 0;
        if (options_.order == Order::vw) {
            raw = with_offset(Rule::spread(clock.t) * dot_before_rescaling(pack, active, bias.v * (one.z / one.rho)),
                              offset);
            prediction = limit(options_, clock, raw, y);
            if (!is_finite(raw)) return Learned::diverged;
            if (!(loss_.value(prediction, y) > 0)) {
                clock.t = t;
                clock.examples += 1;
                if (options_.clip != Clip::none) widen_label_range(clock, y);
                return Learned::skipped;
            }
        }
        rescale(bias, one.rho);
        const Sums sums = grown ? rescale_and_sum<true>(pack, active, bias, one.z)
                                : rescale_and_sum<false>(pack, active, bias, one.z);
        if (options_.order == Order::paper) {
            raw = with_offset(Rule::spread(seen_t) * sums.vz, offset);
            prediction = limit(options_, clock, raw, y);
        }
        const double p = prediction, T = clock.T + h, N = clock.N + h * (Rule::spread_squared(seen_t) * sums.zz);
        const double slope = loss_.slope(p, y);
        const bool ordinary = absolute(raw) + absolute(slope) + (t + N + eta) <= suspicious;
        if (!ordinary && !all_finite(raw, slope, t, N, slope * slope * h, eta)) return Learned::diverged;
        if (slope != 0 && N > 0 && !update(pack, active, bias, one.z, sums.zz, p, y, h, eta, slope, t, seen_t, T / N))
            return Learned::diverged;
        if (!ordinary && !all_finite(pack, active, bias)) return Learned::diverged;
        if (options_.precision == Precision::float32 && !narrow_all(pack, active, bias, clock.examples + 1))
            return Learned::diverged;
        pack.bias->scale = bias.scale;
        pack.bias->v = bias.v;
        pack.bias->H = bias.H;
        clock.t = t;
        clock.T = T;
        clock.N = N;
        clock.examples += 1;
        if (options_.clip != Clip::none) widen_label_range(clock, y);
        return Learned::yes;
    }

  private:
    struct Sums {
        double vz, zz;
    };
    static constexpr double suspicious = 0x1p300;  // beyond this, results are looked at one by one
    static constexpr double longest_move = 0x1p500;
    const Options& options_;
    Loss loss_;

    template <class... Numbers>
    UNITLESS_RARE static bool all_finite(Numbers... numbers) {
        return (is_finite(numbers) && ...);
    }
    UNITLESS_RARE static bool all_finite(const Pack& pack, std::size_t active, const Slot64& bias) {
        bool finite = is_finite(bias.scale) && is_finite(bias.v) && is_finite(bias.H);
        for (std::size_t k = 0; k < active; ++k)
            for (std::size_t i = pack.active[k] * width; i < (pack.active[k] + 1) * width; ++i)
                finite = finite && is_finite(pack.v[i]) && is_finite(pack.H[i]);
        return finite;
    }

    // Steps 2.(a).i, (b) and (c): what a new scale does to the state, yhat, and N's increment. Adaptive rules also keep
    // z/sqrt(H) in pack.step, with the H of before this example: it is known long before the gradient.
    template <bool grown>
    static UNITLESS_INLINE Sums rescale_and_sum(const Pack pack, std::size_t active, const Slot64& bias,
                                                double bias_z) {
        Vec8 vz = Vec8::first(bias.v * bias_z), zz = Vec8::first(bias_z * bias_z);
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            const Vec8 z = Vec8::load(pack.x + at);
            Vec8 v = Vec8::load(pack.v + at), H = Vec8::load(pack.H + at);
            if constexpr (grown && Rule::rescale != Rescale::none) {
                const Vec8 rho = Vec8::load(pack.rho + at);
                H = H * (rho * rho);
                H.store(pack.H + at);
                if constexpr (Rule::rescale == Rescale::v_by_rho) {
                    v = v * rho;
                    v.store(pack.v + at);
                }
            }
            if constexpr (Rule::adaptive) (z * inverse_root(H)).store(pack.step + at);
            vz = vz + v * z;
            zz = zz + z * z;
        }
        return {sum(vz), sum(zz)};
    }

    static void rescale(Slot64& bias, double rho) {
        if constexpr (Rule::rescale != Rescale::none) bias.H *= rho * rho;
        if constexpr (Rule::rescale == Rescale::v_by_rho) bias.v *= rho;
    }

    // Order "vw": with the weights and scales of before this example, x/s = z/rho.
    static UNITLESS_INLINE double dot_before_rescaling(const Pack pack, std::size_t active, double bias) {
        Vec8 total = Vec8::first(bias);
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            total = total + Vec8::load(pack.v + at) * (Vec8::load(pack.x + at) / Vec8::load(pack.rho + at));
        }
        return sum(total);
    }

    // Steps 2.(d).
    UNITLESS_INLINE bool update(const Pack pack, std::size_t active, Slot64& bias, double bias_z, double zz, double p,
                                double y, double h, double eta, double slope, double t, double seen_t,
                                double t_over_N) const {
        // The prediction is spread * sum v z; a move of v by move * z * rate moves it by move * spread * reach, where
        // reach = sum z^2 rate. Plain: move = -speed * slope. Importance-aware: the prediction's own path, for a time.
        const double spread = Rule::spread(seen_t), damp = Rule::damp(t_over_N);
        if constexpr (Rule::adaptive) {
            const double speed = eta * h * damp;
            const Gradient gradient{Vec8::all(slope * slope), Vec8::all(h)};
            bias.H += slope * slope * (h * (bias_z * bias_z));
            const double bias_step = bias.H >= __DBL_MIN__ ? bias_z / square_root(bias.H) : 0.0;
            double move = -(speed * slope);
            if constexpr (aware) {
                const double reach = spread * accumulate(pack, active, gradient, Vec8::first(bias_z * bias_step));
                if (!(reach > 0)) return true;
                move = importance_aware_move(loss_, p, y, slope, speed, reach);
                if (!(absolute(move) <= longest_move)) return false;
                add(pack, active, move);
            } else {
                if (!(absolute(move) <= longest_move)) return false;
                accumulate_and_add(pack, active, gradient, move);
            }
            bias.v += move * bias_step;
        } else {
            const double speed = h * (options_.schedule == Schedule::root ? eta / square_root(t) : eta) * damp;
            double move = -(speed * slope);
            if constexpr (aware) {
                if (!(zz > 0)) return true;
                move = importance_aware_move(loss_, p, y, slope, speed, zz);
            }
            if (!(absolute(move) <= longest_move)) return false;
            add_and_count(pack, active, h, move);
            bias.H += h * (bias_z * bias_z);
            bias.v += move * bias_z;
        }
        return true;
    }

    struct Gradient {
        Vec8 square, weight;
    };
    struct Adapted {
        Vec8 H, step;
    };

    // H += h (g z)^2, and z/sqrt(H) with the new H: `step` is that with the old one. Where H grows little, as it nearly
    // always does, the new root is the old one times (1 + u)^(-1/2), u = h (g z)^2/H, by its series: from the gradient
    // to the step this is much shorter than a root. Each of the eight is decided for itself.
    static UNITLESS_INLINE Adapted adapt(const Vec8& z, const Vec8& step, const Vec8& H, const Gradient& gradient) {
        const Vec8 gain = gradient.square * (gradient.weight * (z * z)), now = H + gain;
        const Vec8 u = gradient.square * (gradient.weight * (step * step)), u2 = u * u, u4 = u2 * u2;
        const Vec8 shrunk = ((1.0 - 0.5 * u) + u2 * (0.375 - 0.3125 * u)) +
                            u4 * ((35.0 / 128 - (63.0 / 256) * u) + u2 * (231.0 / 1024));
        const Mask8 leap = gain > H * (1.0 / 64);
        if (any(leap)) return {now, select(leap, z * inverse_root(now), step * shrunk)};
        return {now, step * shrunk};
    }

    // Gives sum z^2/sqrt(H), added to that of the bias.
    static UNITLESS_INLINE double accumulate(const Pack pack, std::size_t active, const Gradient& gradient,
                                             Vec8 total) {
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            const Vec8 z = Vec8::load(pack.x + at);
            const Adapted now = adapt(z, Vec8::load(pack.step + at), Vec8::load(pack.H + at), gradient);
            now.H.store(pack.H + at);
            now.step.store(pack.step + at);
            total = total + z * now.step;
        }
        return sum(total);
    }

    static UNITLESS_INLINE void add(const Pack pack, std::size_t active, double move) {
        const Vec8 factor = Vec8::all(move);
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            (Vec8::load(pack.v + at) + factor * Vec8::load(pack.step + at)).store(pack.v + at);
        }
    }

    static UNITLESS_INLINE void accumulate_and_add(const Pack pack, std::size_t active, const Gradient& gradient,
                                                   double move) {
        const Vec8 length = Vec8::all(move);
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            const Adapted now =
                adapt(Vec8::load(pack.x + at), Vec8::load(pack.step + at), Vec8::load(pack.H + at), gradient);
            now.H.store(pack.H + at);
            (Vec8::load(pack.v + at) + length * now.step).store(pack.v + at);
        }
    }

    // Without adaptive rates H is the sum of h z^2: how much of a weight's evidence is here, for merging.
    static UNITLESS_INLINE void add_and_count(const Pack pack, std::size_t active, double h, double move) {
        const Vec8 factor = Vec8::all(h), length = Vec8::all(move);
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            const Vec8 z = Vec8::load(pack.x + at);
            (Vec8::load(pack.H + at) + factor * (z * z)).store(pack.H + at);
            (Vec8::load(pack.v + at) + length * z).store(pack.v + at);
        }
    }

    static bool narrow_all(const Pack pack, std::size_t active, Slot64& bias, std::uint64_t example) {
        bool fits = narrow(bias.v, bias.H, 0, example);
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            Vec8 v = Vec8::load(pack.v + at), H = Vec8::load(pack.H + at);
            fits = !any(narrow(v, H, pack.slot + at, example)) && fits;
            v.store(pack.v + at);
            H.store(pack.H + at);
        }
        return fits;
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
