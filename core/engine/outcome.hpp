// How a run over some rows ended.
#pragma once

#include <cstddef>

namespace unitless {

enum class Status { ok, bad_value, diverged };

struct Outcome {
    Status status = Status::ok;
    std::size_t row = 0, column = 0;  // where, if it is not ok
};

}  // namespace unitless
