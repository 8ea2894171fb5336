// Memory for rows that are staged for lanes.
#pragma once

#include <cmath>
#include <vector>

#include "base/memory.hpp"
#include "engine/lanes/kernel.hpp"

namespace unitless {

// The number of rows before the first label or weight whose square would overflow. `numbers`: labels are numbers, not
// classes.
inline std::size_t sane_rows(const Batch& batch, bool numbers) {
    for (std::size_t r = 0; r < batch.rows; ++r) {
        const double h = weight_of(batch, r);
        if (!(label_scale_of(batch, r) <= __DBL_MAX__)) return r;
        if (h > 0x1p490 || (h > 0 && numbers && std::fabs(batch.labels.y[r]) > 0x1p490)) return r;
    }
    return batch.rows;
}

class StagedBatch {
  public:
    // Reserves memory for the rows of the batch.
    const Stage& make(const Batch& batch) {
        const std::size_t margin = 8;  // eight entries are written at a time
        const std::size_t entries = entries_of(batch) + batch.rows + margin;
        if (rows_.size() < batch.rows) rows_.resize(batch.rows);
        if (slots_.size() < entries) slots_.resize(entries);
        const std::size_t count = 2 * entries + unitless::longest_row(batch) + margin;
        if (values_.size() < count) values_.resize(count);
        double* const z = values_.data();
        stage_ = {rows_.data(), slots_.data(), z, z + entries, z + 2 * entries};
        return stage_;
    }

    const Stage& stage() const { return stage_; }
    // The length of the longest of the first `rows` rows, including the bias.
    std::size_t longest_row(std::size_t rows) const {
        std::size_t longest = 0;
        for (std::size_t r = 0; r < rows; ++r) {
            const std::size_t length = rows_[r].end - rows_[r].begin;
            longest = length > longest ? length : longest;
        }
        return longest;
    }
    std::size_t bytes() const {
        return rows_.capacity() * sizeof(StagedRow) + slots_.capacity() * sizeof(std::uint32_t) +
               values_.capacity() * sizeof(double);
    }

  private:
    std::vector<StagedRow> rows_;
    std::vector<std::uint32_t, Unset<std::uint32_t>> slots_;
    std::vector<double, Unset<double>> values_;
    Stage stage_{};
};

}  // namespace unitless
