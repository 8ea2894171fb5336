// Scratch of one predicting thread.
#pragma once

namespace unitless {

// Several threads may predict with an engine at once, each with its own scratch, while nothing is learned.
class EngineScratch {
  public:
    virtual ~EngineScratch() = default;
};

}  // namespace unitless
