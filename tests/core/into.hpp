// Where a learner's results go: into a vector, which grows to what it gets and never shrinks.
#pragma once

#include <vector>

#include "learner/results.hpp"

namespace unitless {

class Into final : public Results {
  public:
    explicit Into(std::vector<double>& to) : to_(to) {}
    double* allocate(std::size_t rows, std::size_t width) override {
        if (to_.size() < rows * width) to_.resize(rows * width);
        return to_.data();
    }
    Results& here() { return *this; }

  private:
    std::vector<double>& to_;
};

}  // namespace unitless
