// The engine of classes that share one softmax: one model of all classes, not one model per class.
//
// It is an engine of lanes with one head per class. But the heads depend on each other (coupling.hpp): all lanes of a
// rate process a row together, and share one loss, -log p of the row's class. So one rate leads for all heads.
//
// If classes may join, the last head is the spare class, which no row has; it is part of the softmax like all others. A
// class that first occurs in a row that is learned starts as a copy of the spare head. So the prediction for that row
// does not depend on the new class, nor on when the class was announced: until its first row it has the prediction of
// the spare head.
#pragma once

#include "engine/lanes/engine.hpp"

namespace unitless {

class SoftmaxEngine final : public LaneEngine {
  public:
    SoftmaxEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock);

    void add_classes(std::size_t count) override;
    void learn(const Batch& batch, double* predictions) override;
    void save(std::size_t slots, EngineState& to) const override;
    void load(const EngineState& from) override;

  protected:
    std::size_t divide_run(LaneBatch& batch, std::size_t longest, std::size_t threads) override;
    void run(LaneBatch& batch, std::size_t group) noexcept override;
    std::vector<LanePipeline::Part> divide_scoring(std::size_t groups) override { return {{0, groups}}; }
    void score(LaneBatch& batch, std::size_t part) noexcept override;
    void find_leading_octets(std::vector<std::size_t>& octets) const override;
    void run_octets(Scratch& scratch) const override;
    void take_predictions(Scratch& scratch, double* predictions) const override;
    void judge_lanes(Scratch& scratch, const Labels& labels) override;

  private:
    std::size_t classes_;           // the number of announced classes
    std::size_t joined_ = 0;        // heads that join with the next batch
    std::vector<double> log_odds_;  // scratch of scoring

    Coupled coupled(const Lanes::Block& block) const { return {lanes_.heads(), block.rates}; }
    void set_classes(std::size_t classes);
    std::size_t leading_rate() const;
    const Lanes::Block& block_of(std::size_t octet) const;
    void put_log_odds(const double* first, std::size_t lane, std::size_t met, double* scores, double* memory) const;
    std::size_t winner(const double* outputs, std::size_t lane, std::size_t met) const;
    // The size for each announced class, with or without a head, and for the spare class.
    std::size_t log_odds_doubles() const { return SoftmaxKernel::log_odds_doubles(classes_) + classes_ + 1; }
};

}  // namespace unitless
