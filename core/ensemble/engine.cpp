#include "ensemble/engine.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "algorithm/dispatch.hpp"
#include "base/parts.hpp"
#include "base/workers.hpp"

namespace unitless {
namespace {

EngineSetup without_average(EngineSetup setup) {
    setup.average = false;
    return setup;
}

std::vector<LeafLearner> make_leaf_learners(const EngineSetup& setup, const Kernel& kernel) {
    std::vector<LeafLearner> all;
    if (setup.form.model_type == ModelType::linear) return all;
    all.reserve(2);
    all.emplace_back(setup, kernel, false);
    if (setup.form.model_type == ModelType::trees) all.emplace_back(setup, kernel, true);
    return all;
}

Mixture::Kind mixture_kind(const EngineSetup& setup) {
    const Mixing mixing = facts_of(setup.options.loss).mixing;
    if (mixing == Mixing::odds) return setup.has_classes() ? Mixture::Kind::classes : Mixture::Kind::logistic;
    return mixing == Mixing::numbers && !setup.has_classes() ? Mixture::Kind::squared : Mixture::Kind::other;
}

ScaleAccess& scales_of(Engine& engine) { return *engine.capabilities().scales; }

}  // namespace

EnsembleEngine::EnsembleEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock,
                               std::unique_ptr<Engine> linear, std::vector<Member> engines)
    : Engine(linear ? setup : without_average(setup), clock),
      setup_(setup),
      kernel_(kernel),
      linear_(std::move(linear)),
      engines_(std::move(engines)),
      leaf_learners_(make_leaf_learners(setup, kernel)),
      mixture_(mixture_kind(setup), member_count()),
      met_(setup.classes) {
    set_classes(setup.classes);
}

template <class Action>
void EnsembleEngine::for_each_engine(const Action& action) const {
    if (linear_) action(*linear_);
    for (const Member& member : engines_) action(*member.engine);
}

void EnsembleEngine::set_classes(std::size_t count) {
    widths_.classes = count;
    widths_.learn = widths_.predict = setup_.has_classes() ? count : 1;
}

void EnsembleEngine::add_classes(std::size_t count) {
    if (!setup_.open) return Engine::add_classes(count);
    for_each_engine([&](Engine& engine) { engine.add_classes(count); });
    set_classes(widths_.classes + count);  // leaf learners add them with the first row of each class
}

void EnsembleEngine::reserve(std::size_t slots, bool growing) {
    if (slots == used_slots_) return;
    complete();
    for_each_engine([&](Engine& engine) { engine.reserve(slots, growing); });
    if (slots > slots_) {
        const std::size_t more = growing ? std::max(slots, 2 * slots_) : slots;
        for (LeafLearner& learner : leaf_learners_) learner.reserve(more);
        if (!leaf_learners_.empty()) scales_.resize(more);
        slots_ = more;
    }
    used_slots_ = slots;  // last: if memory runs out before, the next call does all of it
}

// Members have the settings of the ensemble.
void EnsembleEngine::forward_settings() {
    for_each_engine([&](Engine& engine) {
        engine.choose_rates(chooses_rates());
        engine.keep_rates(keeps_rates());
    });
}

// ---------------------------------------------------------------------------------------------------- rows

void EnsembleEngine::Staged::begin(const Batch& rows) {
    batch.make(rows);
    leaves.clear();
    cuts.clear();
    leaf_ends.clear();
    cut_ends.clear();
}

LeafRows EnsembleEngine::Staged::rows(const Batch& rows) const {
    return {rows, batch.stage(), leaves.data(), leaf_ends.data(), cuts.data(), cut_ends.data()};
}

void EnsembleEngine::find_curve_leaves(Staged& staged, const Batch& rows, std::size_t r, std::size_t known) const {
    std::vector<std::uint32_t>& leaves = staged.leaves;
    const std::size_t before = leaves.size(), columns = std::min(known, curves_.columns());
    leaves.resize(before + columns);
    leaves.resize(before + curves_.find(*kernel_.trees, rows.raw + r * rows.raw_stride, columns, leaves.data() + before,
                                        staged.intervals));
    staged.leaf_ends.push_back(leaves.size());
}

// Copies the scales, which the rows have changed, to the leaf learners.
void EnsembleEngine::share_scales(const Batch& rows) {
    for (LeafLearner& learner : leaf_learners_) {
        double* const to = learner.lanes().scale();
        to[0] = scales_[0];
        for (std::size_t k = rows.first; k < entries_end(rows); ++k) to[rows.slots[k]] = scales_[rows.slots[k]];
    }
}

// Computes the leaves of curves of all rows, and the cuts after each row. Returns the number of rows before the first
// one with leaves.
std::size_t EnsembleEngine::learn_curves(Staged& staged, const Batch& rows, std::uint64_t examples) {
    std::size_t without_leaves = had_leaves_ ? 0 : rows.rows;
    for (std::size_t r = 0; r < rows.rows; ++r) {
        const bool counts = staged.batch.stage().rows[r].weight > 0;
        const std::size_t columns = rows.raw_counts ? rows.raw_counts[r] : 0, found = staged.leaves.size();
        if (counts) curves_.reserve(columns, rows.raw_kinds);  // a row of weight 0 may lose its columns again
        find_curve_leaves(staged, rows, r, columns);
        if (counts) {
            if (!had_leaves_ && staged.leaves.size() > found) {
                had_leaves_ = true;
                without_leaves = r + 1;
            }
            curves_.learn(rows.raw + r * rows.raw_stride, columns, staged.intervals, ++examples,
                          [&](const Curves::Cut& cut) { staged.cuts.push_back(cut); });
        }
        staged.cut_ends.push_back(staged.cuts.size());
    }
    return without_leaves;
}

// ---------------------------------------------------------------------------------------------------- learning

// If some members have learned rows that others have not, the model is unusable.
void EnsembleEngine::learn(const Batch& batch, double* predictions) {
    check_whole();
    try {
        learn_rows(batch, predictions);
    } catch (const DivergedError&) {  // all members have learned the same rows
        throw;
    } catch (...) {
        broken_ = true;
        parts_.settle();
        running_ = nullptr;
        waiting_ = nullptr;
        for_each_engine([](Engine& engine) { engine.settle(); });
        throw;
    }
}

void EnsembleEngine::check_whole() const {
    if (broken_)
        throw InputError("this model could not finish some rows: some members have learned rows that others have not",
                         "load a model that was saved before");
}

// Updates the scales with the rows, for leaf learners, and the clock. Returns how many rows can be learned.
std::size_t EnsembleEngine::stage_learn(Staged& staged, const Batch& rows) {
    if (leaf_learners_.empty()) {
        clock_ = linear_->clock();
        return rows.rows;
    }
    return kernel_.lanes->stage_learn(setup_.options, clock_, scales_.data(), rows, staged.batch.stage());
}

// The number of known classes after these rows are learned.
std::size_t EnsembleEngine::met_after(const Batch& rows) const {
    std::size_t met = met_;
    for (std::size_t r = 0; setup_.open && r < rows.rows; ++r)
        if (weight_of(rows, r) > 0) met = std::max(met, static_cast<std::size_t>(rows.labels.y[r]) + 1);
    return met;
}

void EnsembleEngine::learn_rows(const Batch& all, double* predictions) {
    if (!running_) forward_settings();
    Work& work = works_[turn_];
    work.staged.begin(all);
    const Clock before = clock_;
    Predictions& made = work.made;
    made.begin(all.rows, member_count(), widths_.learn, predictions);
    std::size_t rows = sane_rows(all, !setup_.has_classes()), diverged_at = all.row + rows;
    if (linear_) {
        try {
            linear_->learn(part_of(all, 0, rows), made.of(linear_place()));
            linear_->finish();
        } catch (const DivergedError& error) {
            linear_->settle();
            diverged_at = error.diverged_at;
            rows = error.row - all.row;
        }
    }
    rows = stage_learn(work.staged, part_of(all, 0, rows));
    work.batch = part_of(all, 0, rows);
    keep_kinds(work);
    made.rows_without_leaves = leaf_learners_.empty() ? 0 : learn_curves(work.staged, work.batch, before.examples);
    made.rows = rows;
    made.labels = all.labels;
    made.labeled = true;
    made.choosing = chooses_rates();
    made.before = before;
    made.met = met_;
    complete();
    start(work);
    met_ = met_after(work.batch);
    turn_ = (turn_ + 1) % std::size(works_);
    if (!lost_row_ && rows == all.rows && diverged_at == all.row + rows) return;
    complete();
    combine_waiting();
    diverged_at = std::min(diverged_at, all.row + rows);
    throw_diverged(lost_row_ ? *std::exchange(lost_row_, std::nullopt) : diverged_at, all.row + rows);
}

// Copies the kinds of the columns: the next batch may have more.
void EnsembleEngine::keep_kinds(Work& work) {
    Batch& rows = work.batch;
    if (!rows.raw_counts || rows.rows == 0) return;
    const std::size_t columns = *std::max_element(rows.raw_counts, rows.raw_counts + rows.rows);
    work.staged.kinds.assign(rows.raw_kinds, rows.raw_kinds + columns);
    rows.raw_kinds = work.staged.kinds.data();
}

// Lets the members learn a batch that was staged, the one with the most work first. Without other threads, they have
// learned it when this returns.
void EnsembleEngine::start(Work& work) {
    share_scales(work.batch);
    for (LeafLearner& learner : leaf_learners_) learner.reserve_columns(curves_.columns());
    tasks_.clear();
    for (std::size_t i = leaf_learners_.size(); i-- > 0;) tasks_.push_back({Task::Kind::leaf_learner, i});
    for (std::size_t i = engines_.size(); i-- > 0;) tasks_.push_back({Task::Kind::engine, i});
    work.before = std::exchange(waiting_, nullptr);
    if (work.before) tasks_.push_back({Task::Kind::combine});
    running_ = &work;
    // Each thread takes the task that it had before if it can: the state of the member is in its cache.
    claims_.open(tasks_.size());
    const auto task = [this, &work](std::size_t) { learn_part(tasks_[claims_.claim(seat_of_thread())], work); };
    const std::size_t helpers =
        work.batch.rows < few_rows ? 0 : std::min(tasks_.size() + most_helpers, most_threads - 1);
    if (!parts_.start(workers(), tasks_.size(), helpers, true, task)) parts_.settle();
}

void EnsembleEngine::learn_part(const Task& task, Work& work) {
    Predictions& made = work.made;
    switch (task.kind) {
        case Task::Kind::engine:
            engines_[task.member].engine->learn(work.batch, made.of(engine_place(task.member)));
            return engines_[task.member].engine->finish();
        case Task::Kind::leaf_learner:
            return leaf_learners_[task.member].learn(work.staged.rows(work.batch), made.before,
                                                     {made.choosing, !keeps_rates()}, made.width, made.of(task.member));
        default:
            return combine(*work.before);
    }
}

// Waits until the members have learned the batch that they are learning.
void EnsembleEngine::complete() {
    if (!running_) return;
    Work& work = *std::exchange(running_, nullptr);
    try {
        parts_.wait();
    } catch (...) {  // one member has an error, while the others have learned more rows
        broken_ = true;
        waiting_ = nullptr;
        for_each_engine([](Engine& engine) { engine.settle(); });
        throw;
    }
    waiting_ = &work.made;
    bool lost = false;
    for (const LeafLearner& learner : leaf_learners_) {
        work.made.restarts.insert(work.made.restarts.end(), learner.restarts().begin(), learner.restarts().end());
        lost = lost || (work.batch.rows && learner.diverged());
    }
    if (lost && !lost_row_) lost_row_ = work.batch.row + work.batch.rows - 1;
}

void EnsembleEngine::combine_waiting() {
    if (waiting_) combine(*std::exchange(waiting_, nullptr));
}

void EnsembleEngine::finish() {
    complete();
    combine_waiting();
    if (lost_row_) {
        const std::size_t row = *std::exchange(lost_row_, std::nullopt);
        throw_diverged(row, row + 1);
    }
}

void EnsembleEngine::prune_rates() {
    finish();
    for_each_engine([](Engine& engine) {
        if (RateSelection* const rates = engine.capabilities().rates) rates->prune_rates();
    });
    for (LeafLearner& learner : leaf_learners_) learner.prune_rates();
}

void EnsembleEngine::keep_leaders() {
    finish();
    for_each_engine([](Engine& engine) {
        if (RateSelection* const rates = engine.capabilities().rates) rates->keep_leaders();
    });
    for (LeafLearner& learner : leaf_learners_) learner.keep_leaders();
}

double EnsembleEngine::scale(std::uint32_t slot) const {
    if (linear_) return scales_of(*linear_).scale(slot);
    return slot < slots_ ? leaf_learners_[0].lanes().scale()[slot] : 0.0;
}

// Leaves of curves and trees have no scales.
void EnsembleEngine::lower_scale(std::uint32_t slot, double scale) {
    const double before = this->scale(slot);
    if (linear_) scales_of(*linear_).lower_scale(slot, scale);
    for (const Member& member : engines_) {  // their scales may be of another kind
        ScaleAccess& scales = scales_of(*member.engine);
        const double own = scales.scale(slot);
        if (own > 0) scales.lower_scale(slot, own == before ? scale : own * (scale / before));
    }
    for (const LeafLearner& learner : leaf_learners_) learner.lanes().lower_scale(slot, scale);
    if (!leaf_learners_.empty()) scales_[slot] = scale;
}

// ---------------------------------------------------------------------------------------------------- predicting

std::unique_ptr<EngineScratch> EnsembleEngine::make_scratch() const {
    auto scratch = std::make_unique<Scratch>();
    scratch->leaf_learners.resize(leaf_learners_.size());
    for_each_engine([&](const Engine& engine) { scratch->engines.push_back(engine.make_scratch()); });
    return scratch;
}

void EnsembleEngine::stage_predict(Staged& staged, const Batch& rows, bool extrapolate) const {
    staged.begin(rows);
    if (leaf_learners_.empty()) return;
    kernel_.lanes->stage_predict(setup_.options, clock_, leaf_learners_[0].lanes().scale(), rows, extrapolate,
                                 staged.batch.stage());
    for (std::size_t r = 0; r < rows.rows; ++r) {
        find_curve_leaves(staged, rows, r, rows.raw_counts ? rows.raw_counts[r] : 0);
        staged.cut_ends.push_back(0);
    }
}

void EnsembleEngine::begin_predictions(Predictions& of, const Batch& rows, double* predictions) const {
    of.begin(rows.rows, member_count(), widths_.predict, predictions);
    of.labeled = of.choosing = false;
    of.labels = rows.labels;
    of.before = clock_;
    of.met = met_;
    of.rows_without_leaves = had_leaves_ || leaf_learners_.empty() ? 0 : rows.rows;
}

void EnsembleEngine::predict(const Batch& batch, const PredictOptions& options, double* predictions,
                             EngineScratch& given) const {
    auto& scratch = static_cast<Scratch&>(given);
    check_whole();
    stage_predict(scratch.staged, batch, options.extrapolate);
    Predictions& made = scratch.predictions;
    begin_predictions(made, batch, predictions);
    const LeafRows leaf_rows = scratch.staged.rows(batch);
    for (std::size_t i = 0; i < leaf_learners_.size(); ++i)
        leaf_learners_[i].predict(leaf_rows, made.width, made.of(i), scratch.leaf_learners[i]);
    std::size_t at = 0;
    for_each_engine([&](const Engine& engine) {
        engine.predict(batch, options, made.of(linear_place() + at), *scratch.engines[at]);
        ++at;
    });
    if (member_count() == 1) {
        std::copy_n(made.of(0), made.rows * made.width, predictions);
        return;
    }
    for (std::size_t r = 0; r < made.rows; ++r) combine_row(made, r, made.met, scratch.row);
}

void EnsembleEngine::judge(const Batch& batch, const PredictOptions& options, double* predictions) {
    check_whole();
    forward_settings();
    Work& work = works_[turn_];
    stage_predict(work.staged, batch, options.extrapolate);
    Predictions& made = work.made;
    begin_predictions(made, batch, predictions);
    made.labeled = made.choosing = true;
    const LeafRows leaf_rows = work.staged.rows(batch);
    tasks_.clear();
    for (std::size_t i = leaf_learners_.size(); i-- > 0;) tasks_.push_back({Task::Kind::leaf_learner, i});
    for (std::size_t i = 0; i < engines_.size(); ++i) tasks_.push_back({Task::Kind::engine, i});
    if (linear_) tasks_.push_back({Task::Kind::linear});
    const auto judge_with = [&](const Task& task) {
        switch (task.kind) {
            case Task::Kind::leaf_learner:
                return leaf_learners_[task.member].judge(leaf_rows, made.width, made.of(task.member));
            case Task::Kind::engine:
                return engines_[task.member].engine->judge(batch, options, made.of(engine_place(task.member)));
            default:
                return linear_->judge(batch, options, made.of(linear_place()));
        }
    };
    if (batch.rows < few_rows) {
        for (const Task& task : tasks_) judge_with(task);
    } else {
        in_parts(workers(), tasks_.size(), [&](std::size_t i) { judge_with(tasks_[i]); });
    }
    combine(made);
}

// ---------------------------------------------------------------------------------------------------- combining

// The loss of one member's scores, summed over the classes.
double EnsembleEngine::loss_of(const double* scores, std::size_t heads, double y) const {
    double total = 0;
    const double negative = facts_of(setup_.options.loss).negative;
    for (std::size_t head = 0; head < heads; ++head) {
        const double label = !setup_.has_classes() ? y : y == static_cast<double>(head) ? 1.0 : negative;
        double loss = 0;
        kernel_.loss(setup_.options, 0, scores + head, &label, nullptr, 1, &loss);
        total += loss;
    }
    return total;
}

void EnsembleEngine::gather(const Predictions& of, std::size_t r, std::size_t heads, std::vector<double>& to) const {
    to.resize(member_count() * of.width);
    for (std::size_t k = 0; k < member_count(); ++k) std::copy_n(of.of(k) + r * of.width, heads, to.data() + k * heads);
    // Without leaves, the linear member and the first leaf learner differ only by rounding, which must not influence
    // the losses.
    if (r < of.rows_without_leaves) std::copy_n(to.data(), heads, to.data() + linear_place() * heads);
}

// For classes that were unknown before the row, the prediction is the members' mean, which is equal for all such
// classes.
void EnsembleEngine::combine_row(const Predictions& of, std::size_t r, std::size_t met,
                                 std::vector<double>& members) const {
    const std::size_t heads = setup_.has_classes() ? met : 1;
    double* const to = of.combined + r * of.width;
    gather(of, r, heads, members);
    if (heads) mixture_.combine({members.data(), heads, offset_of(of.labels, r)}, to);
    for (std::size_t head = heads; head < of.width; ++head) {
        double total = 0;
        for (std::size_t k = 0; k < member_count(); ++k) total += of.of(k)[r * of.width + head];
        to[head] = total / static_cast<double>(member_count());
    }
}

// Combines the predictions of all rows. If there are labels, the mixture learns them.
void EnsembleEngine::combine(const Predictions& of) {
    if (member_count() == 1) {
        std::copy_n(of.of(0), of.rows * of.width, of.combined);
        return;
    }
    const bool needs_losses = mixture_kind(setup_) == Mixture::Kind::other;
    std::vector<double> losses(member_count());
    double t = of.before.t;
    std::uint64_t examples = of.before.examples;
    std::size_t met = of.met;
    for (std::size_t r = 0; r < of.rows; ++r) {
        std::size_t heads = setup_.has_classes() ? met : 1;
        combine_row(of, r, met, row_);
        const double h = of.labeled ? weight_of(of.labels, r) : 0.0;
        if (!(h > 0)) continue;
        const double y = of.labels.y[r];
        t += h;
        examples += 1;
        // After the prediction, which must not depend on the label.
        if (setup_.open && static_cast<std::size_t>(y) >= met) {
            heads = met = static_cast<std::size_t>(y) + 1;
            gather(of, r, heads, row_);
        }
        if (!of.choosing) continue;
        for (std::size_t k = 0; needs_losses && k < losses.size(); ++k)
            losses[k] = loss_of(row_.data() + k * heads, heads, y);
        mixture_.learn({row_.data(), heads, offset_of(of.labels, r)}, y, h * (static_cast<double>(examples) / t),
                       losses.data());
        if (std::find(of.restarts.begin(), of.restarts.end(), r) != of.restarts.end()) mixture_.restart();
    }
}

// ---------------------------------------------------------------------------------------------------- state

void EnsembleEngine::save(std::size_t slots, EngineState& to) const {
    check_whole();
    save_common(to);
    if (linear_) linear_->save(slots, to);
    if (linear_ && linear_->clock().N != clock_.N) to.linear_N = linear_->clock().N;
    to.clock = clock_;
    to.choosing = choosing_;
    for (const Member& member : engines_) {
        to.members.push_back({member.name, {}});
        EngineState& own = to.members.back().state;
        member.engine->save(slots, own);
        own.choosing = choosing_;  // it may not have been forwarded yet
    }
    if (setup_.has_classes() && !engines_.empty()) to.classes_met = met_;
    if (!leaf_learners_.empty()) {
        curves_.save(to.curves.emplace());
        to.curves->met = had_leaves_;
    }
    for (std::size_t i = 0; i < leaf_learners_.size(); ++i) {
        LeafState& own = (i == 0 ? to.curve_learner : to.tree_learner).emplace();
        EngineState lanes;
        leaf_learners_[i].save(slots, linear_ ? lanes : to, own, to.trees);
        if (linear_) own.lanes = std::move(lanes);
    }
    if (member_count() > 1) to.mixture = mixture_.save();
}

void EnsembleEngine::load_linear(const EngineState& from) {
    if (!from.linear_N) return linear_->load(from);
    EngineState own = from;
    own.clock.N = *from.linear_N;
    linear_->load(own);
}

void EnsembleEngine::load_leaf_learner(std::size_t i, const std::optional<LeafState>& state, const EngineState& from) {
    if (!state || state->lanes.has_value() != (linear_ != nullptr))
        throw InputError("the leaves do not belong to a model with these options");
    LeafLearner& learner = leaf_learners_[i];
    if (linear_) {
        EngineState lanes;
        static_cast<LaneState&>(lanes) = *state->lanes;
        lanes.slots = from.slots;
        lanes.scale = from.scale;
        lanes.clock = from.clock;
        learner.load(lanes, *state, from.trees, slots_, curves_.columns());
    } else {
        learner.load(from, *state, from.trees, slots_, curves_.columns());
    }
    if (learner.class_count() != leaf_learners_[0].class_count() ||
        (linear_ && setup_.has_classes() && learner.class_count() > linear_->widths().classes))
        throw InputError("the members of the ensemble differ in their classes");
}

void EnsembleEngine::load(const EngineState& from) {
    if (linear_) load_linear(from);
    for (Member& member : engines_) {
        const auto own = std::find_if(from.members.begin(), from.members.end(),
                                      [&](const MemberState& one) { return one.name == member.name; });
        if (own == from.members.end()) throw InputError("the model has no member '" + member.name + "'");
        member.engine->load(own->state);
    }
    if (!leaf_learners_.empty()) {
        if (!from.curves) throw InputError("the model has no curves");
        curves_.load(*from.curves);
        had_leaves_ = from.curves->met.value_or(true);
    }
    if (leaf_learners_.size() > 0) load_leaf_learner(0, from.curve_learner, from);
    if (leaf_learners_.size() > 1) load_leaf_learner(1, from.tree_learner, from);
    if (!leaf_learners_.empty())
        scales_.assign(leaf_learners_[0].lanes().scale(), leaf_learners_[0].lanes().scale() + slots_);
    if (setup_.has_classes()) {
        set_classes(linear_ ? linear_->widths().classes : leaf_learners_[0].class_count());
        met_ = leaf_learners_.empty() ? widths_.classes : leaf_learners_[0].class_count();
    }
    if (setup_.has_classes() && !engines_.empty()) {
        bool agree = from.classes_met && *from.classes_met <= widths_.classes;
        agree = agree && (leaf_learners_.empty() || *from.classes_met == met_);
        for (const Member& member : engines_) agree = agree && member.engine->widths().classes == widths_.classes;
        if (!agree) throw InputError("the members of the ensemble differ in their classes");
        met_ = *from.classes_met;
    }
    if (member_count() > 1) {
        if (!from.mixture) throw InputError("the model has no mixture");
        mixture_.load(*from.mixture);
    }
    load_common(from);
    forward_settings();
}

Engine::Description EnsembleEngine::describe(std::size_t features) const {
    Description whole{.bytes = sizeof(*this) + curves_.bytes(), .effort = 64};
    for_each_engine([&](const Engine& engine) {
        const Description own = engine.describe(features);
        whole.bytes += own.bytes;
        whole.effort += own.effort;
    });
    for (const Work& work : works_)
        whole.bytes += work.staged.batch.bytes() + work.made.numbers.capacity() * sizeof(double);
    for (const LeafLearner& learner : leaf_learners_) whole.bytes += learner.bytes();
    whole.effort += leaf_learners_.size() * (16 * features + 8 * setup_.tree_size.trees) *
                    std::max<std::size_t>(1, widths_.classes);
    return whole;
}

}  // namespace unitless
