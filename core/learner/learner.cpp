#include "learner/learner.hpp"

#include <algorithm>
#include <cmath>
#include <shared_mutex>
#include <unordered_set>
#include <utility>

#include "algorithm/dispatch.hpp"
#include "base/parts.hpp"
#include "base/workers.hpp"
#include "encoding/dense_source.hpp"
#include "rows/dense_values.hpp"

namespace unitless {
namespace {

// The amount of work, in multiplications, that justifies a thread: about 30 microseconds.
constexpr std::size_t work_per_part = 65536;
// The number of parts per thread before the lock is released for a moment.
constexpr std::size_t parts_at_once = 16;

// Makes sure, also after exceptions, that no other thread still reads the caller's rows and labels.
struct SettleOnExit {
    Engine& engine;
    ~SettleOnExit() { engine.settle(); }
};

// Calls action(first, end) for parts of `each` rows, in all threads.
template <class Action>
void in_row_parts(std::size_t first, std::size_t end, std::size_t each, const Action& action) {
    const std::size_t count = (end - first + each - 1) / each;
    const auto part = [&](std::size_t i) { action(first + i * each, std::min(end, first + (i + 1) * each)); };
    if (count == 1) {
        part(0);
    } else if (count > 1) {
        in_parts(workers(), count, part);
    }
}

}  // namespace

Learner::Learner(const Setup& setup, const Kernel& kernel)
    : setup_(setup),
      options_(setup.engine.options),
      kernel_(kernel),
      encoder_(encoder_setup(setup, form_), *kernel.rows),
      engine_(make_engine(engine_setup(setup, form_), kernel)),
      can_(engine_->capabilities()),
      // For some losses, a plain step is already proportional to the label's unit.
      labels_(facts_of(options_.loss), setup.engine.has_classes(), setup.label_unit,
              is_adaptive(options_.rule) || !facts_of(options_.loss).scales_itself,
              facts_of(options_.loss).differences && options_.clip != Clip::vw) {
    reserve(*engine_, encoder_);
}

// ---------------------------------------------------------------------------------------------------- learning

// Invalid input changes nothing. After a later error, rows that were learned before stay learned, including what was
// seen of features and labels.
void Learner::learn_locked(RowSource& rows, const Labels& given, Results& results) {
    const std::size_t count = rows.rows();
    const bool counts = any_weight(given, count);
    const Settling settling(*this, rows, counts);
    rows.check_features(encoder_);
    if (!has_learned()) rows.check_interactions(encoder_);  // later, a missing feature is just absent
    if (given.new_classes && !setup_.engine.open)
        throw InputError("this model has a fixed list of classes, so no class can be added");
    double* const predictions = results.allocate(count, engine_->widths().learn + given.new_classes);
    const std::size_t classes = engine_->widths().classes + given.new_classes;
    labels_.encode(given, count, classes, encoded_);
    // An array that is read in place is checked while it is read.
    if (read_in_place(rows) != &rows) check_values(rows);
    const bool had_label = labels_.state().unit.started;
    const std::uint64_t examples = engine_->clock().examples;
    encoder_.center_to_learn().forget();
    const Encoder::Mark mark = encoder_.mark();
    const auto take_back = [&] {
        encoder_.rewind(mark);
        rows.forget_features();
    };
    try {
        rows.begin_learning(encoder_, counts);
        reserve(*engine_, encoder_);
        if (DenseSource* const in_place = read_in_place(rows)) {
            learn_in_place(*in_place, encoded_.labels, predictions);
        } else {
            learn_batches(rows, encoded_.labels, predictions);
        }
    } catch (...) {
        if (engine_->clock().examples == examples) take_back();
        labels_.accept(given, rows_learned_since(examples, given, count), classes);
        throw;
    }
    if (!counts) take_back();  // nothing was learned, not even the kind of features
    labels_.accept(encoded_);
    labels_.complete_learned(had_label, given, count, engine_->widths().learn, predictions);
}

// The number of a call's rows that were learned: as many as the clock has counted since.
std::size_t Learner::rows_learned_since(std::uint64_t examples, const Labels& labels, std::size_t rows) const {
    std::uint64_t left = engine_->clock().examples - examples;
    std::size_t end = 0;
    for (; left > 0 && end < rows; ++end) left -= weight_of(labels, end) > 0;
    return end;
}

DenseSource* Learner::read_in_place(RowSource& rows) const {
    if (!can_.dense || !encoder_.plain() || encoder_.hashed()) return nullptr;
    DenseSource* const dense = rows.as_dense(encoder_);
    if (!dense || !is_aligned(dense->input())) return nullptr;
    const std::size_t columns = dense->input().column_count, slots = std::max(encoder_.slot_count(), 1 + columns);
    return can_.dense->reads(slots, columns) ? dense : nullptr;
}

void Learner::check_values(RowSource& rows) const {
    if (rows.rows() == 1) return rows.check_values(encoder_, 0, 1);
    in_row_parts(0, rows.rows(), std::max<std::size_t>(64, work_per_part / rows.features_per_row()),
                 [&](std::size_t first, std::size_t end) { rows.check_values(encoder_, first, end); });
}

void Learner::learn_in_place(const DenseSource& rows, const Labels& labels, double* predictions) {
    try {
        can_.dense->learn_dense(rows.input(), encoder_.slot_count(), labels, predictions);
    } catch (const BadValue& bad) {
        rows.throw_bad_value_at(bad.row, bad.column);
    }
}

// Throws if all rows together have more features than the engine accepts. For a single row the engine checks this
// itself, unless a class joins first, because a class that has joined stays.
void Learner::check_feature_limit(RowSource& rows, const Labels& labels) {
    if (rows.rows() == 1 && !labels.new_classes) return;
    if (!can_.limit || !can_.limit->may_exceed(encoder_.slot_count(), encoder_.growing())) return;
    const Encoder::Mark before = encoder_.mark();
    encoder_.center_to_learn().begin_batch(false);
    std::vector<std::uint32_t> met;
    for (std::size_t first = 0; first < rows.rows();) {
        Batch batch = encoder_.encode(rows, first, rows.rows() - first, Purpose::learn, labels.weight);
        batch.labels = labels_from(labels, first);
        can_.limit->check_features(batch, met);
        first += batch.rows;
    }
    encoder_.rewind(before);
    rows.forget_features();
}

void Learner::learn_batches(RowSource& rows, const Labels& labels, double* predictions) {
    const std::size_t count = rows.rows();
    check_feature_limit(rows, labels);
    if (labels.new_classes) engine_->add_classes(labels.new_classes);
    const SettleOnExit guard{*engine_};
    const std::uint64_t before = engine_->clock().examples;
    for (std::size_t first = 0, end; first < count; first = end) {
        const std::uint64_t examples = engine_->clock().examples;
        if (examples > before) encoder_.center_to_learn().forget();  // learned rows cannot be undone
        const Encoder::Mark mark = encoder_.mark();
        encoder_.center_to_learn().begin_batch(count == 1);
        try {
            Batch batch = encoder_.encode(rows, first, rows_of_window(labels, first, count - first), Purpose::learn,
                                          labels.weight);
            end = first + batch.rows;
            reserve(*engine_, encoder_);
            batch.labels = labels_from(labels, first);
            engine_->learn(batch, predictions + first * engine_->widths().learn);
            const bool ending = ends_windows(examples);
            if (end == count || (ending && scales_fall())) engine_->finish();
            if (ending) end_windows();
        } catch (...) {  // the encoder must have seen only the rows of the batch that were learned
            engine_->settle();
            encoder_.rewind(mark);
            rows.forget_features();
            const std::size_t learned = first + rows_learned_since(examples, labels_from(labels, first), count - first);
            for (std::size_t done = first; done < learned;)
                done += encoder_.encode(rows, done, learned - done, Purpose::learn, labels.weight).rows;
            if (ends_windows(examples)) end_windows();
            throw;
        }
    }
}

// ---------------------------------------------------------------------------------------------------- predicting

Learner::Prediction Learner::begin_prediction(RowSource& rows, const PredictOptions& options, const double* offset,
                                              Results& results) const {
    rows.check_features(encoder_);
    const std::size_t count = rows.rows();
    return {.rows = rows,
            .options = {.extrapolate = options.extrapolate, .average = keeps_average_},
            .offset = offset,
            .engine_offset = labels_.engine_offset(offset, count),
            .predictions = results.allocate(count, engine_->widths().predict)};
}

void Learner::predict_part(const Prediction& call, DenseSource* in_place, std::size_t first, std::size_t end) {
    const std::size_t width = engine_->widths().predict;
    const double* const offset = call.engine_offset;
    const ScratchPool::Taken scratch(scratch_pool_, encoder_, *engine_);
    double* const predictions = call.predictions + first * width;
    if (in_place) {
        if (in_place != &call.rows) call.rows.check_values(encoder_, first, end);  // also columns without a feature
        std::vector<Column> columns;
        const DenseRows part = rows_of(in_place->input(), first, end - first, columns);
        try {
            can_.dense->predict_dense(part, encoder_.slot_count(), call.options, offset ? offset + first : nullptr,
                                      predictions, *scratch->engine);
        } catch (const BadValue& bad) {
            in_place->throw_bad_value_at(first + bad.row, bad.column);
        }
    } else {
        const Purpose purpose = call.options.extrapolate ? Purpose::extrapolate : Purpose::predict;
        call.rows.check_values(encoder_, first, end);
        for (std::size_t row = first; row < end;) {
            Batch batch = scratch->encoder.encode(call.rows, row, end - row, purpose, nullptr);
            if (judging_) {
                if (judging_->row + batch.rows > judging_->rows) throw InputError("there are more rows than labels");
                batch.labels = labels_from(judging_->encoded.labels, judging_->row);
                batch.labels.offset = offset ? offset + row : nullptr;
                judging_->row += batch.rows;
                engine_->judge(batch, call.options, call.predictions + row * width);
            } else {
                batch.labels.offset = offset ? offset + row : nullptr;
                engine_->predict(batch, call.options, call.predictions + row * width, *scratch->engine);
            }
            row += batch.rows;
        }
    }
    labels_.complete(predictions, end - first, width, call.offset ? call.offset + first : nullptr);
}

std::size_t Learner::rows_per_part(const RowSource& rows, bool in_place) const {
    const std::size_t features = rows.features_per_row();
    // Rows that are read in place share the preparation of each column.
    if (in_place) return std::max<std::size_t>(64, work_per_part / features);
    return std::max<std::size_t>(1, work_per_part / std::max<std::size_t>(1, engine_->describe(features).effort));
}

// Throws the error of the first row that has one, as if rows were predicted one after another.
void Learner::predict(RowSource& rows, const PredictOptions& options, const double* offset, Results& results) {
    std::shared_lock guard(lock_);
    while (!judging_) {
        const Prediction call = begin_prediction(rows, options, offset, results);
        const std::size_t count = rows.rows(), width = engine_->widths().predict;
        std::uint64_t seen = lock_.changes();
        for (std::size_t first = 0, end;; first = end) {
            DenseSource* const in_place = has_learned() ? read_in_place(rows) : nullptr;
            const std::size_t each = rows_per_part(rows, in_place), at_once = parts_at_once * workers().count() * each;
            end = count - first > at_once ? first + at_once : count;
            in_row_parts(first, end, each,
                         [&](std::size_t from, std::size_t to) { predict_part(call, in_place, from, to); });
            if (end == count) return rows.check_known(encoder_);
            guard.unlock();  // let threads that wait to learn go first
            guard.lock();
            if (seen != lock_.changes()) {
                rows.forget_features();
                rows.check_features(encoder_);
            }
            seen = lock_.changes();
            if (judging_ || engine_->widths().predict != width) break;  // start again if a class has joined
        }
        rows.forget_features();
    }
    guard.unlock();
    const std::lock_guard alone(lock_);  // rows must be judged in order
    predict_locked(rows, options, offset, results);
}

void Learner::predict_locked(RowSource& rows, const PredictOptions& options, const double* offset, Results& results) {
    const Prediction call = begin_prediction(rows, options, offset, results);
    DenseSource* const in_place = has_learned() && !judging_ ? read_in_place(rows) : nullptr;
    predict_part(call, in_place, 0, rows.rows());
    rows.check_known(encoder_);
}

std::vector<std::string> Learner::word_names(std::string_view column, std::string_view text, TextParts parts) {
    std::vector<std::string> names;
    std::unordered_set<std::string> met;
    encoder_.words.read(column, text, parts, [&](std::string& name, std::size_t stem) -> std::optional<std::uint32_t> {
        if (!met.insert(name).second) return std::nullopt;
        encoder_.word(name, stem, false);
        names.push_back(name);
        return std::nullopt;
    });
    return names;
}

// ---------------------------------------------------------------------------------------------------- settings

bool Learner::keeps_average() const {
    const std::shared_lock guard(lock_);
    return keeps_average_;
}

void Learner::keep_average(bool average) {
    const std::lock_guard guard(lock_);
    if (average && !engine_->averages()) throw InputError("this model does not average its weights");
    keeps_average_ = average;
}

bool Learner::chooses_rates() const {
    const std::shared_lock guard(lock_);
    return engine_->chooses_rates();
}

void Learner::choose_rates(bool choose) {
    const std::lock_guard guard(lock_);
    engine_->choose_rates(choose);
    labels_.repeat(!choose);
}

void Learner::keep_rates(bool keep) {
    const std::lock_guard guard(lock_);
    engine_->keep_rates(keep);
}

void Learner::prune_rates() {
    const std::lock_guard guard(lock_);
    if (can_.rates) can_.rates->prune_rates();
}

void Learner::keep_leaders() {
    const std::lock_guard guard(lock_);
    if (can_.rates) can_.rates->keep_leaders();
}

void Learner::hold_scales(bool hold) {
    const std::lock_guard guard(lock_);
    holds_scales_ = hold;
}

void Learner::begin_judging(const Labels& labels, std::size_t rows) {
    const std::lock_guard guard(lock_);
    judging_.reset();
    const auto copy_of = [&](const double* from) {
        return from ? std::vector<double>(from, from + rows) : std::vector<double>();
    };
    Judging judging{copy_of(labels.y), copy_of(labels.weight), copy_of(labels.offset), {}, 0, rows};
    const Labels own{judging.y.data(), labels.weight ? judging.weight.data() : nullptr, nullptr, 0,
                     labels.offset ? judging.offset.data() : nullptr};
    labels_.encode(own, rows, engine_->widths().classes, judging.encoded);
    judging_ = std::move(judging);  // moving keeps the addresses that it points to
}

void Learner::end_judging() {
    const std::lock_guard guard(lock_);
    judging_.reset();
}

// ---------------------------------------------------------------------------------------------------- facts

std::size_t Learner::bytes() const {
    const std::shared_lock guard(lock_);
    return sizeof(*this) + engine_->describe(0).bytes + encoder_.bytes();
}

Clock Learner::clock() const {
    const std::shared_lock guard(lock_);
    return engine_->clock();
}

Engine::Widths Learner::widths() const {
    const std::shared_lock guard(lock_);
    return engine_->widths();
}

std::size_t Learner::limited_labels() const {
    const std::shared_lock guard(lock_);
    return static_cast<std::size_t>(std::llround(labels_.state().unit.limited));  // a merged mean may be a fraction
}

void Learner::loss(int which, const double* p, const double* y, const double* tau, std::size_t n, double* out) const {
    const LabelEncoder fresh(facts_of(options_.loss), false, false, true, false);
    EncodedLabels encoded;
    fresh.encode(Labels{.y = y}, n, 0, encoded);
    kernel_.loss(options_, which, p, encoded.labels.y, tau, n, out);
}

}  // namespace unitless
