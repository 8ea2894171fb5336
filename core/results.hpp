// Where a call's results go.
#pragma once

#include <cstddef>

namespace unitless {

// The learner asks for the memory once it holds its lock: classes may join until then, so that only then it is settled
// how many numbers a row gets.
class Results {
  public:
    // Room for rows x width numbers, which the learner will write. Asked for at most once per call.
    virtual double* allocate(std::size_t rows, std::size_t width) = 0;

  protected:
    ~Results() = default;
};

}  // namespace unitless
