// The instruction sets that this machine can run.
#pragma once

#include <string>
#include <vector>

#include "base/errors.hpp"
#include "engine/kernel.hpp"

namespace unitless {

inline const std::vector<const Kernel*>& kernels() {
    static const std::vector<const Kernel*> all = [] {
        std::vector<const Kernel*> found{&kernel_baseline};
#if defined(UNITLESS_X86_KERNELS)
        for (const Kernel* kernel : {&kernel_avx2, &kernel_avx512})
            if (kernel->supported()) found.push_back(kernel);
#endif
        return found;
    }();
    return all;
}

inline std::vector<std::string> kernel_names() {
    std::vector<std::string> names;
    for (const Kernel* kernel : kernels()) names.emplace_back(kernel->name);
    return names;
}

inline const Kernel& kernel_by_name(const std::string& name) {
    for (const Kernel* kernel : kernels())
        if (name == kernel->name) return *kernel;
    throw InputError("this machine has no kernel '" + name + "'");
}

}  // namespace unitless
