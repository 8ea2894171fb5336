// The interface between the caller's data and the encoder: rows of any kind.
//
//   DenseSource, SparseSource, NamedSource, TableSource    data in memory (encoding/)
//   MappingSource, TableRowSource                          rows that Python passes one by one (python/)
#pragma once

#include <cstddef>

#include "rows/batch.hpp"

namespace unitless {

class Encoder;
class DenseSource;

// Whether rows are encoded for learning, for prediction, or for prediction without the limits of the values seen so
// far.
enum class Purpose { learn, predict, extrapolate };

// How one row is used. A row of weight 0 changes nothing, even among rows that are learned.
struct RowUse {
    Purpose purpose = Purpose::predict;
    double weight = 1;

    bool learns() const { return purpose == Purpose::learn && weight > 0; }
};

// Properties of the data that decide an automatic model type. Arrays, tables and mappings have columns. Sparse
// matrices, and text that lists only the features present, have none.
struct DataKind {
    bool has_columns = false;
    std::size_t columns = 0;
    bool has_words = false;  // some column is free text
};

class RowSource {
  public:
    RowSource() = default;
    RowSource(const RowSource&) = delete;

    virtual std::size_t rows() const = 0;
    // An estimate of the number of features per row; not 0.
    virtual std::size_t features_per_row() const = 0;
    virtual DataKind kind() const { return {}; }

    // Throws InputError if the model identifies its features differently (columns or names).
    virtual void check_features(const Encoder& encoder) const = 0;
    // Throws InputError if interactions of a model that has learned nothing name features that the data does not have.
    virtual void check_interactions(const Encoder&) const {}
    // Throws InputError if rows [first, end) have invalid values. Several threads may check at once.
    virtual void check_values(const Encoder& encoder, std::size_t first, std::size_t end) = 0;
    // Called after all rows have been checked, before they are learned: sets how the model identifies its features, and
    // which of them are centered. `counts`: some row has a positive weight.
    virtual void begin_learning(Encoder& encoder, bool counts) = 0;

    // Encodes at most `most` rows from `first` on, and returns their number. `weight`: by row, or null. Several threads
    // may encode rows that are predicted, each with its own encoder.
    virtual std::size_t encode(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                               const double* weight) = 0;

    // If the rows already have the form of a batch, returns at most `most` of them from `first` on, for an encoder that
    // only numbers features. Returns false if they must be encoded.
    virtual bool as_batch(std::size_t /*first*/, std::size_t /*most*/, Batch& /*to*/) const { return false; }
    // The rows as a dense array, if they are one: by column number, or by column names that the encoder knows.
    virtual DenseSource* as_dense(const Encoder&) { return nullptr; }
    // Discards numbers that were looked up, because the encoder has removed or added features.
    virtual void forget_features() {}
    // Called after all rows have been predicted. Throws InputError if the model knows no feature of the rows, because
    // then the rows belong to another model.
    virtual void check_known(const Encoder&) const {}

  protected:
    ~RowSource() = default;
};

}  // namespace unitless
