#include "engine/shapes/engine.hpp"

#include <algorithm>
#include <cmath>

#include "algorithm/dispatch.hpp"
#include "base/workers.hpp"
#include "engine/shapes/named_state.hpp"
#include "engine/shapes/numbers.hpp"

namespace unitless {
namespace {

constexpr const char* expert_names[] = {"curves", "trees"};
constexpr const char *met_name = "classes.met", *linear_N = "linear.N";

EngineSetup without_average(EngineSetup setup) {
    setup.average = false;
    return setup;
}

std::vector<Expert> make_experts(const EngineSetup& setup, const Kernel& kernel) {
    std::vector<Expert> experts;
    if (setup.form.shape == Shape::linear) return experts;
    experts.reserve(2);
    experts.emplace_back(setup, kernel, false);
    if (setup.form.shape == Shape::trees) experts.emplace_back(setup, kernel, true);
    return experts;
}

Mixture::Kind mixture_kind(const EngineSetup& setup) {
    const Mixing mixing = facts_of(setup.options.loss).mixing;
    if (mixing == Mixing::odds) return setup.has_classes() ? Mixture::Kind::classes : Mixture::Kind::logistic;
    return mixing == Mixing::numbers && !setup.has_classes() ? Mixture::Kind::squared : Mixture::Kind::other;
}

// The lanes of an expert beside the linear one; slots and scales are those of all.
EngineState expert_lanes(const std::string& name, const EngineState& from) {
    EngineState lanes = taken_lanes(name, from.shape);
    lanes.slots = from.slots;
    lanes.scale = from.scale;
    return lanes;
}

}  // namespace

ShapedEngine::ShapedEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock,
                           std::unique_ptr<Engine> linear, std::vector<Companion> company)
    : Engine(linear ? setup : without_average(setup), clock),
      setup_(setup),
      kernel_(kernel),
      linear_(std::move(linear)),
      company_(std::move(company)),
      experts_(make_experts(setup, kernel)),
      mixture_(mixture_kind(setup), expert_count()),
      classes_(setup.classes),
      met_(setup.classes) {}

template <class Action>
void ShapedEngine::for_each_engine(const Action& action) const {
    if (linear_) action(*linear_);
    for (const Companion& one : company_) action(*one.engine);
}

void ShapedEngine::add_classes(std::size_t count) {
    if (!setup_.open) return Engine::add_classes(count);
    for_each_engine([&](Engine& engine) { engine.add_classes(count); });
    classes_ += count;  // experts take them up when they are met
}

void ShapedEngine::reserve(std::size_t slots, bool growing) {
    for_each_engine([&](Engine& engine) { engine.reserve(slots, growing); });
    if (slots <= slots_) return;
    const std::size_t more = growing ? std::max(slots, 2 * slots_) : slots;
    for (Expert& expert : experts_) expert.reserve(more);
    slots_ = more;  // last: if memory runs out before, all of it is done the next time
}

void ShapedEngine::keep_average(bool average) {
    Engine::keep_average(average);
    forward_settings();
}

// What was asked of this engine is asked of those that it has.
void ShapedEngine::forward_settings() {
    for_each_engine([&](Engine& engine) {
        engine.choose_rates(chooses_rates());
        engine.keep_rates(keeps_rates());
        if (engine.averages()) engine.keep_average(keeps_average());
    });
}

// ---------------------------------------------------------------------------------------------------- rows

void ShapedEngine::Staged::begin(const SparseInput& input) {
    batch.make_stage(input);
    leaves.clear();
    cuts.clear();
    leaf_ends.clear();
    cut_ends.clear();
}

ShapedRows ShapedEngine::Staged::rows(const SparseInput& input) const {
    return {input.rows,      batch.stage,   input.raw,        input.raw_stride, input.raw_counts,
            input.raw_kinds, leaves.data(), leaf_ends.data(), cuts.data(),      cut_ends.data()};
}

void ShapedEngine::find_curves(Staged& staged, const SparseInput& input, std::size_t r, std::size_t known) const {
    std::vector<std::uint32_t>& leaves = staged.leaves;
    const std::size_t before = leaves.size(), columns = std::min(known, curves_.columns());
    leaves.resize(before + columns);
    leaves.resize(before + curves_.find(*kernel_.shapes, input.raw + r * input.raw_stride, columns,
                                        leaves.data() + before, staged.intervals));
    staged.leaf_ends.push_back(leaves.size());
}

// All parts, side by side where that is worth it.
void ShapedEngine::run(std::size_t rows, const std::vector<std::function<void()>>& parts) {
    if (parts.size() == 1 || rows < 16) {
        for (const auto& part : parts) part();
        return;
    }
    in_parts(workers(), parts.size(), [&](std::size_t i) { parts[i](); });
}

// The first expert's scales have been moved by these rows: so have the others'.
void ShapedEngine::share_scales(const SparseInput& input) {
    if (experts_.empty()) return;
    const double* const from = experts_[0].lanes().scale();
    for (std::size_t i = 1; i < experts_.size(); ++i) {
        double* const to = experts_[i].lanes().scale();
        to[0] = from[0];
        for (std::size_t k = 0; k < entries_of(input); ++k) {
            const std::uint32_t slot = input.slots[input.first + k];
            to[slot] = from[slot];
        }
    }
}

// Leaves of curves of all rows, and the cuts after each. Gives the first row that comes after one that had leaves.
std::size_t ShapedEngine::learn_curves(const SparseInput& input, std::uint64_t examples) {
    std::size_t curved_from = curved_ ? 0 : input.rows;
    for (std::size_t r = 0; r < input.rows; ++r) {
        const bool counts = staged_.batch.staged[r].weight > 0;
        const std::size_t columns = input.raw_counts ? input.raw_counts[r] : 0, found = staged_.leaves.size();
        if (counts) curves_.reserve(columns, input.raw_kinds);  // of rows that do not, columns may be forgotten again
        find_curves(staged_, input, r, columns);
        if (counts) {
            if (!curved_ && staged_.leaves.size() > found) {
                curved_ = true;
                curved_from = r + 1;
            }
            curves_.learn(input.raw + r * input.raw_stride, columns, staged_.intervals, ++examples,
                          [&](const Curves::Cut& cut) { staged_.cuts.push_back(cut); });
        }
        staged_.cut_ends.push_back(staged_.cuts.size());
    }
    return curved_from;
}

// Rows that are learned by some experts and not by others leave a model that is of no use.
void ShapedEngine::learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) {
    check_whole();
    try {
        learn_rows(rows, labels, predictions, row);
    } catch (const DivergedError&) {  // all have learned the same rows
        throw;
    } catch (...) {
        broken_ = true;
        waiting_ = nullptr;
        throw;
    }
}

void ShapedEngine::check_whole() const {
    if (broken_)
        throw InputError("this model could not finish some rows, and some of it has not learned what the rest has",
                         "go on from one that was saved before");
}

// The rows' scales, for curves and trees; gives how many rows can be learned. The clock moves on.
std::size_t ShapedEngine::stage(const SparseInput& rows, const Labels& labels) {
    if (experts_.empty()) {
        clock_ = linear_->clock();
        return rows.rows;
    }
    return kernel_.lanes->stage_learn(setup_.options, clock_, experts_[0].lanes().scale(), rows, labels,
                                      staged_.batch.stage);
}

// Classes, when these rows have been learned.
std::size_t ShapedEngine::met_after(const Labels& labels, std::size_t rows) const {
    std::size_t met = met_;
    for (std::size_t r = 0; setup_.open && r < rows; ++r)
        if (weight_of(labels, r) > 0) met = std::max(met, static_cast<std::size_t>(labels.y[r]) + 1);
    return met;
}

void ShapedEngine::learn_rows(const SparseInput& all, const Labels& labels, double* predictions, std::size_t row) {
    forward_settings();
    staged_.begin(all);
    const Clock before = clock_;
    const std::size_t width = predict_width();
    Said& said = said_[turn_];
    said.begin(all.rows, expert_count(), width, predictions);
    std::size_t rows = sane_rows(labels, all.rows, !setup_.has_classes()), diverged_at = row + rows;
    if (linear_) {
        try {
            linear_->learn(part_of(all, 0, rows), labels, said.by(linear_place()), row);
            linear_->finish();
        } catch (const DivergedError& error) {
            diverged_at = error.diverged_at;
            rows = error.row - row;
        }
    }
    rows = stage(part_of(all, 0, rows), labels);
    const SparseInput input = part_of(all, 0, rows);
    share_scales(input);
    said.curved_from = experts_.empty() ? 0 : learn_curves(input, before.examples);
    for (Expert& expert : experts_) expert.reserve_columns(curves_.columns());
    said.rows = rows;
    said.labels = labels;
    said.learned = true;
    said.choosing = chooses_rates();
    said.before = before;
    said.met = met_;
    const ShapedRows shaped = staged_.rows(input);
    // Those that take longest begin. What the batch before has to do yet is done on the way.
    std::vector<std::function<void()>> parts;
    for (std::size_t i = company_.size(); i-- > 0;)
        parts.emplace_back([&, i] {
            company_[i].engine->learn(input, labels, said.by(company_place(i)), row);
            company_[i].engine->finish();
        });
    for (std::size_t i = experts_.size(); i-- > 0;) {
        Expert& expert = experts_[i];
        const std::size_t walks = expert.begin_walks(shaped);
        parts.emplace_back(
            [&, i] { expert.learn(shaped, labels, before, said.choosing, !keeps_rates(), width, said.by(i)); });
        for (std::size_t k = 0; k < walks; ++k) parts.emplace_back([&, k] { expert.walk(shaped, k); });
    }
    if (waiting_) parts.emplace_back([this] { finish(); });
    try {
        run(rows, parts);
    } catch (const DivergedError&) {  // of one whose company has learned more
        broken_ = true;
        waiting_ = nullptr;
        throw;
    }
    met_ = met_after(labels, rows);
    waiting_ = &said;
    turn_ = 1 - turn_;
    if (rows < all.rows || diverged_at < row + rows) {
        finish();
        throw_diverged(std::min(diverged_at, row + rows), row + rows);
    }
    for (const Expert& expert : experts_)
        if (rows && expert.diverged()) {
            finish();
            throw_diverged(row + rows - 1, row + rows);
        }
}

void ShapedEngine::finish() {
    if (waiting_) mix(*std::exchange(waiting_, nullptr));
}

void ShapedEngine::sift_rates() {
    finish();
    for_each_engine([](Engine& engine) { engine.sift_rates(); });
    for (Expert& expert : experts_) expert.sift_rates();
}

void ShapedEngine::settle() noexcept {
    for_each_engine([](Engine& engine) { engine.settle(); });
    try {
        finish();
    } catch (...) {  // out of memory once more
    }
}

double ShapedEngine::scale(std::uint32_t slot) const {
    if (linear_) return linear_->scale(slot);
    return slot < slots_ ? experts_[0].lanes().scale()[slot] : 0.0;
}

// Leaves of curves and trees have no scales.
void ShapedEngine::lower_scale(std::uint32_t slot, double scale) {
    const double before = this->scale(slot);
    if (linear_) linear_->lower_scale(slot, scale);
    for (const Companion& one : company_) {  // whose scales may be of another kind
        const double own = one.engine->scale(slot);
        if (own > 0) one.engine->lower_scale(slot, own == before ? scale : own * (scale / before));
    }
    for (const Expert& expert : experts_) expert.lanes().lower_scale(slot, scale);
}

std::unique_ptr<Engine::Room> ShapedEngine::make_room() const {
    auto room = std::make_unique<ShapedRoom>();
    room->experts.resize(experts_.size());
    for_each_engine([&](const Engine& engine) { room->engines.push_back(engine.make_room()); });
    return room;
}

std::size_t ShapedEngine::effort(std::size_t features) const {
    std::size_t total = experts_.size() * (16 * features + 8 * Trees::count) * std::max<std::size_t>(1, classes_) + 64;
    for_each_engine([&](const Engine& engine) { total += engine.effort(features); });
    return total;
}

void ShapedEngine::stage_predict(Staged& staged, const SparseInput& input, const Asking& asking) const {
    staged.begin(input);
    if (experts_.empty()) return;
    kernel_.lanes->stage_predict(setup_.options, clock_, experts_[0].lanes().scale(), input, asking.extrapolate,
                                 staged.batch.stage);
    for (std::size_t r = 0; r < input.rows; ++r) {
        find_curves(staged, input, r, input.raw_counts ? input.raw_counts[r] : 0);
        staged.cut_ends.push_back(0);
    }
}

void ShapedEngine::begin_saying(Said& said, const SparseInput& input, const Asking& asking, double* predictions) const {
    said.begin(input.rows, expert_count(), predict_width(), predictions);
    said.learned = said.choosing = false;
    said.labels = {};
    said.labels.offset = asking.offset;
    said.before = clock_;
    said.met = met_;
    said.curved_from = curved_ || experts_.empty() ? 0 : input.rows;
}

void ShapedEngine::predict(const SparseInput& input, const Asking& asking, double* predictions, Room& given) const {
    auto& room = static_cast<ShapedRoom&>(given);
    check_whole();
    stage_predict(room.staged, input, asking);
    Said& said = room.said;
    begin_saying(said, input, asking, predictions);
    const ShapedRows shaped = room.staged.rows(input);
    for (std::size_t i = 0; i < experts_.size(); ++i)
        experts_[i].predict(shaped, said.width, asking.offset, said.by(i), room.experts[i]);
    std::size_t at = 0;
    for_each_engine([&](const Engine& engine) {
        engine.predict(input, asking, said.by(experts_.size() + at), *room.engines[at]);
        ++at;
    });
    if (expert_count() == 1) {
        std::copy_n(said.by(0), said.rows * said.width, predictions);
        return;
    }
    for (std::size_t r = 0; r < said.rows; ++r) say(said, r, said.met, room.row_said);
}

void ShapedEngine::judge(const SparseInput& input, const Asking& asking, const Labels& labels, double* predictions) {
    check_whole();
    forward_settings();
    stage_predict(staged_, input, asking);
    Said& said = said_[turn_];
    begin_saying(said, input, asking, predictions);
    said.learned = said.choosing = true;
    said.labels = labels;
    said.labels.offset = asking.offset;
    const ShapedRows shaped = staged_.rows(input);
    std::vector<std::function<void()>> parts;
    for (std::size_t i = experts_.size(); i-- > 0;)
        parts.emplace_back([&, i] { experts_[i].judge(shaped, said.width, asking.offset, labels, said.by(i)); });
    for (std::size_t i = 0; i < company_.size(); ++i)
        parts.emplace_back([&, i] { company_[i].engine->judge(input, asking, labels, said.by(company_place(i))); });
    if (linear_) parts.emplace_back([&] { linear_->judge(input, asking, labels, said.by(linear_place())); });
    run(input.rows, parts);
    mix(said);
}

// The loss of one expert's scores, all classes together.
double ShapedEngine::loss_of(const double* scores, std::size_t heads, double y) const {
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

void ShapedEngine::gather(const Said& said, std::size_t r, std::size_t heads, std::vector<double>& row_said) const {
    const std::size_t experts = expert_count();
    row_said.resize(experts * said.width);
    for (std::size_t e = 0; e < experts; ++e)
        std::copy_n(said.by(e) + r * said.width, heads, row_said.data() + e * heads);
    if (r < said.curved_from)  // the linear one and the first differ by rounding, which losses would judge
        std::copy_n(row_said.data(), heads, row_said.data() + linear_place() * heads);
}

// What the experts have said of a row becomes one prediction. Of classes that were not met before it, experts say what
// they say of any such.
void ShapedEngine::say(const Said& said, std::size_t r, std::size_t met, std::vector<double>& row_said) const {
    const std::size_t experts = expert_count(), heads = setup_.has_classes() ? met : 1;
    double* const to = said.predictions + r * said.width;
    gather(said, r, heads, row_said);
    if (heads) mixture_.say(row_said.data(), heads, to, offset_of(said.labels, r));
    for (std::size_t head = heads; head < said.width; ++head) {
        double total = 0;
        for (std::size_t e = 0; e < experts; ++e) total += said.by(e)[r * said.width + head];
        to[head] = total / static_cast<double>(experts);
    }
}

// What the experts have said of rows becomes predictions; of rows that were learned the mixture learns.
void ShapedEngine::mix(const Said& said) {
    const std::size_t experts = expert_count();
    if (experts == 1) {
        std::copy_n(said.by(0), said.rows * said.width, said.predictions);
        return;
    }
    const bool losses_matter = mixture_kind(setup_) == Mixture::Kind::other;
    std::vector<double> losses(experts);
    double t = said.before.t;
    std::uint64_t examples = said.before.examples;
    std::size_t met = said.met;
    for (std::size_t r = 0; r < said.rows; ++r) {
        std::size_t heads = setup_.has_classes() ? met : 1;
        say(said, r, met, row_said_);
        const double h = said.learned ? weight_of(said.labels, r) : 0.0;
        if (!(h > 0)) continue;
        const double y = said.labels.y[r];
        t += h;
        examples += 1;
        if (setup_.open && static_cast<std::size_t>(y) >= met) {  // only now: what was said must not know the label
            heads = met = static_cast<std::size_t>(y) + 1;
            gather(said, r, heads, row_said_);
        }
        if (!said.choosing) continue;
        for (std::size_t e = 0; losses_matter && e < experts; ++e)
            losses[e] = loss_of(row_said_.data() + e * heads, heads, y);
        mixture_.learn(row_said_.data(), heads, y, h * (static_cast<double>(examples) / t), losses.data(),
                       offset_of(said.labels, r));
    }
}

// ---------------------------------------------------------------------------------------------------- state

void ShapedEngine::save(std::size_t slots, EngineState& to) const {
    check_whole();
    save_common(to);
    if (linear_) linear_->save(slots, to);
    // The linear one may have added up z^2 in another order.
    if (linear_ && linear_->clock().N != clock_.N) to.shape.push_back({linear_N, {linear_->clock().N}});
    to.clock = clock_;
    to.choosing = choosing_;
    to.keeps_average = keeps_average_;
    for (const Companion& one : company_) {
        EngineState own;
        one.engine->save(slots, own);
        own.choosing = choosing_;  // which it may not have been told of yet
        own.keeps_average = one.engine->averages() && keeps_average_;
        put_state(one.name, own, to.shape);
    }
    if (setup_.has_classes() && !company_.empty()) to.shape.push_back({met_name, {static_cast<double>(met_)}});
    if (!experts_.empty()) {
        curves_.save(to.shape);
        to.shape.push_back({"curve.met", {curved_ ? 1.0 : 0.0}});
    }
    for (std::size_t i = 0; i < experts_.size(); ++i) {
        EngineState lanes;
        experts_[i].save(expert_names[i], slots, linear_ ? lanes : to, to.shape);
        if (linear_) put_lanes(expert_names[i], lanes, to.shape);
    }
    if (expert_count() > 1) to.shape.push_back({"mixture", mixture_.save()});
}

void ShapedEngine::load_linear(const EngineState& from) {
    const auto own = std::find_if(from.shape.begin(), from.shape.end(),
                                  [](const NamedNumbers& one) { return one.name == linear_N; });
    if (own == from.shape.end()) return linear_->load(from);
    if (own->numbers.size() != 1 || !(own->numbers[0] >= 0 && std::isfinite(own->numbers[0])))
        throw InputError("the totals of the linear expert are not such as learning gives");
    EngineState with_own = from;
    with_own.clock.N = own->numbers[0];
    linear_->load(with_own);
}

void ShapedEngine::load(const EngineState& from) {
    if (linear_) load_linear(from);
    for (Companion& one : company_) one.engine->load(taken_state(one.name, from.shape, slots_));
    if (!experts_.empty()) curves_.load(from.shape);
    curved_ = true;  // a model that was merged does not say
    for (const NamedNumbers& one : from.shape) {
        if (one.name != "curve.met") continue;
        if (one.numbers.size() != 1 || !is_count(one.numbers[0], 2))
            throw InputError("the curves are not such as learning gives");
        curved_ = one.numbers[0] != 0;
    }
    for (std::size_t i = 0; i < experts_.size(); ++i) {
        Expert& expert = experts_[i];
        const std::string name = expert_names[i];
        expert.load(name, linear_ ? expert_lanes(name, from) : from, from.shape, slots_, curves_.columns());
        if (expert.class_count() != experts_[0].class_count() ||
            (linear_ && setup_.has_classes() && expert.class_count() > linear_->class_count()))
            throw InputError("the experts differ in their classes");
    }
    if (setup_.has_classes()) {
        classes_ = linear_ ? linear_->class_count() : experts_[0].class_count();
        met_ = experts_.empty() ? classes_ : experts_[0].class_count();
    }
    if (setup_.has_classes() && !company_.empty()) {
        const std::vector<double>& met = numbers_named(from.shape, met_name);
        if (met.size() != 1 || !is_count(met[0], classes_ + 1) || (!experts_.empty() && met[0] != met_))
            throw InputError("the experts differ in their classes");
        met_ = static_cast<std::size_t>(met[0]);
        for (const Companion& one : company_)
            if (one.engine->class_count() != classes_) throw InputError("the experts differ in their classes");
    }
    if (expert_count() > 1) mixture_.load(numbers_named(from.shape, "mixture"));
    load_common(from);
    forward_settings();
}

std::size_t ShapedEngine::bytes() const {
    std::size_t total = sizeof(*this) + curves_.bytes() + staged_.batch.bytes();
    for_each_engine([&](const Engine& engine) { total += engine.bytes(); });
    for (const Said& said : said_) total += said.numbers.capacity() * sizeof(double);
    for (const Expert& expert : experts_) total += expert.bytes();
    return total;
}

}  // namespace unitless
