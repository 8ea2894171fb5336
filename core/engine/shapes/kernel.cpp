// Rows of leaves through the lanes of an expert; the ways of values through curves and trees.
// Compiled once per instruction set, with UNITLESS_ISA naming it.

#include "engine/shapes/kernel.hpp"

#include "algorithm/dispatch.hpp"
#include "engine/lanes/lane_rows.hpp"
#include "engine/softmax/coupling.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

constexpr double suspicious = 0x1p500;  // beyond this a lane has diverged: it is not moved any more

// What a new scale does to the state (2.(a).i).
void rescale(Rescale kind, const Stage& stage, const StagedRow& row, double* state) {
    for (std::size_t k = row.begin; k < row.end; ++k) {
        const double rho = stage.rho[k];
        if (rho == 1.0) continue;
        double *v = state + std::size_t{stage.slot[k]} * octet_doubles, *H = v + width;
        if (kind != Rescale::none) (Vec8::load(H) * (rho * rho)).store(H);
        if (kind == Rescale::v_by_rho) (Vec8::load(v) * rho).store(v);
    }
}

// The linear terms, and the leaves' weights, in four sums that do not wait for one another.
UNITLESS_INLINE Vec8 sum_of(const Stage& stage, const StagedRow& row, const LeafRow& leaves, const double* linear,
                            const double* weights) {
    Vec8 total = Vec8::all(0.0), part[4] = {total, total, total, total};
    for (std::size_t k = row.begin; k < row.end; ++k)
        total = total + Vec8::load(linear + std::size_t{stage.slot[k]} * octet_doubles) * stage.z[k];
    std::size_t i = 0;
    const auto weight = [&](std::size_t k) {
        return Vec8::load(weights + std::size_t{leaves.leaves[k]} * leaf_doubles);
    };
    for (; i + 4 <= leaves.count; i += 4)
        for (std::size_t k = 0; k < 4; ++k) part[k] = part[k] + weight(i + k);
    for (; i < leaves.count; ++i) part[0] = part[0] + weight(i);
    return row.spread * total + ((part[0] + part[1]) + (part[2] + part[3]));
}

template <class Loss>
void foresee_with(const Options& options, Rescale kind, const Stage& stage, const StagedRow& row,
                  const LaneLabels& labels, std::size_t r, const LeafRow& leaves, const LeafLanes& lanes) {
    const Loss loss(options);
    const bool limited = options.clip != Clip::none && row.label_min <= row.label_max;
    for (std::size_t o = 0; o < lanes.octets; ++o) {
        if (row.weight > 0 && row.grown) rescale(kind, stage, row, lanes.linear[o]);
        const Vec8 raw = with_offset(labels, r, sum_of(stage, row, leaves, lanes.linear[o], lanes.leaves[o]));
        Vec8 p = smaller(larger(raw, Vec8::all(-suspicious)), Vec8::all(suspicious));
        if (limited) p = smaller(larger(p, Vec8::all(row.label_min)), Vec8::all(row.label_max));
        p.store(lanes.p + o * width);
        if (!(row.weight > 0)) continue;
        const Vec8 y = label_of(labels, r, Vec8::load(lanes.label + o * width));
        Vec8 slope, value;
        if constexpr (std::is_same_v<Loss, Logistic>) {
            const auto evaluated = loss.evaluate(p, y);
            slope = evaluated.slope;
            value = loss.value_of(evaluated.m, evaluated.small);
        } else {
            slope = loss.slope(p, y);
            value = loss.value(p, y);
        }
        Flags odd;
        odd.note_beyond(raw, Vec8::all(suspicious));
        odd.note_beyond(slope, Vec8::all(suspicious));
        if (odd.any()) [[unlikely]] {
            const Mask8 sound = (absolute(raw) <= suspicious) & (absolute(slope) <= suspicious);
            slope = select(sound, slope, 0.0);
            value = select(sound, value, infinity);
        }
        y.store(lanes.y + o * width);
        slope.store(lanes.slope + o * width);
        value.store(lanes.loss + o * width);
    }
}

// A rate of which one lane is stopped is stopped as a whole.
UNITLESS_RARE void stop_rate(const LeafLanes& lanes, std::size_t rate) {
    for (std::size_t k = rate; k < lanes.heads * lanes.rates; k += lanes.rates) {
        lanes.slope[k] = 0;
        lanes.loss[k] = infinity;
    }
}

// The same for heads that share a softmax.
void foresee_coupled(Rescale kind, const Stage& stage, const StagedRow& row, const LaneLabels& labels, std::size_t r,
                     const LeafRow& leaves, const LeafLanes& lanes) {
    const Coupled heads{lanes.heads, lanes.rates};
    const Coupling at(heads, lanes.coupling);
    Flags odd;
    for (std::size_t o = 0; o < lanes.octets; ++o) {
        if (row.weight > 0 && row.grown) rescale(kind, stage, row, lanes.linear[o]);
        const Vec8 raw = sum_of(stage, row, leaves, lanes.linear[o], lanes.leaves[o]);
        const Vec8 p = smaller(larger(raw, Vec8::all(-suspicious)), Vec8::all(suspicious));
        odd.note_beyond(raw, Vec8::all(suspicious));
        p.store(lanes.p + o * width);
        p.store(at.o + o * width);
    }
    if (!(row.weight > 0)) return;
    couple(heads, static_cast<std::size_t>(labels.y[r]), at, true);
    for (std::size_t o = 0; o < lanes.octets; ++o) {
        label_of(labels, r, Vec8::load(lanes.label + o * width)).store(lanes.y + o * width);
        Vec8::load(at.slope + o * width).store(lanes.slope + o * width);
    }
    for (std::size_t k = 0; k < lanes.heads * lanes.rates; ++k) lanes.loss[k] = at.loss[k % lanes.rates];
    for (std::size_t k = 0; odd.any() && k < lanes.heads * lanes.rates; ++k)
        if (absolute(lanes.p[k]) >= suspicious) stop_rate(lanes, k % lanes.rates);
}

// G += h g^2 of the leading lane; keeps 1/sqrt(G) and gives its sum over the row's leaves, by head.
template <bool adaptive>
void step_leaves(const StagedRow& row, const double* leading, const LeafRow& leaves, const LeafLanes& lanes,
                 double* reach) {
    const double h = row.weight;
    if (lanes.heads == 1) {
        const double more = adaptive ? h * (leading[0] * leading[0]) : h;
        Vec8 total = Vec8::all(0.0);
        std::size_t k = 0;
        for (; k + width <= leaves.count; k += width) {
            const Vec8 now = Vec8::gather(lanes.evidence, leaves.leaves + k) + more;
            double each[width];
            now.store(each);
            for (std::size_t i = 0; i < width; ++i) lanes.evidence[leaves.leaves[k + i]] = each[i];
            const Vec8 step = adaptive ? inverse_root(now) : Vec8::all(1.0);
            step.store(lanes.leaf_step + k);
            total = total + step;
        }
        double rest = 0;
        for (; k < leaves.count; ++k) {
            double& G = lanes.evidence[leaves.leaves[k]];
            G += more;
            lanes.leaf_step[k] = adaptive ? inverse_root(G) : 1.0;
            rest += lanes.leaf_step[k];
        }
        reach[0] = sum(total) + rest;
        return;
    }
    for (std::size_t first = 0; first < lanes.head_stride; first += width) {
        const Vec8 g = Vec8::load(leading + first), more = adaptive ? h * (g * g) : Vec8::all(h);
        Vec8 total = Vec8::all(0.0);
        for (std::size_t k = 0; k < leaves.count; ++k) {
            double* G = lanes.evidence + std::size_t{leaves.leaves[k]} * lanes.head_stride + first;
            const Vec8 now = Vec8::load(G) + more;
            now.store(G);
            const Vec8 step = adaptive ? inverse_root(now) : Vec8::all(1.0);
            step.store(lanes.leaf_step + k * lanes.head_stride + first);
            total = total + step;
        }
        total.store(reach + first);
    }
}

template <class Loss, bool adaptive, bool aware>
void update_with(const Options& options, const Stage& stage, const StagedRow& row, double pace, const double* leading,
                 const LeafRow& leaves, const LeafLanes& lanes) {
    const Loss loss(options);
    double* const reach = lanes.leaf_step + leaves.count * lanes.head_stride;
    step_leaves<adaptive>(row, leading, leaves, lanes, reach);
    const bool falling = !adaptive && options.schedule == Schedule::root;
    const double common = pace * row.weight * leaves.damp * (falling ? 1.0 / row.root_t : 1.0);
    bool stopped = false;
    for (std::size_t o = 0; o < lanes.octets; ++o) {
        const Vec8 slope = Vec8::load(lanes.slope + o * width);
        const std::uint32_t* const head = lanes.head + o * width;
        double* const steps = lanes.step;
        Vec8 linear = Vec8::all(row.zz);
        if constexpr (adaptive) {
            linear = Vec8::all(0.0);
            const Vec8 weighted = slope * slope * row.weight;
            for (std::size_t k = row.begin; k < row.end; ++k) {
                double* const H = lanes.linear[o] + std::size_t{stage.slot[k]} * octet_doubles + width;
                const Vec8 zz = Vec8::all(stage.squared[k]), now = Vec8::load(H) + weighted * zz;
                now.store(H);
                const Vec8 rate = inverse_root(now);
                (stage.z[k] * rate).store(steps + (k - row.begin) * width);
                linear = linear + zz * rate;
            }
        }
        const Vec8 of_leaves = lanes.heads == 1 ? Vec8::all(reach[0]) : Vec8::gather(reach, head);
        const Vec8 length = row.spread * linear + of_leaves;
        const Vec8 speed = Vec8::load(lanes.rate + o * width) * common;
        Vec8 move = -(speed * slope);
        const Mask8 moving = (absolute(slope) > 0.0) & (length > __DBL_MIN__);
        if constexpr (aware) {
            const Vec8 whole = select(moving, length, 1.0), downhill = select(moving, slope, 1.0);
            const Vec8 y = Vec8::load(lanes.y + o * width), p = Vec8::load(lanes.p + o * width);
            if constexpr (std::is_same_v<Loss, Logistic>) {
                const auto score = [&]() UNITLESS_INLINE_LAMBDA {
                    return lanes.coupling ? margin_of(Coupling({lanes.heads, lanes.rates}, lanes.coupling), o * width)
                                          : p;
                };
                move = loss.change_from(score, y, downhill, speed * whole) / whole;
            } else {
                move = loss.change(p, y, downhill, speed * whole) / whole;
            }
        }
        move = select(moving, move, 0.0);
        if (any_beyond(move, Vec8::all(suspicious))) [[unlikely]] {
            const Mask8 sound = absolute(move) <= suspicious;
            move = select(sound, move, 0.0);
            select(sound, Vec8::load(lanes.loss + o * width), infinity).store(lanes.loss + o * width);
            stopped = true;
        }
        for (std::size_t k = row.begin; k < row.end; ++k) {
            double* const v = lanes.linear[o] + std::size_t{stage.slot[k]} * octet_doubles;
            if constexpr (adaptive) {
                (Vec8::load(v) + move * Vec8::load(steps + (k - row.begin) * width)).store(v);
            } else {
                (Vec8::load(v) + move * stage.z[k]).store(v);
                (Vec8::load(v + width) + row.weight * stage.squared[k]).store(v + width);
            }
        }
        for (std::size_t k = 0; k < leaves.count; ++k) {
            double* const w = lanes.leaves[o] + std::size_t{leaves.leaves[k]} * leaf_doubles;
            const Vec8 step = lanes.heads == 1 ? Vec8::all(lanes.leaf_step[k])
                                               : Vec8::gather(lanes.leaf_step + k * lanes.head_stride, head);
            (Vec8::load(w) + move * step).store(w);
        }
    }
    for (std::size_t k = 0; stopped && lanes.coupling && k < lanes.heads * lanes.rates; ++k)
        if (!(lanes.loss[k] <= __DBL_MAX__)) stop_rate(lanes, k % lanes.rates);
}

void foresee(const Options& options, const Stage& stage, const StagedRow& row, const LaneLabels& labels, std::size_t r,
             const LeafRow& leaves, const LeafLanes& lanes) {
    const Rescale kind = with_rule(options.rule, [](auto rule) { return decltype(rule)::type::rescale; });
    if (lanes.coupling) return foresee_coupled(kind, stage, row, labels, r, leaves, lanes);
    with_loss(options.loss, [&](auto loss) {
        foresee_with<typename decltype(loss)::type>(options, kind, stage, row, labels, r, leaves, lanes);
    });
}

void update(const Options& options, const Stage& stage, const StagedRow& row, double pace, const double* leading,
            const LeafRow& leaves, const LeafLanes& lanes) {
    const bool adaptive = with_rule(options.rule, [](auto rule) { return decltype(rule)::type::adaptive; });
    with_loss(options.loss, [&](auto loss) {
        using Loss = typename decltype(loss)::type;
        const auto aware = adaptive ? update_with<Loss, true, true> : update_with<Loss, false, true>;
        const auto plain = adaptive ? update_with<Loss, true, false> : update_with<Loss, false, false>;
        (options.importance_aware ? aware : plain)(options, stage, row, pace, leading, leaves, lanes);
    });
}

void locate(const double* thresholds, const std::uint8_t* counts, const double* row, std::size_t columns,
            std::uint8_t* intervals) {
    for (std::size_t j = 0; j < columns; ++j) {
        const double x = row[j];
        const double* const from = thresholds + j * most_thresholds;
        int below = 0;
        for (std::size_t k = 0; k < counts[j]; ++k) below += from[k] < x;
        intervals[j] = static_cast<std::uint8_t>(below);
    }
}

// Some trees side by side, so that one can go on while another waits for memory.
template <std::size_t some, bool texts>
UNITLESS_INLINE void walk_some(const Question* nodes, std::size_t nodes_each, const double* row,
                               std::uint32_t* reached) {
    std::uint32_t at[some];
    for (std::size_t i = 0; i < some; ++i) at[i] = reached[i];
    for (std::uint32_t moved = 1; moved;) {
        moved = 0;
        for (std::size_t i = 0; i < some; ++i) {
            const Question& node = nodes[i * nodes_each + at[i]];
            std::uint32_t yes;
            if constexpr (texts) {
                const double x = row[node.column & ~Question::text];
                const std::uint32_t text = node.column >> 31, above = x > node.low, same = x == node.low;
                yes = (above & ~text) | (same & text);
            } else {
                yes = row[node.column] > node.low;
            }
            const std::uint32_t next = node.child + yes;
            moved |= next ^ at[i];
            at[i] = next;
        }
    }
    for (std::size_t i = 0; i < some; ++i) reached[i] = at[i];
}

template <bool texts>
void walk(const Question* nodes, std::size_t nodes_each, std::size_t trees, const double* row, std::uint32_t* reached) {
    std::size_t i = 0;
    for (; i + 8 <= trees; i += 8) walk_some<8, texts>(nodes + i * nodes_each, nodes_each, row, reached + i);
    for (; i < trees; ++i) walk_some<1, texts>(nodes + i * nodes_each, nodes_each, row, reached + i);
}

// Eight candidates of a leaf: which of them have the row on their right side?
UNITLESS_INLINE Mask8 on_the_right(const double* low, const std::uint32_t* columns, const double* row,
                                   std::uint32_t text) {
    if (text == 0) [[likely]]
        return Vec8::gather(row, columns) > Vec8::load(low);
    double yes[width];
    for (std::size_t i = 0; i < width; ++i) {
        const double x = row[columns[i] & ~Question::text];
        yes[i] = (text >> i & 1 ? x == low[i] : x > low[i]) ? 1.0 : 0.0;
    }
    return Vec8::load(yes) > 0.0;
}

std::size_t watch(const WatchRow& to) {
    std::size_t due = 0;
    const std::size_t q = to.candidates;
    for (std::size_t k = 0; k < to.trees; ++k) {
        if (to.reached[k] == WatchRow::none) continue;
        char* const block = to.leaves + to.reached[k] * to.bytes;
        Watching& leaf = *reinterpret_cast<Watching*>(block);
        if (leaf.stage < to.drawing) {
            to.due[due++] = static_cast<std::uint32_t>(k);
            continue;
        }
        const float* const residuals = to.residuals + to.group[k] * to.heads;
        leaf.weight += to.weight;
        leaf.square += to.square[to.group[k]];
        float* const whole = sums_of(&leaf);
        for (std::size_t i = 0; i < to.heads; ++i) whole[i] += residuals[i];
        double* const low = reinterpret_cast<double*>(block + watch_header(to.heads));
        float *const rows = reinterpret_cast<float*>(low + q), *const sums = rows + q;
        const std::uint32_t* const columns = reinterpret_cast<std::uint32_t*>(sums + q * to.heads);
        for (std::size_t z = 0; z < q; z += width) {
            const Mask8 right = on_the_right(low + z, columns + z, to.row, leaf.text >> z & 0xff);
            (Vec8::load(rows + z) + select(right, static_cast<double>(to.weight), 0.0)).store(rows + z);
            if (to.heads == 1) {
                (Vec8::load(sums + z) + select(right, static_cast<double>(residuals[0]), 0.0)).store(sums + z);
                continue;
            }
            double yes[width];
            select(right, 1.0, 0.0).store(yes);
            for (std::size_t i = 0; i < width; ++i) {
                if (yes[i] == 0) continue;
                float* const own = sums + (z + i) * to.heads;
                for (std::size_t head = 0; head < to.heads; ++head) own[head] += residuals[head];
            }
        }
        leaf.rows += 1;
        if (leaf.rows >= leaf.need) to.due[due++] = static_cast<std::uint32_t>(k);
    }
    return due;
}

}  // namespace
}  // namespace UNITLESS_ISA

const ShapeKernel UNITLESS_OF_ISA(shape_kernel_) = {foresee, update, locate, walk<true>, walk<false>, watch};

}  // namespace unitless
