// Rows of any kind on their way into the encoder: the one interface between what a caller gives and the learner.
//
//   DenseSource, SparseSource, NamedSource, TableSource    data in memory (encoding/)
//   MappingSource, TableRowSource                          rows that Python gives one by one (python/)
#pragma once

#include <cstddef>

#include "rows/batch.hpp"

namespace unitless {

class Encoder;
class DenseSource;

// What rows are encoded for: to be learned, to be predicted, or to be predicted without the limits of what was seen.
enum class Purpose { learn, predict, extrapolate };

// What one row is encoded for. A row without weight changes nothing, even among rows that are learned.
struct RowUse {
    Purpose purpose = Purpose::predict;
    double weight = 1;

    bool learns() const { return purpose == Purpose::learn && weight > 0; }
};

// What the data is like, for an automatic model type. Arrays, tables and mappings have columns; sparse matrices and
// text that names the features that are there have none.
struct DataKind {
    bool has_columns = false;
    std::size_t columns = 0;
    bool has_words = false;  // some column is text of words
};

class RowSource {
  public:
    RowSource() = default;
    RowSource(const RowSource&) = delete;

    virtual std::size_t rows() const = 0;
    // About how many features a row has; not 0.
    virtual std::size_t features_per_row() const = 0;
    virtual DataKind kind() const { return {}; }

    // Throws InputError if the model knows its features in another way.
    virtual void check_features(const Encoder& encoder) const = 0;
    // Throws InputError if interactions, of a model that has learned nothing, name features that the data has not.
    virtual void check_interactions(const Encoder&) const {}
    // Throws InputError if rows [first, end) hold what cannot be learned. Several threads check at once.
    virtual void check_values(const Encoder& encoder, std::size_t first, std::size_t end) = 0;
    // All rows have been checked, and are about to be learned: the model gets to know how its features are called, and
    // which of them are centered. `counts`: some row has a weight.
    virtual void begin_learning(Encoder& encoder, bool counts) = 0;

    // Encodes rows from `first` on, at most so many, and gives how many. `weight`: by row, or null. Several threads
    // encode rows that are predicted, each with an encoder of its own.
    virtual std::size_t encode(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                               const double* weight) = 0;

    // Rows from `first` on, at most so many, if they are a batch as they are, for an encoder that only numbers
    // features. False: they have to be encoded.
    virtual bool as_batch(std::size_t /*first*/, std::size_t /*most*/, Batch& /*to*/) const { return false; }
    // The rows as a dense array, if they are one: of columns, or of those named columns that the encoder knows.
    virtual DenseSource* as_dense(const Encoder&) { return nullptr; }
    // The encoder has forgotten features, or others have been learned: their numbers have to be looked up again.
    virtual void forget_features() {}
    // All rows have been predicted. Throws InputError if nothing in them was known to the model, which then is not
    // theirs.
    virtual void check_known(const Encoder&) const {}

  protected:
    ~RowSource() = default;
};

}  // namespace unitless
