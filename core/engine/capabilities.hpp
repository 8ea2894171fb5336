// Optional abilities of engines. Each is an interface, which a caller requests from an engine.
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

// Learns and predicts dense rows in the caller's memory, with the same bits as `learn` and `predict`. Column j has slot
// 1 + j, or the slot in its `Column`; `slots` is the number of slots in use. Invalid values throw BadValue before any
// change.
class DenseReader {
  public:
    virtual bool reads(std::size_t slots, std::size_t columns) const = 0;
    virtual void learn_dense(const DenseRows& rows, std::size_t slots, const Labels& labels, double* predictions) = 0;
    virtual void predict_dense(const DenseRows& rows, std::size_t slots, const PredictOptions& options,
                               const double* offset, double* predictions, EngineScratch& scratch) const = 0;

  protected:
    ~DenseReader() = default;
};

// The position of a number that cannot be learned.
struct BadValue {
    std::size_t row, column;
};

// Reads the numbers of slots, and writes them into a new engine: for merging.
class SlotAccess {
  public:
    // Reads slots of some lanes; zero for slots that do not exist.
    virtual void read(const std::uint32_t* slots, std::size_t count, const std::vector<std::uint32_t>& lanes,
                      SlotBlock& to) const = 0;
    // Writes slots [first, first + count), for which memory is reserved. Several threads may write different slots at
    // once.
    virtual void write(std::size_t first, std::size_t count, const SlotBlock& from) = 0;
    // Must be called after the last `write`. `features`: the number of features with a scale.
    virtual void written(std::size_t features) = 0;

  protected:
    ~SlotAccess() = default;
};

// Lowers scales after a feature's unit has become larger, while no row is in progress. v, H and the average stay
// unchanged, as if everything had been learned in the new unit.
class ScaleAccess {
  public:
    virtual double scale(std::uint32_t slot) const = 0;  // 0: the slot has no scale
    virtual void lower_scale(std::uint32_t slot, double scale) = 0;

  protected:
    ~ScaleAccess() = default;
};

// Several candidate learning rates. The clearly worse ones can be dropped, or all but the leader: no prediction of the
// leader depends on the others. While rates are chosen, the leader gets its neighbors back.
class RateSelection {
  public:
    virtual void prune_rates() = 0;
    virtual void keep_leaders() = 0;

  protected:
    ~RateSelection() = default;
};

// An engine that limits the number of features.
class FeatureLimit {
  public:
    // Whether rows may have more features than the engine accepts, given the number of slots, and whether it is
    // `growing`.
    virtual bool may_exceed(std::size_t slots, bool growing) const = 0;
    // Throws InputError if these rows have too many features. `met`: the new slots of the call's earlier rows.
    virtual void check_features(const Batch& batch, std::vector<std::uint32_t>& met) const = 0;

  protected:
    ~FeatureLimit() = default;
};

// Null: the engine does not have this ability.
struct Capabilities {
    DenseReader* dense = nullptr;
    SlotAccess* slots = nullptr;
    ScaleAccess* scales = nullptr;
    RateSelection* rates = nullptr;
    FeatureLimit* limit = nullptr;
};

}  // namespace unitless
