// Rows through lanes that share a softmax: all lanes predict, then they are coupled, then all learn.
// Compiled once per instruction set, with UNITLESS_ISA naming it.

#include "engine/softmax/kernel.hpp"

#include "algorithm/dispatch.hpp"
#include "algorithm/log_odds.hpp"
#include "engine/lanes/octet_rows.hpp"
#include "engine/softmax/coupling.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

Vec8 bounded(const Vec8& o) { return smaller(larger(o, Vec8::all(-suspicious)), Vec8::all(suspicious)); }

// If one output of a rate has diverged, all heads of this rate stop.
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

// If a head diverged while it learned, the other heads of its rate stop too.
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

template <bool adaptive>
void run_rows(const Options& options, Rescale how, const Octet* octets, const Coupled& lanes, const LaneLabels& labels,
              const Stage& stage, std::size_t rows, double* loss, double* memory) {
    const Coupling at(lanes, memory);
    double* const steps = memory + Coupling::doubles(lanes);
    const std::size_t count = (lanes.heads * lanes.rates + width - 1) / width;
    for (std::size_t i = 0; i < padded_lanes(lanes); ++i) at.o[i] = at.slope[i] = 0;
    for (std::size_t r = 0; r < rows; ++r) {
        const StagedRow& row = stage.rows[r];
        const bool learning = row.weight > 0;
        Mask8 outside{};
        for (std::size_t o = 0; o < count; ++o) {
            const LearnerTerms terms = terms_of<Vec8>(octets[o].state, stage, row, steps);
            if (learning && row.grown) rescale(how, terms);
            const Vec8 raw = row.gain * dot(terms, Vec8::all(0.0));
            outside = outside | beyond(raw, Vec8::all(suspicious));
            raw.store(octets[o].prediction + r * labels.stride);
            bounded(raw).store(at.o + o * width);
        }
        if (!learning) continue;
        couple(lanes, static_cast<std::size_t>(labels.y[r]), at, loss != nullptr);
        if (any(outside)) stop_unsound(octets, lanes, labels, r, at);
        for (std::size_t j = 0; loss && j < lanes.rates; ++j) loss[r * labels.stride + j] = at.loss[j];
        if (!(row.damp > 0)) continue;
        const double factor = label_scale_of(labels, r) * row.damp;
        for (std::size_t o = 0; o < count; ++o) {
            const LearnerTerms terms = terms_of<Vec8>(octets[o].state, stage, row, steps);
            const Vec8 y = label_of(labels, r, Vec8::load(octets[o].label)), slope = Vec8::load(at.slope + o * width);
            const Vec8 reach = reach_of<adaptive>(terms, row, slope);
            const auto margin = [&]() UNITLESS_INLINE_LAMBDA { return margin_of(at, o * width); };
            const Vec8 move =
                move_of<adaptive>(options, row, factor, Vec8::load(octets[o].rate), margin, y, slope, reach);
            add(terms, sound_move(octets[o], labels, r, move));
        }
    }
    if (labels.y) stop_together(octets, lanes, labels.stride, loss);  // without labels nothing was learned
}

void run(const Options& options, const Octet* octets, const Coupled& lanes, const LaneLabels& labels,
         const Stage& stage, std::size_t rows, double* loss, double* memory) {
    with_rule(options.rule, [&](auto rule) {
        using Rule = typename decltype(rule)::type;
        run_rows<Rule::adaptive>(options, Rule::rescale, octets, lanes, labels, stage, rows, loss, memory);
    });
}

void losses(const double* outputs, const Coupled& lanes, std::size_t y, double* loss, double* memory) {
    const Coupling at(lanes, memory);
    const std::size_t count = lanes.heads * lanes.rates;
    for (std::size_t i = 0; i < count; ++i) at.o[i] = smaller(larger(outputs[i], -suspicious), suspicious);
    for (std::size_t i = count; i < padded_lanes(lanes); ++i) at.o[i] = 0;
    couple(lanes, y, at, true);
    for (std::size_t j = 0; j < lanes.rates; ++j) {
        loss[j] = at.loss[j];
        for (std::size_t k = j; k < count; k += lanes.rates)
            if (!(absolute(outputs[k]) < suspicious)) loss[j] = infinity;
    }
}

void find_log_odds(const double* outputs, std::size_t stride, std::size_t met, const double* spare, double* scores,
                   double* memory) {
    const auto bounded = [](double o) { return smaller(larger(o, -suspicious), suspicious); };
    for (std::size_t k = 0; k < met; ++k) memory[k] = bounded(outputs[k * stride]);
    if (!spare) return log_odds(memory, met, scores);
    memory[met] = bounded(*spare);
    log_odds_of_open(memory, met + 1, scores);
}

}  // namespace
}  // namespace UNITLESS_ISA

const SoftmaxKernel UNITLESS_OF_ISA(softmax_kernel_) = {run, losses, find_log_odds};

}  // namespace unitless
