// The engine of classes that share one softmax: a model of all of them, not one of each.
//
// Its lanes are those of an engine of lanes, with a head for each class, and so is nearly all that it does. But heads
// know of each other (coupling.hpp): all lanes of a rate go through a row together, and have one loss, -log p of the
// row's class. So one rate leads for all heads.
//
// Where classes may join, the last head is a class that no row has, a part of the softmax like all others. A class that
// is first met when a row is learned takes over its state, and it goes on beside it. So the prediction for that row
// does not know of the class, and it makes no difference when a class was announced: until it is met it is the spare
// one that speaks for it.
#pragma once

#include "engine/lanes/engine.hpp"

namespace unitless {

class SoftmaxEngine final : public LaneEngine {
  public:
    SoftmaxEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock);

    std::size_t predict_width() const override { return classes_; }
    std::size_t class_count() const override { return classes_; }
    void add_classes(std::size_t count) override;

    void learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) override;
    void learn_one(const SparseInput& row, const Labels& labels, double* predictions, std::size_t number) override {
        Engine::learn_one(row, labels, predictions, number);
    }
    void save(std::size_t slots, EngineState& to) const override;
    void load(const EngineState& from) override;

  protected:
    std::size_t group(LaneBatch& batch, std::size_t longest, std::size_t threads) override;
    void run(LaneBatch& batch, std::size_t group) override;
    void divide_scoring(std::size_t groups, std::size_t /*threads*/) override { parts_ = {{0, groups}}; }
    void score(LaneBatch& batch, std::size_t part) override;
    void find_told(std::vector<std::size_t>& octets) const override;
    void run_room(LaneRoom& room, std::size_t longest) const override;
    void tell(LaneRoom& room, double* predictions) const override;
    void judge_batch(LaneRoom& room, const Labels& labels) override;

  private:
    std::size_t classes_;           // that have been announced
    std::size_t joined_ = 0;        // heads that the next batch is the first to have
    std::vector<double> speaking_;  // working memory of whoever scores

    Coupled coupled(const Lanes::Block& block) const { return {lanes_.heads(), block.rates}; }
    std::size_t told_rate() const;
    const Lanes::Block& block_of(std::size_t rate) const;
    void speak(const double* first, std::size_t lane, std::size_t met, double* scores, double* memory) const;
    std::size_t winner(const double* outputs, std::size_t lane, std::size_t met) const;
    void make_memory();
    std::size_t speaking_doubles() const { return SoftmaxKernel::speak_doubles(lanes_.heads()) + lanes_.heads(); }
};

}  // namespace unitless
