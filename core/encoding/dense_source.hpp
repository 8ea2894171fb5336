// Rows of a dense array, or of columns that are one feature each.
#pragma once

#include <string>
#include <vector>

#include "encoding/row_source.hpp"
#include "rows/dense.hpp"

namespace unitless {

class DenseSource final : public RowSource {
  public:
    // `names`: the names of the columns, or null.
    explicit DenseSource(const DenseRows& input, const std::vector<std::string>* names = nullptr)
        : input_(input), names_(names) {}

    std::size_t rows() const override { return input_.rows; }
    std::size_t features_per_row() const override { return input_.column_count ? input_.column_count : 1; }
    DataKind kind() const override { return {.has_columns = true, .columns = input_.column_count}; }
    void check_features(const Encoder& encoder) const override;
    void check_interactions(const Encoder& encoder) const override;
    void check_values(const Encoder& encoder, std::size_t first, std::size_t end) override;
    void begin_learning(Encoder& encoder, bool counts) override;
    std::size_t encode(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                       const double* weight) override;
    DenseSource* as_dense(const Encoder&) override { return this; }

    const DenseRows& input() const { return input_; }
    [[noreturn]] void throw_bad_value_at(std::size_t row, std::size_t column) const;

  private:
    DenseRows input_;
    const std::vector<std::string>* names_;

    void begin_wide(Encoder& to, std::size_t first, std::size_t rows) const;
};

// Throws if interactions name features, because arrays and matrices identify features by number.
void check_listed_columns(const Encoder& encoder, std::size_t count);

}  // namespace unitless
