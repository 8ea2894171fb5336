// What a fuzzer demands of every input: where it does not hold, the program ends and libFuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace unitless {

inline void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "The fuzzer found an input for which this does not hold: %s\n", what);
    std::abort();
}

}  // namespace unitless
