#include "learner/learner.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <shared_mutex>
#include <unordered_set>
#include <utility>

#include "algorithm/dispatch.hpp"
#include "base/workers.hpp"
#include "preparation/matrix_rows.hpp"
#include "preparation/named_rows.hpp"
#include "preparation/table_rows.hpp"

namespace unitless {
namespace {

// More columns than that suit a linear model best, and one without second order, unless another one is asked for.
constexpr std::size_t many_columns = 1000;

// What a learner is like while that is not settled.
Form known(const Form& form) { return form.settled() ? form : Form{}; }

PreparationSetup preparation_setup(const Setup& setup, const Form& form) {
    PreparationSetup preparation = setup.preparation;
    const Shape shape = known(form).shape;
    preparation.raw = shape != Shape::linear;
    preparation.numbers_linear = shape != Shape::curves_only;
    if (preparation.raw && preparation.bits)
        throw InputError("hashed features have neither curves nor trees", "leave out bits=, or use shape='linear'");
    return preparation;
}

EngineSetup engine_setup(const Setup& setup, const Form& form) {
    EngineSetup engine = setup.engine;
    engine.form = known(form);
    if (setup.target) engine.options.clip = Clip::labels;
    if (setup.preparation.bits) engine.slots = std::uint64_t{1} << *setup.preparation.bits;
    return engine;
}

// The features of a placed row, which are known; there are no interactions.
struct InOrder {
    const std::uint32_t* features;
    std::uint32_t operator()(std::size_t i, bool) const { return features[i]; }
    static std::string_view name(std::size_t) { return {}; }
};

// Whatever happens, no other thread reads rows and labels that are gone.
struct SettleOnExit {
    Engine& engine;
    ~SettleOnExit() { engine.settle(); }
};

}  // namespace

Learner::Learner(const Setup& setup, const Kernel& kernel)
    : setup_(setup),
      options_(setup.engine.options),
      kernel_(kernel),
      preparation_(preparation_setup(setup, form_), *kernel.rows),
      engine_(make_engine(engine_setup(setup, form_), kernel)),
      // Where a plain step follows the label by itself, it needs no pace.
      labels_(facts_of(options_.loss), setup.engine.has_classes(), setup.target,
              is_adaptive(options_.rule) || !facts_of(options_.loss).paces_itself,
              facts_of(options_.loss).differences && options_.clip != Clip::vw) {
    reserve();
}

// ---------------------------------------------------------------------------------------------------- form

// Company is mixed by the losses that the mixture knows, and it is NAG's.
bool Learner::takes_company() const {
    const Mixing mixing = facts_of(options_.loss).mixing;
    const bool mixed = mixing == Mixing::odds || (mixing == Mixing::numbers && !setup_.engine.has_classes());
    return mixed && options_.rule == RuleKind{} && !options_.proximal && !setup_.engine.second_order;
}

Form Learner::suitable(const Given& given) const {
    const bool single =
        options_.order == Order::vw || options_.clip == Clip::vw || options_.precision == Precision::float32;
    const bool columns = given.columns && !setup_.preparation.bits;
    Form form = form_;
    if (form.shape == Shape::automatic)
        form.shape = columns && !single && given.count <= many_columns ? Shape::trees : Shape::linear;
    if (form.company != Company::automatic) return form;
    form.company = Company::none;
    if (single || form.shape == Shape::curves_only || !takes_company()) return form;
    if (columns && given.count <= many_columns && !given.words) {
        form.company = Company::second_order;
    } else if (!setup_.engine.has_classes()) {
        form.company = Company::second_moments;
    } else if (!given.words) {  // of which there are many, and they have weights for each class
        form.company = Company::softmax;
    }
    return form;
}

// What has been settled of a learner that has learned nothing is kept.
Learner::Settling::Settling(Learner& learner, const Form& form) : learner_(&learner) {
    if (form != Form{}) {
        Preparation preparation(preparation_setup(learner.setup_, form), *learner.kernel_.rows);
        preparation.load(learner.preparation_.save());
        std::unique_ptr<Engine> engine = make_engine(engine_setup(learner.setup_, form), learner.kernel_);
        reserve(*engine, preparation);
        if (const std::size_t more = learner.engine_->class_count() - engine->class_count()) engine->add_classes(more);
        engine->keep_average(learner.engine_->keeps_average());
        engine->choose_rates(learner.engine_->chooses_rates());
        engine->keep_rates(learner.engine_->keeps_rates());
        preparation_ = std::make_unique<Preparation>(std::move(preparation));
        std::swap(learner.preparation_, *preparation_);
        engine_ = std::exchange(learner.engine_, std::move(engine));
        learner.take_over();
    }
    learner.form_ = form;
}

void Learner::Settling::take_back() {
    if (learner_->engine_->clock().examples > 0) return;
    if (engine_ && engine_->class_count() != learner_->engine_->class_count()) return;  // new classes stay
    learner_->form_ = learner_->setup_.engine.form;
    if (!engine_) return;
    std::swap(learner_->preparation_, *preparation_);
    std::swap(learner_->engine_, engine_);
    learner_->take_over();
}

// ---------------------------------------------------------------------------------------------------- one call

// action(labels as the loss wants them, predictions). Bad input leaves everything as it was; of what goes wrong later,
// what has been learned before stays learned, and with it what was seen of features and labels.
template <class Action>
void Learner::learn_all(const Labels& given, std::size_t rows, Results& results, Action action) {
    if (given.new_classes && !setup_.engine.open)
        throw InputError("this model has a fixed list of classes, so no class can be added");
    double* const predictions = results.allocate(rows, learn_width() + given.new_classes);
    const std::size_t classes = class_count(given.new_classes);
    const LabelEncoder::Encoded encoded = labels_.encode(given, rows, classes);
    const LabelState before = labels_.state();
    const std::uint64_t examples = engine_->clock().examples;
    preparation_.centre_to_learn().forget();
    const Preparation::Mark mark = preparation_.mark();
    try {
        action(encoded.with(given), predictions);
    } catch (const DivergedError& error) {
        if (engine_->clock().examples == examples) preparation_.rewind(mark);
        labels_.accept(given, error.row, classes);
        throw;
    } catch (...) {
        std::uint64_t left = engine_->clock().examples - examples;
        if (left == 0) preparation_.rewind(mark);
        std::size_t end = 0;
        for (; left > 0 && end < rows; ++end) left -= weight_of(given, end) > 0;
        labels_.accept(given, end, classes);
        throw;
    }
    if (!any_weight(given, rows)) preparation_.rewind(mark);  // nothing was learned, the kind of features included
    labels_.accept(encoded.after);
    labels_.complete_before(before, given, rows, learn_width(), predictions);
}

namespace {
// So much work is worth a thread's attention: some 30 microseconds of it.
constexpr std::size_t work_of_part = 65536;
// So many parts each thread does before the lock is given up for a moment.
constexpr std::size_t parts_at_once = 16;
}  // namespace

std::size_t Learner::rows_of_part(const Extent& extent) const {
    const bool as_they_lie = extent.dense && reads(*extent.dense);
    const std::size_t each = as_they_lie ? extent.features : engine_->effort(extent.features);
    // Rows that are read as they lie share what is made ready for each column.
    return std::max<std::size_t>(as_they_lie ? 64 : 1, work_of_part / std::max<std::size_t>(1, each));
}

// What is thrown is what the first row would have thrown, were they predicted one after another.
template <class Predict>
void Learner::predict_parts(std::size_t first, std::size_t end, std::size_t each, const Asking& asked,
                            const Asking& checked, double* predictions, const Predict& predict) {
    const std::size_t count = (end - first + each - 1) / each, width = predict_width();
    const auto one = [&](std::size_t i) {
        const std::size_t from = first + i * each, to = std::min(end, from + each);
        double* const results = predictions + from * width;
        const Rooms::Taken room(rooms_, preparation_, *engine_);
        predict(Part{from, to, asking_from(checked, from), results, *room});
        labels_.complete(results, to - from, width, asking_from(asked, from).offset);
    };
    if (count == 1) {
        one(0);
    } else if (count > 1) {
        in_parts(workers(), count, one);
    }
}

template <class Begin, class Predict>
void Learner::predict_in_parts(const Extent& extent, const Asking& asked, Results& results, const Begin& begin,
                               const Predict& predict) {
    std::shared_lock guard(lock_);
    const auto alone = [&] { return !shares() || (extent.columns && preparation_.features().space() == Space::unset); };
    begin(false);
    while (!alone()) {
        const std::size_t width = predict_width();
        double* const predictions = results.allocate(extent.rows, width);
        const Asking checked = labels_.checked(asked, extent.rows);
        const std::size_t at_once = parts_at_once * workers().count();
        std::uint64_t seen = lock_.changes();
        for (std::size_t first = 0, end;; first = end) {
            const std::size_t each = rows_of_part(extent);
            end = extent.rows - first > at_once * each ? first + at_once * each : extent.rows;
            predict_parts(first, end, each, asked, checked, predictions, predict);
            if (end == extent.rows) return;
            guard.unlock();  // whoever waits to learn goes first
            guard.lock();
            begin(seen != lock_.changes());
            seen = lock_.changes();
            if (alone() || predict_width() != width) break;  // all over again, if a class has joined
        }
    }
    guard.unlock();
    predict_alone(extent, asked, results, begin, predict);
}

template <class Begin, class Predict>
void Learner::predict_alone(const Extent& extent, const Asking& asked, Results& results, const Begin& begin,
                            const Predict& predict) {
    const std::lock_guard guard(lock_);
    begin(true);
    double* const predictions = results.allocate(extent.rows, predict_width());
    const Asking checked = labels_.checked(asked, extent.rows);
    const Preparation::Mark mark = preparation_.mark();
    const auto all = [&] {
        if (extent.columns) preparation_.look_at_columns(*extent.columns);
        reserve();
        // Rows that are judged are judged in their order.
        const std::size_t each = judging_ ? std::max<std::size_t>(1, extent.rows) : rows_of_part(extent);
        predict_parts(0, extent.rows, each, asked, checked, predictions, predict);
    };
    try {
        all();
    } catch (...) {
        preparation_.rewind(mark);
        throw;
    }
    preparation_.rewind(mark);
}

// Throws if all rows together bring more features than the engine takes.
template <Rows Input>
void Learner::check_features(Input& input, const Labels& labels) {
    if (!engine_->may_have_enough(preparation_.slot_count(), preparation_.growing())) return;
    const Preparation::Mark before = preparation_.mark();
    preparation_.centre_to_learn().remember_all();
    std::vector<std::uint32_t> met;
    preparation_.in_batches(input, Looking::learning, labels.weight, [&](std::size_t first, std::size_t) {
        engine_->check_features(preparation_.prepared(), labels_from(labels, first), first, met);
    });
    preparation_.rewind(before);
    input.forget();
}

template <Rows Input>
void Learner::learn_batches(Input& input, const Labels& labels, double* predictions) {
    check_features(input, labels);
    if (labels.new_classes) engine_->add_classes(labels.new_classes);
    const SettleOnExit guard{*engine_};
    const std::uint64_t before = engine_->clock().examples;
    for (std::size_t first = 0, rows; first < input.rows(); first += rows) {
        const std::uint64_t examples = engine_->clock().examples;
        if (examples > before) preparation_.centre_to_learn().forget();  // what is learned stays learned
        const Preparation::Mark mark = preparation_.mark();
        preparation_.centre_to_learn().remember_all();
        // Of the batch only the rows before `end` are learned: the others have not been seen.
        const auto take_back = [&](std::size_t end) {
            preparation_.rewind(mark);
            input.forget();
            for (std::size_t done = first; done < end;)
                done += preparation_.prepare(input, done, end - done, Looking::learning, labels.weight);
        };
        try {
            rows = preparation_.prepare(input, first, rows_of_window(labels, first, input.rows() - first),
                                        Looking::learning, labels.weight);
            reserve();
            engine_->learn(preparation_.prepared(), labels_from(labels, first), predictions + first * learn_width(),
                           first);
            const bool ending = ends_windows(examples);
            if (first + rows == input.rows() || (ending && scales_fall())) engine_->finish();
            if (ending) end_windows();
        } catch (const DivergedError& error) {
            take_back(error.row);
            if (ends_windows(examples)) end_windows();
            throw;
        } catch (...) {  // memory ran out: what the clock has counted is learned
            std::uint64_t left = engine_->clock().examples - examples;
            std::size_t end = first;
            for (; left > 0 && end < input.rows(); ++end) left -= weight_of(labels, end) > 0;
            take_back(end);
            throw;
        }
    }
}

void Learner::predict_prepared(const SparseInput& rows, const Asking& asking, double* predictions, Room& room) {
    if (!judging_) return engine_->predict(rows, asking, predictions, *room.engine);
    if (judging_->row + rows.rows > judging_->rows) throw InputError("there are more rows than labels to judge by");
    const std::size_t row = std::exchange(judging_->row, judging_->row + rows.rows);
    engine_->judge(rows, asking, labels_from(judging_->labels, row), predictions);
}

template <Rows Input>
void Learner::predict_batches(Input& input, const Part& part) {
    Preparation& preparation = part.room.preparation;
    preparation.in_batches(input, part.first, part.end, looking(part.asking), nullptr,
                           [&](std::size_t first, std::size_t) {
                               const std::size_t at = first - part.first;
                               predict_prepared(preparation.prepared(), asking_from(part.asking, at),
                                                part.predictions + at * predict_width(), part.room);
                           });
}

// ---------------------------------------------------------------------------------------------------- dense

bool Learner::reads(const DenseInput& input) const {
    return preparation_.plain() && !preparation_.hashed() && is_aligned(input) &&
           engine_->reads_dense(preparation_.slot_count(), input.column_count);
}

void Learner::check_listed_columns(std::size_t count) const {
    if (engine_->clock().examples > 0) return;  // later, what is not there is absent
    const auto is_there = [count](const Selector& selector) {
        return selector.column >= 0 && static_cast<std::size_t>(selector.column) < count;
    };
    preparation_.check_listed(is_there, std::to_string(count) + " columns, to be named by their numbers");
}

void Learner::learn(const DenseInput& input, const Labels& given, Results& results) {
    const std::lock_guard guard(lock_);
    const Settling settling = settle_form(given, input.rows, [&] { return Given{true, input.column_count}; });
    preparation_.check_columns(input.column_count);
    check_listed_columns(input.column_count);
    learn_all(given, input.rows, results, [&](const Labels& labels, double* predictions) {
        preparation_.use_columns(input.column_count);
        learn_columns(DenseRows(input), labels, predictions);
    });
}

void Learner::learn_columns(DenseRows rows, const Labels& labels, double* predictions) {
    reserve();
    if (reads(rows.input())) {
        const Outcome outcome = engine_->learn_dense(rows.input(), preparation_.slot_count(), labels, predictions);
        if (outcome.status == Status::bad_value) rows.throw_bad_value_at(outcome.row, outcome.column);
        return;
    }
    rows.check(preparation_);
    if (any_weight(labels, rows.rows())) rows.settle(preparation_);
    learn_batches(rows, labels, predictions);
}

void Learner::predict(const DenseInput& input, const Asking& asked, Results& results) {
    DenseRows rows(input);
    predict_in_parts(
        {input.rows, rows.width(), input.column_count, &input}, asked, results,
        [&](bool) { preparation_.check_columns(input.column_count); },
        [&](const Part& part) { predict_columns(rows, part); });
}

void Learner::predict_columns(DenseRows& rows, const Part& part) {
    if (reads(rows.input())) {
        const DenseRows::Part some = rows.part(part.first, part.end - part.first);
        const Outcome outcome = engine_->predict_dense(some.input(), preparation_.slot_count(), part.asking,
                                                       part.predictions, *part.room.engine);
        if (outcome.status == Status::bad_value) rows.throw_bad_value_at(part.first + outcome.row, outcome.column);
        return;
    }
    rows.check(part.room.preparation, part.first, part.end);
    predict_batches(rows, part);
}

// ---------------------------------------------------------------------------------------------------- matrices

void Learner::check_sparse() const {
    if (preparation_.raw())
        throw InputError("a learner with curves or trees does not take sparse matrices",
                         "give it a dense array, or make it with shape='linear'");
}

// Can the engine read the matrix's rows where they are? Then they have been checked, too.
bool Learner::reads(const MatrixRows& input, std::size_t first, std::size_t end) const {
    return engine_->reads_columns() && preparation_.plain() && input.are_plain(preparation_, first, end);
}

// All of them, which the threads look at side by side.
bool Learner::reads_all(const MatrixRows& input) const {
    const std::size_t each = std::max<std::size_t>(64, work_of_part / input.width());
    const std::size_t parts = (input.rows() + each - 1) / each;
    if (parts < 2 || !engine_->reads_columns() || !preparation_.plain()) return reads(input, 0, input.rows());
    std::atomic<bool> plain{true};
    in_parts(workers(), parts, [&](std::size_t i) {
        if (plain && !reads(input, i * each, std::min(input.rows(), (i + 1) * each))) plain = false;
    });
    return plain;
}

void Learner::learn(const CompressedRows& input, const Labels& given, Results& results) {
    const std::lock_guard guard(lock_);
    const Settling settling = settle_form(given, input.rows, [] { return Given{}; });
    check_sparse();
    preparation_.check_columns(input.columns);
    check_listed_columns(input.columns);
    learn_all(given, input.rows, results, [&](const Labels& labels, double* predictions) {
        preparation_.use_columns(input.columns);
        reserve();
        MatrixRows rows(input);
        if (reads_all(rows))
            return rows.in_place(preparation_, 0, input.rows, [&](std::size_t first, const SparseInput& some) {
                engine_->learn(some, labels_from(labels, first), predictions + first, first);
            });
        rows.check(preparation_);
        if (any_weight(labels, input.rows)) rows.settle(preparation_);
        learn_batches(rows, labels, predictions);
    });
}

void Learner::predict(const CompressedRows& input, const Asking& asked, Results& results) {
    MatrixRows rows(input);
    predict_in_parts(
        {input.rows, rows.width(), input.columns}, asked, results,
        [&](bool) {
            check_sparse();
            preparation_.check_columns(input.columns);
        },
        [&](const Part& part) {
            if (!reads(rows, part.first, part.end)) {
                rows.check(part.room.preparation, part.first, part.end);
                return predict_batches(rows, part);
            }
            rows.in_place(preparation_, part.first, part.end, [&](std::size_t first, const SparseInput& some) {
                const std::size_t at = first - part.first;
                predict_prepared(some, asking_from(part.asking, at), part.predictions + at, part.room);
            });
        });
}

// ---------------------------------------------------------------------------------------------------- rows of names

void Learner::learn(const NamedRows& input, const Labels& given, Results& results) {
    const std::lock_guard guard(lock_);
    const Settling settling = settle_form(given, input.rows(), [] { return Given{}; });
    preparation_.check_named();
    NamedRowsIn rows(input);
    rows.check(preparation_);
    learn_all(given, rows.rows(), results, [&](const Labels& labels, double* predictions) {
        if (any_weight(labels, rows.rows())) preparation_.use_names();
        const std::size_t slots = preparation_.slot_count();
        if (preparation_.plain() && !preparation_.hashed() && rows.rows() > 0 &&
            engine_->spreads(slots, rows.rows(), rows.entries()) && rows.know(preparation_)) {
            reserve();
            const auto fill = [&](std::size_t row, double* to) { rows.spread(row, to); };
            return engine_->learn_spread(slots, rows.rows(), fill, labels, predictions, 0);
        }
        learn_batches(rows, labels, predictions);
    });
}

void Learner::predict(const NamedRows& input, const Asking& asked, Results& results) {
    NamedRowsIn rows(input);
    bool checked = false;
    predict_in_parts(
        {rows.rows(), rows.width(), std::nullopt}, asked, results,
        [&](bool changed) {
            preparation_.check_named();
            if (changed) rows.forget();
            if (!std::exchange(checked, true)) rows.check_names(preparation_);
        },
        [&](const Part& part) {
            rows.check_values(part.room.preparation, part.first, part.end);
            predict_batches(rows, part);
        });
}

// ---------------------------------------------------------------------------------------------------- tables

void Learner::learn(const Table& table, const Labels& given, Results& results) {
    const std::lock_guard guard(lock_);
    // Where there are words and nothing else, curves and trees would have nothing to look at.
    const auto others = static_cast<std::size_t>(std::count_if(
        table.columns.begin(), table.columns.end(), [](const TableColumn& column) { return !column.words; }));
    const Settling settling = settle_form(given, table.rows, [&] {
        return Given{others > 0 || table.columns.empty(), others, others < table.columns.size()};
    });
    preparation_.check_named();
    const auto is_there = [&](const Selector& selector) {
        return selector.column < 0 && std::any_of(
                                          table.columns.begin(), table.columns.end(),
                                          [&](const TableColumn& column) {
                                              const bool has_space =
                                                  !selector.spaces || column.name.find('^') != column.name.npos;
                                              return has_space && column.may_have(selector.name, selector.prefix);
                                          });
    };
    if (engine_->clock().examples == 0)
        preparation_.check_listed(is_there, std::to_string(table.columns.size()) + " named columns");
    const bool one_by_one = check_table(table, 0, table.rows, preparation_);
    learn_all(given, table.rows, results, [&](const Labels& labels, double* predictions) {
        const bool counts = any_weight(labels, table.rows);
        if (one_by_one) {
            if (counts) preparation_.use_names();
            reserve();
            TableMentions known(table);
            TableRows rows(table, known);
            return learn_batches(rows, labels, predictions);
        }
        preparation_.use_names();
        NamedColumns columns(table, [&](const TableColumn& column) { return preparation_.feature(column.name, true); });
        const bool settling = preparation_.centring() && table.missing && counts;
        for (const Column& column : columns.columns)
            if (settling)
                preparation_.centre_to_learn().settle(column.slot, column.indicator ? Offset::kept : Offset::removed);
        learn_columns(columns.rows(table.rows, settling || !preparation_.centring(), preparation_.notes()), labels,
                      predictions);
    });
}

void Learner::predict(const Table& table, const Asking& asked, Results& results) {
    TableMentions known(table);
    std::atomic<bool> any{false};
    const std::size_t width = std::max<std::size_t>(1, table.columns.size());
    const auto begin = [&](bool changed) {
        preparation_.check_named();
        if (changed) known.forget();
        if (table.columns.empty() || preparation_.features().names().empty()) any = true;
        for (const TableColumn& column : table.columns) preparation_.check_name(column.name);
    };
    predict_in_parts({table.rows, width, std::nullopt}, asked, results, begin, [&](const Part& part) {
        Preparation& preparation = part.room.preparation;
        if (check_table(table, part.first, part.end, preparation)) {
            TableRows rows(table, known);
            return predict_batches(rows, part);
        }
        bool found_any = any;
        const NamedColumns columns(table, [&](const TableColumn& column) {
            const auto found = preparation.feature(column.name, false);
            found_any = found_any || found;
            if (!found) {  // what is not known is checked all the same
                const std::vector<std::string> name{column.name};
                DenseRows({nullptr, 0, Type::f64, &column.numbers, 1, table.rows}, &name)
                    .check(preparation, part.first, part.end);
            }
            return found;
        });
        if (found_any) any = true;
        DenseRows rows = columns.rows(table.rows, true, preparation.notes());
        predict_columns(rows, part);
    });
    if (!any && !known.any_known() && table.rows &&
        !table.missing) {  // a value that is not there, or never was, is not a wrong column
        const std::shared_lock guard(lock_);
        const std::vector<std::string>& names = preparation_.features().names();
        const std::string known = names.empty() ? "" : "; it knows '" + names[0] + "', ...";
        throw InputError("the model knows none of the columns ('" + table.columns[0].name + "', ...)" + known);
    }
}

std::vector<std::string> Learner::word_names(std::string_view column, std::string_view text) {
    std::vector<std::string> names;
    std::unordered_set<std::string> met;
    words_.read(column, text, [&](std::string& name, std::size_t stem) -> std::optional<std::uint32_t> {
        if (!met.insert(name).second) return std::nullopt;
        preparation_.word(name, stem, false);
        names.push_back(name);
        return std::nullopt;
    });
    return names;
}

// ---------------------------------------------------------------------------------------------------- placed rows

bool Learner::place(const std::vector<std::uint32_t>& features, Placement& to) const {
    if (preparation_.interactions().any()) return false;
    using enum Placement::Kind;
    const bool packs = !preparation_.centring() && !preparation_.raw() && engine_->places();
    return to.assign(features, !packs ? in_order : preparation_.hashed() ? packed_in_sequence : packed);
}

void Learner::learn_placed(Placement& row, const Labels& given, double* predictions) {
    if (row.kind() == Placement::Kind::in_order) {
        const auto& [count, values, slots] = row.in_order();
        if (is_simple()) return learn_in_order(row.in_order(), given, predictions);
        return learn_named(count, values, given, InOrder{slots}, predictions);
    }
    learn_label(given, 0, predictions, [&](const Labels& labels) { engine_->learn_placed(row, labels, *predictions); });
}

// What `learn_named` does, without looking for what cannot be new.
void Learner::learn_in_order(const Placement::InOrder& row, const Labels& given, double* predictions) {
    learn_label(given, 0, predictions, [&](const Labels& labels) {
        Centre& centre = preparation_.centre_to_learn();
        centre.forget();
        const Centre::Mark mark = centre.mark();
        const std::uint64_t examples = engine_->clock().examples;
        try {
            const SparseInput prepared = preparation_.prepare_in_order(row.count, row.values, row.slots,
                                                                       Looking::learning, weight_of(labels, 0));
            engine_->learn_one(prepared, labels, predictions, 0);
            if (ends_windows(examples)) end_windows();
        } catch (const DivergedError& error) {
            if (error.row == 0) centre.rewind(mark);  // otherwise the lanes learned the row before one diverged
            throw;
        } catch (...) {
            if (engine_->clock().examples == examples) centre.rewind(mark);
            throw;
        }
    });
}

void Learner::predict_in_order(const Placement::InOrder& row, const Asking& asking, double* predictions) {
    const Asking checked = labels_.checked(asking, 1);
    const Rooms::Taken room(rooms_, preparation_, *engine_);
    const SparseInput prepared =
        room->preparation.prepare_in_order(row.count, row.values, row.slots, looking(asking), 1.0);
    predict_prepared(prepared, checked, predictions, *room);
    labels_.complete(predictions, 1, predict_width(), asking.offset);
}

void Learner::predict_placed(Placement& row, const Asking& asking, double* predictions) {
    if (row.kind() == Placement::Kind::in_order) {
        const auto& [count, values, slots] = row.in_order();
        if (is_simple()) return predict_in_order(row.in_order(), asking, predictions);
        return predict_named(count, values, asking, InOrder{slots}, predictions, true);
    }
    *predictions = engine_->predict_placed(row, labels_.checked(asking, 1));
    labels_.complete(predictions, 1, 1, asking.offset);
}

// ---------------------------------------------------------------------------------------------------- the rest

void Learner::check(const Labels& labels, std::size_t rows) const {
    labels_.encode(labels, rows, class_count(labels.new_classes));
}

void Learner::loss(int which, const double* p, const double* y, const double* tau, std::size_t n, double* out) const {
    const LabelEncoder fresh(facts_of(options_.loss), false, false, true, false);
    const auto encoded = fresh.encode(Labels{y, nullptr}, n, 0);
    kernel_.loss(options_, which, p, encoded.y, tau, n, out);
}

std::size_t Learner::bytes() const {
    const std::shared_lock guard(lock_);
    return sizeof(*this) + engine_->bytes() + preparation_.bytes();
}

Clock Learner::clock() const {
    const std::shared_lock guard(lock_);
    return engine_->clock();
}

std::size_t Learner::limited_labels() const {
    const std::shared_lock guard(lock_);
    return static_cast<std::size_t>(std::llround(labels_.state().target.limited));  // a merged mean may be a fraction
}

Snapshot Learner::snapshot(bool slots) const {
    const std::shared_lock guard(lock_);
    Snapshot to{preparation_.save(), {}, labels_.state(), form_, {}};
    engine_->save(slots ? preparation_.slot_count() : 0, to.engine);
    if (engine_->clock().examples == slopes_at_) to.slopes = slopes_;
    return to;
}

Form Learner::form_of(const Snapshot& from) const {
    const Form asked = setup_.engine.form, settled = from.settled;
    Form form = asked;
    if (asked.shape == Shape::automatic) form.shape = settled.shape;
    if (asked.company == Company::automatic) form.company = settled.company;
    if (!form.settled() && from.engine.clock.examples > 0)
        throw InputError("the model has learned, but its shape is not settled");
    const bool shape_fits = asked.shape == Shape::automatic
                                ? settled.shape != Shape::curves && settled.shape != Shape::curves_only
                                : settled.shape == Shape::automatic || settled.shape == asked.shape;
    const bool company_fits = asked.company == Company::automatic || settled.company == Company::automatic ||
                              settled.company == asked.company;
    if (!shape_fits || !company_fits) throw InputError("the model's shape is not the one that its options ask for");
    return form;
}

void Learner::load(const Snapshot& from, const Filling& fill) {
    if (from.engine.clock.examples >> 63) throw InputError("a model cannot have learned so many examples");
    const Form form = form_of(from);
    Preparation preparation(preparation_setup(setup_, form), *kernel_.rows);
    preparation.load(from.preparation);
    check_slots(from.engine, preparation.slot_count());
    check_columns(from.engine, preparation.raw_count());
    std::unique_ptr<Engine> engine = make_engine(engine_setup(setup_, form), kernel_);
    reserve(*engine, preparation);
    engine->load(from.engine);
    fill(*engine, preparation.slot_count());
    std::vector<double> slopes = from.slopes;
    labels_.load(from.labels);
    preparation_ = std::move(preparation);
    engine_ = std::move(engine);
    take_over();
    form_ = form;
    slopes_ = std::move(slopes);
    slopes_at_ = engine_->clock().examples;
    judging_.reset();
    holds_scales_ = false;
}

bool Learner::keeps_average() const {
    const std::shared_lock guard(lock_);
    return engine_->keeps_average();
}

void Learner::keep_average(bool average) {
    const std::lock_guard guard(lock_);
    engine_->keep_average(average);
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
    Judging judging{copy_of(labels.y), copy_of(labels.weight), copy_of(labels.offset), {}, {}, 0, rows};
    const Labels own{judging.y.data(), labels.weight ? judging.weight.data() : nullptr, nullptr, 0,
                     labels.offset ? judging.offset.data() : nullptr};
    judging.encoded = labels_.encode(own, rows, class_count(0));
    judging.labels = judging.encoded.with(own);
    judging_ = std::move(judging);  // the memory of what it points to stays where it is
}

void Learner::end_judging() {
    const std::lock_guard guard(lock_);
    judging_.reset();
}

void Learner::sift_rates() {
    const std::lock_guard guard(lock_);
    engine_->sift_rates();
}

}  // namespace unitless
