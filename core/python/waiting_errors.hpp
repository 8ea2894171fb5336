// Rows that were learned one at a time, with their predictions. They wait until the caller needs the quantiles of
// errors, or until there are many.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "python/arrays.hpp"

namespace unitless {

class WaitingErrors {
  public:
    // Adds the scores of a row: one, or one per class known at that time. Returns true if it is time to take all rows.
    bool add(const double* scores, std::size_t count, double truth, double weight) {
        scores_.insert(scores_.end(), scores, scores + count);
        truth_.push_back(truth);
        weight_.push_back(weight);
        widths_.push_back(static_cast<double>(count));
        return truth_.size() >= many;
    }
    std::size_t size() const { return truth_.size(); }
    // The concatenated scores, the labels, the weights, and the number of scores of each row.
    nb::tuple rows() const { return nb::make_tuple(array(scores_), array(truth_), array(weight_), array(widths_)); }
    // Returns all rows and removes them.
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
