// The kernels that this machine can run, by name, slowest first.
#pragma once

#include <utility>
#include <vector>

#include "engine/kernel.hpp"

namespace unitless {

inline std::vector<std::pair<const char*, const Kernel*>> supported_kernels() {
    std::vector<std::pair<const char*, const Kernel*>> kernels{{"baseline", &kernel_baseline}};
#if defined(UNITLESS_X86_KERNELS)
    if (kernel_avx2.supported()) kernels.emplace_back("avx2", &kernel_avx2);
    if (kernel_avx512.supported()) kernels.emplace_back("avx512", &kernel_avx512);
#endif
    return kernels;
}

}  // namespace unitless
