// One example: predict, measure the loss, update. The heart of Algorithms 1 and 2, over a pack.
#pragma once

#include <bit>

#include "loss.hpp"
#include "rule.hpp"
#include "state.hpp"
#include "vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// The chunks of the pack in which some z is not zero. The others add nothing to any sum, to the bit.
inline std::size_t find_active(const Pack& pack, std::size_t chunks) {
    std::size_t n = 0;
    for (std::size_t c = 0; c < chunks; ++c) {
        pack.active[n] = static_cast<std::uint32_t>(c);
        n += any_nonzero(Vec8::load(pack.x + c * width));
    }
    return n;
}

// sum v z over the active chunks.
inline double dot(const Pack& pack, std::size_t active) {
    Vec8 total = Vec8::all(0.0);
    for (std::size_t k = 0; k < active; ++k) {
        const std::size_t at = pack.active[k] * width;
        total = total + Vec8::load(pack.v + at) * Vec8::load(pack.x + at);
    }
    return sum(total);
}

// The prediction within the labels' range so far, where the options ask for it.
inline double limit(const Options& options, const Clock& clock, double p) {
    if (options.clip == Clip::none || !(clock.label_min <= clock.label_max)) return p;
    return smaller(larger(p, clock.label_min), clock.label_max);
}

inline void widen_label_range(Clock& clock, double y) {
    clock.label_min = smaller(clock.label_min, y);
    clock.label_max = larger(clock.label_max, y);
}

// v and H as float32 can hold them. Plain rounding would stop them from growing after some 2^24 equal updates, so the
// 29 bits that go are rounded up with the probability that they stand for; the random bits are a function of the
// example's number and the slot, and so the same however the stream is fed. False if a value leaves float32's range.
inline bool narrow(const Pack& pack, std::size_t active, std::uint64_t example) {
    const auto stochastic = [](double x, std::uint64_t random) {
        constexpr std::uint64_t low = (std::uint64_t{1} << 29) - 1;
        const auto bits = (std::bit_cast<std::uint64_t>(x) + (random & low)) & ~low;
        return static_cast<double>(static_cast<float>(std::bit_cast<double>(bits)));
    };
    bool fits = true;
    for (std::size_t k = 0; k < active; ++k) {
        const std::size_t at = pack.active[k] * width;
        for (std::size_t i = at; i < at + width; ++i) {
            std::uint64_t key = pack.slot[i] * 0x9e3779b97f4a7c15ULL + example * 0xd1b54a32d192ed03ULL;
            key = (key ^ (key >> 32)) * 0xd6e8feb86659fd93ULL;
            key ^= key >> 29;
            pack.v[i] = stochastic(pack.v[i], key);
            pack.H[i] = stochastic(pack.H[i], key >> 29);
            fits = fits && absolute(pack.v[i]) <= __FLT_MAX__ && pack.H[i] <= __FLT_MAX__;
        }
    }
    return fits;
}

enum class Learned { yes, skipped, diverged };

template <class Rule, class Loss, bool aware>
class Row {
  public:
    explicit Row(const Options& options) : options_(options), loss_(options) {}

    // Learn from the z in the pack. Skipped (order "vw", no loss): the pack is to be dropped. Diverged: the same, and
    // the clock is as it was.
    Learned learn(const Pack& pack, std::size_t active, bool grown, double y, double h, Clock& clock,
                  double& prediction) const {
        Clock next = clock;
        next.t += h;
        next.examples += 1;
        if (options_.clip == Clip::vw) widen_label_range(next, y);

        double raw = 0;
        if (options_.order == Order::vw) {
            raw = Rule::spread(clock.t) * dot_before_rescaling(pack, active);
            prediction = limit(options_, next, raw);
            if (!(loss_.value(prediction, y) > 0)) {
                clock = next;
                return Learned::skipped;
            }
        }
        const Sums sums = grown ? rescale_and_sum<true>(pack, active) : rescale_and_sum<false>(pack, active);
        if (options_.order == Order::paper) {
            raw = Rule::spread(next.t) * sums.vz;
            prediction = limit(options_, next, raw);
        }
        next.T += h;
        next.N += h * (Rule::spread_squared(next.t) * sums.zz);
        widen_label_range(next, y);

        const double slope = loss_.slope(prediction, y);
        if (!is_finite(raw) || !is_finite(slope)) return Learned::diverged;
        if (slope != 0 && next.N > 0 && !update(pack, active, sums, prediction, y, h, slope, next))
            return Learned::diverged;
        if (options_.precision == Precision::float32 && !narrow(pack, active, next.examples)) return Learned::diverged;
        clock = next;
        return Learned::yes;
    }

  private:
    struct Sums {
        double vz, zz;
    };
    const Options& options_;
    Loss loss_;

    // Steps 2.(a).i, (b) and (c): what a new scale does to the state, yhat, and N's increment.
    template <bool grown>
    static Sums rescale_and_sum(const Pack& pack, std::size_t active) {
        Vec8 vz = Vec8::all(0.0), zz = vz;
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            const Vec8 z = Vec8::load(pack.x + at);
            Vec8 v = Vec8::load(pack.v + at);
            if constexpr (grown && Rule::rescale != Rescale::none) {
                const Vec8 rho = Vec8::load(pack.rho + at);
                (Vec8::load(pack.H + at) * (rho * rho)).store(pack.H + at);
                if constexpr (Rule::rescale == Rescale::v_by_rho) {
                    v = v * rho;
                    v.store(pack.v + at);
                }
            }
            vz = vz + v * z;
            zz = zz + z * z;
        }
        return {sum(vz), sum(zz)};
    }

    // Order "vw": with the weights and scales of before this example, x/s = z/rho.
    static double dot_before_rescaling(const Pack& pack, std::size_t active) {
        Vec8 total = Vec8::all(0.0);
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            total = total + Vec8::load(pack.v + at) * (Vec8::load(pack.x + at) / Vec8::load(pack.rho + at));
        }
        return sum(total);
    }

    // Steps 2.(d).
    bool update(const Pack& pack, std::size_t active, const Sums& sums, double p, double y, double h, double slope,
                const Clock& now) const {
        const double damp = Rule::damp(now.T / now.N);
        if constexpr (Rule::adaptive) {
            const double square = h * (slope * slope);
            if (!is_finite(square)) return false;
            if constexpr (aware) {
                const double per_update = Rule::spread(now.t) * (damp * accumulate(pack, active, square));
                if (!(per_update > 0)) return true;
                const double move = damp * loss_.step(p, y, slope, options_.learning_rate * h, per_update);
                if (!is_finite(move)) return false;
                add(pack, active, pack.step, move);
            } else {
                const double move = -(options_.learning_rate * h * damp * slope);
                if (!is_finite(move)) return false;
                accumulate_and_add(pack, active, square, move);
            }
        } else {
            const double rate = h * (options_.schedule == Schedule::root ? options_.learning_rate / square_root(now.t)
                                                                         : options_.learning_rate);
            double move = -(rate * damp * slope);
            if constexpr (aware) {
                const double per_update = damp * sums.zz;
                if (!(per_update > 0)) return true;
                move = damp * loss_.step(p, y, slope, rate, per_update);
            }
            if (!is_finite(move)) return false;
            add_and_count(pack, active, h, move);
        }
        return true;
    }

    // H += h (g z)^2; keeps z/sqrt(H) in pack.step; gives sum z^2/sqrt(H).
    static double accumulate(const Pack& pack, std::size_t active, double square) {
        const Vec8 factor = Vec8::all(square);
        Vec8 total = Vec8::all(0.0);
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            const Vec8 z = Vec8::load(pack.x + at);
            const Vec8 H = Vec8::load(pack.H + at) + factor * (z * z);
            H.store(pack.H + at);
            const Vec8 step = z * inverse_root(H);
            step.store(pack.step + at);
            total = total + z * step;
        }
        return sum(total);
    }

    static void add(const Pack& pack, std::size_t active, const double* step, double move) {
        const Vec8 factor = Vec8::all(move);
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            (Vec8::load(pack.v + at) + factor * Vec8::load(step + at)).store(pack.v + at);
        }
    }

    static void accumulate_and_add(const Pack& pack, std::size_t active, double square, double move) {
        const Vec8 factor = Vec8::all(square), length = Vec8::all(move);
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            const Vec8 z = Vec8::load(pack.x + at);
            const Vec8 H = Vec8::load(pack.H + at) + factor * (z * z);
            H.store(pack.H + at);
            (Vec8::load(pack.v + at) + length * (z * inverse_root(H))).store(pack.v + at);
        }
    }

    // Without adaptive rates H is the sum of h z^2: how much of a weight's evidence is here, for merging.
    static void add_and_count(const Pack& pack, std::size_t active, double h, double move) {
        const Vec8 factor = Vec8::all(h), length = Vec8::all(move);
        for (std::size_t k = 0; k < active; ++k) {
            const std::size_t at = pack.active[k] * width;
            const Vec8 z = Vec8::load(pack.x + at);
            (Vec8::load(pack.H + at) + factor * (z * z)).store(pack.H + at);
            (Vec8::load(pack.v + at) + length * z).store(pack.v + at);
        }
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
