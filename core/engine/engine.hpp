// What learns from prepared rows: the state of every slot, and the clock. A learner has one engine, chosen when it is
// made, and calls it once per batch of rows.
//
// The engine in single/ trains one model; the one in lanes/ trains many that share their scales; the one in shapes/ has
// curves and trees beside one of these. Another engine has to offer the pure virtual functions; the shortcuts at the
// end are for engines that can do better with some kinds of rows.
#pragma once

#include <functional>
#include <memory>

#include "base/errors.hpp"
#include "engine/averaging.hpp"
#include "engine/kernel.hpp"
#include "engine/setup.hpp"
#include "engine/slot_block.hpp"
#include "engine/state.hpp"

namespace unitless {

class Placement;

Unit unit_of_v(const Options& options);

class Engine {
  public:
    virtual ~Engine() = default;

    const Clock& clock() const { return clock_; }

    // What predictions are made with: the last weights, or their average. Learning always predicts with the last ones.
    bool averages() const { return averaging_.on(); }
    bool keeps_average() const { return keeps_average_; }
    virtual void keep_average(bool average) {
        if (average && !averages()) throw InputError("this model does not average its weights");
        keeps_average_ = average;
    }

    // Are losses counted, and learning rates chosen by them?
    bool chooses_rates() const { return !choosing_.suspended(); }
    void choose_rates(bool choose) { choose ? choosing_.resume(clock_.t) : choosing_.suspend(clock_.t); }
    // While they are chosen, do all rates run on: is none that has lost dropped, and none taken up?
    bool keeps_rates() const { return keeps_rates_; }
    void keep_rates(bool keep) { keeps_rates_ = keep; }

    // Lets rates go that have lost beyond doubt, and takes up the leaders' neighbours.
    virtual void sift_rates() {}

    // Numbers per row of the results.
    virtual std::size_t learn_width() const { return predict_width(); }
    virtual std::size_t predict_width() const { return 1; }

    // Room for so many slots; fresh ones are zero, as if nothing had been seen. `growing`: there will be more soon.
    virtual void reserve(std::size_t slots, bool growing) = 0;

    // May rows bring more features than it takes, with so many slots, and more to come if they are `growing`? Then the
    // rows of a call are checked before any is learned: throws InputError where there are too many. `met`: slots of the
    // call's earlier rows that are new.
    virtual bool may_have_enough(std::size_t /*slots*/, bool /*growing*/) const { return false; }
    virtual void check_features(const SparseInput&, const Labels&, std::size_t /*row*/,
                                std::vector<std::uint32_t>& /*met*/) const {}

    // Learns rows and gives the predictions made before each; `row` is the number of the first one, for messages. Rows
    // may be under way until `finish`. Throws DivergedError.
    virtual void learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) = 0;
    virtual void finish() {}
    // Waits for rows under way, whatever has become of them.
    virtual void settle() noexcept {}

    // Working memory of one who predicts. Any number of threads predict at once, each with its own, while nobody
    // learns.
    class Room {
      public:
        virtual ~Room() = default;
    };
    virtual std::unique_ptr<Room> make_room() const = 0;
    virtual void predict(const SparseInput& rows, const Asking& asking, double* predictions, Room& room) const = 0;
    // Predicts rows whose labels are known, and judges by them: the losses of all rates are counted, and what mixes
    // experts learns what they are worth, but no weight moves.
    virtual void judge(const SparseInput& rows, const Asking& asking, const Labels& labels, double* predictions) = 0;
    // How long a prediction takes, roughly, of a row with so many features: in units of a multiplication.
    virtual std::size_t effort(std::size_t features) const { return features; }

    // The scale of a slot, or 0 if there is none; and a smaller one, while no rows are under way: v and H stay, and so
    // does the average, as if all that was learned had been in the new unit. Of no use to rules without scales.
    virtual double scale(std::uint32_t slot) const = 0;
    virtual void lower_scale(std::uint32_t slot, double scale) = 0;

    virtual std::size_t class_count() const { return 0; }
    virtual void add_classes(std::size_t /*count*/) {
        throw InputError("this model has a fixed list of classes, so no class can be added");
    }

    // The state of the first so many slots; and back, into a fresh engine of the same setup that has room for them.
    virtual void save(std::size_t slots, EngineState& to) const = 0;
    virtual void load(const EngineState& from) = 0;
    virtual std::size_t bytes() const = 0;

    // ---- Merging: slots of some lanes, zero where there is no such slot; and slots of all lanes, one after another,
    // put into a fresh engine that has room for them.

    virtual bool merges() const { return false; }
    virtual void read(const std::uint32_t* /*slots*/, std::size_t /*count*/,
                      const std::vector<std::uint32_t>& /*lanes*/, SlotBlock&) const {}
    virtual void write(std::size_t /*first*/, std::size_t /*count*/, const SlotBlock&) {}
    // So many features have a scale: when the average is looked at next.
    void plan_look(std::size_t features) { averaging_.plan(clock_.examples, features); }

    // ---- Shortcuts: the same bits as `learn` and `predict` in less time.

    // Can slots of rows be a matrix's own columns, to be masked and shifted?
    virtual bool reads_columns() const { return false; }

    // Dense rows as they lie, column j for slot 1 + j or as their columns say, `slots` being those in use.
    virtual bool reads_dense(std::size_t /*slots*/, std::size_t /*columns*/) const { return false; }
    virtual Outcome learn_dense(const DenseInput&, std::size_t /*slots*/, const Labels&, double*) { return {}; }
    virtual Outcome predict_dense(const DenseInput&, std::size_t /*slots*/, const Asking&, double*, Room&) const {
        return {};
    }

    // Rows spread over all slots in use; fill(row, to) writes what is not zero.
    using Fill = std::function<void(std::size_t row, double* to)>;
    virtual bool spreads(std::size_t /*slots*/, std::size_t /*rows*/, std::size_t /*entries*/) const { return false; }
    virtual void learn_spread(std::size_t /*slots*/, std::size_t /*rows*/, const Fill&, const Labels&, double*,
                              std::size_t /*row*/) {}

    // One row, of which nothing is under way afterwards.
    virtual void learn_one(const SparseInput& row, const Labels& labels, double* predictions, std::size_t number) {
        learn(row, labels, predictions, number);
        finish();
    }

    // One row at a time, of the same features as the row before.
    virtual bool places() const { return false; }
    virtual void learn_placed(Placement&, const Labels& /*of one row*/, double& /*prediction*/) {}
    virtual double predict_placed(Placement&, const Asking&) const { return 0; }

  protected:
    Engine(const EngineSetup& setup, const Clock& clock)
        : clock_(clock), averaging_(setup.average, unit_of_v(setup.options), setup.slots) {}

    Clock clock_;
    Averaging averaging_;
    bool keeps_average_ = false;
    Choosing choosing_;
    bool keeps_rates_ = false;

    // Before the first look there is nothing but the last weights.
    bool predicts_with_average() const { return keeps_average_ && averaging_.started(); }

    // What all engines know alike.
    void save_common(EngineState& to) const {
        to.clock = clock_;
        to.averaged_t = averaging_.t();
        to.next_look = averaging_.next();
        to.keeps_average = keeps_average_;
        to.choosing = choosing_;
    }
    void load_common(const EngineState& from) {
        clock_ = from.clock;
        averaging_.restore(from.averaged_t, from.next_look);
        keeps_average_ = from.keeps_average;
        choosing_ = from.choosing;
    }
    void check_average(const EngineState& from) const {
        const double t = from.averaged_t, most = from.clock.t;
        if (from.average.size() != (averages() ? from.v.size() : 0) ||
            from.average_scale.size() != (averages() ? from.slots.size() : 0))
            throw InputError("the average is not that of the model's weights");
        if (!(t >= 0 && t <= most) || (!averages() && (t > 0 || from.keeps_average)) ||
            (averages() && from.next_look <= from.clock.examples))
            throw InputError("the average does not agree with the total weight of the examples");
    }
};

// One learner, lanes, or a shape: what the setup asks for.
std::unique_ptr<Engine> make_engine(const EngineSetup& setup, const Kernel& kernel);

}  // namespace unitless
