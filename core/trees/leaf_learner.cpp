#include "trees/leaf_learner.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "algorithm/dispatch.hpp"
#include "algorithm/log_odds.hpp"
#include "base/workers.hpp"
#include "engine/engine.hpp"

namespace unitless {
namespace {

// The mean residual divided by the loss's largest curvature is the change that a leaf's prediction needs; each tree
// contributes its share. If the curvature has no bound, new leaves start with the weight of the leaf that was split.
double split_step_of(const LossFacts& facts, std::size_t trees) {
    return facts.curvature > 0 ? 1.0 / (facts.curvature * static_cast<double>(trees)) : 0.0;
}

double damp_of(const Options& options, double T, double N) {
    if (!(N > 0)) return 0.0;
    return with_rule(options.rule, [&](auto rule) { return decltype(rule)::type::damp(T / N); });
}

}  // namespace

LeafLearner::LeafLearner(const EngineSetup& setup, const Kernel& kernel, bool trees)
    : setup_(setup),
      kernel_(kernel),
      split_step_(split_step_of(facts_of(setup.options.loss), setup.tree_size.trees)),
      unit_(unit_of_v(setup.options)),
      lanes_(setup.rates, first_lanes(setup), first_heads(setup), setup.has_classes(), setup.open, false),
      selection_(setup.selecting, lanes_.lanes().size(), first_heads(setup), setup.rates.size()) {
    if (trees) trees_.emplace(setup.tree_size, heads(), setup.has_classes());
    share_rates();
}

void LeafLearner::share_rates() {
    if (has_many(heads()) && !many()) selection_.share_rates(lanes_, Placing::by_rate);
}

void LeafLearner::reserve_columns(std::size_t columns) {
    columns_ = columns;
    const auto leaves_for = [&](std::size_t count) { return first_curve_leaf() + count * Curves::each; };
    if (leaves_for(columns) <= lanes_.leaf_capacity()) return;
    const bool joining = lanes_.leaf_capacity() > 0;  // then more columns are likely
    const std::size_t leaves = leaves_for(joining ? 2 * columns : columns);
    evidence_.resize(leaves * head_stride());
    rows_.resize(leaves);
    lanes_.reserve_leaves(leaves);  // last: if memory runs out before, the next call does all of it
}

// New classes get the state of the spare class, the last head.
void LeafLearner::add_classes(std::size_t count) {
    if (count == 0) return;
    const std::size_t last = heads() - 1, more = heads() + count, stride = head_stride(), wide = stride_of(more);
    std::vector<double> wider(wide == stride ? 0 : lanes_.leaf_capacity() * wide);
    selection_.add_classes(lanes_, count);  // if memory runs out, nothing has changed
    for (std::size_t leaf = 0; leaf < lanes_.leaf_capacity(); ++leaf) {
        if (!lanes_.uses_leaf(leaf)) continue;
        double *const from = &evidence_[leaf * stride], *const to = wide == stride ? from : &wider[leaf * wide];
        for (std::size_t head = more; head-- > 0;) to[head] = from[std::min(head, last)];
    }
    if (wide != stride) evidence_ = std::move(wider);
    if (trees_) trees_->regroup(heads(), true);
    share_rates();
}

// ---------------------------------------------------------------------------------------------------- rows

LeafLanes LeafLearner::working_memory(Scratch& scratch, std::size_t longest_row, std::size_t most_leaves) const {
    const std::size_t octets = lanes_.octet_count(), lanes = octets * 8;
    scratch.octets.clear();
    scratch.leaf_octets.clear();
    for (std::size_t o = 0; o < octets; ++o) {
        scratch.octets.push_back(lanes_.octet(o));
        scratch.leaf_octets.push_back(lanes_.leaves(o));
    }
    scratch.head_of.assign(lanes, 0);
    for (std::size_t k = 0; k < lanes_.lanes().size(); ++k) scratch.head_of[lanes_.place(k)] = lanes_.lanes()[k].head;
    const std::size_t rates = lanes_.lanes().size() / heads();
    const std::size_t coupling = setup_.coupled ? Coupling::doubles({heads(), rates}) : 0;
    const std::size_t leaf_steps = (most_leaves + 2) * head_stride();
    const std::size_t by_rate = many() ? rates : 0;
    double* at = aligned(scratch.memory, coupling + 4 * lanes + 8 * longest_row + leaf_steps + by_rate + 8);
    const auto take = [&](std::size_t count) { return std::exchange(at, at + count); };
    LeafLanes all{};
    all.octets = octets;
    all.heads = heads();
    all.head_stride = head_stride();
    all.linear = scratch.octets.data();
    all.leaves = scratch.leaf_octets.data();
    all.leaf_stride = lanes_.leaf_stride();
    all.rate = lanes_.rate_of(0);
    all.label = lanes_.label_of(0);
    all.head = scratch.head_of.data();
    all.evidence = const_cast<double*>(evidence_.data());  // only learning changes it
    all.rates = rates;
    if (setup_.coupled) all.coupling = take(coupling);
    all.y = take(lanes);
    all.p = take(lanes);
    all.slope = take(lanes);
    all.loss = take(lanes);
    all.step = take(8 * longest_row);
    all.leaf_step = take(leaf_steps);
    if (!many()) return all;
    all.block = lanes_.blocks()[0].octets;
    all.leading = selection_.leader(lanes_, 0) * all.block;
    all.rate_loss = take(rates);
    scratch.active.assign(all.block, 0);
    all.active = scratch.active.data();
    return all;
}

std::size_t LeafLearner::take_curve_leaves(const LeafRows& rows, std::size_t r, std::uint32_t* to) const {
    const auto first = static_cast<std::uint32_t>(first_curve_leaf());
    std::size_t found = 0;
    for (std::size_t k = rows.leaf_begin(r); k < rows.leaf_ends[r]; ++k) to[found++] = first + rows.leaves[k];
    return found;
}

template <class Action>
void LeafLearner::share_trees(std::size_t rows, const Action& action) {
    constexpr std::size_t few = 16;  // rows, whose work is not worth a thread
    const std::size_t trees = trees_->count();
    if (rows < few) {
        for (std::size_t k = 0; k < trees; ++k) action(k, k + 1);
        return;
    }
    team_->share(piece_count(), [&](std::size_t piece) {
        action(piece * trees_of_piece, std::min(trees, (piece + 1) * trees_of_piece));
    });
}

// The rows from `first` on that can be learned while the trees stay as they are: up to the end of the block, or to the
// first row of a new class.
std::size_t LeafLearner::segment_end(const LeafRows& rows, std::size_t first, std::uint64_t examples) const {
    const std::uint64_t begun = std::min(began_, examples), end = Trees::block_end(examples - begun) + begun;
    const std::size_t last = std::min(rows.batch.rows, first + Trees::most_rows);
    for (std::size_t r = first; r < last; ++r) {
        if (!(rows.stage.rows[r].weight > 0)) continue;
        if (r > first && setup_.open && rows.batch.labels.y[r] >= static_cast<double>(class_count())) return r;
        if (++examples == end) return r + 1;
    }
    return last;
}

// Prefetches the weights of leaves of trees.
void LeafLearner::prefetch(const LeafLanes& lanes, const std::uint32_t* leaves) const {
    for (std::size_t k = 0; k < trees_->count(); ++k) {
        const std::size_t leaf = leaves[k];
        for (std::size_t o = 0; o < lanes.octets; ++o)
            __builtin_prefetch(lanes.leaves[o] + leaf * lanes.leaf_stride, 1);
        __builtin_prefetch(lanes.evidence + leaf * lanes.head_stride, 1);
    }
}

// Splits a leaf into two. `t` and `root_t` belong to the row after which this happens.
void LeafLearner::split_leaf(std::uint32_t leaf, std::uint32_t right, double share, bool first, double t,
                             double root_t) {
    const std::size_t stride = head_stride();
    const double bias_unit = unit_ == Unit::root_mean_square ? root_t * root_t : 1.0;
    for (std::size_t head = 0; head < heads(); ++head) {
        double &G = evidence_[leaf * stride + head], &G_right = evidence_[right * stride + head];
        if (first) G = lanes_.H(0, leader(head)) * bias_unit;
        G_right = (1.0 - share) * G;
        G *= share;
    }
    // When a column is cut for the first time, the rows in which it was missing have their own leaf.
    if (first) rows_[leaf] = leaf < first_curve_leaf() ? t : t - rows_[leaf + Curves::most];
    rows_[right] = (1.0 - share) * rows_[leaf];
    rows_[leaf] *= share;
    lanes_.use_leaf(leaf);
    lanes_.use_leaf(right);
    for (std::size_t lane = 0; lane < lanes_.lanes().size(); ++lane) lanes_.w(right, lane) = lanes_.w(leaf, lane);
}

// Notes the residuals of row r, which was learned, for the trees; `first`: the first row of the segment; `counted`: the
// first row that the trees have not counted.
void LeafLearner::note(const LeafRows& rows, std::size_t r, std::size_t first, std::size_t& counted,
                       const double* residuals, double relative_weight) {
    if (rows.batch.raw_counts[r] == 0) return;
    if (trees_->outgrows(residuals)) {
        count(rows, first, counted, r, nullptr);
        counted = r;
        trees_->change_unit(residuals);
    }
    trees_->note(rows.raw(), r, r - first, residuals, relative_weight, many() ? own_.active.data() : nullptr);
}

// Lets all trees count rows [from, to); if the block ends there, they split leaves.
void LeafLearner::count(const LeafRows& rows, std::size_t first, std::size_t from, std::size_t to,
                        const BlockEnd* block_end) {
    const std::size_t trees = trees_->count();
    const std::uint32_t* const leaves = own_.tree_leaves.data();
    const auto split = [&](const Trees::Split& split) {
        split_leaf(split.leaf, split.right, split.share, split.first, block_end->t, block_end->root_t);
        for (std::size_t i = 0; i < split.heads; ++i) {
            const std::size_t head = split.first_head + i;
            for (std::size_t k = lanes_.begin(head); k < lanes_.begin(head + 1); ++k) {
                lanes_.w(split.leaf, k) += split_step_ * split.stay_mean[i];
                lanes_.w(split.right, k) += split_step_ * split.right_mean[i];
            }
        }
    };
    share_trees(to - from, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
            for (std::size_t r = from; trees_->has_split(k) && r < to; ++r)
                if (const double h = rows.stage.rows[r].weight; h > 0) rows_[leaves[(r - first) * trees + k]] += h;
            trees_->count_rows(*kernel_.trees, rows.raw(), first, from - first, to - first, leaves, k);
            if (block_end) trees_->end_block(k, split);
        }
    });
}

void LeafLearner::learn(const LeafRows& rows, const Clock& clock, const RateChoice& choice, std::size_t width,
                        double* predictions) {
    const Labels& labels = rows.batch.labels;
    const bool several = setup_.selecting != Selecting::none && choice.choosing;
    std::size_t longest = 0;
    for (std::size_t r = 0; r < rows.batch.rows; ++r)
        longest = std::max(longest, rows.stage.rows[r].end - rows.stage.rows[r].begin);
    own_.leaves.resize(most_leaves() + 8);
    LeafLanes lanes = working_memory(own_, longest, most_leaves());
    const LaneLabels lane_labels{.y = labels.y,
                                 .label_scale = labels.label_scale,
                                 .classes = lanes_.classes(),
                                 .negative = facts_of(setup_.options.loss).negative,
                                 .offset = labels.offset};
    std::vector<std::size_t>& leaders = own_.leaders;
    leaders.resize(heads());
    std::vector<double> leading(head_stride()), residuals(head_stride());
    const auto join = [&](double label) {  // with the first row of a class, not before
        const auto met = static_cast<std::size_t>(label) + 1;
        if (met <= class_count()) return;
        if (many()) selection_.share_losses(lanes_);
        add_classes(met - class_count());
        lanes = working_memory(own_, longest, most_leaves());
        leaders.resize(heads());
        leading.assign(head_stride(), 0.0);
        residuals.assign(head_stride(), 0.0);
    };
    const bool raw = has_raw(rows);
    const std::size_t trees = raw ? trees_->count() : 0;
    double t = clock.t, T = clock.T;
    std::uint64_t examples = clock.examples;
    lost_ = false;
    restarts_.clear();
    for (std::size_t first = 0, end, met = class_count(); first < rows.batch.rows; first = end) {
        if (setup_.open && rows.stage.rows[first].weight > 0) join(labels.y[first]);
        end = segment_end(rows, first, examples);
        const std::uint64_t begun = std::min(began_, examples), block_end = Trees::block_end(examples - begun) + begun;
        if (raw) {
            own_.tree_leaves.resize(std::max(own_.tree_leaves.size(), (end - first) * trees));
            share_trees(end - first, [&](std::size_t begin, std::size_t last) {
                trees_->descend(*kernel_.trees, rows.raw(), first, end - first, begin, last, own_.tree_leaves.data());
            });
            trees_->begin_rows(end - first);
        }
        std::size_t counted = first;
        for (std::size_t r = first; r < end; ++r) {
            const StagedRow& row = rows.stage.rows[r];
            const double h = row.weight;
            std::size_t found = take_curve_leaves(rows, r, own_.leaves.data());
            if (raw) {
                const std::uint32_t* const reached = &own_.tree_leaves[(r - first) * trees];
                found += trees_->features(reached, &own_.leaves[found]);
                if (r + 1 < end) prefetch(lanes, reached + trees);
            }
            LeafRow leaf_row{own_.leaves.data(), found, 0};
            if (h > 0) {
                T += h;
                N_ += h * (row.gain * row.gain * row.zz + static_cast<double>(leaf_row.count));
                leaf_row.damp = damp_of(setup_.options, T, N_);
            }
            if (many()) lanes.leading = selection_.leader(lanes_, 0) * lanes.block;
            kernel_.trees->predict_row(setup_.options, rows.stage, row, lane_labels, r, leaf_row, lanes);
            for (std::size_t head = 0; head < heads(); ++head) {
                const std::size_t lane = leaders[head] = many() ? lanes.leading * 8 + head : leader(head);
                leading[head] = h > 0 ? lanes.slope[lane] : 0.0;
                residuals[head] = -leading[head];
            }
            take_leaders(lanes, own_, met, width, predictions + r * width);
            met = class_count();
            if (!(h > 0)) continue;
            kernel_.trees->learn_row(setup_.options, rows.stage, row, label_scale_of(labels, r), leading.data(),
                                     leaf_row, lanes);
            for (std::size_t k = 0; k < rows.leaf_ends[r] - rows.leaf_begin(r); ++k) {
                rows_[own_.leaves[k]] += h;
                lanes_.use_leaf(own_.leaves[k]);
            }
            t += h;
            examples += 1;
            const double relative_weight = h * (static_cast<double>(examples) / t);
            if (several) {
                many() ? selection_.observe_shared(lanes_, lanes.rate_loss, h, h / t)
                       : selection_.observe(lanes_, lanes.loss, h, h / t);
            }
            for (std::size_t head = 0; !several && head < heads(); ++head)  // no other rate can replace it
                lost_ = lost_ || !((many() ? lanes.rate_loss[0] : lanes.loss[leaders[head]]) <= __DBL_MAX__);
            const auto first_leaf = static_cast<std::uint32_t>(first_curve_leaf());
            for (std::size_t k = rows.cut_begin(r); k < rows.cut_ends[r]; ++k) {
                const Curves::Cut& cut = rows.cuts[k];
                split_leaf(first_leaf + cut.leaf, first_leaf + cut.right, cut.share, cut.first, t, row.root_t);
            }
            if (raw) note(rows, r, first, counted, residuals.data(), relative_weight);
            count_loss(lanes, labels, r, relative_weight);
            if (several && choice.pruning && setup_.selecting == Selecting::follow &&
                examples == Selection::next_update(examples - 1)) {
                if (many()) selection_.share_losses(lanes_);
                selection_.update_rates(lanes_, examples);
                lanes = working_memory(own_, longest, most_leaves());
            }
        }
        const bool ended = examples == block_end, outdated = ended && advantage_.is_lost();
        const BlockEnd at{t, rows.stage.rows[end - 1].root_t};
        if (raw) count(rows, first, counted, end, ended && !outdated ? &at : nullptr);
        if (!outdated) continue;
        restart(examples);
        restarts_.push_back(end - 1);
        lanes = working_memory(own_, longest, most_leaves());
    }
    if (many()) selection_.share_losses(lanes_);
}

// Counts the loss of row r, which was learned.
void LeafLearner::count_loss(const LeafLanes& lanes, const Labels& labels, std::size_t r, double relative_weight) {
    const Mixing mixing = facts_of(setup_.options.loss).mixing;
    const double y = labels.y[r];
    if (mixing == Mixing::numbers && !lanes_.classes())
        return advantage_.add_number(y, lanes.loss[own_.leaders[0]], relative_weight);
    if (mixing != Mixing::odds) return;
    const auto label = static_cast<std::size_t>(lanes_.classes() ? y : y > 0);
    const std::size_t head = lanes_.classes() ? head_of(label) : 0;
    advantage_.add_class(label, lanes.loss[own_.leaders[head]], relative_weight);
}

// Forgets all but the scales: the concept has changed.
void LeafLearner::restart(std::uint64_t examples) {
    std::vector<Lane> all = first_lanes(setup_, heads());
    selection_ = Selection(setup_.selecting, all.size(), heads(), setup_.rates.size());
    lanes_.restart(std::move(all));
    share_rates();
    std::fill(evidence_.begin(), evidence_.end(), 0.0);
    advantage_.begin_anew();
    began_ = examples;
    if (trees_) trees_->restart();
}

void LeafLearner::prune_rates() {
    if (setup_.selecting == Selecting::follow) selection_.prune_rates(lanes_, true);
}

template <class Each>
void LeafLearner::predict_with(const LeafLanes& lanes, const LeafRows& rows, std::size_t width, double* predictions,
                               Scratch& scratch, const Each& each) const {
    const LaneLabels unlabeled{.offset = rows.batch.labels.offset};
    const std::size_t trees = has_raw(rows) ? trees_->count() : 0, most = Trees::most_rows;
    scratch.leaves.resize(most_leaves() + 8);
    scratch.tree_leaves.resize(std::max(scratch.tree_leaves.size(), std::min(most, rows.batch.rows) * trees));
    for (std::size_t r = 0; r < rows.batch.rows; ++r) {
        if (trees && r % most == 0)
            trees_->descend(*kernel_.trees, rows.raw(), r, std::min(most, rows.batch.rows - r), 0, trees,
                            scratch.tree_leaves.data());
        std::size_t found = take_curve_leaves(rows, r, scratch.leaves.data());
        if (trees) found += trees_->features(&scratch.tree_leaves[r % most * trees], &scratch.leaves[found]);
        const LeafRow leaf_row{scratch.leaves.data(), found, 0};
        kernel_.trees->predict_row(setup_.options, rows.stage, rows.stage.rows[r], unlabeled, r, leaf_row, lanes);
        take_leaders(lanes, scratch, class_count(), width, predictions + r * width);
        each(r);
    }
}

void LeafLearner::predict(const LeafRows& rows, std::size_t width, double* predictions, Scratch& scratch) const {
    LeafLanes lanes = working_memory(scratch, 0, 0);
    use_leaders(scratch, lanes);
    predict_with(lanes, rows, width, predictions, scratch, [](std::size_t) {});
}

void LeafLearner::judge(const LeafRows& rows, std::size_t width, double* predictions) {
    LeafLanes lanes = working_memory(own_, 0, 0);
    lanes.block = 0;  // all heads predict with all rates
    own_.leaders.resize(heads());
    for (std::size_t head = 0; head < heads(); ++head) own_.leaders[head] = lanes_.place(leader(head));
    predict_with(lanes, rows, width, predictions, own_,
                 [&](std::size_t r) { judge_row(labels_from(rows.batch.labels, r), lanes); });
}

// The heads of a softmax depend on each other, so all octets stay.
void LeafLearner::use_leaders(Scratch& scratch, LeafLanes& lanes) const {
    scratch.leaders.resize(heads());
    if (many()) {
        for (std::size_t head = 0; head < heads(); ++head) scratch.leaders[head] = lanes.leading * 8 + head;
        return;
    }
    std::size_t kept = 0, last = 0;
    for (std::size_t head = 0; head < heads(); ++head) {
        const std::size_t lane = leader(head), octet = lane / 8;
        scratch.leaders[head] = lane;
        if (setup_.coupled) continue;
        if (kept == 0 || octet != last) {
            scratch.octets[kept] = scratch.octets[octet];
            scratch.leaf_octets[kept++] = scratch.leaf_octets[octet];
            last = octet;
        }
        scratch.leaders[head] = (kept - 1) * 8 + lane % 8;
    }
    if (!setup_.coupled) lanes.octets = kept;
}

void LeafLearner::take_leaders(const LeafLanes& lanes, Scratch& scratch, std::size_t met, std::size_t width,
                               double* predictions) const {
    if (!setup_.coupled) {
        for (std::size_t k = 0; k < width; ++k) predictions[k] = lanes.p[scratch.leaders[head_of(k)]];
        return;
    }
    const std::size_t count = met + (setup_.open ? 1 : 0);
    scratch.odds.resize(2 * count);
    double *const scores = scratch.odds.data(), *const odds = scores + count;
    for (std::size_t k = 0; k < count; ++k)
        scores[k] = lanes.p[scratch.leaders[0] + (k < met ? k : heads() - 1) * lanes.rates];
    setup_.open ? log_odds_of_open(scores, count, odds) : log_odds(scores, count, odds);
    for (std::size_t k = 0; k < width; ++k) predictions[k] = odds[std::min(k, met)];
}

// Counts the losses of all rates on one row.
void LeafLearner::judge_row(const Labels& labels, const LeafLanes& lanes) {
    if (!setup_.coupled && !many()) return selection_.judge(lanes_, kernel_, setup_.options, labels, lanes.p, 1, 0);
    const double h = weight_of(labels, 0);
    if (setup_.selecting != Selecting::follow || !(h > 0)) return;
    std::vector<double> loss(lanes.rates);
    if (many()) {
        judge_many(labels.y[0], lanes, loss.data());
        selection_.observe_shared(lanes_, loss.data(), h, 0.0);
        return selection_.share_losses(lanes_);
    }
    const std::size_t y = std::min(static_cast<std::size_t>(labels.y[0]), heads() - 1);
    kernel_.softmax->losses(lanes.p, {heads(), lanes.rates}, y, loss.data(), lanes.coupling);
    selection_.observe_shared(lanes_, loss.data(), h, 0.0);
    selection_.share_losses(lanes_);
}

// The losses of all rates on a row of class y, summed over the heads.
void LeafLearner::judge_many(double y, const LeafLanes& lanes, double* loss) const {
    const std::size_t places = lanes.octets * 8;
    std::vector<double> truth(places), losses(places);
    for (std::size_t k = 0; k < places; ++k)
        truth[k] = lanes.label[k] == y ? 1.0 : facts_of(setup_.options.loss).negative;
    kernel_.loss(setup_.options, 0, lanes.p, truth.data(), nullptr, places, losses.data());
    for (std::size_t lane = 0; lane < lanes_.lanes().size(); ++lane) {
        const double own = losses[lanes_.place(lane)];
        loss[lane % lanes.rates] += std::isnan(own) ? HUGE_VAL : own;
    }
}

bool LeafLearner::diverged() const {
    if (lost_) return true;
    for (std::size_t head = 0; head < heads(); ++head) {
        bool any = false;
        for (std::size_t k = lanes_.begin(head); k < lanes_.begin(head + 1); ++k)
            any = any || selection_.scores()[k].loss <= __DBL_MAX__;
        if (!any) return true;
    }
    return false;
}

// ---------------------------------------------------------------------------------------------------- state

void LeafLearner::save(std::size_t slots, EngineState& lanes, LeafState& to, std::optional<TreeState>& trees) const {
    lanes_.save(slots, lanes);
    selection_.save(lanes);
    const std::size_t stride = head_stride(), lane_count = lanes_.lanes().size();
    for (std::size_t leaf = 0; leaf < lanes_.leaf_capacity(); ++leaf) {
        bool used = false;
        for (std::size_t head = 0; head < heads(); ++head) used = used || evidence_[leaf * stride + head] != 0;
        for (std::size_t k = 0; k < lane_count; ++k) used = used || lanes_.w(leaf, k) != 0;
        if (!used) continue;
        to.leaves.push_back(static_cast<std::uint32_t>(leaf));
        to.rows.push_back(rows_[leaf]);
        for (std::size_t k = 0; k < lane_count; ++k) to.weights.push_back(lanes_.w(leaf, k));
        for (std::size_t head = 0; head < heads(); ++head) to.evidence.push_back(evidence_[leaf * stride + head]);
    }
    to.N = N_;
    to.advantage = advantage_.save();
    to.began = began_;
    if (trees_) trees_->save(trees.emplace());
}

void LeafLearner::load(const EngineState& lanes, const LeafState& from, const std::optional<TreeState>& trees,
                       std::size_t slots, std::size_t columns) {
    const auto require = [](bool sound) {
        if (!sound) throw InputError("the leaves do not belong to a model with these options");
    };
    const std::size_t heads = checked_heads(lanes, setup_), lane_count = lanes.lanes.size();
    for (const std::uint32_t slot : lanes.slots) require(slot < slots);
    for (const double H : lanes.H) require(H >= 0);
    const bool shares = has_many(heads) && are_coupled(lanes, heads);
    lanes_ = Lanes(setup_.rates, lanes.lanes, heads, lanes_.classes(), setup_.open, false, {},
                   shares ? Placing::by_rate : Placing::by_head);
    lanes_.reserve(slots);
    lanes_.load(lanes);
    selection_.load(lanes);
    evidence_.clear();
    rows_.clear();
    reserve_columns(columns);
    const std::size_t count = from.leaves.size();
    require(from.weights.size() == lane_count * count && from.evidence.size() == heads * count);
    require(from.rows.size() == count);
    N_ = from.N;
    advantage_ = Advantage();  // a merged model counts from the beginning
    if (from.advantage) require(advantage_.load(*from.advantage));
    began_ = from.began.value_or(0);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t leaf = from.leaves[i];
        require(leaf < lanes_.leaf_capacity() && (i == 0 || leaf > from.leaves[i - 1]));
        rows_[leaf] = from.rows[i];
        lanes_.use_leaf(leaf);
        for (std::size_t k = 0; k < lane_count; ++k) lanes_.w(leaf, k) = from.weights[i * lane_count + k];
        for (std::size_t head = 0; head < heads; ++head)
            evidence_[leaf * head_stride() + head] = from.evidence[i * heads + head];
    }
    share_rates();  // of a merged model, whose classes may have different rates
    if (!trees_) return;
    require(trees.has_value());
    trees_->regroup(heads, lanes_.classes());
    trees_->load(*trees, columns);
    trees_->for_each_feature([&](std::uint32_t leaf) { lanes_.use_leaf(leaf); });
}

std::size_t LeafLearner::bytes() const {
    return sizeof(*this) + lanes_.bytes() + (evidence_.capacity() + rows_.capacity()) * sizeof(double) +
           (trees_ ? trees_->bytes() : 0);
}

}  // namespace unitless
