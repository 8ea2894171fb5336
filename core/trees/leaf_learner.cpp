#include "trees/leaf_learner.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "algorithm/dispatch.hpp"
#include "algorithm/log_odds.hpp"
#include "base/parts.hpp"
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

// Calls action(piece) for all pieces of trees, some of them in other threads if there are enough rows.
template <class Action>
void LeafLearner::share_trees(std::size_t rows, const Action& action) {
    const std::size_t pieces = trees_->piece_count(), parts = std::min(pieces, Claims::most);
    if (rows < few_rows) {
        for (std::size_t piece = 0; piece < pieces; ++piece) action(piece);
        return;
    }
    in_parts(workers(), parts, [&](std::size_t part) {
        for (std::size_t piece = part; piece < pieces; piece += parts) action(piece);
    });
}

// The end of the rows from `first` on that can be learned while the trees stay as they are: the end of the block, or
// the first row of a new class.
std::size_t LeafLearner::segment_end(const LeafRows& rows, std::size_t first, std::uint64_t examples) const {
    const std::uint64_t end = Trees::block_end(examples);
    const std::size_t last = std::min(rows.batch.rows, first + Trees::most_rows);
    for (std::size_t r = first; r < last; ++r) {
        if (!(rows.stage.rows[r].weight > 0)) continue;
        if (r > first && setup_.open && rows.batch.labels.y[r] >= static_cast<double>(class_count())) return r;
        if (++examples == end) return r + 1;
    }
    return last;
}

// Prefetches the weights of the leaves of a row of the segment.
void LeafLearner::prefetch(const LeafLanes& lanes, std::size_t number) const {
    for (std::size_t k = 0; k < trees_->count(); ++k) {
        const std::size_t leaf = own_.tree_leaves[Trees::at(number, k)];
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
    if (first) rows_[leaf] = leaf < first_curve_leaf() ? t : began_.t + t - rows_[leaf + Curves::most];
    rows_[right] = (1.0 - share) * rows_[leaf];
    rows_[leaf] *= share;
    lanes_.use_leaf(leaf);
    lanes_.use_leaf(right);
    for (std::size_t lane = 0; lane < lanes_.lanes().size(); ++lane) lanes_.w(right, lane) = lanes_.w(leaf, lane);
}

// Notes the residuals of row r, which was learned, for the trees.
void LeafLearner::note(Progress& now, std::size_t r, double relative_weight) {
    const double* const residuals = now.residuals.data();
    if (now.rows.batch.raw_counts[r] == 0) return;
    if (trees_->outgrows(residuals)) {
        const Segment before{now.segment.first, r};
        share_trees(before.rows(), [&](std::size_t piece) { count(now, before, piece); });
        now.counted = r;
        trees_->change_unit(residuals);
    }
    trees_->note(now.rows.raw(), r, r - now.segment.first, residuals, relative_weight,
                 many() ? own_.active.data() : nullptr);
}

// Lets the trees of a piece count the segment's rows that they have not counted.
void LeafLearner::count(const Progress& now, const Segment& segment, std::size_t piece) {
    const std::size_t first = segment.first, begin = piece * Trees::trees_of_piece;
    const std::uint32_t* const leaves = own_.tree_leaves.data();
    for (std::size_t k = begin; k < std::min(trees_->count(), begin + Trees::trees_of_piece); ++k) {
        for (std::size_t r = now.counted; trees_->has_split(k) && r < segment.end; ++r)
            if (const double h = now.rows.stage.rows[r].weight; h > 0) rows_[leaves[Trees::at(r - first, k)]] += h;
        trees_->count_rows(*kernel_.trees, now.rows.raw(), first, now.counted - first, segment.end - first, leaves, k);
    }
}

// Splits leaves of the trees of a piece at the end of a block, whose last row had this root of t. Trees that have
// changed let the rows of the next segment descend again.
void LeafLearner::split_leaves(const Progress& now, const Segment& next, double root_t, std::size_t piece) {
    const auto split = [&](const Trees::Split& split) {
        split_leaf(split.leaf, split.right, split.share, split.first, now.t, root_t);
        for (std::size_t i = 0; i < split.heads; ++i) {
            const std::size_t head = split.first_head + i;
            for (std::size_t k = lanes_.begin(head); k < lanes_.begin(head + 1); ++k) {
                lanes_.w(split.leaf, k) += split_step_ * split.stay_mean[i];
                lanes_.w(split.right, k) += split_step_ * split.right_mean[i];
            }
        }
    };
    const std::size_t begin = piece * Trees::trees_of_piece;
    for (std::size_t k = begin; k < std::min(trees_->count(), begin + Trees::trees_of_piece); ++k)
        if (trees_->end_block(k, split) && now.ahead && next.rows())
            trees_->descend_tree(*kernel_.trees, now.rows.raw(), next.first, next.rows(), k, own_.next_leaves.data());
}

void LeafLearner::descend(const LeafRows& rows, const Segment& segment, std::size_t piece,
                          std::uint32_t* leaves) const {
    trees_->descend(*kernel_.trees, rows.raw(), segment.first, segment.rows(), piece, leaves);
}

void LeafLearner::learn(const LeafRows& rows, const Clock& clock, const RateChoice& choice, std::size_t width,
                        double* predictions) {
    Progress now{.rows = rows,
                 .choice = choice,
                 .width = width,
                 .predictions = predictions,
                 .t = clock.t - began_.t,
                 .T = clock.T - began_.T,
                 .examples = clock.examples - began_.examples,
                 .met = class_count()};
    for (std::size_t r = 0; r < rows.batch.rows; ++r)
        now.longest = std::max(now.longest, rows.stage.rows[r].end - rows.stage.rows[r].begin);
    own_.leaves.resize(most_leaves() + 8);
    prepare(now);
    const bool raw = has_raw(rows);
    if (raw) own_.tree_leaves.resize(trees_->leaves_size());
    if (raw) own_.next_leaves.resize(trees_->leaves_size());
    lost_ = false;
    restarts_.clear();
    Segment next{0, segment_end(rows, 0, now.examples)};
    for (bool descended = false; next.rows();) {
        Segment segment = now.segment = std::exchange(next, Segment{});
        if (setup_.open && rows.stage.rows[segment.first].weight > 0) join(now, rows.batch.labels.y[segment.first]);
        if (raw && !descended)
            share_trees(segment.rows(),
                        [&](std::size_t piece) { descend(rows, segment, piece, own_.tree_leaves.data()); });
        std::uint64_t examples = now.examples;
        for (std::size_t r = segment.first; r < segment.end; ++r) examples += rows.stage.rows[r].weight > 0;
        const bool ends = examples == Trees::block_end(now.examples);
        next = {segment.end, segment_end(rows, segment.end, examples)};
        // While the weights learn these rows, other threads let the next ones descend.
        Round* const round = raw && next.rows() >= few_rows ? Parts::round() : nullptr;
        const auto ahead = [&](std::size_t piece) { descend(rows, next, piece, own_.next_leaves.data()); };
        now.ahead = round && trees_->piece_count() <= Claims::most;
        if (now.ahead) round->start(trees_->piece_count(), ahead);
        now.counted = segment.first;
        if (raw) trees_->begin_rows(segment.rows());
        bool outdated = false;
        for (std::size_t r = segment.first; r < segment.end; ++r) {
            learn_row(now, r);
            outdated = advantage_.is_lost();
            if (outdated) segment.end = r + 1;  // the last one
        }
        if (now.ahead) round->join();
        const double root_t = rows.stage.rows[segment.end - 1].root_t;
        if (raw)
            share_trees(segment.rows(), [&](std::size_t piece) {
                count(now, segment, piece);
                if (ends && !outdated) split_leaves(now, next, root_t, piece);
                if (!now.ahead && !outdated) ahead(piece);
            });
        std::swap(own_.tree_leaves, own_.next_leaves);
        descended = !outdated;
        if (!outdated) continue;
        restart(now.t);
        began_ = {began_.t + now.t, began_.T + now.T, N_, began_.examples + now.examples};
        now.t = now.T = 0;
        now.examples = 0;
        next = {segment.end, segment_end(rows, segment.end, now.examples)};
        restarts_.push_back(segment.end - 1);
        prepare(now);
    }
    if (many()) selection_.share_losses(lanes_);
}

// Makes scratch for the lanes as they are.
void LeafLearner::prepare(Progress& now) {
    now.lanes = working_memory(own_, now.longest, most_leaves());
    own_.leaders.resize(heads());
    now.leading.assign(head_stride(), 0.0);
    now.residuals.assign(head_stride(), 0.0);
}

// A new class joins with its first row, not before.
void LeafLearner::join(Progress& now, double label) {
    const auto met = static_cast<std::size_t>(label) + 1;
    if (met <= class_count()) return;
    if (many()) selection_.share_losses(lanes_);
    add_classes(met - class_count());
    prepare(now);
}

void LeafLearner::learn_row(Progress& now, std::size_t r) {
    const LeafRows& rows = now.rows;
    LeafLanes& lanes = now.lanes;
    const Labels& labels = rows.batch.labels;
    const LaneLabels lane_labels{.y = labels.y,
                                 .label_scale = labels.label_scale,
                                 .classes = lanes_.classes(),
                                 .negative = facts_of(setup_.options.loss).negative,
                                 .offset = labels.offset};
    const bool several = setup_.selecting != Selecting::none && now.choice.choosing, raw = has_raw(rows);
    const StagedRow& row = rows.stage.rows[r];
    const double h = row.weight;
    const std::size_t of_curves = take_curve_leaves(rows, r, own_.leaves.data());
    LeafRow leaf_row{own_.leaves.data(), of_curves, 0};
    if (raw) {
        const std::size_t number = r - now.segment.first;
        leaf_row.count += trees_->features(own_.tree_leaves.data(), number, &own_.leaves[of_curves]);
        if (r + 1 < now.segment.end) prefetch(lanes, number + 1);
    }
    if (h > 0) {
        now.T += h;
        N_ += h * (row.gain * row.gain * row.zz + static_cast<double>(leaf_row.count));
        leaf_row.damp = damp_of(setup_.options, now.T, N_ - began_.N);
    }
    if (many()) lanes.leading = selection_.leader(lanes_, 0) * lanes.block;
    kernel_.trees->predict_row(setup_.options, rows.stage, row, lane_labels, r, leaf_row, lanes);
    for (std::size_t head = 0; head < heads(); ++head) {
        const std::size_t lane = own_.leaders[head] = many() ? lanes.leading * 8 + head : leader(head);
        now.leading[head] = h > 0 ? lanes.slope[lane] : 0.0;
        now.residuals[head] = -now.leading[head];
    }
    take_leaders(lanes, own_, now.met, now.width, now.predictions + r * now.width);
    now.met = class_count();
    if (!(h > 0)) return;
    kernel_.trees->learn_row(setup_.options, rows.stage, row, label_scale_of(labels, r), now.leading.data(), leaf_row,
                             lanes);
    for (std::size_t k = 0; k < of_curves; ++k) {
        rows_[own_.leaves[k]] += h;
        lanes_.use_leaf(own_.leaves[k]);
    }
    now.t += h;
    now.examples += 1;
    if (several) {
        many() ? selection_.observe_shared(lanes_, lanes.rate_loss, h, h / now.t)
               : selection_.observe(lanes_, lanes.loss, h, h / now.t);
    }
    for (std::size_t head = 0; !several && head < heads(); ++head)  // no other rate can replace it
        lost_ = lost_ || !((many() ? lanes.rate_loss[0] : lanes.loss[own_.leaders[head]]) <= __DBL_MAX__);
    const auto first_leaf = static_cast<std::uint32_t>(first_curve_leaf());
    for (std::size_t k = rows.cut_begin(r); k < rows.cut_ends[r]; ++k) {
        const Curves::Cut& cut = rows.cuts[k];
        split_leaf(first_leaf + cut.leaf, first_leaf + cut.right, cut.share, cut.first, now.t, row.root_t);
    }
    const double relative_weight = h * (static_cast<double>(now.examples) / now.t);
    if (raw) note(now, r, relative_weight);
    count_loss(lanes, labels, r, relative_weight);
    if (several && now.choice.pruning && setup_.selecting == Selecting::follow &&
        now.examples == Selection::next_update(now.examples - 1)) {
        if (many()) selection_.share_losses(lanes_);
        selection_.update_rates(lanes_, now.examples);
        prepare(now);
    }
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

// Forgets all but the scales: the concept has changed. The weight of the rows since the last restart is t.
void LeafLearner::restart(double t) {
    // The leaves of each curve keep the evidence of as many rows as they have if they were just cut.
    constexpr double kept_rows = Curves::most * Curves::enough / 2;
    const double kept = t > kept_rows ? kept_rows / t : 1.0;
    std::fill_n(evidence_.begin(), first_curve_leaf() * head_stride(), 0.0);
    for (std::size_t k = first_curve_leaf() * head_stride(); k < evidence_.size(); ++k) evidence_[k] *= kept;
    std::vector<Lane> all = first_lanes(setup_, heads());
    selection_ = Selection(setup_.selecting, all.size(), heads(), setup_.rates.size());
    lanes_.restart(std::move(all));
    share_rates();
    advantage_.begin_anew();
    if (trees_) trees_->restart();
}

void LeafLearner::prune_rates() {
    if (setup_.selecting == Selecting::follow) selection_.prune_rates(lanes_, true);
}

template <class Each>
void LeafLearner::predict_with(const LeafLanes& lanes, const LeafRows& rows, std::size_t width, double* predictions,
                               Scratch& scratch, const Each& each) const {
    const LaneLabels unlabeled{.offset = rows.batch.labels.offset};
    const bool raw = has_raw(rows);
    scratch.leaves.resize(most_leaves() + 8);
    if (raw) scratch.tree_leaves.resize(trees_->leaves_size());
    for (std::size_t r = 0; r < rows.batch.rows; ++r) {
        const std::size_t number = r % Trees::most_rows, end = std::min(rows.batch.rows, r + Trees::most_rows);
        for (std::size_t piece = 0; raw && number == 0 && piece < trees_->piece_count(); ++piece)
            descend(rows, {r, end}, piece, scratch.tree_leaves.data());
        std::size_t found = take_curve_leaves(rows, r, scratch.leaves.data());
        if (raw) found += trees_->features(scratch.tree_leaves.data(), number, &scratch.leaves[found]);
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
        bool used = rows_[leaf] != 0;  // without evidence, as long as all labels are as expected
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
    if (began_.examples) to.began = {began_.t, began_.T, began_.N, static_cast<double>(began_.examples)};
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
    began_ = {};
    if (from.began) {
        require(from.began->size() == 4);
        const double* const began = from.began->data();
        require(began[0] <= lanes.clock.t && began[1] <= lanes.clock.T && began[2] <= N_);
        require(began[3] >= 1 && began[3] <= static_cast<double>(lanes.clock.examples));
        require(began[3] == std::floor(began[3]));
        began_ = {began[0], began[1], began[2], static_cast<std::uint64_t>(began[3])};
    }
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
