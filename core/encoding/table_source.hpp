// Rows of a table: columns of numbers and of text. Values may be missing.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encoding/dense_source.hpp"
#include "encoding/feature_numbers.hpp"
#include "encoding/row_source.hpp"
#include "rows/table.hpp"

namespace unitless {

class TableSource final : public RowSource {
  public:
    explicit TableSource(const Table& table);

    std::size_t rows() const override { return table_.rows; }
    std::size_t features_per_row() const override { return std::max<std::size_t>(1, table_.columns.size()); }
    DataKind kind() const override;
    void check_features(const Encoder& encoder) const override;
    void check_interactions(const Encoder& encoder) const override;
    void check_values(const Encoder& encoder, std::size_t first, std::size_t end) override;
    void begin_learning(Encoder& encoder, bool counts) override;
    std::size_t encode(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                       const double* weight) override;
    DenseSource* as_dense(const Encoder& encoder) override;
    void forget_features() override;
    void check_known(const Encoder& encoder) const override;

  private:
    const Table& table_;
    bool has_text_ = false;
    // Features of the table that were looked up so far in a call. Threads that predict its rows share them.
    std::vector<FeatureNumbers> numbers_;  // by column; for text columns by value
    FeatureNumbers missing_;               // by column: the feature of missing values
    std::atomic<bool> some_missing_{false}, word_known_{false};
    // The columns as an array, if they can be read as one.
    std::vector<std::string> dense_names_;
    std::vector<Column> dense_columns_;
    std::optional<DenseSource> dense_;

    bool begin_wide(Encoder& to, std::size_t first, std::size_t rows, Purpose purpose);
    void add_number_or_missing(Encoder& to, std::size_t j, double x, const RowUse& use);
    void add_text(Encoder& to, std::size_t j, std::size_t row, const RowUse& use);
    void add_category(Encoder& to, FeatureNumbers& numbers, std::size_t i, const TableColumn& column,
                      std::string_view value, const RowUse& use);
};

}  // namespace unitless
