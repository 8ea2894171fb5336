// Where a call's results go.
#pragma once

#include <cstddef>

namespace unitless {

// How many numbers a row has depends on the classes that have joined, which only the holder of the learner's lock
// knows. So the learner asks for the memory once it has the lock.
class Results {
  public:
    virtual double* allocate(std::size_t rows, std::size_t width) = 0;

  protected:
    ~Results() = default;
};

}  // namespace unitless
