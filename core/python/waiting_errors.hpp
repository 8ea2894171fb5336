// Rows that were learned one at a time, with what was predicted before: numbers that wait until somebody wants to know
// how large errors are, or until there are many.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "python/arrays.hpp"

namespace unitless {

class WaitingErrors {
  public:
    // The scores of a row: one, or one for each class that there was. True if it is time to take all rows.
    bool add(const double* scores, std::size_t count, double truth, double weight) {
        scores_.insert(scores_.end(), scores, scores + count);
        truth_.push_back(truth);
        weight_.push_back(weight);
        widths_.push_back(static_cast<double>(count));
        return truth_.size() >= many;
    }
    std::size_t size() const { return truth_.size(); }
    // Scores one row after the other, labels, weights, and how many scores each row has.
    nb::tuple rows() const { return nb::make_tuple(array(scores_), array(truth_), array(weight_), array(widths_)); }
    // All rows; then there are none.
    nb::tuple take() {
        const nb::tuple taken = rows();
        for (auto* numbers : {&scores_, &truth_, &weight_, &widths_}) numbers->clear();
        return taken;
    }

  private:
    static constexpr std::size_t many = 1024;
    std::vector<double> scores_, truth_, weight_, widths_;

    static nb::object array(const std::vector<double>& numbers) {
        const ShortArray made(numbers.size());
        std::copy(numbers.begin(), numbers.end(), made.data());
        return made.array();
    }
};

}  // namespace unitless
