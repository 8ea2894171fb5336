// Rows of named features, as in text files.
#pragma once

#include <algorithm>

#include "encoding/feature_numbers.hpp"
#include "encoding/row_source.hpp"
#include "rows/named_rows.hpp"

namespace unitless {

class NamedSource final : public RowSource {
  public:
    explicit NamedSource(const NamedRows& from) : from_(from), numbers_(from.names()) {}

    std::size_t rows() const override { return from_.rows(); }
    std::size_t features_per_row() const override {
        return std::max<std::size_t>(1, from_.ids.size() / std::max<std::size_t>(1, rows()));
    }
    void check_features(const Encoder& encoder) const override;
    void check_values(const Encoder& encoder, std::size_t first, std::size_t end) override;
    void begin_learning(Encoder& encoder, bool counts) override {
        if (counts) encoder.use_names();
    }
    std::size_t encode(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                       const double* weight) override;
    void forget_features() override { numbers_.forget(); }

  private:
    const NamedRows& from_;
    FeatureNumbers numbers_;  // by name

    std::size_t row_begin(std::size_t row) const { return row ? from_.row_ends[row - 1] : 0; }
};

}  // namespace unitless
