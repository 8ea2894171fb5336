// The engine of second-order learners (kernel.cpp): several lanes with different priors and rates of forgetting. The
// leader predicts.
//
// Each lane processes a batch of rows by itself, so that its P stays in the nearest cache. The lanes' predictions are
// compared afterwards. Scales do not depend on what is learned, and are staged once for all lanes.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/engine.hpp"
#include "engine/lanes/selection.hpp"
#include "engine/newton/lanes.hpp"
#include "engine/newton/places.hpp"

namespace unitless {

class NewtonEngine final : public Engine, public ScaleAccess, public RateSelection, public FeatureLimit {
  public:
    NewtonEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock);

    void reserve(std::size_t slots, bool growing) override;
    void learn(const Batch& batch, double* predictions) override;
    std::unique_ptr<EngineScratch> make_scratch() const override { return std::make_unique<Scratch>(); }
    void predict(const Batch& batch, const PredictOptions& options, double* predictions,
                 EngineScratch& scratch) const override;
    void judge(const Batch& batch, const PredictOptions& options, double* predictions) override;
    void add_classes(std::size_t count) override;
    void save(std::size_t slots, EngineState& to) const override;
    void load(const EngineState& from) override;
    Description describe(std::size_t features) const override;
    Capabilities capabilities() override { return {.scales = this, .rates = this, .limit = this}; }

    double scale(std::uint32_t slot) const override;
    void lower_scale(std::uint32_t slot, double scale) override;
    void prune_rates() override { selection_.prune_rates(lanes_, true); }
    void keep_leaders() override { selection_.keep_leaders(lanes_); }
    bool may_exceed(std::size_t slots, bool growing) const override {
        return !setup_.block && (growing || slots > 1 + most_features);
    }
    void check_features(const Batch& batch, std::vector<std::uint32_t>& met) const override;

  private:
    EngineSetup setup_;
    const Kernel& kernel_;
    NewtonLoss loss_;
    Places places_;
    double bias_scale_ = 0;
    std::size_t slots_ = 0;
    std::size_t met_;  // the number of classes with a head
    NewtonLanes lanes_;
    Selection selection_;

    static constexpr std::size_t most_rows = 128;
    // Scratch of learning and predicting a batch.
    struct Scratch final : EngineScratch {
        std::vector<NewtonRow> staged;
        std::vector<double> z, odds;
        std::vector<double> predictions;  // [lane][row][prediction_width]
        std::vector<double> memory;       // by lane: scratch of the kernel
        std::vector<Growth> growths;
        NewtonRows rows{};
    };
    Scratch own_;
    // Scratch of learning only.
    std::vector<double> lane_losses_, row_losses_;
    std::vector<std::size_t> failed_;  // by lane: the first row at which it failed

    std::size_t heads() const { return setup_.has_classes() ? met_ + setup_.open : 1; }
    std::size_t lane_width() const { return prediction_width(loss_, heads()); }
    double* predictions_of(Scratch& scratch, std::size_t lane, std::size_t row) const {
        return scratch.predictions.data() + (lane * most_rows + row) * lane_width();
    }
    double* memory_of(Scratch& scratch, std::size_t lane) const {
        return scratch.memory.data() + lane * run_doubles(loss_, heads());
    }
    bool follows() const { return chooses_rates() && !keeps_rates(); }

    void set_classes(std::size_t count);
    std::size_t rows_before_new_class(const Batch& batch) const;
    void begin_rows(std::size_t count);
    void begin_rows(Scratch& scratch, std::size_t count, std::size_t lanes, bool extrapolate) const;
    void peek(Scratch& scratch, const Batch& batch, std::size_t row, bool extrapolate) const;
    void stage_learn(const Batch& batch);
    void stage_predict(Scratch& scratch, const Batch& batch, bool extrapolate) const;
    void run();
    void run_lane(std::size_t lane);
    void find_losses();
    // For squared loss: which of a lane's two predictions has the smaller loss, the mean (0) or its shrunk form (1).
    std::size_t better_form(std::size_t lane) const;
    void take_prediction(Scratch& scratch, std::size_t lane, std::size_t form, std::size_t row,
                         double* prediction) const;
    void count_losses(std::size_t row, double h, double share);
    bool diverged() const;
    std::size_t last_failure() const;
    void learn_part(const Batch& batch, double* predictions);
    void meet_class(const Batch& row, double* predictions);
};

}  // namespace unitless
