// The engine of models that are more than one linear learner: experts that read the same rows, and what is made of
// their predictions.
//
//   shape        experts
//   linear       linear
//   curves       linear and curves; linear
//   trees        linear and curves; linear, curves and trees; linear
//   curves only  curves, without linear terms of numbers: there is nothing to mix
//   and its company: other engines, which see the same rows as the linear one
//
// The linear expert is an engine of its own. Curves are cut by the values alone, so that a batch of rows goes through
// them once for all experts; each expert is then told, row by row, which leaves a row has and which were cut after it.
// Experts do not know of each other, so that they can run side by side. Only the linear one goes first: the others
// learn the rows that it has learned, should it diverge.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "engine/engine.hpp"
#include "engine/lanes/lane_batch.hpp"
#include "engine/shapes/curves.hpp"
#include "engine/shapes/expert.hpp"
#include "engine/shapes/mixture.hpp"

namespace unitless {

class ShapedEngine final : public Engine {
  public:
    // An engine beside the linear one.
    struct Companion {
        std::string name;
        std::unique_ptr<Engine> engine;
    };
    // `linear`: the engine of linear terms alone, or null.
    ShapedEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock, std::unique_ptr<Engine> linear,
                 std::vector<Companion> company);

    std::size_t predict_width() const override { return setup_.has_classes() ? class_count() : 1; }
    std::size_t class_count() const override { return classes_; }
    void add_classes(std::size_t count) override;

    void reserve(std::size_t slots, bool growing) override;
    void learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) override;
    std::unique_ptr<Room> make_room() const override;
    void predict(const SparseInput& rows, const Asking& asking, double* predictions, Room& room) const override;
    void judge(const SparseInput& rows, const Asking& asking, const Labels& labels, double* predictions) override;
    std::size_t effort(std::size_t features) const override;
    void keep_average(bool average) override;
    void sift_rates() override;
    void finish() override;
    void settle() noexcept override;
    double scale(std::uint32_t slot) const override;
    void lower_scale(std::uint32_t slot, double scale) override;
    void save(std::size_t slots, EngineState& to) const override;
    void load(const EngineState& from) override;
    std::size_t bytes() const override;

  private:
    EngineSetup setup_;
    const Kernel& kernel_;
    std::unique_ptr<Engine> linear_;
    std::vector<Companion> company_;
    std::vector<Expert> experts_;
    Curves curves_;
    Mixture mixture_;
    std::size_t classes_;  // that have been announced
    std::size_t met_;      // and met
    std::size_t slots_ = 0;
    bool curved_ = false;  // a row that was learned has had leaves of curves

    // Rows on their way to the experts.
    struct Staged {
        LaneBatch batch;
        std::vector<std::uint32_t> leaves;
        std::vector<std::size_t> leaf_ends, cut_ends;
        std::vector<Curves::Cut> cuts;
        std::vector<std::uint8_t> intervals;

        void begin(const SparseInput& input);
        ShapedRows rows(const SparseInput& input) const;
    };
    Staged staged_;

    // What the experts have said of a batch, until it is mixed: while the next batch is learned.
    struct Said {
        std::vector<double> numbers;                // [expert][row][head]
        std::size_t rows = 0, width = 0, room = 0;  // room: rows that there is memory for
        double* predictions = nullptr;
        bool learned = false, choosing = false;
        Labels labels{};
        Clock before;
        std::size_t met = 0;          // classes, before these rows
        std::size_t curved_from = 0;  // rows before have not met a leaf of a curve

        void begin(std::size_t row_count, std::size_t experts, std::size_t heads, double* to) {
            rows = room = row_count;
            width = heads;
            predictions = to;
            numbers.resize(std::max(numbers.size(), experts * room * width));
        }
        double* by(std::size_t expert) { return numbers.data() + expert * room * width; }
        const double* by(std::size_t expert) const { return numbers.data() + expert * room * width; }
    };
    Said said_[2];
    int turn_ = 0;
    const Said* waiting_ = nullptr;
    std::vector<double> row_said_;  // [expert][head]

    struct ShapedRoom final : Room {
        Staged staged;
        Said said;
        std::vector<double> row_said;
        std::vector<Expert::Room> experts;
        std::vector<std::unique_ptr<Room>> engines;  // of the linear one and its company
    };

    bool broken_ = false;  // some experts have learned rows that others have not

    void check_whole() const;
    void load_linear(const EngineState& from);
    void learn_rows(const SparseInput& all, const Labels& labels, double* predictions, std::size_t row);
    std::size_t met_after(const Labels& labels, std::size_t rows) const;
    // In this order: experts of curves and trees, the linear one, its company.
    std::size_t linear_place() const { return experts_.size(); }
    std::size_t company_place(std::size_t i) const { return experts_.size() + (linear_ ? 1 : 0) + i; }
    std::size_t expert_count() const { return company_place(company_.size()); }
    template <class Action>
    void for_each_engine(const Action& action) const;
    std::size_t stage(const SparseInput& rows, const Labels& labels);
    void find_curves(Staged& staged, const SparseInput& input, std::size_t r, std::size_t known) const;
    void stage_predict(Staged& staged, const SparseInput& input, const Asking& asking) const;
    void share_scales(const SparseInput& input);
    std::size_t learn_curves(const SparseInput& input, std::uint64_t examples);
    static void run(std::size_t rows, const std::vector<std::function<void()>>& parts);
    void begin_saying(Said& said, const SparseInput& input, const Asking& asking, double* predictions) const;
    void gather(const Said& said, std::size_t row, std::size_t heads, std::vector<double>& row_said) const;
    void say(const Said& said, std::size_t row, std::size_t met, std::vector<double>& row_said) const;
    void mix(const Said& said);
    double loss_of(const double* scores, std::size_t heads, double y) const;
    void forward_settings();
};

}  // namespace unitless
