// Eight learners at once: the rows of row.hpp with one lane per learner instead of one per feature.
//
// Lanes see the same features, so scales, t and N are computed once per row (`Stage`) and what is left for each lane is
// its v and H. A block of eight lanes ("octet") keeps them side by side, [slot][v of 8, H of 8], and is independent of
// all other octets: any number of threads gives the same bits. Sums run over the features in the order of the row.
#pragma once

#include "algorithm/dispatch.hpp"
#include "algorithm/loss.hpp"
#include "algorithm/rule.hpp"
#include "engine/lanes/kernel.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// What every lane of an octet is to learn of a row.
UNITLESS_INLINE Vec8 label_of(const LaneLabels& labels, std::size_t r, const Vec8& classes) {
    const Vec8 label = Vec8::all(labels.y[r]);
    return labels.classes ? select(classes == label, 1.0, labels.negative) : label;
}

// The scores of a row with its offset. Where there is none nothing is added: that would turn -0 into 0.
UNITLESS_INLINE Vec8 with_offset(const LaneLabels& labels, std::size_t r, const Vec8& scores) {
    return labels.offset && labels.offset[r] != 0 ? scores + Vec8::all(labels.offset[r]) : scores;
}

// Predictions within the range of the labels before the row, where the options ask for it.
UNITLESS_INLINE Vec8 limited(const Options& options, const StagedRow& row, const Vec8& p) {
    if (options.clip == Clip::none || !(row.label_min <= row.label_max)) return p;
    return smaller(larger(p, Vec8::all(row.label_min)), Vec8::all(row.label_max));
}

// Some lanes of an octet are not sound: their numbers have run away.
UNITLESS_RARE inline void note_divergence(const Octet& lanes, const LaneLabels& labels, const Mask8& sound,
                                          std::size_t r) {
    double flags[width];
    select(sound, 0.0, 1.0).store(flags);
    for (int i = 0; i < present; ++i) {
        if (flags[i] == 0) continue;
        if (lanes.diverged_at[i] == Octet::never) lanes.diverged_at[i] = r;
        if (lanes.loss) lanes.loss[r * labels.stride + static_cast<unsigned>(i)] = infinity;
    }
}

// `octets` of them side by side, so that one can compute while the other waits for its own results.
// Of the rule only two things matter here; the rest has been staged.
template <class Loss, bool adaptive, bool aware, int octets>
class LaneRows {
  public:
    LaneRows(const Options& options, Rescale rescale, const Octet* lanes, const LaneLabels& labels, double* memory)
        : options_(options), rescale_(rescale), loss_(options), labels_(labels), step_(memory) {
        for (int o = 0; o < octets; ++o) {
            lanes_[o] = lanes[o];
            rate_[o] = Vec8::load(lanes[o].rate);
            class_[o] = Vec8::load(lanes[o].label);
        }
    }

    void run(const Stage& stage, std::size_t rows) {
        for (std::size_t r = 0; r < rows; ++r) {
            const StagedRow row = stage.rows[r];
            if (row.weight > 0) {
                learn(stage, row, r);
            } else {
                predict(stage, row, r);
            }
        }
    }

  protected:
    static constexpr bool logistic = std::is_same_v<Loss, Logistic>;
    static constexpr double suspicious = 0x1p500;  // beyond this a lane is stopped: it has diverged
    // A sum of z^2/sqrt(H) beyond this: some H may be no normal number, which makes its part at least 2^505. None is
    // overlooked where every z^2 is at least `tiny_square`.
    static constexpr double far_reach = 0x1p300;
    static constexpr double above_least = 0x1.0000000000001p-1022;  // the next number after the smallest normal one
    const Options& options_;
    Rescale rescale_;
    Loss loss_;
    LaneLabels labels_;
    double* step_;
    Octet lanes_[octets];
    Vec8 rate_[octets], class_[octets];

    double* v(int o, std::uint32_t slot) const { return lanes_[o].state + std::size_t{slot} * octet_doubles; }
    double* H(int o, std::uint32_t slot) const { return v(o, slot) + width; }

    UNITLESS_INLINE void dot(const Stage& stage, const StagedRow& row, Vec8 (&total)[octets]) const {
        for (int o = 0; o < octets; ++o) total[o] = Vec8::all(0.0);
        for (std::size_t k = row.begin; k < row.end; ++k)
            for (int o = 0; o < octets; ++o)
                total[o] = total[o] + Vec8::load(v(o, stage.slot[k])) * Vec8::all(stage.z[k]);
    }

    UNITLESS_INLINE void predict(const Stage& stage, const StagedRow& row, std::size_t r) const {
        Vec8 vz[octets];
        dot(stage, row, vz);
        for (int o = 0; o < octets; ++o)
            limited(options_, row, with_offset(labels_, r, Vec8::all(row.spread) * vz[o]))
                .store(lanes_[o].prediction + r * labels_.stride);
    }

    // What a new scale does to the state (2.(a).i).
    void rescale(const Stage& stage, const StagedRow& row) const {
        if (rescale_ == Rescale::none) return;
        for (std::size_t k = row.begin; k < row.end; ++k) {
            const double rho = stage.rho[k];
            if (rho == 1.0) continue;
            for (int o = 0; o < octets; ++o) {
                double *at = v(o, stage.slot[k]), *H = at + width;
                (Vec8::load(H) * Vec8::all(rho * rho)).store(H);
                if (rescale_ == Rescale::v_by_rho) (Vec8::load(at) * Vec8::all(rho)).store(at);
            }
        }
    }

    UNITLESS_INLINE void learn(const Stage& stage, const StagedRow& row, std::size_t r) const {
        if (row.grown) rescale(stage, row);
        Vec8 raw[octets], p[octets], y[octets], slope[octets];
        dot(stage, row, raw);
        Flags odd;
        for (int o = 0; o < octets; ++o) {
            raw[o] = with_offset(labels_, r, Vec8::all(row.spread) * raw[o]);
            p[o] = limited(options_, row, raw[o]);
            y[o] = label_of(labels_, r, class_[o]);
            p[o].store(lanes_[o].prediction + r * labels_.stride);
            odd.note_beyond(raw[o], Vec8::all(suspicious));
            if constexpr (logistic) {  // its slope is always sound
                const auto evaluated = loss_.evaluate(p[o], y[o]);
                slope[o] = evaluated.slope;
                if (lanes_[o].loss) evaluated.small.store(lanes_[o].loss + r * labels_.stride);
            } else {
                slope[o] = loss_.slope(p[o], y[o]);
                if (lanes_[o].loss) loss_.value(p[o], y[o]).store(lanes_[o].loss + r * labels_.stride);
                odd.note_beyond(slope[o], Vec8::all(suspicious));
                odd.note_below(absolute(slope[o]), Vec8::all(__DBL_DENORM_MIN__));
            }
        }
        if (odd.any()) return learn_the_sound(stage, row, r, raw, p, y, slope);
        const auto score = [&](int o) UNITLESS_INLINE_LAMBDA { return p[o]; };
        if (row.damp > 0) update<true>(stage, row, r, score, y, slope, nullptr);
    }

    // Where some lanes are not to move: their slopes are 0 or far too large.
    [[gnu::noinline]] void learn_the_sound(const Stage& stage, const StagedRow& row, std::size_t r,
                                           const Vec8 (&raw)[octets], const Vec8 (&p)[octets], const Vec8 (&y)[octets],
                                           Vec8 (&slope)[octets]) const {
        Mask8 moving[octets];
        bool any_moving = false;
        for (int o = 0; o < octets; ++o) {
            const Mask8 sound = (absolute(raw[o]) <= suspicious) & (absolute(slope[o]) <= suspicious);
            if (any(~sound)) note_divergence(lanes_[o], labels_, sound, r);
            moving[o] = sound & ~(slope[o] == 0.0);
            slope[o] = select(moving[o], slope[o], 0.0);
            any_moving |= any(moving[o]);
        }
        const auto score = [&](int o) UNITLESS_INLINE_LAMBDA { return p[o]; };
        if (any_moving && row.damp > 0) update<false>(stage, row, r, score, y, slope, moving);
    }

    // Steps 2.(d); see Row::update. Where all lanes move there are no masks. `score`: of an octet's lanes.
    template <bool all, class Score>
    UNITLESS_INLINE void update(const Stage& stage, const StagedRow& row, std::size_t r, Score score,
                                const Vec8 (&y)[octets], const Vec8 (&slope)[octets], const Mask8* moving) const {
        const double h = row.weight, pace = labels_.pace ? labels_.pace[r] : 1.0;
        Vec8 reach[octets];
        if constexpr (adaptive) {
            accumulate(stage, row, slope, reach);
        } else {
            for (int o = 0; o < octets; ++o) reach[o] = Vec8::all(row.zz);
        }
        const bool falling = !adaptive && options_.schedule == Schedule::root;
        const double common = pace * h * row.damp * (falling ? 1.0 / row.root_t : 1.0);
        Vec8 move[octets];
        for (int o = 0; o < octets; ++o) {
            const Vec8 speed = rate_[o] * common;
            move[o] = -(speed * slope[o]);
            if constexpr (aware) {
                const Vec8 length = row.spread * reach[o];
                const bool halting = any_beyond(Vec8::all(above_least), length);
                Vec8 whole = length, downhill = slope[o];
                if (halting) whole = select(length > __DBL_MIN__, length, 1.0);
                if constexpr (!all) downhill = select(moving[o], slope[o], 1.0);
                const Vec8 per_whole = 1.0 / whole;  // apart, so that the division does not wait for the change
                move[o] = change([&]() UNITLESS_INLINE_LAMBDA { return score(o); }, y[o], downhill, speed * whole) *
                          per_whole;
                if (halting) move[o] = select(length > __DBL_MIN__, move[o], 0.0);
            }
            if constexpr (!all) move[o] = select(moving[o], move[o], 0.0);
            if (any_beyond(move[o], Vec8::all(suspicious))) move[o] = stop(o, move[o], r);
        }
        for (int o = 0; adaptive && o < octets; ++o) move[o] = move[o] * inverse_root_part;
        for (std::size_t k = row.begin; k < row.end; ++k) {
            const std::uint32_t slot = stage.slot[k];
            for (int o = 0; o < octets; ++o) {
                double* at = v(o, slot);
                if constexpr (adaptive) {
                    const double* step = step_ + ((k - row.begin) * octets + static_cast<unsigned>(o)) * width;
                    (Vec8::load(at) + move[o] * Vec8::load(step)).store(at);
                } else {
                    const double z = stage.z[k];
                    (Vec8::load(at) + move[o] * Vec8::all(z)).store(at);
                    Vec8 evidence = Vec8::all(h * (z * z));
                    if constexpr (!all) evidence = select(moving[o], evidence, 0.0);
                    (Vec8::load(at + width) + evidence).store(at + width);
                }
            }
        }
    }

    template <class Score>
    UNITLESS_INLINE Vec8 change(Score score, const Vec8& y, const Vec8& slope, const Vec8& tau) const {
        if constexpr (logistic) {
            return loss_.change_from(score, y, slope, tau);
        } else {
            return loss_.change(score(), y, slope, tau);
        }
    }

    UNITLESS_RARE Vec8 stop(int o, const Vec8& move, std::size_t r) const {
        const Mask8 sound = absolute(move) <= suspicious;
        note_divergence(lanes_[o], labels_, sound, r);
        return select(sound, move, 0.0);
    }

    // H += h (g z)^2; keeps z/sqrt(H), as a part; gives sum z^2/sqrt(H).
    UNITLESS_INLINE void accumulate(const Stage& stage, const StagedRow& row, const Vec8 (&slope)[octets],
                                    Vec8 (&reach)[octets]) const {
        Vec8 weighted[octets];
        for (int o = 0; o < octets; ++o) {
            weighted[o] = slope[o] * slope[o] * Vec8::all(row.weight);
            reach[o] = Vec8::all(0.0);
        }
        const std::uint32_t* const slots = stage.slot;
        const double *const zs = stage.z, *const squares = stage.squared;
        double* step = step_;
        for (std::size_t k = row.begin; k < row.end; ++k) {
            const Vec8 z = Vec8::all(zs[k]), zz = Vec8::all(squares[k]);
            for (int o = 0; o < octets; ++o, step += width) {
                double* at = H(o, slots[k]);
                const Vec8 now = Vec8::load(at) + weighted[o] * zz;
                now.store(at);
                const Vec8 rate = part_of_inverse_root(now);
                (z * rate).store(step);
                reach[o] = reach[o] + zz * rate;
            }
        }
        Flags far;
        for (int o = 0; o < octets; ++o) {
            far.note_beyond(reach[o], Vec8::all(far_reach));
            reach[o] = reach[o] * inverse_root_part;
        }
        if (row.tiny || far.any()) reconsider(stage, row, reach);
    }

    // The same where some feature of some lane may have no gradient yet: its rate is 0.
    UNITLESS_RARE void reconsider(const Stage& stage, const StagedRow& row, Vec8 (&reach)[octets]) const {
        for (int o = 0; o < octets; ++o) reach[o] = Vec8::all(0.0);
        double* step = step_;
        for (std::size_t k = row.begin; k < row.end; ++k) {
            const Vec8 z = Vec8::all(stage.z[k]), zz = z * z;
            for (int o = 0; o < octets; ++o, step += width) {
                const Vec8 rate = inverse_root(Vec8::load(H(o, stage.slot[k])));
                (z * (rate / inverse_root_part)).store(step);
                reach[o] = reach[o] + zz * rate;
            }
        }
    }
};

template <class Loss, bool adaptive, bool aware>
void run_rows(const Options& options, Rescale rescale, const Octet* lanes, int octets, const LaneLabels& labels,
              const Stage& stage, std::size_t rows, double* memory) {
    if constexpr (std::is_same_v<Loss, Squared> || std::is_same_v<Loss, Logistic>) {  // others are worth less code
        if (octets == 2)
            return LaneRows<Loss, adaptive, aware, 2>(options, rescale, lanes, labels, memory).run(stage, rows);
    }
    for (int o = 0; o < octets; ++o)
        LaneRows<Loss, adaptive, aware, 1>(options, rescale, lanes + o, labels, memory).run(stage, rows);
}

inline void run_lanes(const Options& options, const Octet* lanes, int octets, const LaneLabels& labels,
                      const Stage& stage, std::size_t rows, double* memory) {
    bool adaptive = false;
    Rescale rescale = Rescale::none;
    with_rule(options.rule, [&](auto rule) {
        adaptive = decltype(rule)::type::adaptive;
        rescale = decltype(rule)::type::rescale;
    });
    with_loss(options.loss, [&](auto loss) {
        using Loss = typename decltype(loss)::type;
        const auto aware = adaptive ? run_rows<Loss, true, true> : run_rows<Loss, false, true>;
        const auto plain = adaptive ? run_rows<Loss, true, false> : run_rows<Loss, false, false>;
        (options.importance_aware ? aware : plain)(options, rescale, lanes, octets, labels, stage, rows, memory);
    });
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
