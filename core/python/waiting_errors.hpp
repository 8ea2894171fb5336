// Rows that were learned one at a time, with what was predicted before: numbers that wait until somebody wants to know
// how large errors are, or until there are many.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "python/arrays.hpp"

namespace unitless {

class WaitingErrors {
  public:
    // True if it is time to take them.
    bool add(double score, double truth, double weight) {
        scores_.push_back(score);
        truth_.push_back(truth);
        weight_.push_back(weight);
        return scores_.size() >= many;
    }
    std::size_t size() const { return scores_.size(); }
    // Scores, labels and weights.
    nb::tuple rows() const { return nb::make_tuple(array(scores_), array(truth_), array(weight_)); }
    // The same; then there are none.
    nb::tuple take() {
        const nb::tuple taken = rows();
        for (auto* numbers : {&scores_, &truth_, &weight_}) numbers->clear();
        return taken;
    }

  private:
    static constexpr std::size_t many = 1024;
    std::vector<double> scores_, truth_, weight_;

    static nb::object array(const std::vector<double>& numbers) {
        const ShortArray made(numbers.size());
        std::copy(numbers.begin(), numbers.end(), made.data());
        return made.array();
    }
};

}  // namespace unitless
