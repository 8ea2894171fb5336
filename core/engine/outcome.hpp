// The result of a run over some rows.
#pragma once

#include <cstddef>

namespace unitless {

enum class Status { ok, bad_value, diverged };

struct Outcome {
    Status status = Status::ok;
    std::size_t row = 0, column = 0;  // the position of the error, if not ok
};

}  // namespace unitless
