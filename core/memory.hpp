// Working memory on cache lines' boundaries.
#pragma once

#include <cstdint>
#include <vector>

namespace unitless {

// So that no eight doubles straddle two lines. What it held is lost when it grows.
inline double* aligned(std::vector<double>& memory, std::size_t doubles) {
    if (memory.size() < doubles + 8) memory.assign(doubles + 8, 0.0);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return reinterpret_cast<double*>((address + 63) / 64 * 64);
}

}  // namespace unitless
