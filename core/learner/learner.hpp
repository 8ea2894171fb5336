// A learner: the lock, the labels, and the two calls. Rows of any source are checked, encoded (encoding/) and handed to
// the engine (engine/), batch by batch.
//
// Every public function locks the learner, so that threads can share one, except where it says that the caller does.
// Threads that predict share the lock. A long prediction gives it up now and then, so that nobody who wants to learn
// has to wait for its end; its rows are predicted by all threads, some at a time.
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

// What a learner is made of.
struct Setup {
    EngineSetup engine;
    EncoderSetup encoder;
    bool label_unit = false;  // the label's unit and offset are learned too
};

// Everything that a learner knows, for files and merging.
struct Snapshot {
    EncoderState encoder;
    EngineState engine;
    LabelState labels;
    Form settled{ModelType::automatic, Ensemble::automatic};  // what an automatic one has become; automatic: not yet
    bool keeps_average = false;                               // predictions are made with the average of the weights
    // Of a merged learner that has learned nothing since, for those who merge it again: how its weights would follow
    // other means of centered columns. The core only keeps it.
    std::vector<double> slopes;
};

class Learner {
  public:
    Learner(const Setup& setup, const Kernel& kernel);

    // Learns rows, and gives the predictions made before each. Bad input changes nothing; after divergence, or when
    // memory runs out, the rows before are learned.
    void learn(RowSource& rows, const Labels& labels, Results& results) {
        const std::lock_guard guard(lock_);
        learn_locked(rows, labels, results);
    }
    // `offset`: by row, or null.
    void predict(RowSource& rows, const PredictOptions& options, const double* offset, Results& results);

    // ---- For callers that hold the lock. To predict, a shared one will do unless the learner is judging.

    Lock& lock() const { return lock_; }
    void learn_locked(RowSource& rows, const Labels& labels, Results& results);
    void predict_locked(RowSource& rows, const PredictOptions& options, const double* offset, Results& results);
    bool is_judging() const { return judging_.has_value(); }
    bool has_learned() const { return engine_->clock().examples > 0; }
    // The names of the features of a text of words, known or not; one that several words share is there for each.
    std::vector<std::string> word_names(std::string_view column, std::string_view text);
    void load(const Snapshot& from) {
        load(from, [](Engine&, std::size_t) {});
    }

    // ---- State

    // Everything that it knows, and the way back, also after it has learned more. An invalid snapshot is refused and
    // changes nothing. `slots`: with all slots, or with none.
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

    // ---- Settings

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
    // Until `end_judging`, rows that are predicted are judged by these labels (see Engine::judge), which are copied.
    // Labels must be such as the learner has met.
    void begin_judging(const Labels& labels, std::size_t rows);
    void end_judging();
    // Drops rates that have clearly lost.
    void prune_rates();

    // ---- Facts

    std::size_t bytes() const;
    Clock clock() const;
    // Numbers per row of the results.
    Engine::Widths widths() const;
    // Labels that were learned as the nearest label of the range before them, see `LabelUnit`.
    std::size_t limited_labels() const;

    // Values, slopes or importance-aware changes of the learner's loss.
    void loss(int which, const double* p, const double* y, const double* tau, std::size_t n, double* out) const;
    // What predictions of two classes add up to.
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
    Capabilities can_;  // of the engine
    ScratchPool scratch_pool_;
    LabelEncoder labels_;
    EncodedLabels encoded_;  // memory, kept between calls
    bool keeps_average_ = false, holds_scales_ = false;
    std::vector<double> slopes_;
    std::uint64_t slopes_at_ = 0;  // the number of examples when they were true

    struct Judging {
        std::vector<double> y, weight, offset;  // as they were given
        EncodedLabels encoded;
        std::size_t row = 0, rows = 0;  // how many have been judged, of how many
    };
    std::optional<Judging> judging_;

    static void reserve(Engine& engine, const Encoder& encoder) {
        engine.reserve(encoder.slot_count(), encoder.growing());
    }
    // The encoder or the engine is another one.
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
    // Can the engine read the rows where they lie? Then this is what it reads.
    DenseSource* read_in_place(RowSource& rows) const;

    // ---- Predicting

    // One call, whose arrays begin with row 0.
    struct Prediction {
        RowSource& rows;
        PredictOptions options;
        const double* offset;         // as they were given
        const double* engine_offset;  // those that the engine adds
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
    // The form for a call of learn; taken back if nothing is learned after all.
    class Settling {
      public:
        Settling(Learner& learner, const RowSource& rows, bool counts);
        Settling(const Settling&) = delete;
        ~Settling() {
            if (learner_) take_back();
        }

      private:
        Learner* learner_ = nullptr;        // null: the form is settled already
        std::unique_ptr<Encoder> encoder_;  // the earlier ones, where they had to be made anew
        std::unique_ptr<Engine> engine_;

        void take_back();
    };

    // ---- Scales that fall (falling_scales.cpp)

    bool has_windows() const { return encoder_.falling() && !holds_scales_; }
    // Of rows that follow, how many come before the windows of centered columns end or bring that about.
    std::size_t rows_of_window(const Labels& labels, std::size_t first, std::size_t rows) const;
    // Do windows end, now that there are more examples than before? And is a scale to fall then?
    bool ends_windows(std::uint64_t before) const;
    bool scales_fall() const;
    // When windows have ended, while no row is in progress if a scale falls.
    void end_windows();
    double column_scale(std::uint32_t feature) const;

    // ---- State (state.cpp, merging.cpp)

    // `fill(engine, number of slots)`: what else the engine gets before it is taken.
    using Filling = std::function<void(Engine& engine, std::size_t slots)>;
    void load(const Snapshot& from, const Filling& fill);
    std::size_t lane_count() const;
    static void fill(Engine& engine, std::size_t slots, std::size_t lanes, const std::vector<MergedPart>& parts,
                     const Merging& how);
};

}  // namespace unitless
