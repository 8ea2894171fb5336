// Rows through lanes that share a softmax: all lanes predict, then they are coupled, then all learn.
// Compiled once per instruction set, with UNITLESS_ISA naming it.

#include "engine/softmax/kernel.hpp"

#include "algorithm/dispatch.hpp"
#include "engine/lanes/lane_rows.hpp"
#include "engine/softmax/coupling.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

constexpr double suspicious = 0x1p500;  // beyond this a rate has diverged: its lanes are not moved any more

Vec8 held(const Vec8& o) { return smaller(larger(o, Vec8::all(-suspicious)), Vec8::all(suspicious)); }

// Some octets of coupled lanes.
template <bool adaptive, bool aware, int octets>
class CoupledOctets : LaneRows<Logistic, adaptive, aware, octets> {
    using Base = LaneRows<Logistic, adaptive, aware, octets>;

  public:
    using Base::Base;

    // The outputs, as the row's prediction and for the coupling, whose place of the first lane is `o`. False if one is
    // far too large.
    UNITLESS_INLINE bool foresee(const Stage& stage, const StagedRow& row, std::size_t r, double* o) const {
        if (row.weight > 0 && row.grown) this->rescale(stage, row);
        Vec8 raw[octets];
        this->dot(stage, row, raw);
        Flags odd;
        for (int i = 0; i < octets; ++i) {
            raw[i] = Vec8::all(row.spread) * raw[i];
            odd.note_beyond(raw[i], Vec8::all(suspicious));
            raw[i].store(this->lanes_[i].prediction + r * this->labels_.stride);
            held(raw[i]).store(o + i * width);
        }
        return !odd.any();
    }

    // `all`: every slope is other than 0.
    template <bool all>
    UNITLESS_INLINE void learn(const Stage& stage, const StagedRow& row, std::size_t r, const Coupling& at,
                               std::size_t first) const {
        Vec8 y[octets], slope[octets];
        Mask8 moving[octets];
        for (int i = 0; i < octets; ++i) {
            y[i] = label_of(this->labels_, r, this->class_[i]);
            slope[i] = Vec8::load(at.slope + first + static_cast<std::size_t>(i) * width);
            if constexpr (!all) moving[i] = ~(slope[i] == Vec8::all(0.0));
        }
        const auto margin = [&](int i) UNITLESS_INLINE_LAMBDA {
            return margin_of(at, first + static_cast<std::size_t>(i) * width);
        };
        this->template update<all>(stage, row, r, margin, y, slope, moving);
    }
};

// A rate of which some output is no sound number stays where it is, all heads of it.
UNITLESS_RARE void stop_unsound(const Octet* octets, const Coupled& lanes, const LaneLabels& labels, std::size_t r,
                                const Coupling& at) {
    for (std::size_t j = 0; j < lanes.rates; ++j) {
        bool sound = true;
        for (std::size_t k = j; k < lanes.heads * lanes.rates; k += lanes.rates)
            sound = sound && absolute(octets[k / width].prediction[r * labels.stride + k % width]) <= suspicious;
        if (sound) continue;
        at.loss[j] = infinity;
        for (std::size_t k = j; k < lanes.heads * lanes.rates; k += lanes.rates) {
            at.slope[k] = 0;
            std::size_t& since = octets[k / width].diverged_at[k % width];
            if (since == Octet::never) since = r;
        }
    }
}

// A head that was stopped on its way stops the others of its rate.
void stop_together(const Octet* octets, const Coupled& lanes, std::size_t stride, double* loss) {
    const auto since = [&](std::size_t k) -> std::size_t& { return octets[k / width].diverged_at[k % width]; };
    for (std::size_t j = 0; j < lanes.rates; ++j) {
        std::size_t first = Octet::never;
        for (std::size_t k = j; k < lanes.heads * lanes.rates; k += lanes.rates) first = smaller(first, since(k));
        if (first == Octet::never) continue;
        for (std::size_t k = j; k < lanes.heads * lanes.rates; k += lanes.rates) since(k) = first;
        if (loss) loss[first * stride + j] = infinity;
    }
}

template <int n>
using Count = std::integral_constant<int, n>;

template <bool adaptive, bool aware>
void run_rows(const Options& options, Rescale rescale, const Octet* octets, const Coupled& lanes,
              const LaneLabels& labels, const Stage& stage, std::size_t rows, double* loss, double* memory) {
    const Coupling at(lanes, memory);
    double* const steps = memory + Coupling::doubles(lanes);
    const std::size_t count = (lanes.heads * lanes.rates + width - 1) / width;
    // Several octets at once fill each other's gaps: predicting needs fewer registers for each than learning.
    const auto some = [&](auto octets_at_once, std::size_t o, auto action) UNITLESS_INLINE_LAMBDA {
        constexpr int n = decltype(octets_at_once)::value;
        action(CoupledOctets<adaptive, aware, n>(options, rescale, octets + o, labels, steps), o * width);
    };
    const auto rest_of = [&](std::size_t o, auto action) UNITLESS_INLINE_LAMBDA {
        if (count - o == 3) some(Count<3>{}, o, action);
        if (count - o == 2) some(Count<2>{}, o, action);
        if (count - o == 1) some(Count<1>{}, o, action);
    };
    const auto in_fours = [&](auto action) UNITLESS_INLINE_LAMBDA {
        std::size_t o = 0;
        for (; o + 4 <= count; o += 4) some(Count<4>{}, o, action);
        rest_of(o, action);
    };
    const auto in_pairs = [&](auto action) UNITLESS_INLINE_LAMBDA {
        std::size_t o = 0;
        for (; o + 4 <= count; o += 2) some(Count<2>{}, o, action);
        rest_of(o, action);
    };
    for (std::size_t i = 0; i < room_of(lanes); ++i) {
        at.o[i] = 0;
        at.slope[i] = 1;  // beyond the last lane, where rates are 0: so that no lane stands still
    }
    for (std::size_t r = 0; r < rows; ++r) {
        const StagedRow row = stage.rows[r];
        bool sound = true;
        in_fours([&](const auto& these, std::size_t first)
                     UNITLESS_INLINE_LAMBDA { sound = these.foresee(stage, row, r, at.o + first) && sound; });
        if (!(row.weight > 0)) continue;
        couple(lanes, static_cast<std::size_t>(labels.y[r]), at, loss != nullptr);
        if (!sound) stop_unsound(octets, lanes, labels, r, at);
        if (loss)
            for (std::size_t j = 0; j < lanes.rates; ++j) loss[r * labels.stride + j] = at.loss[j];
        if (!(row.damp > 0)) continue;
        Flags still;
        for (std::size_t i = 0; i < lanes.heads * lanes.rates; i += width)
            still.note_below(absolute(Vec8::load(at.slope + i)), Vec8::all(__DBL_DENORM_MIN__));
        if (still.any()) {
            in_pairs(
                [&](const auto& these, std::size_t first) { these.template learn<false>(stage, row, r, at, first); });
        } else {
            in_pairs([&](const auto& these, std::size_t first)
                         UNITLESS_INLINE_LAMBDA { these.template learn<true>(stage, row, r, at, first); });
        }
    }
    stop_together(octets, lanes, labels.stride, loss);
}

void run(const Options& options, const Octet* octets, const Coupled& lanes, const LaneLabels& labels,
         const Stage& stage, std::size_t rows, double* loss, double* memory) {
    bool adaptive = false;
    Rescale rescale = Rescale::none;
    with_rule(options.rule, [&](auto rule) {
        adaptive = decltype(rule)::type::adaptive;
        rescale = decltype(rule)::type::rescale;
    });
    const auto aware = adaptive ? run_rows<true, true> : run_rows<false, true>;
    const auto plain = adaptive ? run_rows<true, false> : run_rows<false, false>;
    (options.importance_aware ? aware : plain)(options, rescale, octets, lanes, labels, stage, rows, loss, memory);
}

void losses(const double* outputs, const Coupled& lanes, std::size_t y, double* loss, double* memory) {
    const Coupling at(lanes, memory);
    const std::size_t count = lanes.heads * lanes.rates;
    for (std::size_t i = 0; i < count; ++i) at.o[i] = smaller(larger(outputs[i], -suspicious), suspicious);
    for (std::size_t i = count; i < room_of(lanes); ++i) at.o[i] = 0;
    couple(lanes, y, at, true);
    for (std::size_t j = 0; j < lanes.rates; ++j) {
        loss[j] = at.loss[j];
        for (std::size_t k = j; k < count; k += lanes.rates)
            if (!(absolute(outputs[k]) < suspicious)) loss[j] = infinity;
    }
}

void speak(const double* outputs, std::size_t stride, std::size_t met, const double* spare, double* scores,
           double* memory) {
    const std::size_t heads = met + (spare ? 1 : 0), room = met + 16;
    double *below = memory, *e = below + room, *rest = e + room, *score = rest + room, most = -suspicious;
    for (std::size_t k = 0; k < heads; ++k) {
        below[k] = smaller(larger(k < met ? outputs[k * stride] : *spare, -suspicious), suspicious);
        most = larger(most, below[k]);
    }
    for (std::size_t k = heads; k < heads + width; ++k) below[k] = most;
    for (std::size_t k = 0; k < heads; k += width) {
        const Vec8 less = Vec8::load(below + k) - most;
        less.store(below + k);
        exp(less).store(e + k);
    }
    double after = 0;
    for (std::size_t k = met; k-- > 0; after += e[k]) rest[k] = after;
    if (spare) rest[met] = after;
    double before = 0;
    for (std::size_t k = 0; k < met; before += e[k], ++k) rest[k] += before;
    if (met == 1 && spare) rest[0] = e[1];  // the spare one stands for all others
    for (std::size_t k = heads; k < heads + width; ++k) rest[k] = 1;
    for (std::size_t k = 0; k < heads; k += width) {
        const Vec8 odds = Vec8::load(below + k) - log(Vec8::load(rest + k));
        smaller(larger(odds, Vec8::all(-most_certain)), Vec8::all(most_certain)).store(score + k);
    }
    for (std::size_t k = 0; k < heads; ++k) scores[k] = score[k];
    if (met == 0 && spare) scores[0] = 0;
}

}  // namespace
}  // namespace UNITLESS_ISA

const SoftmaxKernel UNITLESS_OF_ISA(softmax_kernel_) = {run, losses, speak};

}  // namespace unitless
