// The table of one instruction set, compiled once for each, with UNITLESS_ISA naming it.

#include "algorithm/dispatch.hpp"
#include "engine/kernel.hpp"
#include "engine/score.hpp"
#include "trees/kernel.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

void loss(const Options& options, int which, const double* p, const double* y, const double* tau, std::size_t n,
          double* out) {
    with_loss(options, [&](const auto& loss) {
        for (std::size_t i = 0; i < n; ++i) {
            const double slope = loss.slope(p[i], y[i]);
            if (which == 0) out[i] = loss.value(p[i], y[i]);
            if (which == 1) out[i] = slope;
            if (which == 2) out[i] = slope == 0 ? 0.0 : loss.change(p[i], y[i], slope, tau[i]);
        }
    });
}

bool supported() {
#if defined(__AVX512F__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
#elif defined(__AVX2__)
    return __builtin_cpu_supports("avx2");
#else
    return true;
#endif
}

}  // namespace
}  // namespace UNITLESS_ISA

const Kernel UNITLESS_OF_ISA(kernel_) = {
    UNITLESS_ISA_NAME,
    supported,
    &UNITLESS_OF_ISA(row_kernel_),
    &UNITLESS_OF_ISA(single_kernel_),
    &UNITLESS_OF_ISA(lane_kernel_),
    &UNITLESS_OF_ISA(tree_kernel_),
    &UNITLESS_OF_ISA(softmax_kernel_),
    &UNITLESS_OF_ISA(newton_kernel_),
    loss,
    score_two_classes,
};

}  // namespace unitless
