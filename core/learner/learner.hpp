// A learner: the lock, the labels, `learn` and `predict`. Rows of any source are checked, encoded (encoding/) and
// passed to the engine (engine/), batch by batch.
//
// Every public function locks the learner, so that threads can share it, except where a comment says that the caller
// does. Predicting threads share the lock. A long prediction releases it from time to time, so that threads that want
// to learn do not wait until its end; all threads predict its rows, some at a time.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "base/locks.hpp"
#include "encoding/encoder.hpp"
#include "engine/engine.hpp"
#include "learner/labels.hpp"
#include "learner/merging.hpp"
#include "learner/results.hpp"
#include "learner/scratch.hpp"

namespace unitless {

// The setup of a learner.
struct Setup {
    EngineSetup engine;
    EncoderSetup encoder;
    bool label_unit = false;  // whether the label's unit and offset are learned
};

// The complete state of a learner, for model files and merging.
struct Snapshot {
    EncoderState encoder;
    EngineState engine;
    LabelState labels;
    // The form of an automatic learner; automatic: not decided yet.
    Form settled{ModelType::automatic, Ensemble::automatic};
    bool keeps_average = false;  // predictions use the average of the weights
    // For a merged learner that has learned nothing since, for merging it again: how its weights would change with
    // other means of centered columns. The core only stores it.
    std::vector<double> slopes;
};

class Learner {
  public:
    Learner(const Setup& setup, const Kernel& kernel);

    // Learns rows, and returns the predictions made before each row. Invalid input changes nothing. After divergence,
    // or when memory runs out, the rows before it are learned.
    void learn(RowSource& rows, const Labels& labels, Results& results) {
        const std::lock_guard guard(lock_);
        learn_locked(rows, labels, results);
    }
    // `offset`: by row, or null.
    void predict(RowSource& rows, const PredictOptions& options, const double* offset, Results& results);

    // ---- For callers that hold the lock. To predict, a shared lock is enough unless the learner is judging.

    Lock& lock() const { return lock_; }
    void learn_locked(RowSource& rows, const Labels& labels, Results& results);
    void predict_locked(RowSource& rows, const PredictOptions& options, const double* offset, Results& results);
    bool is_judging() const { return judging_.has_value(); }
    bool has_learned() const { return engine_->clock().examples > 0; }
    // The names of the words or n-grams of a text, known or not. A shared feature is listed for each of them.
    std::vector<std::string> word_names(std::string_view column, std::string_view text, TextParts parts);
    void load(const Snapshot& from) {
        load(from, [](Engine&, std::size_t) {});
    }

    // ---- State

    // Saves the complete state, and restores it, also after more rows were learned. An invalid snapshot is rejected and
    // changes nothing. `slots`: with all slots, or with none.
    Snapshot snapshot(bool slots = true) const;
    void restore(const Snapshot& from) {
        const std::lock_guard guard(lock_);
        load(from);
    }

    // ---- Merging: reads some slots of some lanes, with slot_width() values per slot; and loads a snapshot without
    // slots, into which the slots of several learners are merged. Returns false, and changes nothing, if one of them
    // has learned since the merge was planned.

    std::size_t slot_width(std::size_t lanes) const;
    void read(const std::uint32_t* slots, std::size_t count, const std::vector<std::uint32_t>& lanes,
              SlotBlock& to) const;
    // `loaded` is called after loading, while the learner is still locked.
    bool load_merged(
        const Snapshot& from, const std::vector<MergedPart>& parts, const Merging& how,
        const std::function<void()>& loaded = [] {});

    // ---- Settings

    // Whether predictions use the average of the weights. keep_average throws if there is no average.
    bool keeps_average() const;
    void keep_average(bool average);
    // Whether losses are counted and learning rates chosen by them. If not, all rates continue to learn, and the leader
    // stays.
    bool chooses_rates() const;
    void choose_rates(bool choose);
    // Whether every rate continues while rates are chosen, also the worse ones.
    void keep_rates(bool keep);
    // Whether scales never fall from now on. Scales that several models share must not fall.
    void hold_scales(bool hold);
    // Until `end_judging`, predicted rows are judged by these labels (see Engine::judge), which are copied. The learner
    // must know the classes among the labels.
    void begin_judging(const Labels& labels, std::size_t rows);
    void end_judging();
    // Drops rates that are significantly worse.
    void prune_rates();
    void keep_leaders();

    // ---- Properties

    std::size_t bytes() const;
    Clock clock() const;
    // The number of results per row.
    Engine::Widths widths() const;
    // The number of labels that were learned as the nearest label of the range before them, see `LabelUnit`.
    std::size_t limited_labels() const;

    // Values, slopes or importance-aware changes of the learner's loss.
    void loss(int which, const double* p, const double* y, const double* tau, std::size_t n, double* out) const;
    // Adds the metrics of predictions of two classes.
    void score(const double* p, const bool* positive, const double* weight, std::size_t n,
               const TwoClassSums& to) const {
        kernel_.score(p, positive, weight, n, to);
    }

  private:
    Setup setup_;
    Form form_ = setup_.engine.form;
    Options options_;
    const Kernel& kernel_;
    std::shared_ptr<Lock> own_lock_ = ForkLocks::make();
    Lock& lock_ = *own_lock_;
    Encoder encoder_;
    std::unique_ptr<Engine> engine_;
    Capabilities can_;  // the abilities of the engine
    ScratchPool scratch_pool_;
    LabelEncoder labels_;
    EncodedLabels encoded_;  // scratch, reused between calls
    bool keeps_average_ = false, holds_scales_ = false;
    std::vector<double> slopes_;
    std::uint64_t slopes_at_ = 0;  // the number of examples for which they are valid

    struct Judging {
        std::vector<double> y, weight, offset;  // as given by the caller
        EncodedLabels encoded;
        std::size_t row = 0, rows = 0;  // the number of judged rows, and of all rows
    };
    std::optional<Judging> judging_;

    static void reserve(Engine& engine, const Encoder& encoder) {
        engine.reserve(encoder.slot_count(), encoder.growing());
    }
    // Must be called after the encoder or the engine was replaced.
    void take_over() {
        scratch_pool_.clear();
        can_ = engine_->capabilities();
    }

    // ---- Learning

    void check_values(RowSource& rows) const;
    void learn_in_place(const DenseSource& rows, const Labels& labels, double* predictions);
    void learn_batches(RowSource& rows, const Labels& labels, double* predictions);
    void check_feature_limit(RowSource& rows, const Labels& labels);
    std::size_t rows_learned_since(std::uint64_t examples, const Labels& labels, std::size_t rows) const;
    // The rows as a dense array, if the engine can read them in place; otherwise null.
    DenseSource* read_in_place(RowSource& rows) const;

    // ---- Predicting

    // One call, whose arrays begin with row 0.
    struct Prediction {
        RowSource& rows;
        PredictOptions options;
        const double* offset;         // as given by the caller
        const double* engine_offset;  // the offsets that the engine adds
        double* predictions;
    };
    Prediction begin_prediction(RowSource& rows, const PredictOptions& options, const double* offset,
                                Results& results) const;
    void predict_part(const Prediction& call, DenseSource* in_place, std::size_t first, std::size_t end);
    std::size_t rows_per_part(const RowSource& rows, bool in_place) const;

    // ---- The form of an automatic learner (form.cpp)

    static EncoderSetup encoder_setup(const Setup& setup, const Form& form);
    static EngineSetup engine_setup(const Setup& setup, const Form& form);
    bool may_ensemble() const;
    Form suitable_form(const DataKind& data) const;
    Form form_of(const Snapshot& from) const;
    // Settles the form for a call of learn, and undoes this if nothing was learned.
    class Settling {
      public:
        Settling(Learner& learner, const RowSource& rows, bool counts);
        Settling(const Settling&) = delete;
        ~Settling() {
            if (learner_) take_back();
        }

      private:
        Learner* learner_ = nullptr;        // null: the form was settled before
        std::unique_ptr<Encoder> encoder_;  // the previous ones, if they were replaced
        std::unique_ptr<Engine> engine_;

        void take_back();
    };

    // ---- Falling scales (falling_scales.cpp)

    bool has_windows() const { return encoder_.falling() && !holds_scales_; }
    // The number of rows, at most `rows`, up to and including the one that ends the windows of centered columns.
    std::size_t rows_of_window(const Labels& labels, std::size_t first, std::size_t rows) const;
    // Whether windows have ended since there were `before` examples, and whether a scale falls then.
    bool ends_windows(std::uint64_t before) const;
    bool scales_fall() const;
    // Called when windows have ended. If a scale falls, no row may be in progress.
    void end_windows();
    double column_scale(std::uint32_t feature) const;

    // ---- State (state.cpp, merging.cpp)

    // `fill(engine, number of slots)` completes the engine before the learner uses it.
    using Filling = std::function<void(Engine& engine, std::size_t slots)>;
    void load(const Snapshot& from, const Filling& fill);
    std::size_t lane_count() const;
    static void fill(Engine& engine, std::size_t slots, std::size_t lanes, const std::vector<MergedPart>& parts,
                     const Merging& how);
};

}  // namespace unitless
