// Engines learn batches. An engine has the state of every slot and the clock. A learner has one engine, which is chosen
// when the learner is created.
//
//   single/     one learner
//   lanes/      many learners that share their scales: classes, learning rates
//   softmax/    classes that share one softmax
//   newton/     second-order learners
//   ../ensemble the members of an ensemble: several of these engines, curves and trees
//
// All engines have the virtual functions of `Engine`. Abilities of some engines are separate interfaces
// (capabilities.hpp), which the caller requests with `capabilities`.
//
// Errors are exceptions. InputError: nothing has changed. DivergedError: a row made a number infinite; the exception
// has the number of rows that were learned.
#pragma once

#include <memory>

#include "base/errors.hpp"
#include "engine/averaging.hpp"
#include "engine/capabilities.hpp"
#include "engine/kernel.hpp"
#include "engine/scratch.hpp"
#include "engine/setup.hpp"
#include "engine/state.hpp"
#include "rows/batch.hpp"
#include "rows/predict_options.hpp"

namespace unitless {

Unit unit_of_v(const Options& options);

class Engine {
  public:
    virtual ~Engine() = default;

    const Clock& clock() const { return clock_; }

    // The number of results per row of `learn` and `predict`, and the number of classes. They change when classes join.
    struct Widths {
        std::size_t learn = 1, predict = 1, classes = 0;
    };
    const Widths& widths() const { return widths_; }

    // Reserves memory for `slots` slots. New slots are zero. `growing`: more slots are likely.
    virtual void reserve(std::size_t slots, bool growing) = 0;

    // Learns rows, and writes the predictions made before each row was learned. Rows may be in progress until `finish`.
    // Until then the caller must keep the labels and the memory of the predictions, and the batch itself until the next
    // call has returned.
    virtual void learn(const Batch& batch, double* predictions) = 0;
    virtual void finish() {}
    // Waits for rows in progress, and ignores their errors.
    void settle() noexcept;

    virtual std::unique_ptr<EngineScratch> make_scratch() const = 0;
    virtual void predict(const Batch& batch, const PredictOptions& options, double* predictions,
                         EngineScratch& scratch) const = 0;
    // Predicts rows whose labels are known, and evaluates the predictions: it counts the losses of all rates, and an
    // ensemble learns how to combine its members. No weight changes.
    virtual void judge(const Batch& batch, const PredictOptions& options, double* predictions) = 0;

    virtual void add_classes(std::size_t count);

    // Saves the first `slots` slots; loads them into a new engine of the same setup that has memory for them.
    virtual void save(std::size_t slots, EngineState& to) const = 0;
    virtual void load(const EngineState& from) = 0;

    // Memory of the state in bytes, without scratch; and the approximate cost of predicting a row with `features`
    // features, in multiplications.
    struct Description {
        std::size_t bytes, effort;
    };
    virtual Description describe(std::size_t features) const = 0;

    virtual Capabilities capabilities() { return {}; }

    // ---- Settings

    bool averages() const { return averaging_.on(); }
    // Whether the engine counts losses and chooses learning rates by them.
    bool chooses_rates() const { return !choosing_.suspended(); }
    void choose_rates(bool choose) { choose ? choosing_.resume(clock_.t) : choosing_.suspend(clock_.t); }
    // Whether all rates keep running while they are chosen: no rate is dropped or restarted.
    bool keeps_rates() const { return keeps_rates_; }
    void keep_rates(bool keep) { keeps_rates_ = keep; }

  protected:
    Engine(const EngineSetup& setup, const Clock& clock)
        : clock_(clock), averaging_(setup.average, unit_of_v(setup.options), setup.slots) {}

    Clock clock_;
    Widths widths_;
    Averaging averaging_;
    Choosing choosing_;
    bool keeps_rates_ = false;

    // Before the first update of the average, predictions use the current weights.
    bool uses_average(const PredictOptions& options) const { return options.average && averaging_.started(); }

    // Fields that all engines share.
    void save_common(EngineState& to) const;
    void load_common(const EngineState& from);
    void check_average(const EngineState& from) const;
};

// Creates the engine for the setup.
std::unique_ptr<Engine> make_engine(const EngineSetup& setup, const Kernel& kernel);

}  // namespace unitless
