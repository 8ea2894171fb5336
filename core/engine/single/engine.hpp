// The engine of one learner: a slot (scale, v, H) for every feature.
#pragma once

#include <vector>

#include "base/memory.hpp"
#include "engine/engine.hpp"

namespace unitless {

class SingleEngine final : public Engine, public DenseReader, public SlotAccess, public ScaleAccess {
  public:
    SingleEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock);

    void reserve(std::size_t slots, bool growing) override;
    void learn(const Batch& batch, double* predictions) override;
    std::unique_ptr<EngineScratch> make_scratch() const override { return std::make_unique<Scratch>(); }
    void predict(const Batch& batch, const PredictOptions& options, double* predictions,
                 EngineScratch& scratch) const override;
    void judge(const Batch& batch, const PredictOptions& options, double* predictions) override;
    void save(std::size_t slots, EngineState& to) const override;
    void load(const EngineState& from) override;
    Description describe(std::size_t features) const override;
    Capabilities capabilities() override { return {.dense = this, .slots = this, .scales = this}; }

    bool reads(std::size_t slots, std::size_t columns) const override;
    void learn_dense(const DenseRows& rows, std::size_t slots, const Labels& labels, double* predictions) override;
    void predict_dense(const DenseRows& rows, std::size_t slots, const PredictOptions& options, const double* offset,
                       double* predictions, EngineScratch& scratch) const override;

    void read(const std::uint32_t* slots, std::size_t count, const std::vector<std::uint32_t>& lanes,
              SlotBlock& to) const override;
    void write(std::size_t first, std::size_t count, const SlotBlock& from) override;
    void written(std::size_t features) override { averaging_.plan(clock_.examples, features); }

    double scale(std::uint32_t slot) const override { return slot < capacity_ ? slots()[slot].scale : 0.0; }
    void lower_scale(std::uint32_t slot, double scale) override;

  private:
    Options options_;
    const SingleKernel& kernel_;
    const RowKernel& row_kernel_;
    Positions positions_;
    // The average of v, if there is one, and the scale in whose unit it is.
    struct Average {
        double v, scale;
    };
    Zeros slots_, average_;
    std::size_t capacity_ = 0, in_use_ = 0;

    // Scratch of learning and predicting, reused between calls.
    struct Scratch final : EngineScratch {
        std::vector<double> pack, block;
        std::vector<std::uint32_t> indices;

        Pack make_pack(std::size_t chunks);
    };
    Scratch own_;
    // Scratch of learning only.
    std::vector<double> wide_;
    std::vector<Average> average_before_;
    std::vector<Column> columns_;

    Slot* slots() const { return reinterpret_cast<Slot*>(slots_.get()); }
    Average* average() const { return reinterpret_cast<Average*>(average_.get()); }
    double averaged(std::size_t slot, double scale, const Averaging::Step& step) const {
        return average()[slot].v * step.growth(average()[slot].scale, scale);
    }
    void average_now(std::size_t slot, double v, double scale, const Averaging::Step& step) {
        average()[slot] = {step.with(averaged(slot, scale, step), v), scale};
    }
    void average_now();
    void average_now(const Slot& bias, const Pack& pack, std::size_t features, double t);
    Slot mirror(const Pack& pack, std::size_t features) const;
    void put_back(const Slot& bias, const Pack& pack, std::size_t features);
    void predict_averaged(const Batch& batch, bool extrapolate, double* predictions, Scratch& scratch) const;
};

}  // namespace unitless
