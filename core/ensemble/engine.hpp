// The engine of ensembles: members that read the same rows, and a mixture that combines their predictions.
//
//   model type   members
//   linear       linear
//   curves       linear and curves; linear
//   trees        linear and curves; linear, curves and trees; linear
//   curves only  curves, without linear terms of numbers: there is nothing to combine
//   and other engines, which see the same rows as the linear one
//
// The linear member is a separate engine. Curves are cut by the values alone, so a batch is processed once for all
// members; each leaf learner then gets the leaves of every row, and the cuts after it. Members are independent of each
// other, so they can run in parallel. Only the linear member runs first: if it diverges, the others learn the same rows
// as it did.
//
// Three batches are in progress at a time: the linear member and the curves process one, the other members learn the
// one before, and the predictions of the one before that are combined.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/parts.hpp"
#include "engine/engine.hpp"
#include "engine/lanes/staged_batch.hpp"
#include "ensemble/mixture.hpp"
#include "trees/curves.hpp"
#include "trees/leaf_learner.hpp"

namespace unitless {

class EnsembleEngine final : public Engine, public ScaleAccess, public RateSelection {
  public:
    // An engine in addition to the linear one.
    struct Member {
        std::string name;
        std::unique_ptr<Engine> engine;
    };
    // `linear`: the engine of linear terms only, or null.
    EnsembleEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock, std::unique_ptr<Engine> linear,
                   std::vector<Member> engines);

    void reserve(std::size_t slots, bool growing) override;
    void learn(const Batch& batch, double* predictions) override;
    void finish() override;
    std::unique_ptr<EngineScratch> make_scratch() const override;
    void predict(const Batch& batch, const PredictOptions& options, double* predictions,
                 EngineScratch& scratch) const override;
    void judge(const Batch& batch, const PredictOptions& options, double* predictions) override;
    void add_classes(std::size_t count) override;
    void save(std::size_t slots, EngineState& to) const override;
    void load(const EngineState& from) override;
    Description describe(std::size_t features) const override;
    Capabilities capabilities() override { return {.scales = this, .rates = this}; }

    double scale(std::uint32_t slot) const override;
    void lower_scale(std::uint32_t slot, double scale) override;
    void prune_rates() override;
    void keep_leaders() override;

  private:
    EngineSetup setup_;
    const Kernel& kernel_;
    std::unique_ptr<Engine> linear_;
    std::vector<Member> engines_;
    std::vector<LeafLearner> leaf_learners_;
    Curves curves_;
    Mixture mixture_;
    std::size_t met_;  // the number of announced classes that have occurred
    std::size_t slots_ = 0, used_slots_ = 0;
    std::vector<double> scales_;  // by slot; leaf learners get a copy
    bool had_leaves_ = false;     // some learned row had leaves of curves
    bool broken_ = false;         // some members have learned rows that others have not

    // The order of members: leaf learners, the linear engine, the other engines.
    std::size_t linear_place() const { return leaf_learners_.size(); }
    std::size_t engine_place(std::size_t i) const { return leaf_learners_.size() + (linear_ ? 1 : 0) + i; }
    std::size_t member_count() const { return engine_place(engines_.size()); }
    template <class Action>
    void for_each_engine(const Action& action) const;

    // Rows with scales applied, and their leaves of curves.
    struct Staged {
        StagedBatch batch;
        std::vector<std::uint32_t> leaves;
        std::vector<std::size_t> leaf_ends, cut_ends;
        std::vector<Curves::Cut> cuts;
        std::vector<std::uint8_t> intervals;
        std::vector<unsigned char> kinds;  // of the columns; there may be more columns in the next batch

        void begin(const Batch& rows);
        LeafRows rows(const Batch& rows) const;
    };
    // The members' predictions of a batch. They are combined while the next batch is learned.
    struct Predictions {
        std::vector<double> numbers;                    // [member][row][head]
        std::size_t rows = 0, width = 0, capacity = 0;  // capacity: the number of rows with memory
        double* combined = nullptr;
        bool labeled = false, choosing = false;  // whether the mixture has labels, and learns them
        Labels labels{};
        Clock before;
        std::size_t met = 0;                  // the number of classes before these rows
        std::size_t rows_without_leaves = 0;  // before the first row with leaves of curves
        std::vector<std::size_t> restarts;    // rows after which a member began anew

        void begin(std::size_t row_count, std::size_t members, std::size_t heads, double* to) {
            rows = capacity = row_count;
            width = heads;
            combined = to;
            restarts.clear();
            numbers.resize(std::max(numbers.size(), members * capacity * width));
        }
        double* of(std::size_t member) { return numbers.data() + member * capacity * width; }
        const double* of(std::size_t member) const { return numbers.data() + member * capacity * width; }
    };
    // A batch in progress.
    struct Work {
        Staged staged;
        Batch batch;
        Predictions made;
        const Predictions* before = nullptr;  // the predictions to combine meanwhile
    };
    Work works_[3];
    std::size_t turn_ = 0;
    Work* running_ = nullptr;               // members learn this batch
    const Predictions* waiting_ = nullptr;  // the batch to combine next
    std::optional<std::size_t> lost_row_;   // the last row of a batch after which a leaf learner had no rate left
    std::vector<double> row_;               // [member][head]

    struct Scratch final : EngineScratch {
        Staged staged;
        Predictions predictions;
        std::vector<double> row;
        std::vector<LeafLearner::Scratch> leaf_learners;
        std::vector<std::unique_ptr<EngineScratch>> engines;  // of the linear engine and the others
    };

    // A piece of work on a batch, for one thread.
    struct Task {
        enum class Kind { linear, engine, leaf_learner, combine };
        Kind kind;
        std::size_t member = 0;
    };
    std::vector<Task> tasks_;
    static constexpr std::size_t few_rows = 16;  // for which threads would cost more than they gain
    // Threads that help with pieces of the tasks, and all threads of a batch; further ones would only share the same
    // caches among more cores.
    static constexpr std::size_t most_helpers = 2, most_threads = 8;
    Claims claims_;  // of the tasks

    void set_classes(std::size_t count);
    void forward_settings();
    void check_whole() const;
    void learn_rows(const Batch& all, double* predictions);
    std::size_t stage_learn(Staged& staged, const Batch& rows);
    static void keep_kinds(Work& work);
    void start(Work& work);
    void learn_part(const Task& task, Work& work);
    void complete();
    void combine_waiting();
    void stage_predict(Staged& staged, const Batch& rows, bool extrapolate) const;
    void find_curve_leaves(Staged& staged, const Batch& rows, std::size_t r, std::size_t known) const;
    void share_scales(const Batch& rows);
    std::size_t learn_curves(Staged& staged, const Batch& rows, std::uint64_t examples);
    std::size_t met_after(const Batch& rows) const;
    void begin_predictions(Predictions& of, const Batch& rows, double* predictions) const;
    void gather(const Predictions& of, std::size_t row, std::size_t heads, std::vector<double>& to) const;
    void combine_row(const Predictions& of, std::size_t row, std::size_t met, std::vector<double>& members) const;
    void combine(const Predictions& of);
    double loss_of(const double* scores, std::size_t heads, double y) const;
    void load_linear(const EngineState& from);
    void load_leaf_learner(std::size_t i, const std::optional<LeafState>& state, const EngineState& from);

    Parts parts_;  // the members' work; last, so that it ends before what it uses
};

}  // namespace unitless
