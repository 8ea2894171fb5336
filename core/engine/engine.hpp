// What learns from batches: the state of every slot, and the clock. A learner has one engine, chosen when it is made.
//
//   single/     one learner
//   lanes/      many learners that share their scales: classes, learning rates
//   softmax/    classes that share one softmax
//   newton/     second-order learners
//   ../ensemble the members of an ensemble: several of these, curves and trees
//
// An engine offers the virtual functions of `Engine`. What only some engines can do is an interface of its own
// (capabilities.hpp), which the caller asks for with `capabilities`.
//
// An error leaves an engine as an exception: InputError before anything has changed, DivergedError when a row made a
// number infinite; the rows that it says were learned are learned.
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

    // Numbers per row of the results of `learn` and of `predict`, and classes; they change when classes join.
    struct Widths {
        std::size_t learn = 1, predict = 1, classes = 0;
    };
    const Widths& widths() const { return widths_; }

    // Makes room for so many slots; fresh ones are zero, as if nothing had been seen. `growing`: more will come soon.
    virtual void reserve(std::size_t slots, bool growing) = 0;

    // Learns rows and gives the predictions made before each. Rows may be in progress until `finish`, so that the
    // caller keeps the labels and the memory of the predictions until then; the batch itself may go.
    virtual void learn(const Batch& batch, double* predictions) = 0;
    virtual void finish() {}
    // Waits for rows in progress, whatever has become of them.
    void settle() noexcept;

    virtual std::unique_ptr<EngineScratch> make_scratch() const = 0;
    virtual void predict(const Batch& batch, const PredictOptions& options, double* predictions,
                         EngineScratch& scratch) const = 0;
    // Predicts rows whose labels are known, and judges by them: the losses of all rates are counted, and an ensemble
    // learns how to combine its members, but no weight moves.
    virtual void judge(const Batch& batch, const PredictOptions& options, double* predictions) = 0;

    virtual void add_classes(std::size_t count);

    // The state of the first so many slots; and back, into a fresh engine of the same setup that has room for them.
    virtual void save(std::size_t slots, EngineState& to) const = 0;
    virtual void load(const EngineState& from) = 0;

    // Memory of the state in bytes, without scratch; and about how long the prediction of a row with so many features
    // takes, in multiplications.
    struct Description {
        std::size_t bytes, effort;
    };
    virtual Description describe(std::size_t features) const = 0;

    virtual Capabilities capabilities() { return {}; }

    // ---- Settings

    bool averages() const { return averaging_.on(); }
    // Are losses counted, and learning rates chosen by them?
    bool chooses_rates() const { return !choosing_.suspended(); }
    void choose_rates(bool choose) { choose ? choosing_.resume(clock_.t) : choosing_.suspend(clock_.t); }
    // While they are chosen, do all rates keep running: is none that has lost dropped, and none restarted?
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

    // Before the first update of the average there is nothing but the last weights.
    bool uses_average(const PredictOptions& options) const { return options.average && averaging_.started(); }

    // What all engines keep alike.
    void save_common(EngineState& to) const;
    void load_common(const EngineState& from);
    void check_average(const EngineState& from) const;
};

// The engine that the setup asks for.
std::unique_ptr<Engine> make_engine(const EngineSetup& setup, const Kernel& kernel);

}  // namespace unitless
