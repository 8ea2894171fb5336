// The engine of one learner: a slot of (scale, v, H) for every feature.
#pragma once

#include <vector>

#include "base/memory.hpp"
#include "engine/engine.hpp"
#include "engine/single/placement.hpp"

namespace unitless {

class SingleEngine final : public Engine {
  public:
    SingleEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock)
        : Engine(setup, clock), options_(setup.options), kernel_(kernel) {}

    void reserve(std::size_t slots, bool growing) override;
    void learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) override;
    std::unique_ptr<Room> make_room() const override { return std::make_unique<WorkingMemory>(); }
    void predict(const SparseInput& rows, const Asking& asking, double* predictions, Room& room) const override;
    void judge(const SparseInput& rows, const Asking& asking, const Labels& labels, double* predictions) override;
    std::size_t effort(std::size_t features) const override { return 8 * features + 32; }
    double scale(std::uint32_t slot) const override;
    void lower_scale(std::uint32_t slot, double scale) override;
    void save(std::size_t slots, EngineState& to) const override;
    void load(const EngineState& from) override;
    std::size_t bytes() const override;

    bool merges() const override { return true; }
    void read(const std::uint32_t* slots, std::size_t count, const std::vector<std::uint32_t>& lanes,
              SlotBlock& to) const override;
    void write(std::size_t first, std::size_t count, const SlotBlock& from) override;

    bool reads_columns() const override { return true; }
    bool reads_dense(std::size_t slots, std::size_t columns) const override;
    Outcome learn_dense(const DenseInput& input, std::size_t slots, const Labels& labels, double* predictions) override;
    Outcome predict_dense(const DenseInput& input, std::size_t slots, const Asking& asking, double* predictions,
                          Room& room) const override;
    bool spreads(std::size_t slots, std::size_t rows, std::size_t entries) const override;
    void learn_spread(std::size_t slots, std::size_t rows, const Fill& fill, const Labels& labels, double* predictions,
                      std::size_t row) override;
    bool places() const override { return kernel_.placed->supports(options_); }
    void learn_placed(Placement& row, const Labels& labels, double& prediction) override;
    double predict_placed(Placement& row, const Asking& asking) const override;

  private:
    Options options_;
    const Kernel& kernel_;
    Zeros slots_;
    // The average of v, where there is one, and the scale in whose unit it is.
    struct Average {
        double v, scale;
    };
    Zeros average_;
    std::size_t capacity_ = 0, in_use_ = 0;

    // Kept between calls: what learning and predicting need,
    struct WorkingMemory final : Room {
        std::vector<double> pack, block;
        std::vector<std::uint32_t> indices;
        Slot64 bias{};

        Pack make_pack(std::size_t chunks);
    };
    WorkingMemory own_;
    // and learning alone.
    std::vector<double> wide_;
    std::vector<Average> average_before_;
    std::vector<Column> columns_;

    std::size_t slot_bytes() const;
    void mirror(const Pack& pack, std::size_t features) const;
    void put_back(const Pack& pack, std::size_t features);
    void mirror(Placement& row, bool average) const;
    Average* average() const { return reinterpret_cast<Average*>(average_.get()); }
    double averaged(std::size_t slot, double scale, const Averaging::Step& step) const {
        return average()[slot].v * step.growth(average()[slot].scale, scale);
    }
    void look(std::size_t slot, double v, double scale, const Averaging::Step& step) {
        average()[slot] = {step.with(averaged(slot, scale, step), v), scale};
    }
    void look();
    void look(const Pack& pack, std::size_t features, double t);
    void show_average(const Pack& pack, std::size_t features) const;
    void learn_until_look(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row);
    void predict_averaged(const SparseInput& rows, const Asking& asking, double* predictions,
                          WorkingMemory& working) const;
};

}  // namespace unitless
