// Where a learner's results go: into a vector that is large enough for them.
#pragma once

#include <vector>

namespace unitless {

class Into {
  public:
    explicit Into(std::vector<double>& to) : to_(to) {}
    double* here() { return to_.data(); }

  private:
    std::vector<double>& to_;
};

}  // namespace unitless
