// Rows of a sparse matrix.
//
// The caller owns the matrix, and another thread may change it at any time. So each row start and column number is read
// once, then checked, then used. Checks of an earlier pass over the rows do not count.
#pragma once

#include <algorithm>
#include <cstdint>

#include "encoding/row_source.hpp"
#include "rows/sparse.hpp"
#include "simd/isa.hpp"

namespace unitless {

class SparseSource final : public RowSource {
  public:
    explicit SparseSource(const SparseRows& input) : input_(input) {}

    std::size_t rows() const override { return input_.rows; }
    std::size_t features_per_row() const override {
        return std::max<std::size_t>(1, input_.entries / std::max<std::size_t>(1, input_.rows));
    }
    void check_features(const Encoder& encoder) const override;
    void check_interactions(const Encoder& encoder) const override;
    void check_values(const Encoder& encoder, std::size_t first, std::size_t end) override;
    void begin_learning(Encoder& encoder, bool counts) override;
    std::size_t encode(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                       const double* weight) override;

  private:
    SparseRows input_;

    struct Entries {
        std::size_t begin, end;
    };
    Entries entries(std::size_t row) const;
    std::size_t column_at(std::size_t k, std::size_t row) const;
    std::int64_t at(const void* indices, std::size_t k) const {
        return input_.wide_indices ? static_cast<const std::int64_t*>(indices)[k]
                                   : static_cast<const std::int32_t*>(indices)[k];
    }
    bool copy(Encoder& to, std::size_t first, std::size_t rows) const;
    std::size_t encode_centered(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                                const double* weight) const;
};

}  // namespace unitless
