// The engine of second-order learners (kernel.cpp): some lanes that begin and forget differently, of which the leader
// speaks.
//
// Every lane runs through a batch of rows by itself, so that its P stays in the processor's nearest memory; what the
// lanes have said is compared afterwards. Scales do not depend on what is learned and are staged once for all.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/engine.hpp"
#include "engine/lanes/selection.hpp"
#include "engine/second_order/lanes.hpp"
#include "engine/second_order/places.hpp"

namespace unitless {

class SecondOrderEngine final : public Engine {
  public:
    SecondOrderEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock);

    std::size_t predict_width() const override { return setup_.has_classes() ? classes_ : 1; }
    std::size_t class_count() const override { return classes_; }
    void add_classes(std::size_t count) override;

    void reserve(std::size_t slots, bool growing) override;
    bool may_have_enough(std::size_t slots, bool growing) const override {
        return !setup_.block && (growing || slots > 1 + most_features);
    }
    void check_features(const SparseInput& rows, const Labels& labels, std::size_t row,
                        std::vector<std::uint32_t>& met) const override;
    void learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) override;
    std::unique_ptr<Room> make_room() const override { return std::make_unique<WorkingMemory>(); }
    void predict(const SparseInput& rows, const Asking& asking, double* predictions, Room& room) const override;
    void judge(const SparseInput& rows, const Asking& asking, const Labels& labels, double* predictions) override;
    std::size_t effort(std::size_t features) const override {
        const std::size_t known = std::min(features, most_features);
        return known * known + 8 * known * said_width() + 64;
    }
    void sift_rates() override;
    double scale(std::uint32_t slot) const override;
    void lower_scale(std::uint32_t slot, double scale) override;
    void save(std::size_t slots, EngineState& to) const override;
    void load(const EngineState& from) override;
    std::size_t bytes() const override;

  private:
    EngineSetup setup_;
    const Kernel& kernel_;
    SecondOrderLoss loss_;
    Places places_;
    double bias_scale_ = 0;
    std::size_t slots_ = 0;
    std::size_t classes_, met_;  // announced; with a head of their own
    SecondOrderLanes lanes_;
    Selection selection_;

    static constexpr std::size_t most_rows = 128;
    // Of a batch: what learning and predicting need,
    struct WorkingMemory final : Room {
        std::vector<SecondOrderRow> staged;
        std::vector<double> z, odds;
        std::vector<double> said;     // [lane][row][as many as are said]
        std::vector<double> scratch;  // by lane: of the kernel
        std::vector<Growth> growths;
        SecondOrderRows rows{};
    };
    WorkingMemory own_;
    // and learning alone.
    std::vector<double> loss_of_, row_loss_;
    std::vector<std::size_t> failed_;  // by lane: the first row that was too much for it

    std::size_t heads() const { return setup_.has_classes() ? met_ + setup_.open : 1; }
    std::size_t said_width() const { return said_each(loss_, heads()); }
    double* said(WorkingMemory& memory, std::size_t lane, std::size_t row) const {
        return memory.said.data() + (lane * most_rows + row) * said_width();
    }
    double* scratch(WorkingMemory& memory, std::size_t lane) const {
        return memory.scratch.data() + lane * run_doubles(loss_, heads());
    }
    bool follows() const { return chooses_rates() && !keeps_rates(); }

    std::size_t rows_until_class(const Labels& labels, std::size_t rows) const;
    void begin_rows(std::size_t count);
    void begin_rows(WorkingMemory& memory, std::size_t count, std::size_t lanes, bool plain) const;
    void look_at(WorkingMemory& memory, const SparseInput& rows, std::size_t row, bool extrapolate) const;
    void stage_learn(const SparseInput& rows, const Labels& labels);
    void stage_predict(WorkingMemory& memory, const SparseInput& rows, const Labels* labels,
                       const Asking& asking) const;
    void run();
    void run_one(std::size_t lane);
    void find_losses();
    std::size_t speaker(std::size_t lane) const;
    void tell(WorkingMemory& memory, std::size_t lane, std::size_t speaking, std::size_t row, double* prediction) const;
    void count_losses(std::size_t row, double h, double share);
    bool dead() const;
    std::size_t last_failure() const;
    void learn_some(const SparseInput& rows, const Labels& labels, double* predictions);
    void meet_class(const SparseInput& row, const Labels& labels, double* predictions);
};

}  // namespace unitless
