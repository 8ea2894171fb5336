// What learns from prepared rows: the state of every slot, and the clock. A learner has one engine, chosen when it is
// made, and calls it once per batch of rows.
//
// The engine in single/ trains one model; the one in lanes/ trains many that share their scales. Another engine has to
// offer the pure virtual functions; the shortcuts at the end are for engines that can do better with some kinds of
// rows.
#pragma once

#include <functional>
#include <memory>

#include "base/errors.hpp"
#include "engine/kernel.hpp"
#include "engine/setup.hpp"
#include "engine/state.hpp"

namespace unitless {

class Placement;

class Engine {
  public:
    virtual ~Engine() = default;

    const Clock& clock() const { return clock_; }

    // Numbers per row of the results.
    virtual std::size_t learn_width() const { return predict_width(); }
    virtual std::size_t predict_width() const { return 1; }

    // Room for so many slots; fresh ones are zero, as if nothing had been seen. `growing`: there will be more soon.
    virtual void reserve(std::size_t slots, bool growing) = 0;
    // Two fresh slots take over from one: its weight, and of its evidence H the part `share` and the rest.
    virtual void split(std::uint32_t slot, std::uint32_t left, std::uint32_t right, double share) = 0;

    // Learns rows and gives the predictions made before each; `row` is the number of the first one, for messages. Rows
    // may be under way until `finish`. Throws DivergedError.
    virtual void learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) = 0;
    virtual void predict(const SparseInput& rows, bool extrapolate, double* predictions) = 0;
    virtual void finish() {}
    // Waits for rows under way, whatever has become of them.
    virtual void settle() noexcept {}

    virtual std::size_t class_count() const { return 0; }
    virtual void add_classes(std::size_t /*count*/) {
        throw InputError("this model has a fixed list of classes, so no class can be added");
    }

    // The state of the first so many slots; and back, into a fresh engine of the same setup that has room for them.
    virtual void save(std::size_t slots, EngineState& to) const = 0;
    virtual void load(const EngineState& from) = 0;
    virtual std::size_t bytes() const = 0;

    // ---- Shortcuts: the same bits as `learn` and `predict` in less time.

    // Can slots of rows be a matrix's own columns, to be masked and shifted?
    virtual bool reads_columns() const { return false; }

    // Dense rows as they lie, column j for slot 1 + j or as their columns say, `slots` being those in use.
    virtual bool reads_dense(std::size_t /*slots*/, std::size_t /*columns*/) const { return false; }
    virtual Outcome learn_dense(const DenseInput&, std::size_t /*slots*/, const Labels&, double*) { return {}; }
    virtual Outcome predict_dense(const DenseInput&, std::size_t /*slots*/, bool, double*) { return {}; }

    // Rows spread over all slots in use; fill(row, to) writes what is not zero.
    using Fill = std::function<void(std::size_t row, double* to)>;
    virtual bool spreads(std::size_t /*slots*/, std::size_t /*rows*/, std::size_t /*entries*/) const { return false; }
    virtual void learn_spread(std::size_t /*slots*/, std::size_t /*rows*/, const Fill&, const Labels&, double*,
                              std::size_t /*row*/) {}

    // One row at a time, of the same features as the row before.
    virtual bool places() const { return false; }
    virtual void learn_placed(Placement&, double /*y*/, double /*weight*/, double /*pace*/, double& /*prediction*/) {}
    virtual double predict_placed(Placement&, bool /*extrapolate*/) { return 0; }

  protected:
    Clock clock_;
};

// One learner, or lanes: what the setup asks for.
std::unique_ptr<Engine> make_engine(const EngineSetup& setup, const Kernel& kernel);

}  // namespace unitless
