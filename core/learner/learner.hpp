// A learner: the lock, the labels, and one call of learn or predict: rows are checked, prepared (preparation/) and
// handed to the engine (engine/), batch by batch.
//
// Every public function locks the learner, so that threads can share one, except where it says that the caller does.
// Threads that predict share the lock. A long call gives it up now and then, so that who wants to learn need not wait
// for its end; its rows are predicted by all threads, some at a time. None knows of Python.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/locks.hpp"
#include "engine/engine.hpp"
#include "engine/single/placement.hpp"
#include "learner/labels.hpp"
#include "learner/merging.hpp"
#include "learner/results.hpp"
#include "learner/rooms.hpp"
#include "preparation/dense_rows.hpp"
#include "preparation/preparation.hpp"
#include "preparation/table_values.hpp"
#include "rows/named_rows.hpp"
#include "rows/table.hpp"

namespace unitless {

// What a learner is made of.
struct Setup {
    EngineSetup engine;
    PreparationSetup preparation;
    bool target = false;  // the label's unit and offset are learned too
};

// Everything that a learner knows, for files and merging.
struct Snapshot {
    PreparationState preparation;
    EngineState engine;
    LabelState labels;
    Form settled{Shape::automatic, Company::automatic};  // what an automatic one has become; automatic: nothing yet
    // Of a merged learner that has learned nothing since, for those who merge it again: how its weights would follow
    // other means of centred columns. The core only keeps it.
    std::vector<double> slopes;
};

class MatrixRows;

class Learner {
  public:
    Learner(const Setup& setup, const Kernel& kernel);

    // Rows of any kind. Bad input changes nothing; after divergence, or when memory runs out, the rows before are
    // learned.
    void learn(const DenseInput& input, const Labels& labels, Results& results);
    void learn(const CompressedRows& input, const Labels& labels, Results& results);
    void learn(const NamedRows& input, const Labels& labels, Results& results);
    void learn(const Table& input, const Labels& labels, Results& results);
    void predict(const DenseInput& input, const Asking& asking, Results& results);
    void predict(const CompressedRows& input, const Asking& asking, Results& results);
    void predict(const NamedRows& input, const Asking& asking, Results& results);
    void predict(const Table& input, const Asking& asking, Results& results);

    // A snapshot of everything that it knows, and the way back to one, also after it has learned more. An invalid one
    // is refused and changes nothing. `slots`: with all slots, or with none.
    Snapshot snapshot(bool slots = true) const;
    void restore(const Snapshot& from) {
        const std::lock_guard guard(lock_);
        load(from);
    }

    // ---- Merging. What the lanes of some slots hold, with so many values for each slot; and a snapshot without slots,
    // which those of several learners are merged into. False, and nothing has changed, if one of them has learned since
    // the merge was planned.

    std::size_t slot_width(std::size_t lanes) const;
    void read(const std::uint32_t* slots, std::size_t count, const std::vector<std::uint32_t>& lanes,
              SlotBlock& to) const;
    // `loaded` is called when it has been, while the learner is still locked.
    bool load_merged(
        const Snapshot& from, const std::vector<MergedPart>& parts, const Merging& how,
        const std::function<void()>& loaded = [] {});

    // Are predictions made with the average of the weights? Throws if there is none to be kept.
    bool keeps_average() const;
    void keep_average(bool average);
    // Are losses counted and learning rates chosen by them? If not, all rates learn on, and the leader stays.
    bool chooses_rates() const;
    void choose_rates(bool choose);
    // While they are chosen, does every rate run on, whether it has lost or not?
    void keep_rates(bool keep);
    // Do scales stay as they are, rather than fall, from here on? Scales that models have in common must not.
    void hold_scales(bool hold);
    // Until `end_judging`, rows that are predicted are judged by these labels (see Engine::judge_by), which are copied.
    // Labels must be such as the learner has met.
    void begin_judging(const Labels& labels, std::size_t rows);
    void end_judging();
    // Lets rates go that have lost beyond doubt.
    void sift_rates();

    std::size_t bytes() const;
    Clock clock() const;
    // Labels that were learned as the nearest label of the range before them, see `Target`.
    std::size_t limited_labels() const;

    // Values, slopes or importance-aware changes of the learner's loss.
    void loss(int which, const double* p, const double* y, const double* tau, std::size_t n, double* out) const;
    // What predictions of two classes add up to.
    void score(const double* p, const bool* positive, const double* weight, std::size_t n,
               const TwoClassSums& to) const {
        kernel_.score(p, positive, weight, n, to);
    }

    // ---- One row at a time, of named features. The caller holds the lock from here on.

    Lock& lock() const { return lock_; }
    // May the learner be predicted with under a shared lock? It is so nearly always.
    bool shares() const { return !judging_ && preparation_.slot_count() <= reserved_; }
    void load(const Snapshot& from) {
        load(from, [](Engine&, std::size_t) {});
    }

    // Numbers per row of the results.
    std::size_t learn_width() const { return engine_->learn_width(); }
    std::size_t predict_width() const { return engine_->predict_width(); }

    // The caller has checked that the values are finite (and, to learn, with `check_sum`), and passes them in any
    // order. `resolve(i, grow)` gives the number of the i-th feature, or 0 for none; `resolve.name(i)` its name. The
    // labels are those of one row, and its number in messages is `row`.
    template <class Resolve>
    void learn_named(std::size_t count, const double* values, const Labels& given, const Resolve& resolve,
                     double* predictions, std::size_t row = 0);
    template <class Resolve>
    void predict_named(std::size_t count, const double* values, const Asking& asking, const Resolve& resolve,
                       double* predictions, bool placed = false);

    // The same for a row of a table, of a learner that has learned: `add(to)` adds what is in it to a SingleTableRow.
    template <class Add>
    void learn_added(const Labels& given, const Add& add, double* predictions);
    template <class Add>
    void predict_added(const Asking& asking, const Add& add, double* predictions);
    bool has_learned() const { return engine_->clock().examples > 0; }

    // Rows that are about to be learned so: throws if all together bring more features than the engine takes. True if
    // names had to be looked up for it: their numbers have been given up again. `row(r, learn)` calls
    // learn(count, values, resolve).
    template <class Row>
    bool check_named_features(std::size_t rows, const Labels& given, const Row& row);

    // The same for a row of features that have all been learned from before, of which some may be missing. `place` says
    // whether such rows can be taken so. The caller has put the values, none beyond `placed_most`, in their places; the
    // weight is not 0.
    static constexpr double placed_most = 0x1p500;
    bool place(const std::vector<std::uint32_t>& features, Placement& to) const;
    void learn_placed(Placement& row, const Labels& given, double* predictions);
    void predict_placed(Placement& row, const Asking& asking, double* predictions);

    // Throw if labels, weights or values cannot be learned from.
    void check(const Labels& labels, std::size_t rows) const;
    void check_sum(std::size_t count, const double* values, std::size_t row) {
        preparation_.check_sum(count, values, row);
    }

    // The number of a name, if it has one; with `grow` it gets one.
    std::optional<std::uint32_t> feature(std::string_view name, bool grow) { return preparation_.feature(name, grow); }
    // The names of the features of a text of words, known or not; one that several words share is there for each.
    std::vector<std::string> word_names(std::string_view column, std::string_view text);
    // Do rows depend on the names of their features, beside their numbers?
    bool notes() const { return preparation_.notes(); }

    // Has an automatic learner still to learn what suits it? Then the first row that counts settles that.
    bool unsettled() const { return !form_.settled(); }

    // An automatic learner's form for a call of learn; taken back if nothing is learned after all.
    class Settling {
      public:
        Settling() = default;
        Settling(Learner& learner, const Form& form);
        Settling(const Settling&) = delete;
        ~Settling() {
            if (learner_) take_back();
        }

      private:
        Learner* learner_ = nullptr;
        std::unique_ptr<Preparation> preparation_;  // as they were, where they had to be made anew
        std::unique_ptr<Engine> engine_;

        void take_back();
    };
    // What a call gives: an array, a table or one row of names, which have columns; a sparse matrix or text that names
    // the features that are there, which have none to speak of.
    struct Given {
        bool columns = false;
        std::size_t count = 0;
        bool words = false;  // some column is text of words
    };
    // At the start of every call; `what()` is a `Given`.
    template <class What>
    Settling settle_form(const Labels& labels, std::size_t rows, const What& what) {
        if (!unsettled() || !any_weight(labels, rows)) return {};
        return {*this, suitable(what())};
    }

  private:
    Setup setup_;
    Form form_ = setup_.engine.form;
    Options options_;
    const Kernel& kernel_;
    std::shared_ptr<Lock> own_lock_ = ForkLocks::make();
    Lock& lock_ = *own_lock_;
    Preparation preparation_;
    std::unique_ptr<Engine> engine_;
    std::size_t reserved_ = 0;  // slots that the engine has room for
    Rooms rooms_;
    LabelEncoder labels_;
    WordFeatures words_;
    std::vector<double> slopes_;
    std::uint64_t slopes_at_ = 0;  // the number of examples when they were true

    struct Judging {
        std::vector<double> y, weight, offset;  // as they were given
        LabelEncoder::Encoded encoded;
        Labels labels;
        std::size_t row = 0, rows = 0;  // how many have been judged, of how many
    };
    std::optional<Judging> judging_;
    bool holds_scales_ = false;

    bool takes_company() const;
    Form suitable(const Given& given) const;
    static void reserve(Engine& engine, const Preparation& preparation) {
        engine.reserve(preparation.slot_count(), preparation.growing());
    }
    void reserve() {
        reserve(*engine_, preparation_);
        reserved_ = preparation_.slot_count();
    }
    // The preparation or the engine is another one.
    void take_over() {
        rooms_.clear();
        reserved_ = preparation_.slot_count();
    }
    std::size_t class_count(std::size_t new_classes) const { return engine_->class_count() + new_classes; }
    void check_listed_columns(std::size_t count) const;
    void check_sparse() const;
    Form form_of(const Snapshot& from) const;
    // `fill(engine, number of slots)`: what else the engine gets before it is taken.
    using Filling = std::function<void(Engine& engine, std::size_t slots)>;
    void load(const Snapshot& from, const Filling& fill);
    std::size_t lane_count() const;
    static void fill(Engine& engine, std::size_t slots, std::size_t lanes, const std::vector<MergedPart>& parts,
                     const Merging& how);
    static Looking looking(const Asking& asking) {
        return asking.extrapolate ? Looking::extrapolating : Looking::predicting;
    }
    bool reads(const DenseInput& input) const;
    bool reads(const MatrixRows& input, std::size_t first, std::size_t end) const;
    bool reads_all(const MatrixRows& input) const;

    template <class Action>
    void learn_all(const Labels& given, std::size_t rows, Results& results, Action action);

    // ---- One call of predict: rows go in parts, each to the thread that is free.

    // Rows before `end` from `first` on. `asking` and `predictions` begin with the first.
    struct Part {
        std::size_t first, end;
        Asking asking;
        double* predictions;
        Room& room;
    };
    // How many rows there are, and about how much work one is.
    struct Extent {
        std::size_t rows, features;
        std::optional<std::size_t> columns;  // of arrays and matrices
        const DenseInput* dense = nullptr;   // which the engine may read as it lies
    };
    // `begin(changed)` checks what is given; it is called again when somebody may have changed the learner. Then
    // `predict(part)` is called for all parts, by several threads at once.
    template <class Begin, class Predict>
    void predict_in_parts(const Extent& extent, const Asking& asked, Results& results, const Begin& begin,
                          const Predict& predict);
    // The same in one go, while nobody else uses the learner.
    template <class Begin, class Predict>
    void predict_alone(const Extent& extent, const Asking& asked, Results& results, const Begin& begin,
                       const Predict& predict);
    template <class Predict>
    void predict_parts(std::size_t first, std::size_t end, std::size_t each, const Asking& asked, const Asking& checked,
                       double* predictions, const Predict& predict);
    std::size_t rows_of_part(const Extent& extent) const;

    template <Rows Input>
    void check_features(Input& input, const Labels& labels);
    template <Rows Input>
    void learn_batches(Input& input, const Labels& labels, double* predictions);
    bool has_windows() const { return preparation_.falling() && !holds_scales_; }
    // Of rows that follow, how many come before the windows of centred columns end or bring that about.
    std::size_t rows_of_window(const Labels& labels, std::size_t first, std::size_t rows) const;
    // Do windows end, now that there are more examples than before? And is a scale to fall then?
    bool ends_windows(std::uint64_t before) const;
    bool scales_fall() const;
    // What is to be done when windows have ended, no rows being under way if a scale falls.
    void end_windows();
    double column_scale(std::uint32_t feature) const;
    void predict_prepared(const SparseInput& rows, const Asking& asking, double* predictions, Room& room);
    template <Rows Input>
    void predict_batches(Input& input, const Part& part);
    void learn_columns(DenseRows rows, const Labels& labels, double* predictions);
    void predict_columns(DenseRows& rows, const Part& part);
    template <class Action>
    void learn_label(const Labels& given, std::size_t row, double* predictions, Action action);
    template <class Prepare>
    void learn_one(const Labels& given, std::size_t row, double* predictions, const Prepare& prepare);
    // Of rows in order: is there nothing to do but to centre their values?
    bool is_simple() const { return !preparation_.raw(); }
    void learn_in_order(const Placement::InOrder& row, const Labels& given, double* predictions);
    void predict_in_order(const Placement::InOrder& row, const Asking& asking, double* predictions);
    template <class Prepare>
    void predict_one(const Asking& asking, double* predictions, const Prepare& prepare);
};

// One row: `action` learns it, given its label as the loss wants it.
template <class Action>
void Learner::learn_label(const Labels& given, std::size_t row, double* predictions, Action action) {
    const double weight = weight_of(given, 0);
    LabelState after = labels_.state();
    double pace = 1;
    const Asking asking = labels_.checked({false, given.offset}, 1);
    const double label =
        labels_.encode(given.y[0], weight, offset_of(given, 0), row, class_count(given.new_classes), after, pace);
    action(Labels{&label, &weight, &pace, given.new_classes, asking.offset});
    labels_.complete(predictions, 1, learn_width(), given.offset);
    if (weight > 0) labels_.accept(after);
}

// One row, whose features have names: `prepare(looking, weight)` prepares it.
template <class Prepare>
void Learner::learn_one(const Labels& given, std::size_t row, double* predictions, const Prepare& prepare) {
    const double weight = weight_of(given, 0);
    learn_label(given, row, predictions, [&](const Labels& labels) {
        preparation_.check_named();
        preparation_.centre_to_learn().forget();
        const Preparation::Mark mark = preparation_.mark();
        const std::uint64_t examples = engine_->clock().examples;
        try {
            if (weight > 0) preparation_.use_names();
            prepare(weight > 0 ? Looking::learning : Looking::predicting, weight);
            reserve();
            if (labels.new_classes) {
                std::vector<std::uint32_t> met;
                engine_->check_features(preparation_.prepared(), labels, row, met);  // a class that joins stays
                engine_->add_classes(labels.new_classes);
            }
            engine_->learn_one(preparation_.prepared(), labels, predictions, row);
            if (ends_windows(examples)) end_windows();
        } catch (const DivergedError& error) {
            if (error.row <= row) preparation_.rewind(mark);  // otherwise the lanes learned the row before one diverged
            throw;
        } catch (...) {
            if (engine_->clock().examples == examples) preparation_.rewind(mark);
            throw;
        }
    });
}

template <class Prepare>
void Learner::predict_one(const Asking& asking, double* predictions, const Prepare& prepare) {
    const Asking checked = labels_.checked(asking, 1);
    preparation_.check_named();
    if (!shares()) reserve();  // the caller is alone
    const Rooms::Taken room(rooms_, preparation_, *engine_);
    prepare(looking(asking), *room);
    predict_prepared(room->preparation.prepared(), checked, predictions, *room);
    labels_.complete(predictions, 1, predict_width(), asking.offset);
}

template <class Resolve>
void Learner::learn_named(std::size_t count, const double* values, const Labels& given, const Resolve& resolve,
                          double* predictions, std::size_t row) {
    const Settling settling = settle_form(given, 1, [&] { return Given{true, count}; });
    learn_one(given, row, predictions, [&](Looking looking, double weight) {
        preparation_.prepare_named(count, values, looking, weight, resolve, row);
    });
}

template <class Add>
void Learner::learn_added(const Labels& given, const Add& add, double* predictions) {
    learn_one(given, 0, predictions, [&](Looking looking, double weight) {
        preparation_.prepare_one(looking, 0, [&] { add(SingleTableRow(preparation_, words_, looking, weight)); });
    });
}

template <class Add>
void Learner::predict_added(const Asking& asking, const Add& add, double* predictions) {
    predict_one(asking, predictions, [&](Looking looking, Room& room) {
        room.preparation.prepare_one(looking, 0,
                                     [&] { add(SingleTableRow(room.preparation, room.words, looking, 1.0)); });
    });
}

template <class Row>
bool Learner::check_named_features(std::size_t rows, const Labels& given, const Row& row) {
    if (!engine_->may_have_enough(preparation_.slot_count(), true)) return false;
    preparation_.check_named();
    const Preparation::Mark mark = preparation_.mark();
    std::vector<std::uint32_t> met;
    try {
        for (std::size_t r = 0; r < rows; ++r) {
            const Labels labels = labels_from(given, r);
            if (!(weight_of(labels, 0) > 0)) continue;
            preparation_.use_names();
            row(r, [&](std::size_t count, const double* values, const auto& resolve) {
                preparation_.prepare_named(count, values, Looking::learning, weight_of(labels, 0), resolve, r);
            });
            engine_->check_features(preparation_.prepared(), labels, r, met);
        }
    } catch (...) {
        preparation_.rewind(mark);
        throw;
    }
    preparation_.rewind(mark);
    return true;
}

template <class Resolve>
void Learner::predict_named(std::size_t count, const double* values, const Asking& asking, const Resolve& resolve,
                            double* predictions, bool placed) {
    predict_one(asking, predictions, [&](Looking looking, Room& room) {
        if (!placed) room.preparation.check_sum(count, values, 0);
        room.preparation.prepare_named(count, values, looking, 1.0, resolve, 0);
    });
}

}  // namespace unitless
