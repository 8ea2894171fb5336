// Columns without their offset: x becomes x - mean, the mean running and including the current row.
//
// Only columns of dense input are centred, and what a column is settles when it is first met. A value that is left out
// counts as the mean.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace unitless {

enum class Offset : unsigned char { unknown, kept, removed };

class Centre {
  public:
    struct Column {
        double mean = 0, weight = 0;
        Offset offset = Offset::unknown;
    };

    bool any() const { return removed_ > 0; }
    const std::vector<Column>& columns() const { return columns_; }  // by slot
    bool removed(std::uint32_t slot) const {
        return slot < columns_.size() && columns_[slot].offset == Offset::removed;
    }

    void settle(std::uint32_t slot, Offset offset) {
        if (slot >= columns_.size()) columns_.resize(slot + 1);
        if (columns_[slot].offset != Offset::unknown) return;
        columns_[slot].offset = offset;
        removed_ += offset == Offset::removed;
    }
    Column column(std::uint32_t slot) const { return slot < columns_.size() ? columns_[slot] : Column{}; }
    void put_back(std::uint32_t slot, const Column& column) {
        if (slot >= columns_.size()) return;
        removed_ += column.offset == Offset::removed;
        removed_ -= columns_[slot].offset == Offset::removed;
        columns_[slot] = column;
    }
    void restore(std::uint32_t slot, const Column& column) {
        if (slot >= columns_.size()) columns_.resize(slot + 1);
        removed_ += column.offset == Offset::removed;
        columns_[slot] = column;
    }

    // x - mean, the mean having learned from x with weight h. Written so that nothing cancels but x - mean itself.
    double observe(std::uint32_t slot, double x, double h) {
        Column& column = columns_[slot];
        const double weight = column.weight + h, share = h / weight, distance = x - column.mean;
        column.weight = weight;
        column.mean += share * distance;
        return distance - share * distance;
    }
    // A row of columns, in place; those whose offset is kept stay as they are.
    void observe(const std::uint32_t* slots, double* row, std::size_t count, double h) {
        double last = 0, share = 1;  // nearly always the same for all columns
        for (std::size_t j = 0; j < count; ++j) {
            Column& column = columns_[slots[j]];
            if (column.offset != Offset::removed) continue;
            const double weight = column.weight + h, distance = row[j] - column.mean;
            if (weight != last) {
                last = weight;
                share = h / weight;
            }
            column.weight = weight;
            column.mean += share * distance;
            row[j] = distance - share * distance;
        }
    }
    // The same with weight 1, without learning.
    double peek(std::uint32_t slot, double x) const {
        const Column& column = columns_[slot];
        const double distance = apart(x, column.mean);
        return distance - distance * (1.0 / (column.weight + 1.0));
    }
    // Against the mean as it stands.
    double linear(std::uint32_t slot, double x) const { return apart(x, columns_[slot].mean); }

  private:
    std::vector<Column> columns_;
    std::size_t removed_ = 0;

    // Where a distance is more than a number can be, learning diverges; a prediction takes the largest number.
    static double apart(double x, double mean) {
        const double distance = x - mean;
        return std::isinf(distance) ? std::copysign(std::numeric_limits<double>::max(), distance) : distance;
    }
};

}  // namespace unitless
