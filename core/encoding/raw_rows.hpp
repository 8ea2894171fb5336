// Values before encoding, row by row. A missing value is NaN.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "rows/batch.hpp"

namespace unitless {

class RawRows {
  public:
    void clear() {
        counts_.clear();
        stride_ = 0;
    }

    // Begins a row. `columns`: the number of columns known now; there may be more when the row ends.
    void begin_row(std::size_t columns) {
        twice_.clear();
        if (columns > stride_) widen(columns);
        counts_.push_back(0);
        values_.resize(std::max(values_.size(), counts_.size() * stride_));
        std::fill_n(row(), stride_, nothing);
    }
    void end_row(std::size_t columns) {
        if (columns > stride_) widen(columns);
        if (!twice_.empty()) add_up();
        counts_.back() = static_cast<std::uint32_t>(columns);
    }

    // The current row. It has space for the columns that were known when it began.
    double* row() { return values_.data() + (counts_.size() - 1) * stride_; }

    void put_number(std::uint32_t column, double x) {
        double& there = at(column);
        if (there == there && x == x) {
            twice_.emplace_back(column, x);
        } else {
            there = x == x ? x : there;
        }
    }
    // If a row has several features of a text column, the one with the largest number counts.
    void put_text(std::uint32_t column, std::uint32_t feature) {
        double& there = at(column);
        if (!(there >= feature)) there = feature;
    }

    void view(Batch& to) const {
        to.raw = values_.data();
        to.raw_stride = stride_;
        to.raw_counts = counts_.data();
    }

  private:
    static constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

    std::vector<double, Unset<double>> values_;  // [row][column]
    std::vector<std::uint32_t> counts_;          // by row
    std::size_t stride_ = 0;
    std::vector<std::pair<std::uint32_t, double>> twice_;  // numbers of a column that already has one in this row

    double& at(std::uint32_t column) {
        if (column >= stride_) widen(column + 1);
        return row()[column];
    }

    // Gives the existing rows space for new columns, beginning with the last row.
    void widen(std::size_t columns) {
        const std::size_t wider = counts_.size() > 1 ? std::max(columns, stride_ + stride_ / 2) : columns;
        values_.resize(std::max(values_.size(), counts_.size() * wider));
        for (std::size_t r = counts_.size(); r-- > 0;) {
            double* const to = values_.data() + r * wider;
            if (r) std::copy_backward(values_.data() + r * stride_, values_.data() + (r + 1) * stride_, to + stride_);
            std::fill(to + stride_, to + wider, nothing);
        }
        stride_ = wider;
    }

    // Adds repeated numbers, smallest first, so that their order within the row does not matter. BatchBuilder does the
    // same.
    void add_up() {
        const std::size_t more = twice_.size();
        for (std::size_t k = 0; k < more; ++k) {
            double& first = row()[twice_[k].first];
            if (first == first) twice_.emplace_back(twice_[k].first, first);
            first = nothing;
        }
        std::sort(twice_.begin(), twice_.end());
        for (const auto& [column, x] : twice_) {
            double& total = row()[column];
            total = total == total ? total + x : x;
        }
        twice_.clear();
    }
};

}  // namespace unitless
