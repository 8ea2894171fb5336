// Requirements of the fuzzers. If one is not met, the program ends and libFuzzer stores the input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace unitless {

inline void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "The fuzzer found an input that violates: %s\n", what);
    std::abort();
}

}  // namespace unitless
