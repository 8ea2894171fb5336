// The lanes' kernel: rows go through the scales once, then through each octet of lanes.
// Compiled once per instruction set, with UNITLESS_ISA naming it.

#include "algorithm/dispatch.hpp"
#include "engine/lanes/kernel.hpp"
#include "engine/lanes/lane_rows.hpp"
#include "engine/lanes/lane_stage.hpp"
#include "engine/lanes/proximal_rows.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

// What proximal learners make their weights with, before a row.
template <class Rule>
void set_tempo(const Clock& clock, StagedRow& row) {
    row.pace = clock.pace;
    row.tempo = clock.pace * (clock.N > 0 ? Rule::damp(clock.T / clock.N) : 1.0);
}

std::size_t stage_learn(const Options& options, Clock& clock, double* scale, const SparseInput& input,
                        const Labels& labels, const Stage& stage) {
    return with_rule(options.rule, [&](auto rule) {
        using Rule = typename decltype(rule)::type;
        Stager<Rule> stager(options, scale, stage);
        for (std::size_t r = 0; r < input.rows; ++r) {
            if (options.proximal) set_tempo<Rule>(clock, stage.rows[r]);
            const double h = labels.weight ? labels.weight[r] : 1.0;
            stage.rows[r].label_min = clock.label_min;
            stage.rows[r].label_max = clock.label_max;
            if (h == 0) {
                stager.predict(input, r, clock, false);
            } else {
                if (!stager.learn(input, r, h, clock)) return r;
                if (options.proximal && labels.pace) clock.pace = labels.pace[r];
                if (options.clip == Clip::labels) {
                    clock.label_min = smaller(clock.label_min, labels.y[r]);
                    clock.label_max = larger(clock.label_max, labels.y[r]);
                }
            }
        }
        return input.rows;
    });
}

void stage_predict(const Options& options, const Clock& clock, double* scale, const SparseInput& input,
                   bool extrapolate, const Stage& stage) {
    with_rule(options.rule, [&](auto rule) {
        using Rule = typename decltype(rule)::type;
        Stager<Rule> stager(options, scale, stage);
        for (std::size_t r = 0; r < input.rows; ++r) {
            if (options.proximal) set_tempo<Rule>(clock, stage.rows[r]);
            stage.rows[r].label_min = extrapolate ? infinity : clock.label_min;  // the plain linear model has no limit
            stage.rows[r].label_max = extrapolate ? -infinity : clock.label_max;
            stager.predict(input, r, clock, extrapolate);
        }
    });
}

void losses(const Options& options, const Octet& lanes, const LaneLabels& labels, const Stage& stage,
            std::size_t rows) {
    with_loss(options.loss, [&](auto type) {
        using Loss = typename decltype(type)::type;
        if constexpr (std::is_same_v<Loss, Logistic>) {  // of the others `run` knows the values
            const Loss loss(options);
            for (std::size_t r = 0; r < rows; ++r) {
                if (!(stage.rows[r].weight > 0)) continue;
                double* at = lanes.loss + r * labels.stride;
                const Vec8 y = label_of(labels, r, Vec8::load(lanes.label)), small = Vec8::load(at);
                const Vec8 value = loss.value_of(y * Vec8::load(lanes.prediction + r * labels.stride), small);
                select(small <= 1.0, value, infinity).store(at);
            }
        }
    });
}

}  // namespace
}  // namespace UNITLESS_ISA

#if defined(__AVX2__)
static constexpr auto run_four = run_four_avx2;  // half a register of AVX-512 is one of AVX2
#else
static constexpr auto run_four = run_four_baseline;
#endif

const LaneKernel UNITLESS_OF_ISA(lane_kernel_) = {stage_learn, stage_predict, run_any_lanes, run_four, losses};

}  // namespace unitless
