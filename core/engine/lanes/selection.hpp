// Selection of a learning rate by progressive loss.
//
// Every rate has predicted every example before learning it, so its losses are out of sample.
//   none    there is one rate
//   sweep   all rates are reported
//   follow  the leader makes each prediction: the rate with the smallest loss so far, where the n-th example counts n
//   times.
//           Rates that are significantly worse than the leader are dropped. The two neighbors of the leader always run,
//           if necessary as copies of the leader, so that the leader can change when the data does.
// The candidates are the lanes of `Lanes`, or the candidates of newton/. Each head selects by itself, unless heads
// share their losses. Losses are only compared with each other, so their unit does not matter.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "algorithm/dispatch.hpp"
#include "engine/kernel.hpp"
#include "engine/lanes/lanes.hpp"
#include "engine/setup.hpp"
#include "engine/state.hpp"

namespace unitless {

inline std::size_t first_heads(const EngineSetup& setup) {
    return setup.has_classes() ? setup.classes + setup.open : 1;
}

// The initial lanes: for every head, every rate that runs from the beginning.
inline std::vector<Lane> first_lanes(const EngineSetup& setup, std::size_t heads) {
    std::vector<Lane> lanes;
    for (std::uint32_t head = 0; head < heads; ++head)
        for (auto rate = static_cast<std::uint32_t>(setup.first_rate); rate <= setup.last_rate; ++rate)
            lanes.push_back({head, rate});
    return lanes;
}
inline std::vector<Lane> first_lanes(const EngineSetup& setup) { return first_lanes(setup, first_heads(setup)); }

// Whether all heads have the same rates, with the same scores.
inline bool are_coupled(const EngineState& from, std::size_t heads) {
    const auto same = [](const LaneScores& a, const LaneScores& b) {
        return a.loss == b.loss && a.recent == b.recent && a.gap == b.gap && a.square == b.square &&
               a.total_gap == b.total_gap && a.total_square == b.total_square;
    };
    const std::size_t rates = from.lanes.size() / heads;
    for (std::size_t k = 0; k < from.lanes.size(); ++k)
        if (from.lanes[k].head != k / rates || from.lanes[k].rate != from.lanes[k % rates].rate ||
            !same(from.scores[k], from.scores[k % rates]))
            return false;
    for (const double followed : from.followed)
        if (followed != from.followed[0]) return false;
    return true;
}

// Throws if the state is not a state of lanes with this setup. Returns the number of heads.
inline std::size_t checked_heads(const EngineState& from, const EngineSetup& setup) {
    const std::size_t lanes = from.lanes.size(), heads = lanes ? from.lanes.back().head + 1 : 0;
    bool sound = heads >= first_heads(setup) && (heads == first_heads(setup) || setup.open);
    for (std::size_t k = 0; sound && k < lanes; ++k) {
        const auto [head, rate] = from.lanes[k];
        const Lane last = k ? from.lanes[k - 1] : Lane{0, 0};
        const bool follows = k == 0 ? head == 0 : head == last.head ? rate > last.rate : head == last.head + 1;
        sound = follows && rate < setup.rates.size();
    }
    if (setup.selecting != Selecting::follow) sound = sound && lanes == heads * setup.rates.size();
    if (!sound || from.scores.size() != lanes || from.followed.size() != heads ||
        from.errors.size() != (setup.selecting == Selecting::sweep ? setup.rates.size() : 0))
        throw InputError("the lanes do not belong to a model with these options");
    if (from.scale.size() != from.slots.size() || from.v.size() != lanes * from.slots.size() ||
        from.H.size() != from.v.size())
        throw InputError("the model's arrays differ in length");
    if (setup.coupled && !are_coupled(from, heads))
        throw InputError("the classes of a softmax differ in their rates or losses");
    return heads;
}

class Selection {
  public:
    using Scores = LaneScores;

    // `across`: rates this many positions apart are neighbors too (setup.hpp).
    Selection(Selecting mode, std::size_t lanes, std::size_t heads, std::size_t rates, std::size_t across = 1)
        : mode_(mode),
          across_(across),
          scores_(lanes),
          followed_(heads),
          errors_(mode == Selecting::sweep ? rates : 0) {}

    const std::vector<Scores>& scores() const { return scores_; }
    const std::vector<double>& followed() const { return followed_; }  // by head: loss of the predictions made
    // By rate, in a sweep: the weight of misclassified rows.
    const std::vector<double>& errors() const { return errors_; }
    void save(EngineState& to) const {
        to.scores = scores_;
        to.followed = followed_;
        to.errors = errors_;
    }
    void load(const EngineState& from) {
        scores_ = from.scores;
        followed_ = from.followed;
        errors_ = from.errors;
    }

    // The lane that makes the predictions of a head.
    template <class Candidates>
    std::size_t leader(const Candidates& lanes, std::size_t head) const {
        std::size_t best = lanes.begin(head);
        for (std::size_t k = best + 1; k < lanes.begin(head + 1); ++k)
            if (scores_[k].recent < scores_[best].recent) best = k;
        return best;
    }

    // Adds every lane's loss on one row that was learned with weight h. `share` is h divided by the total weight.
    template <class Candidates>
    void observe(const Candidates& lanes, const double* loss, double h, double share) {
        if (mode_ == Selecting::sweep) {
            for (std::size_t k = 0; k < scores_.size(); ++k) scores_[k].loss += h * loss[k];
            return;
        }
        for (std::size_t head = 0; head < lanes.heads(); ++head)
            observe_head(lanes, head, leader(lanes, head), loss, h, share);
    }

    // One head, whose leader is `first`.
    template <class Candidates>
    void observe_head(const Candidates& lanes, std::size_t head, std::size_t first, const double* loss, double h,
                      double share) {
        const double leading = h * loss[first], fading = 1.0 - share;
        const bool sound = leading <= __DBL_MAX__;
        if (sound) followed_[head] += leading;
        for (std::size_t k = lanes.begin(head); k < lanes.begin(head + 1); ++k) {
            Scores& scores = scores_[k];
            const double own = h * loss[k], gap = own - leading;
            scores.loss += own;
            // Otherwise the lane has diverged.
            if (scores.recent <= __DBL_MAX__) scores.recent = scores.recent * fading + own;
            if (!sound) continue;
            scores.gap += gap;
            scores.square += gap * gap;
        }
    }

    // Adds the losses of some lanes of a sweep.
    void observe_rates(std::size_t first, std::size_t end, const double* loss, double h) {
        for (std::size_t k = first; k < end; ++k) scores_[k].loss += h * loss[k];
    }

    // For a sweep without classes: the sums of up to eight rates, to be continued and written back.
    struct Sums {
        double loss[8] = {}, errors[8] = {};
    };
    Sums sums(std::size_t first, std::size_t end) const {
        Sums sums;
        for (std::size_t k = first; k < end; ++k) {
            sums.loss[k - first] = scores_[k].loss;
            sums.errors[k - first] = errors_[k];
        }
        return sums;
    }
    void set_sums(std::size_t first, std::size_t end, const Sums& sums) {
        for (std::size_t k = first; k < end; ++k) {
            scores_[k].loss = sums.loss[k - first];
            errors_[k] = sums.errors[k - first];
        }
    }

    // Adds losses that all heads share; `loss` has those of the first head. `share_losses` must follow, once for many
    // rows.
    void observe_shared(const Lanes& lanes, const double* loss, double h, double share) {
        if (mode_ != Selecting::sweep) return observe_head(lanes, 0, leader(lanes, 0), loss, h, share);
        for (std::size_t k = 0; k < lanes.begin(1); ++k) scores_[k].loss += h * loss[k];
    }
    void share_losses(const Lanes& lanes) {
        const std::size_t rates = lanes.begin(1);
        for (std::size_t k = rates; k < scores_.size(); ++k) scores_[k] = scores_[k - rates];
        for (double& loss : followed_) loss = followed_[0];
    }

    // Adds every lane's loss on rows that are predicted but not learned, [row][stride]. Only for Selecting::follow.
    void judge(const Lanes& lanes, const Kernel& kernel, const Options& options, const Labels& labels, const double* p,
               std::size_t rows, std::size_t stride) {
        if (mode_ != Selecting::follow) return;
        const std::size_t count = lanes.lanes().size();
        const double negative = facts_of(options.loss).negative;
        std::vector<double> truth(count), loss(count);
        for (std::size_t r = 0; r < rows; ++r, p += stride) {
            const double h = weight_of(labels, r);
            if (!(h > 0)) continue;
            for (std::size_t k = 0; k < count; ++k) {
                const bool own = labels.y[r] == static_cast<double>(lanes.lanes()[k].head);
                truth[k] = !lanes.classes() ? labels.y[r] : own ? 1.0 : negative;
            }
            kernel.loss(options, 0, p, truth.data(), nullptr, count, loss.data());
            for (double& one : loss) one = std::isnan(one) ? HUGE_VAL : one;
            observe(lanes, loss.data(), h, 0.0);
        }
    }

    // From now on, all heads share their losses. They all get the rates that any of them has: where a head lacks one,
    // its leader's state.
    void share_rates(Lanes& lanes, Placing placing) {
        std::vector<char> runs(lanes.rates().size());
        for (const Lane& lane : lanes.lanes()) runs[lane.rate] = true;
        std::vector<Lane> all;
        std::vector<std::size_t> from;
        std::vector<Scores> sums;
        for (std::size_t head = 0; head < lanes.heads(); ++head) {
            const std::size_t first = leader(lanes, head);
            std::size_t k = lanes.begin(head), number = 0;
            for (std::uint32_t rate = 0; rate < runs.size(); ++rate) {
                if (!runs[rate]) continue;
                const bool own = k < lanes.begin(head + 1) && lanes.lanes()[k].rate == rate;
                all.push_back({static_cast<std::uint32_t>(head), rate});
                from.push_back(own ? k++ : first);
                if (head == 0) sums.emplace_back();
                sums[number++].add(scores_[from.back()]);
            }
        }
        double followed = 0;
        for (const double one : followed_) followed += one;
        lanes.rearrange(std::move(all), lanes.heads(), from, placing);
        scores_.clear();
        for (std::size_t head = 0; head < lanes.heads(); ++head)
            scores_.insert(scores_.end(), sums.begin(), sums.end());
        std::fill(followed_.begin(), followed_.end(), followed);
    }

    static std::size_t winner(const double* scores, std::size_t classes, std::size_t stride) {
        std::size_t best = 0;
        for (std::size_t c = 1; c < classes; ++c)
            if (scores[c * stride] > scores[best * stride]) best = c;
        return best;
    }
    void count_error(std::size_t rate, double h) { errors_[rate] += h; }

    // New classes get the state of the spare class, the last head.
    void add_classes(Lanes& lanes, std::size_t count) {
        std::vector<Lane> all;
        std::vector<std::size_t> from;
        const std::size_t last = lanes.heads() - 1, heads = lanes.heads() + count;
        for (std::size_t head = 0; head < heads; ++head) {
            const std::size_t of = head < last ? head : last;
            for (std::size_t k = lanes.begin(of); k < lanes.begin(of + 1); ++k) {
                all.push_back({static_cast<std::uint32_t>(head), lanes.lanes()[k].rate});
                from.push_back(k);
            }
        }
        followed_.reserve(heads);
        rearrange(lanes, std::move(all), heads, from);
        followed_.resize(heads, double{followed_[last]});
    }

    // Rates are updated after 1024 examples, and then after every further eighth of the largest power of two that is
    // not above the number of examples.
    static std::uint64_t next_update(std::uint64_t examples) {
        if (examples < 1024) return 1024;
        const std::uint64_t step = std::bit_floor(examples) / 8;
        return (examples / step + 1) * step;
    }

    // At powers of two rates are dropped; at every update the leaders get their neighbors back.
    template <class Candidates>
    void update_rates(Candidates& lanes, std::uint64_t examples) {
        prune_rates(lanes, (examples & (examples - 1)) == 0);
    }

    template <class Candidates>
    void prune_rates(Candidates& lanes, bool dropping) {
        std::vector<Lane> all;
        std::vector<std::size_t> from;
        for (std::size_t head = 0; head < lanes.heads(); ++head) {
            const std::size_t first = leader(lanes, head);
            const std::uint32_t best = lanes.lanes()[first].rate;
            std::size_t k = lanes.begin(head);
            for (std::uint32_t rate = 0; rate < lanes.rates().size(); ++rate) {
                const bool runs = k < lanes.begin(head + 1) && lanes.lanes()[k].rate == rate;
                const std::size_t own = runs ? k++ : first;
                const bool sound = scores_[own].loss <= __DBL_MAX__;
                if (!near(rate, best) && (!runs || (dropping && lost(scores_[own])))) continue;
                all.push_back({static_cast<std::uint32_t>(head), rate});
                from.push_back(sound || !near(rate, best) ? own : first);  // a neighbor that diverged restarts
            }
        }
        if (dropping)
            for (Scores& scores : scores_) {
                scores.total_gap += scores.gap;
                scores.total_square += scores.square;
                scores.gap = scores.square = 0;
            }
        bool same = all.size() == lanes.lanes().size();
        for (std::size_t k = 0; same && k < all.size(); ++k)
            same = all[k].rate == lanes.lanes()[k].rate && from[k] == k;
        if (!same) rearrange(lanes, std::move(all), lanes.heads(), from);
    }

    // Drops all rates but the leader of each head.
    template <class Candidates>
    void keep_leaders(Candidates& lanes) {
        if (mode_ != Selecting::follow || lanes.lanes().size() == lanes.heads()) return;
        std::vector<Lane> all;
        std::vector<std::size_t> from;
        for (std::size_t head = 0; head < lanes.heads(); ++head) {
            from.push_back(leader(lanes, head));
            all.push_back(lanes.lanes()[from.back()]);
        }
        rearrange(lanes, std::move(all), lanes.heads(), from);
    }

  private:
    static constexpr double doubt = 6.0;  // standard deviations
    Selecting mode_;
    std::size_t across_;
    std::vector<Scores> scores_;
    std::vector<double> followed_, errors_;

    // Whether a rate is the leader, or differs from it by one step in the rate or in the penalty.
    bool near(std::uint32_t rate, std::uint32_t best) const {
        const auto steps = [](std::size_t a, std::size_t b) { return a > b ? a - b : b - a; };
        return steps(rate / across_, best / across_) + steps(rate % across_, best % across_) <= 1;
    }

    // Whether a rate is significantly worse, both since rates were last dropped and in total: a rate that starts badly
    // and improves stays.
    static bool lost(const Scores& s) {
        if (!(s.loss <= __DBL_MAX__)) return true;
        return s.gap > doubt * std::sqrt(s.square) &&
               s.total_gap + s.gap > doubt * std::sqrt(s.total_square + s.square);
    }

    template <class Candidates>
    void rearrange(Candidates& lanes, std::vector<Lane> all, std::size_t heads, const std::vector<std::size_t>& from) {
        std::vector<Scores> scores;
        for (const std::size_t k : from) scores.push_back(scores_[k]);
        lanes.rearrange(std::move(all), heads, from);
        scores_ = std::move(scores);
    }
};

}  // namespace unitless
