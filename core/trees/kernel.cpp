// Runs rows of leaves through the lanes of a leaf learner, and rows of values through curves and trees.
// Compiled once per instruction set, with UNITLESS_ISA naming it.

#include "trees/kernel.hpp"

#include "algorithm/dispatch.hpp"
#include "engine/lanes/octet_rows.hpp"
#include "engine/softmax/coupling.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

Vec8 held(const Vec8& score) { return smaller(larger(score, Vec8::all(-suspicious)), Vec8::all(suspicious)); }

// The scores of an octet: its linear terms plus the weights of the row's leaves, in four independent sums.
UNITLESS_INLINE Vec8 scores_of(const LearnerTerms<Vec8>& terms, const StagedRow& row, const LeafRow& leaves,
                               const double* weights, std::size_t stride) {
    const Vec8 linear = dot(terms, Vec8::all(0.0));
    const auto weight = [&](std::size_t k) UNITLESS_INLINE_LAMBDA {
        return Vec8::load(weights + std::size_t{leaves.leaves[k]} * stride);
    };
    Vec8 part[4] = {Vec8::all(0.0), Vec8::all(0.0), Vec8::all(0.0), Vec8::all(0.0)};
    std::size_t i = 0;
    for (; i + 4 <= leaves.count; i += 4)
        for (std::size_t k = 0; k < 4; ++k) part[k] = part[k] + weight(i + k);
    for (; i < leaves.count; ++i) part[0] = part[0] + weight(i);
    return row.gain * linear + ((part[0] + part[1]) + (part[2] + part[3]));
}

// The scores of octet o. If the row is learned, its scales are applied first.
UNITLESS_INLINE Vec8 predict_octet(Rescale how, const Stage& stage, const StagedRow& row, const LeafRow& leaves,
                                   const LeafLanes& lanes, std::size_t o) {
    const LearnerTerms terms = terms_of<Vec8>(lanes.linear[o], stage, row, lanes.step);
    if (row.weight > 0 && row.grown) rescale(how, terms);
    return scores_of(terms, row, leaves, lanes.leaves[o], lanes.leaf_stride);
}

// An octet of independent heads: its predictions and, if the row is learned, its slopes and losses.
UNITLESS_INLINE void measure_octet(const Options& options, Rescale how, const Stage& stage, const StagedRow& row,
                                   const LaneLabels& labels, std::size_t r, const LeafRow& leaves,
                                   const LeafLanes& lanes, std::size_t o) {
    const Vec8 raw = with_offset(labels, r, predict_octet(how, stage, row, leaves, lanes, o));
    const Vec8 p = limited(options, row, held(raw));
    p.store(lanes.p + o * width);
    if (!(row.weight > 0)) return;
    const Vec8 y = label_of(labels, r, Vec8::load(lanes.label + o * width));
    auto [slope, value] = measure(options, p, y);
    if (any_beyond(raw, Vec8::all(suspicious)) || any_beyond(slope, Vec8::all(suspicious))) [[unlikely]] {
        const Mask8 sound = (absolute(raw) <= suspicious) & (absolute(slope) <= suspicious);
        slope = select(sound, slope, 0.0);
        value = select(sound, value, infinity);
    }
    y.store(lanes.y + o * width);
    slope.store(lanes.slope + o * width);
    value.store(lanes.loss + o * width);
}

void predict_apart(const Options& options, Rescale how, const Stage& stage, const StagedRow& row,
                   const LaneLabels& labels, std::size_t r, const LeafRow& leaves, const LeafLanes& lanes) {
    for (std::size_t o = 0; o < lanes.octets; ++o) measure_octet(options, how, stage, row, labels, r, leaves, lanes, o);
}

// Many independent heads: all of them predict with the leader's rate; only active ones with the other rates.
void predict_many(const Options& options, Rescale how, const Stage& stage, const StagedRow& row,
                  const LaneLabels& labels, std::size_t r, const LeafRow& leaves, const LeafLanes& lanes) {
    const auto measure_at = [&](std::size_t o) UNITLESS_INLINE_LAMBDA {
        measure_octet(options, how, stage, row, labels, r, leaves, lanes, o);
    };
    const auto in_use = [&](std::size_t o) UNITLESS_INLINE_LAMBDA { return Vec8::load(lanes.rate + o * width) > 0.0; };
    for (std::size_t a = 0; a < lanes.block; ++a) measure_at(lanes.leading + a);
    if (!(row.weight > 0)) return;
    Vec8 most = Vec8::all(0.0);
    for (std::size_t a = 0; a < lanes.block; ++a) {
        const std::size_t o = lanes.leading + a;
        const Vec8 slope = select(in_use(o), Vec8::load(lanes.slope + o * width), 0.0);
        slope.store(lanes.slope + o * width);
        most = larger(absolute(slope), most);
    }
    double each[width], largest = 0;
    most.store(each);
    for (std::size_t i = 0; i < width; ++i) largest = larger(each[i], largest);
    const Vec8 limit = Vec8::all(noticeable * largest);
    for (std::size_t a = 0; a < lanes.block; ++a)
        lanes.active[a] = any_beyond(Vec8::load(lanes.slope + (lanes.leading + a) * width), limit);
    for (std::size_t j = 0; j < lanes.rates; ++j) {
        Vec8 total = Vec8::all(0.0);
        for (std::size_t a = 0, o = j * lanes.block; a < lanes.block; ++a, ++o) {
            if (lanes.active[a]) {
                if (o - a != lanes.leading) measure_at(o);
                total = total + select(in_use(o), Vec8::load(lanes.loss + o * width), 0.0);
            } else if (o - a != lanes.leading && row.grown) {
                rescale(how, terms_of<Vec8>(lanes.linear[o], stage, row, lanes.step));
            }
        }
        lanes.rate_loss[j] = sum(total);
    }
}

// Whether the lanes of an octet learn the row.
UNITLESS_INLINE bool learns(const LeafLanes& lanes, std::size_t o) {
    return lanes.block == 0 || lanes.active[o % lanes.block];
}

// If one lane of a rate stops, the whole rate stops.
UNITLESS_RARE void stop_rate(const LeafLanes& lanes, std::size_t rate) {
    for (std::size_t k = rate; k < lanes.heads * lanes.rates; k += lanes.rates) {
        lanes.slope[k] = 0;
        lanes.loss[k] = infinity;
    }
}

// Heads that share a softmax.
void predict_coupled(Rescale how, const Stage& stage, const StagedRow& row, const LaneLabels& labels, std::size_t r,
                     const LeafRow& leaves, const LeafLanes& lanes) {
    const Coupled heads{lanes.heads, lanes.rates};
    const Coupling at(heads, lanes.coupling);
    Mask8 odd{};
    for (std::size_t o = 0; o < lanes.octets; ++o) {
        const Vec8 raw = predict_octet(how, stage, row, leaves, lanes, o), p = held(raw);
        odd = odd | beyond(raw, Vec8::all(suspicious));
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
    for (std::size_t k = 0; any(odd) && k < lanes.heads * lanes.rates; ++k)
        if (absolute(lanes.p[k]) >= suspicious) stop_rate(lanes, k % lanes.rates);
}

void predict_row(const Options& options, const Stage& stage, const StagedRow& row, const LaneLabels& labels,
                 std::size_t r, const LeafRow& leaves, const LeafLanes& lanes) {
    const Rescale how = with_rule(options.rule, [](auto rule) { return decltype(rule)::type::rescale; });
    if (lanes.coupling) return predict_coupled(how, stage, row, labels, r, leaves, lanes);
    if (lanes.block) return predict_many(options, how, stage, row, labels, r, leaves, lanes);
    predict_apart(options, how, stage, row, labels, r, leaves, lanes);
}

// Adds h g^2 of the leader to G, stores 1/sqrt(G), and returns its sum over the row's leaves, by head. A leaf's
// indicator is a term with z = 1.
template <bool adaptive>
void step_leaves(const StagedRow& row, const double* leading, const LeafRow& leaves, const LeafLanes& lanes,
                 double* reach) {
    const double h = row.weight;
    if (lanes.heads == 1) {  // a register holds leaves
        const double squared = h * (leading[0] * leading[0]);
        Vec8 total = Vec8::all(0.0);
        std::size_t k = 0;
        for (; k + width <= leaves.count; k += width) {
            Vec8 G = Vec8::gather(lanes.evidence, leaves.leaves + k);
            const Vec8 step = accumulate<adaptive>(G, Vec8::all(1.0), Vec8::all(squared), h);
            double each[width];
            G.store(each);
            for (std::size_t i = 0; i < width; ++i) lanes.evidence[leaves.leaves[k + i]] = each[i];
            step.store(lanes.leaf_step + k);
            total = total + step;
        }
        double rest = 0;
        for (; k < leaves.count; ++k) {
            double& G = lanes.evidence[leaves.leaves[k]];
            rest += lanes.leaf_step[k] = accumulate<adaptive>(G, 1.0, squared, h);
        }
        reach[0] = sum(total) + rest;
        return;
    }
    for (std::size_t first = 0; first < lanes.head_stride; first += width) {  // a register holds heads
        if (!learns(lanes, first / width)) continue;
        const Vec8 g = Vec8::load(leading + first), squared = h * (g * g);
        Vec8 total = Vec8::all(0.0);
        for (std::size_t k = 0; k < leaves.count; ++k) {
            double* const at = lanes.evidence + std::size_t{leaves.leaves[k]} * lanes.head_stride + first;
            Vec8 G = Vec8::load(at);
            const Vec8 step = accumulate<adaptive>(G, Vec8::all(1.0), squared, h);
            G.store(at);
            step.store(lanes.leaf_step + k * lanes.head_stride + first);
            total = total + step;
        }
        total.store(reach + first);
    }
}

// Pulls the weights of an octet toward zero, in the leaves of the row: after the step, a proximal step with each leaf's
// own speed (Duchi, Hazan, Singer, "Adaptive subgradient methods", 2011, section 5). With speed = h eta R damp/sqrt(G),
// where R is the label's scale:
//
//   w = sgn(w) max(0, |w| - l1 R speed)/(1 + l2 speed)
template <class StepOf>
UNITLESS_INLINE void shrink_leaves(const Options& options, double label_scale, const Vec8& speed, const LeafRow& leaves,
                                   double* weights, std::size_t stride, const StepOf& step_of) {
    const Vec8 l1 = Vec8::all(options.leaf_l1 * label_scale), l2 = Vec8::all(options.leaf_l2);
    for (std::size_t k = 0; k < leaves.count; ++k) {
        double* const at = weights + std::size_t{leaves.leaves[k]} * stride;
        const Vec8 w = Vec8::load(at), own = speed * step_of(k);
        const Vec8 left = larger(absolute(w) - l1 * own, Vec8::all(0.0)) / (Vec8::all(1.0) + l2 * own);
        select(w > 0.0, left, Vec8::all(0.0) - left).store(at);
    }
}

template <bool adaptive>
void learn_row_with(const Options& options, const Stage& stage, const StagedRow& row, double label_scale,
                    const double* leading, const LeafRow& leaves, const LeafLanes& lanes) {
    double* const reach_of_leaves = lanes.leaf_step + leaves.count * lanes.head_stride;
    step_leaves<adaptive>(row, leading, leaves, lanes, reach_of_leaves);
    const bool penalized = options.leaf_l1 > 0 || options.leaf_l2 > 0;
    bool stopped = false;
    for (std::size_t o = 0; o < lanes.octets; ++o) {
        if (!learns(lanes, o)) continue;
        const std::uint32_t* const head = lanes.head + o * width;
        const auto by_lane = [&](const double* by_head) UNITLESS_INLINE_LAMBDA {
            if (lanes.block) return Vec8::load(by_head + o % lanes.block * width);
            return lanes.heads == 1 ? Vec8::all(*by_head) : Vec8::gather(by_head, head);
        };
        const auto score = [&]() UNITLESS_INLINE_LAMBDA {
            return lanes.coupling ? margin_of(Coupling({lanes.heads, lanes.rates}, lanes.coupling), o * width)
                                  : Vec8::load(lanes.p + o * width);
        };
        const LearnerTerms terms = terms_of<Vec8>(lanes.linear[o], stage, row, lanes.step);
        const Vec8 slope = Vec8::load(lanes.slope + o * width);
        const Vec8 linear = accumulate<adaptive>(terms, slope * slope * row.weight, row.weight, Vec8::all(0.0));
        const Vec8 reach = row.gain * linear + by_lane(reach_of_leaves);
        Vec8 move = move_of<adaptive>(options, row, label_scale * leaves.damp, Vec8::load(lanes.rate + o * width),
                                      score, Vec8::load(lanes.y + o * width), slope, reach);
        if (any_beyond(move, Vec8::all(suspicious))) [[unlikely]] {
            const Mask8 sound = absolute(move) <= suspicious;
            move = select(sound, move, 0.0);
            select(sound, Vec8::load(lanes.loss + o * width), infinity).store(lanes.loss + o * width);
            if (lanes.block) lanes.rate_loss[o / lanes.block] = infinity;
            stopped = true;
        }
        add(terms, move);
        // Copies, which stores into weights cannot change.
        double *const weights = lanes.leaves[o], *const steps = lanes.leaf_step;
        const std::size_t count = leaves.count, stride = lanes.leaf_stride, step_stride = lanes.head_stride;
        const std::uint32_t* const which = leaves.leaves;
        const auto step_of = [&](std::size_t k) UNITLESS_INLINE_LAMBDA {
            return lanes.heads == 1 ? Vec8::all(steps[k]) : by_lane(steps + k * step_stride);
        };
        if (lanes.heads == 1) {
            for (std::size_t k = 0; k < count; ++k) {
                double* const w = weights + which[k] * stride;
                (Vec8::load(w) + move * Vec8::all(steps[k])).store(w);
            }
        } else {
            for (std::size_t k = 0; k < count; ++k) {
                double* const w = weights + which[k] * stride;
                (Vec8::load(w) + move * by_lane(steps + k * step_stride)).store(w);
            }
        }
        if (!penalized) continue;
        const Vec8 speed = Vec8::load(lanes.rate + o * width) * (label_scale * leaves.damp * row.weight);
        shrink_leaves(options, label_scale, speed, leaves, weights, stride, step_of);
    }
    for (std::size_t k = 0; stopped && lanes.coupling && k < lanes.heads * lanes.rates; ++k)
        if (!(lanes.loss[k] <= __DBL_MAX__)) stop_rate(lanes, k % lanes.rates);
}

void learn_row(const Options& options, const Stage& stage, const StagedRow& row, double label_scale,
               const double* leading, const LeafRow& leaves, const LeafLanes& lanes) {
    const auto learn = is_adaptive(options.rule) ? learn_row_with<true> : learn_row_with<false>;
    learn(options, stage, row, label_scale, leading, leaves, lanes);
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

// Descends several times at once, so that one descent can proceed while another waits for memory.
template <std::size_t some, bool texts>
UNITLESS_INLINE void descend_some(const Question* nodes, std::size_t nodes_step, const double* row,
                                  std::size_t row_step, std::uint32_t* reached) {
    std::uint32_t at[some];
    for (std::size_t i = 0; i < some; ++i) at[i] = 0;
    for (std::uint32_t moved = 1; moved;) {
        moved = 0;
        for (std::size_t i = 0; i < some; ++i) {
            const Question& node = nodes[i * nodes_step + at[i]];
            const double* const values = row + i * row_step;
            std::uint32_t yes;
            if constexpr (texts) {
                const double x = values[node.column & ~Question::text];
                const std::uint32_t text = node.column >> 31, above = x > node.low, same = x == node.low;
                yes = (above & ~text) | (same & text);
            } else {
                yes = values[node.column] > node.low;
            }
            const std::uint32_t next = node.child + yes;
            moved |= next ^ at[i];
            at[i] = next;
        }
    }
    for (std::size_t i = 0; i < some; ++i) reached[i] = at[i];
}

template <bool texts>
void descend(const Question* nodes, std::size_t nodes_step, const double* row, std::size_t row_step, std::size_t count,
             std::uint32_t* reached) {
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8)
        descend_some<8, texts>(nodes + i * nodes_step, nodes_step, row + i * row_step, row_step, reached + i);
    for (; i < count; ++i)
        descend_some<1, texts>(nodes + i * nodes_step, nodes_step, row + i * row_step, row_step, reached + i);
}

// The candidates, among eight of a leaf, for which the row is on the right side.
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

std::size_t watch(const WatchedTree& tree, const CountedRow* rows, std::size_t r, std::size_t end, std::size_t& due) {
    const std::size_t q = tree.candidates, heads = tree.heads;
    constexpr std::size_t ahead = 4;  // rows; the statistics of all trees together do not fit into the cache
    for (; r < end; ++r) {
        if (r + ahead < end) {
            const char* const next = tree.leaves + tree.reached[(r + ahead) * tree.stride] * tree.bytes;
            for (std::size_t line = 0; line < tree.bytes; line += 64) __builtin_prefetch(next + line, 1);
        }
        const CountedRow& row = rows[r];
        if (row.row == nullptr || (row.active && !row.active[tree.group])) continue;
        const std::uint32_t reached = tree.reached[r * tree.stride];
        char* const block = tree.leaves + reached * tree.bytes;
        LeafFacts& leaf = *reinterpret_cast<LeafFacts*>(block);
        if (leaf.stage < tree.drawing) return r;
        const float* const residuals = row.residuals + tree.group * heads;
        leaf.weight += row.weight;
        leaf.square += row.squares[tree.group];
        float* const whole = sums_of(&leaf);
        for (std::size_t i = 0; i < heads; ++i) whole[i] += residuals[i];
        double* const low = reinterpret_cast<double*>(block + watch_header(heads));
        float *const right_rows = reinterpret_cast<float*>(low + q), *const sums = right_rows + q;
        const std::uint32_t* const columns = reinterpret_cast<std::uint32_t*>(sums + q * heads);
        for (std::size_t z = 0; z < q; z += width) {
            const Mask8 right = on_the_right(low + z, columns + z, row.row, leaf.text >> z & 0xff);
            (Vec8::load(right_rows + z) + select(right, static_cast<double>(row.weight), 0.0)).store(right_rows + z);
            if (heads == 1) {
                (Vec8::load(sums + z) + select(right, static_cast<double>(residuals[0]), 0.0)).store(sums + z);
                continue;
            }
            double yes[width];
            select(right, 1.0, 0.0).store(yes);
            for (std::size_t i = 0; i < width; ++i) {
                if (yes[i] == 0) continue;
                float* const own = sums + (z + i) * heads;
                for (std::size_t head = 0; head < heads; ++head) own[head] += residuals[head];
            }
        }
        leaf.rows += 1;
        if (leaf.rows == leaf.need) tree.due[due++] = reached;
    }
    return end;
}

}  // namespace
}  // namespace UNITLESS_ISA

const TreeKernel UNITLESS_OF_ISA(tree_kernel_) = {predict_row, learn_row, locate, descend<true>, descend<false>, watch};

}  // namespace unitless
