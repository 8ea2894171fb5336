// The kernel of lanes: the scales process each row once, then each octet processes it.

#include "engine/lanes/kernel.hpp"

#include "algorithm/dispatch.hpp"
#include "engine/lanes/octet_rows.hpp"
#include "engine/lanes/proximal_rows.hpp"
#include "engine/lanes/stager.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

std::size_t stage_learn(const Options& options, Clock& clock, double* scale, const Batch& batch, const Stage& stage) {
    return with_rule(options.rule, [&](auto rule) {
        Stager<typename decltype(rule)::type> stager(options, scale, batch, stage);
        for (std::size_t r = 0; r < batch.rows; ++r)
            if (!stager.learn(r, clock)) return r;
        return batch.rows;
    });
}

void stage_predict(const Options& options, const Clock& clock, double* scale, const Batch& batch, bool extrapolate,
                   const Stage& stage) {
    with_rule(options.rule, [&](auto rule) {
        Stager<typename decltype(rule)::type> stager(options, scale, batch, stage);
        for (std::size_t r = 0; r < batch.rows; ++r) stager.predict(r, clock, extrapolate);
    });
}

// Runs some octets over a row. Octets are independent of each other. Each phase processes all octets before the next
// phase begins: while one octet waits for its results, the processor computes the others.
template <bool adaptive, class Numbers>
void run_row(const Options& options, Rescale how, const Octet* octets, std::size_t count, const LaneLabels& labels,
             const Stage& stage, std::size_t r, double* steps) {
    const StagedRow& row = stage.rows[r];
    const std::size_t length = row.end - row.begin, at = r * labels.stride;
    const bool learning = row.weight > 0;
    Numbers p[octets_at_once], slope[octets_at_once], move[octets_at_once];
    bool sound = true;
    const auto terms = [&](std::size_t o) UNITLESS_INLINE_LAMBDA {
        return terms_of<Numbers>(octets[o].state, stage, row, steps + o * length * width);
    };
    const auto label = [&](std::size_t o)
                           UNITLESS_INLINE_LAMBDA { return label_of(labels, r, Numbers::load(octets[o].label)); };
    for (std::size_t o = 0; o < count; ++o) {
        if (learning && row.grown) rescale(how, terms(o));
        const Numbers raw = with_offset(labels, r, row.gain * dot(terms(o), Numbers::all(0.0)));
        sound = sound && !any_beyond(raw, Numbers::all(suspicious));
        p[o] = limited(options, row, raw);
        p[o].store(octets[o].prediction + at);
        move[o] = raw;
    }
    if (!learning) return;
    for (std::size_t o = 0; o < count; ++o) {
        if (octets[o].loss) {
            const Measured<Numbers> measured = measure(options, p[o], label(o));
            measured.value.store(octets[o].loss + at);
            slope[o] = measured.slope;
        } else {
            slope[o] = slope_of(options, p[o], label(o));
        }
        sound = sound && !any_beyond(slope[o], Numbers::all(suspicious));
    }
    for (std::size_t o = 0; !sound && o < count; ++o) {
        const auto those = (absolute(move[o]) <= suspicious) & (absolute(slope[o]) <= suspicious);
        if (any(~those)) note_divergence(octets[o], labels, those, r);
        slope[o] = select(those, slope[o], 0.0);
    }
    if (!(row.damp > 0)) return;
    for (std::size_t o = 0; o < count; ++o) move[o] = reach_of<adaptive>(terms(o), row, slope[o]);
    const double factor = label_scale_of(labels, r) * row.damp;
    for (std::size_t o = 0; o < count; ++o) {
        const auto score = [&]() UNITLESS_INLINE_LAMBDA { return p[o]; };
        move[o] =
            move_of<adaptive>(options, row, factor, Numbers::load(octets[o].rate), score, label(o), slope[o], move[o]);
    }
    for (std::size_t o = 0; o < count; ++o) add(terms(o), sound_move(octets[o], labels, r, move[o]));
}

void run(const Options& options, const Octet* octets, std::size_t count, const LaneLabels& labels, const Stage& stage,
         std::size_t rows, double* steps) {
    if (options.proximal) return run_proximal(options, octets, count, labels, stage, rows, steps);
    with_rule(options.rule, [&](auto rule) {
        using Rule = typename decltype(rule)::type;
        for (std::size_t first = 0; first < count; first += octets_at_once) {
            const std::size_t some = smaller(octets_at_once, count - first);
            const bool few = some == 1 && octets[first].lanes <= Vec4::count;
            const auto row = few ? run_row<Rule::adaptive, Vec4> : run_row<Rule::adaptive, Vec8>;
            for (std::size_t r = 0; r < rows; ++r)
                row(options, Rule::rescale, octets + first, some, labels, stage, r, steps);
        }
    });
}

}  // namespace
}  // namespace UNITLESS_ISA

const LaneKernel UNITLESS_OF_ISA(lane_kernel_) = {stage_learn, stage_predict, run};

}  // namespace unitless
