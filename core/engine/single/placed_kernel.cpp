// The kernel for one row at a time, of the same features as the row before: their state is in the row's pack already.
// Compiled once per instruction set, with UNITLESS_ISA naming it.

#include <type_traits>

#include "algorithm/dispatch.hpp"
#include "algorithm/row.hpp"
#include "engine/single/dense_scale.hpp"
#include "engine/single/kernel.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

// The paper's best rules, with importance-aware steps; others are worth less code.
template <class Rule>
constexpr bool is_supported = Rule::adaptive && Rule::rescale != Rescale::none;

bool supports(const Options& options) {
    return with_rule(options.rule, [](auto rule) { return is_supported<typename decltype(rule)::type>; }) &&
           options.importance_aware && options.order == Order::paper;
}

template <class Action>
auto with_supported_rule(RuleKind kind, Action action) {
    using Result = decltype(action(std::type_identity<NAG>{}));
    return with_rule(kind, [&](auto rule) -> Result {
        if constexpr (is_supported<typename decltype(rule)::type>) {
            return action(rule);
        } else {
            __builtin_unreachable();  // `supports` has said no
        }
    });
}

void refresh(PlacedRow& row, std::size_t at) {
    const double s = row.pack.scale[at];
    row.pack.inverse[at] = s > 0 ? 1.0 / s : 0.0;
    row.plain = row.plain && has_plain_inverse(s);
}

template <class Slot>
void load_from(const Slot* slots, PlacedRow& row) {
    const Pack& pack = row.pack;
    *pack.bias = {slots[0].scale, slots[0].v, slots[0].H};
    row.plain = true;
    for (std::size_t i = 0; i < row.count; ++i) {
        const std::size_t at = row.place[i];
        const Slot& from = slots[pack.slot[at]];
        pack.scale[at] = from.scale;
        pack.v[at] = from.v;
        pack.H[at] = from.H;
        refresh(row, at);
    }
}

void load(const Options& options, const void* slots, PlacedRow& row) {
    if (options.precision == Precision::float32) {
        load_from(static_cast<const Slot32*>(slots), row);
    } else {
        load_from(static_cast<const Slot64*>(slots), row);
    }
}

template <class Slot>
void store_to(Slot* slots, const PlacedRow& row) {
    using Stored = decltype(Slot::v);
    const Pack pack = row.pack;
    slots[0] = {pack.bias->scale, static_cast<Stored>(pack.bias->v), static_cast<Stored>(pack.bias->H)};
    for (std::size_t i = 0; i < row.count; ++i) {
        const std::size_t at = row.place[i];
        slots[pack.slot[at]] = {pack.scale[at], static_cast<Stored>(pack.v[at]), static_cast<Stored>(pack.H[at])};
    }
}

// Applies `eight` to the chunks whose values are all within scales that have a plain inverse, `each` to the others.
template <class Scale, class Eight, class Each>
UNITLESS_INLINE void through_scales(const PlacedRow& row, Eight eight, Each each) {
    constexpr bool holds = std::is_base_of_v<MaxScale, Scale>;
    for (std::size_t at = 0; at < row.chunks * width; at += width) {
        const Vec8 x = Vec8::load(row.x + at);
        if (holds && row.plain && !any_beyond(x, Vec8::load(row.pack.scale + at))) {
            (x * Vec8::load(row.pack.inverse + at)).store(row.pack.x + at);
            eight(at);
        } else {
            for (std::size_t i = at; i < at + width; ++i) row.pack.x[i] = each(i);
        }
    }
}

template <class Scale>
bool observe(PlacedRow& row, double h) {
    const Pack& pack = row.pack;
    bool grown = false;
    through_scales<Scale>(
        row, [&](std::size_t at) { Vec8::all(1.0).store(pack.rho + at); },
        [&](std::size_t i) {
            const Observed seen = Scale::observe(pack.scale[i], row.x[i], h);
            pack.rho[i] = seen.rho;
            grown |= seen.rho != 1.0;
            refresh(row, i);
            return seen.z;
        });
    return grown;
}

Status learn(const Options& options, Clock& clock, void* slots, PlacedRow& row, double y, double h, double eta,
             double offset, double& prediction) {
    const Learned learned = with_supported_rule(options.rule, [&](auto rule) {
        using Rule = typename decltype(rule)::type;
        const bool grown = observe<typename Rule::Scale>(row, h);
        return with_loss(options.loss, [&](auto loss) {
            using Loss = typename decltype(loss)::type;
            return Row<Rule, Loss, true>(options).learn(row.pack, row.chunks, grown, y, h, eta, offset, clock,
                                                        prediction);
        });
    });
    if (learned == Learned::diverged) return Status::diverged;
    if (options.precision == Precision::float32) {
        store_to(static_cast<Slot32*>(slots), row);
    } else {
        store_to(static_cast<Slot64*>(slots), row);
    }
    return Status::ok;
}

double predict_row(const Options& options, const Clock& clock, const PlacedRow& row, bool extrapolate, double offset) {
    return with_supported_rule(options.rule, [&](auto rule) {
        using Rule = typename decltype(rule)::type;
        using Scale = typename Rule::Scale;
        const Pack& pack = row.pack;
        if (extrapolate) {
            for (std::size_t i = 0; i < row.chunks * width; ++i) pack.x[i] = Scale::linear(pack.scale[i], row.x[i]);
        } else {
            through_scales<Scale>(
                row, [](std::size_t) {}, [&](std::size_t i) { return Scale::peek(pack.scale[i], row.x[i]); });
        }
        const double score = with_offset(predict<Rule>(options, clock, pack, row.chunks, extrapolate), offset);
        return limit_asked(options, clock, score, extrapolate);
    });
}

}  // namespace
}  // namespace UNITLESS_ISA

const PlacedKernel UNITLESS_OF_ISA(placed_kernel_) = {supports, load, learn, predict_row};

}  // namespace unitless
