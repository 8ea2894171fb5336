// Scratch memory of one thread that predicts.
#pragma once

namespace unitless {

// Any number of threads predict with an engine at once, each with its own, while nothing is learned.
class EngineScratch {
  public:
    virtual ~EngineScratch() = default;
};

}  // namespace unitless
