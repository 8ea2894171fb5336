#include "engine/shapes/expert.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "algorithm/dispatch.hpp"
#include "base/workers.hpp"
#include "engine/engine.hpp"
#include "engine/shapes/numbers.hpp"

namespace unitless {
namespace {

// A mean residual, over the loss's largest curvature, is how far the predictions of a leaf are to move; each tree does
// its part of it. Where that is not known, leaves begin where they were split.
double kick_of(const LossFacts& facts) {
    return facts.curvature > 0 ? 1.0 / (facts.curvature * static_cast<double>(Trees::count)) : 0.0;
}

}  // namespace

Expert::Expert(const EngineSetup& setup, const Kernel& kernel, bool trees)
    : setup_(setup),
      kernel_(kernel),
      kick_(kick_of(facts_of(setup.options.loss))),
      unit_(unit_of_v(setup.options)),
      lanes_(setup.rates, first_lanes(setup), first_heads(setup), setup.has_classes(), setup.open, false),
      selection_(setup.selecting, lanes_.lanes().size(), first_heads(setup), setup.rates.size()) {
    if (trees) trees_.emplace(heads(), setup.has_classes());
}

void Expert::reserve_columns(std::size_t columns) {
    columns_ = columns;
    const auto leaves_for = [&](std::size_t count) { return first_curve_leaf() + count * Curves::each; };
    if (leaves_for(columns) <= lanes_.leaf_capacity()) return;
    const bool joining = lanes_.leaf_capacity() > 0;  // then there will be more soon
    const std::size_t leaves = leaves_for(joining ? 2 * columns : columns);
    evidence_.resize(leaves * head_stride());
    rows_.resize(leaves);
    lanes_.reserve_leaves(leaves);  // last: if memory runs out before, all of it is done the next time
}

// Classes join with the state of the head that was never right.
void Expert::add_classes(std::size_t count) {
    if (count == 0) return;
    const std::size_t last = heads() - 1, more = heads() + count, stride = head_stride(), wide = stride_of(more);
    std::vector<double> wider(lanes_.leaf_capacity() * wide);
    for (std::size_t leaf = 0; leaf < lanes_.leaf_capacity(); ++leaf)
        for (std::size_t head = 0; head < more; ++head)
            wider[leaf * wide + head] = evidence_[leaf * stride + std::min(head, last)];
    selection_.add_classes(lanes_, count);  // if memory runs out, nothing has changed
    evidence_ = std::move(wider);
    if (trees_) trees_->regroup(heads(), true);
}

// ---------------------------------------------------------------------------------------------------- rows

LeafLanes Expert::working_memory(Room& room, std::size_t longest_row, std::size_t most_leaves) const {
    const std::size_t octets = lanes_.octet_count(), lanes = octets * 8;
    room.octets.clear();
    room.leaf_octets.clear();
    for (std::size_t o = 0; o < octets; ++o) {
        room.octets.push_back(lanes_.octet(o));
        room.leaf_octets.push_back(lanes_.leaves(o));
    }
    room.head_of.assign(lanes, 0);
    for (std::size_t k = 0; k < lanes_.lanes().size(); ++k) room.head_of[k] = lanes_.lanes()[k].head;
    const std::size_t rates = lanes_.lanes().size() / heads();
    const std::size_t coupling = setup_.coupled ? Coupling::doubles({heads(), rates}) : 0;
    double* at = aligned(room.memory, 4 * lanes + 8 * longest_row + (most_leaves + 2) * head_stride() + 8 + coupling);
    if (setup_.coupled) room.speaking.resize(heads() + SoftmaxKernel::speak_doubles(heads()));
    const auto take = [&](std::size_t count) { return std::exchange(at, at + count); };
    LeafLanes all{octets,
                  heads(),
                  head_stride(),
                  room.octets.data(),
                  room.leaf_octets.data(),
                  lanes_.rate_of(0),
                  lanes_.label_of(0),
                  room.head_of.data(),
                  const_cast<double*>(evidence_.data()),  // which only learning changes
                  nullptr,
                  nullptr,
                  nullptr,
                  nullptr,
                  nullptr,
                  nullptr,
                  rates,
                  nullptr};
    if (setup_.coupled) all.coupling = take(coupling);
    all.y = take(lanes);
    all.p = take(lanes);
    all.slope = take(lanes);
    all.loss = take(lanes);
    all.step = take(8 * longest_row);
    all.leaf_step = take((most_leaves + 2) * head_stride());
    return all;
}

std::size_t Expert::find_leaves(const ShapedRows& rows, std::size_t r) {
    const auto first = static_cast<std::uint32_t>(first_curve_leaf());
    std::size_t found = 0;
    for (std::size_t k = rows.leaf_begin(r); k < rows.leaf_ends[r]; ++k) own_.leaves[found++] = first + rows.leaves[k];
    if (trees_ && rows.raw_stride) {
        const double* const row = rows.raw + r * rows.raw_stride;
        if (pieces_ && r % walked_at_once == 0) {
            walk(rows, r / walked_at_once);
            for (int i = 0; walked_[r / walked_at_once].load(std::memory_order_acquire) != 2; ++i) Workers::rest(i);
        }
        found += trees_->find(*kernel_.shapes, row, pieces_ ? r : Trees::unknown, &own_.leaves[found]);
        if (pieces_ && (r + 1) % walked_at_once && r + 1 < rows.rows)
            trees_->fetch(r + 1, [&](std::uint32_t leaf) {
                for (const double* const octet : own_.leaf_octets)
                    __builtin_prefetch(octet + std::size_t{leaf} * leaf_doubles, 1);
            });
    }
    return found;
}

std::size_t Expert::begin_walks(const ShapedRows& rows) {
    const bool few = !trees_ || rows.raw_stride == 0 || rows.rows < 16;
    const std::size_t pieces = few ? 0 : (rows.rows + walked_at_once - 1) / walked_at_once;
    if (pieces > pieces_) walked_ = std::make_unique<std::atomic<int>[]>(pieces);
    pieces_ = pieces;
    for (std::size_t i = 0; i < pieces; ++i) walked_[i] = 0;
    if (pieces) trees_->freeze(rows.rows);
    return pieces;
}

void Expert::walk(const ShapedRows& rows, std::size_t piece) {
    int nobody = 0;
    if (!walked_[piece].compare_exchange_strong(nobody, 1)) return;
    const std::size_t first = piece * walked_at_once, end = std::min(rows.rows, first + walked_at_once);
    for (std::size_t r = first; r < end; ++r) trees_->walk_ahead(*kernel_.shapes, rows.raw + r * rows.raw_stride, r);
    walked_[piece].store(2, std::memory_order_release);
}

// Two leaves instead of one; `t` and `root_t` belong to the row after which that happens.
void Expert::hand_down(std::uint32_t leaf, std::uint32_t right, double share, bool first, double t, double root_t) {
    const std::size_t stride = head_stride();
    const double bias_unit = unit_ == Unit::root_mean_square ? root_t * root_t : 1.0;
    for (std::size_t head = 0; head < heads(); ++head) {
        double &G = evidence_[leaf * stride + head], &G_right = evidence_[right * stride + head];
        if (first) G = lanes_.H(0, leader(head)) * bias_unit;
        G_right = (1.0 - share) * G;
        G *= share;
    }
    // Of a column that is cut for the first time, the rows in which it was missing have a leaf of their own.
    if (first) rows_[leaf] = leaf < first_curve_leaf() ? t : t - rows_[leaf + Curves::most];
    rows_[right] = (1.0 - share) * rows_[leaf];
    rows_[leaf] *= share;
    for (std::size_t lane = 0; lane < lanes_.lanes().size(); ++lane) lanes_.w(right, lane) = lanes_.w(leaf, lane);
}

void Expert::learn(const ShapedRows& rows, const Labels& labels, const Clock& clock, bool choosing, bool sifting,
                   std::size_t width, double* predictions) {
    const bool several = setup_.selecting != Selecting::none && choosing;
    std::size_t longest = 0;
    for (std::size_t r = 0; r < rows.rows; ++r)
        longest = std::max(longest, rows.stage.rows[r].end - rows.stage.rows[r].begin);
    const std::size_t most_leaves = columns_ + Trees::count;
    own_.leaves.resize(most_leaves + 8);
    LeafLanes lanes = working_memory(own_, longest, most_leaves);
    const LaneLabels lane_labels{labels.y, labels.pace,  lanes_.classes(), facts_of(setup_.options.loss).negative,
                                 0,        labels.offset};
    std::vector<std::size_t>& leaders = own_.leaders;
    leaders.resize(heads());
    std::vector<double> leading(head_stride()), residuals(head_stride());
    const auto join = [&](double label) {  // when a class is first met, and not before
        const auto met = static_cast<std::size_t>(label) + 1;
        if (met <= class_count()) return;
        add_classes(met - class_count());
        lanes = working_memory(own_, longest, most_leaves);
        leaders.resize(heads());
        leading.assign(head_stride(), 0.0);
        residuals.assign(head_stride(), 0.0);
    };
    double t = clock.t, T = clock.T;
    std::uint64_t examples = clock.examples;
    lost_ = false;
    for (std::size_t r = 0; r < rows.rows; ++r) {
        const StagedRow& row = rows.stage.rows[r];
        const double h = row.weight;
        const std::size_t met = class_count();
        if (h > 0 && setup_.open) join(labels.y[r]);
        LeafRow leaf_row{own_.leaves.data(), find_leaves(rows, r), 0};
        if (h > 0) {
            T += h;
            N_ += h * (row.spread * row.spread * row.zz + static_cast<double>(leaf_row.count));
            leaf_row.damp =
                N_ > 0 ? with_rule(setup_.options.rule, [&](auto rule) { return decltype(rule)::type::damp(T / N_); })
                       : 0.0;
        }
        kernel_.shapes->foresee(setup_.options, rows.stage, row, lane_labels, r, leaf_row, lanes);
        for (std::size_t head = 0; head < heads(); ++head) {
            const std::size_t first = leaders[head] = leader(head);
            leading[head] = h > 0 ? lanes.slope[first] : 0.0;
            residuals[head] = -leading[head];
        }
        say(lanes, own_, met, width, predictions + r * width);
        if (!(h > 0)) continue;
        kernel_.shapes->update(setup_.options, rows.stage, row, labels.pace ? labels.pace[r] : 1.0, leading.data(),
                               leaf_row, lanes);
        for (std::size_t k = 0; k < leaf_row.count; ++k) rows_[own_.leaves[k]] += h;
        t += h;
        examples += 1;
        if (several) selection_.observe(lanes_, lanes.loss, h, h / t);
        for (std::size_t head = 0; !several && head < heads(); ++head)  // no other can take its place
            lost_ = lost_ || !(lanes.loss[leaders[head]] <= __DBL_MAX__);
        const auto first_leaf = static_cast<std::uint32_t>(first_curve_leaf());
        for (std::size_t k = rows.cut_begin(r); k < rows.cut_ends[r]; ++k) {
            const Curves::Cut& cut = rows.cuts[k];
            hand_down(first_leaf + cut.leaf, first_leaf + cut.right, cut.share, cut.first, t, row.root_t);
        }
        if (trees_) {
            const double relative = h * (static_cast<double>(examples) / t);
            trees_->learn(*kernel_.shapes, rows.raw + r * rows.raw_stride, rows.kinds, rows.raw_counts[r],
                          residuals.data(), relative, [&](const Trees::Split& split) {
                              hand_down(split.leaf, split.right, split.share, split.first, t, row.root_t);
                              for (std::size_t i = 0; i < split.heads; ++i) {
                                  const std::size_t head = split.first_head + i;
                                  for (std::size_t k = lanes_.begin(head); k < lanes_.begin(head + 1); ++k) {
                                      lanes_.w(split.leaf, k) += kick_ * split.stay_mean[i];
                                      lanes_.w(split.right, k) += kick_ * split.right_mean[i];
                                  }
                              }
                          });
        }
        if (several && sifting && setup_.selecting == Selecting::follow &&
            examples == Selection::next_look(examples - 1)) {
            selection_.look(lanes_, examples);
            lanes = working_memory(own_, longest, most_leaves);
        }
    }
}

void Expert::sift_rates() {
    if (setup_.selecting == Selecting::follow) selection_.sift(lanes_, true);
}

template <class Each>
void Expert::predict_with(const LeafLanes& lanes, const ShapedRows& rows, std::size_t width, const double* offset,
                          double* predictions, Room& room, const Each& each) const {
    const LaneLabels none{nullptr, nullptr, false, 0, 0, offset};
    const auto first = static_cast<std::uint32_t>(first_curve_leaf());
    room.leaves.resize(columns_ + Trees::count + 8);
    for (std::size_t r = 0; r < rows.rows; ++r) {
        std::size_t found = 0;
        for (std::size_t k = rows.leaf_begin(r); k < rows.leaf_ends[r]; ++k)
            room.leaves[found++] = first + rows.leaves[k];
        if (trees_ && rows.raw_stride)
            found += trees_->find(*kernel_.shapes, rows.raw + r * rows.raw_stride, &room.leaves[found]);
        const LeafRow leaf_row{room.leaves.data(), found, 0};
        kernel_.shapes->foresee(setup_.options, rows.stage, rows.stage.rows[r], none, r, leaf_row, lanes);
        say(lanes, room, class_count(), width, predictions + r * width);
        each(r);
    }
}

void Expert::predict(const ShapedRows& rows, std::size_t width, const double* offset, double* predictions,
                     Room& room) const {
    LeafLanes lanes = working_memory(room, 0, 0);
    keep_leading(room, lanes);
    predict_with(lanes, rows, width, offset, predictions, room, [](std::size_t) {});
}

void Expert::judge(const ShapedRows& rows, std::size_t width, const double* offset, const Labels& labels,
                   double* predictions) {
    const LeafLanes lanes = working_memory(own_, 0, 0);
    own_.leaders.resize(heads());
    for (std::size_t head = 0; head < heads(); ++head) own_.leaders[head] = leader(head);
    predict_with(lanes, rows, width, offset, predictions, own_,
                 [&](std::size_t r) { judge_row(labels_from(labels, r), lanes); });
}

// Heads that share a softmax are looked at together, so that all stay.
void Expert::keep_leading(Room& room, LeafLanes& lanes) const {
    room.leaders.resize(heads());
    std::size_t kept = 0, last = 0;
    for (std::size_t head = 0; head < heads(); ++head) {
        const std::size_t lane = leader(head), octet = lane / 8;
        room.leaders[head] = lane;
        if (setup_.coupled) continue;
        if (kept == 0 || octet != last) {
            room.octets[kept] = room.octets[octet];
            room.leaf_octets[kept++] = room.leaf_octets[octet];
            last = octet;
        }
        room.leaders[head] = (kept - 1) * 8 + lane % 8;
    }
    if (!setup_.coupled) lanes.octets = kept;
}

void Expert::say(const LeafLanes& lanes, Room& room, std::size_t met, std::size_t width, double* predictions) const {
    if (!setup_.coupled) {
        for (std::size_t head = 0; head < width; ++head) predictions[head] = lanes.p[room.leaders[speaking(head)]];
        return;
    }
    double* const said = room.speaking.data();
    const double* const outputs = lanes.p + room.leaders[0];
    kernel_.softmax->speak(outputs, lanes.rates, met, setup_.open ? outputs + (heads() - 1) * lanes.rates : nullptr,
                           said, said + heads());
    for (std::size_t head = 0; head < width; ++head) predictions[head] = said[std::min(head, met)];
}

// All rates by the label of one row.
void Expert::judge_row(const Labels& labels, const LeafLanes& lanes) {
    if (!setup_.coupled) return selection_.judge(lanes_, kernel_, setup_.options, labels, lanes.p, 1, 0);
    const double h = weight_of(labels, 0);
    if (setup_.selecting != Selecting::follow || !(h > 0)) return;
    std::vector<double> loss(lanes.rates);
    const std::size_t y = std::min(static_cast<std::size_t>(labels.y[0]), heads() - 1);
    kernel_.softmax->losses(lanes.p, {heads(), lanes.rates}, y, loss.data(), lanes.coupling);
    selection_.observe_shared(lanes_, loss.data(), h, 0.0);
    selection_.share_losses(lanes_);
}

bool Expert::diverged() const {
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

void Expert::save(const std::string& name, std::size_t slots, EngineState& lanes, std::vector<NamedNumbers>& to) const {
    lanes_.save(slots, lanes);
    selection_.save(lanes);
    // Of leaves, those that were ever other than zero.
    std::vector<double> leaves, weights, evidence, rows;
    const std::size_t stride = head_stride();
    for (std::size_t leaf = 0; leaf < lanes_.leaf_capacity(); ++leaf) {
        bool used = false;
        for (std::size_t head = 0; head < heads(); ++head) used = used || evidence_[leaf * stride + head] != 0;
        for (std::size_t k = 0; k < lanes_.lanes().size(); ++k) used = used || lanes_.w(leaf, k) != 0;
        if (!used) continue;
        leaves.push_back(static_cast<double>(leaf));
        rows.push_back(rows_[leaf]);
        for (std::size_t k = 0; k < lanes_.lanes().size(); ++k) weights.push_back(lanes_.w(leaf, k));
        for (std::size_t head = 0; head < heads(); ++head) evidence.push_back(evidence_[leaf * stride + head]);
    }
    to.push_back({name + ".leaves", std::move(leaves)});
    to.push_back({name + ".weights", std::move(weights)});
    to.push_back({name + ".evidence", std::move(evidence)});
    to.push_back({name + ".rows", std::move(rows)});
    to.push_back({name + ".N", {N_}});
    if (trees_) trees_->save(to);
}

void Expert::load(const std::string& name, const EngineState& from, const std::vector<NamedNumbers>& numbers,
                  std::size_t slots, std::size_t columns) {
    const auto require = [](bool sound) {
        if (!sound) throw InputError("the leaves do not belong to a model with these options");
    };
    const std::size_t heads = checked_heads(from, setup_), lanes = from.lanes.size();
    for (const std::uint32_t slot : from.slots) require(slot < slots);
    for (std::size_t k = 0; k < from.v.size(); ++k) require(std::isfinite(from.v[k]) && from.H[k] >= 0);
    lanes_ = Lanes(setup_.rates, from.lanes, heads, lanes_.classes(), setup_.open, false);
    lanes_.reserve(slots);
    lanes_.load(from);
    selection_.load(from);
    evidence_.clear();
    rows_.clear();
    reserve_columns(columns);
    const auto& leaves = numbers_named(numbers, name + ".leaves");
    const auto& weights = numbers_named(numbers, name + ".weights");
    const auto& evidence = numbers_named(numbers, name + ".evidence");
    const auto& N = numbers_named(numbers, name + ".N");
    const auto& rows = numbers_named(numbers, name + ".rows");
    require(weights.size() == lanes * leaves.size() && evidence.size() == heads * leaves.size() && N.size() == 1);
    require(rows.size() == leaves.size());
    require(N[0] >= 0 && std::isfinite(N[0]));
    N_ = N[0];
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        require(is_count(leaves[i], lanes_.leaf_capacity()) && (i == 0 || leaves[i] > leaves[i - 1]));
        const auto leaf = static_cast<std::size_t>(leaves[i]);
        require(std::isfinite(rows[i]));
        rows_[leaf] = rows[i];
        for (std::size_t k = 0; k < lanes; ++k) {
            require(std::isfinite(weights[i * lanes + k]));
            lanes_.w(leaf, k) = weights[i * lanes + k];
        }
        for (std::size_t head = 0; head < heads; ++head) {
            require(evidence[i * heads + head] >= 0 && std::isfinite(evidence[i * heads + head]));
            evidence_[leaf * head_stride() + head] = evidence[i * heads + head];
        }
    }
    if (trees_) {
        trees_->regroup(heads, lanes_.classes());
        trees_->load(numbers, columns);
    }
}

std::size_t Expert::bytes() const {
    return sizeof(*this) + lanes_.bytes() + (evidence_.capacity() + rows_.capacity()) * sizeof(double) +
           (trees_ ? trees_->bytes() : 0);
}

}  // namespace unitless
