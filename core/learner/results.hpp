// The memory for the results of a call.
#pragma once

#include <cstddef>

namespace unitless {

// The size of a row's result depends on the number of classes, which may change until the learner is locked. So the
// learner requests the memory while it has the lock.
class Results {
  public:
    virtual double* allocate(std::size_t rows, std::size_t width) = 0;

  protected:
    ~Results() = default;
};

}  // namespace unitless
