// What some engines can do and others cannot: interfaces that a caller asks an engine for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/scratch.hpp"
#include "engine/slot_block.hpp"
#include "rows/batch.hpp"
#include "rows/dense.hpp"
#include "rows/predict_options.hpp"

namespace unitless {

// Learns and predicts dense rows where they lie, in the bits that `learn` and `predict` give. Column j feeds slot
// 1 + j, or the slot that its `Column` names; `slots` are in use. Bad values are thrown as BadValue before anything
// has changed.
class DenseReader {
  public:
    virtual bool reads(std::size_t slots, std::size_t columns) const = 0;
    virtual void learn_dense(const DenseRows& rows, std::size_t slots, const Labels& labels, double* predictions) = 0;
    virtual void predict_dense(const DenseRows& rows, std::size_t slots, const PredictOptions& options,
                               const double* offset, double* predictions, EngineScratch& scratch) const = 0;

  protected:
    ~DenseReader() = default;
};

// Where a dense row holds a number that cannot be learned.
struct BadValue {
    std::size_t row, column;
};

// Reads the numbers of slots out, and writes them into a fresh engine: what merging works with.
class SlotAccess {
  public:
    // Slots of some lanes; zero where there is no such slot.
    virtual void read(const std::uint32_t* slots, std::size_t count, const std::vector<std::uint32_t>& lanes,
                      SlotBlock& to) const = 0;
    // Slots [first, first + count), for which there is room. Several threads may write different slots at once.
    virtual void write(std::size_t first, std::size_t count, const SlotBlock& from) = 0;
    // After the last `write`: so many features have a scale.
    virtual void written(std::size_t features) = 0;

  protected:
    ~SlotAccess() = default;
};

// Scales that can be lowered when a feature's unit has become larger, while no row is in progress: v, H and the average
// stay, as if everything had been learned in the new unit.
class ScaleAccess {
  public:
    virtual double scale(std::uint32_t slot) const = 0;  // 0: the slot has none
    virtual void lower_scale(std::uint32_t slot, double scale) = 0;

  protected:
    ~ScaleAccess() = default;
};

// Several candidate learning rates, of which those that have clearly lost can be dropped.
class RateSelection {
  public:
    virtual void prune_rates() = 0;

  protected:
    ~RateSelection() = default;
};

// An engine that takes a limited number of features.
class FeatureLimit {
  public:
    // Can rows bring more features than it takes, with so many slots, and more to come if they are `growing`?
    virtual bool may_exceed(std::size_t slots, bool growing) const = 0;
    // Throws InputError if these rows do. `met`: slots of the call's earlier rows that are new.
    virtual void check_features(const Batch& batch, std::vector<std::uint32_t>& met) const = 0;

  protected:
    ~FeatureLimit() = default;
};

// Null: the engine cannot.
struct Capabilities {
    DenseReader* dense = nullptr;
    SlotAccess* slots = nullptr;
    ScaleAccess* scales = nullptr;
    RateSelection* rates = nullptr;
    FeatureLimit* limit = nullptr;
};

}  // namespace unitless
