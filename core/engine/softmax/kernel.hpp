// The hot path of classes that share one softmax: what their engine passes to the kernels, which are compiled once per
// instruction set. All versions give the same bits.
#pragma once

#include "algorithm/options.hpp"
#include "engine/lanes/kernel.hpp"

namespace unitless {

// Coupled lanes: those of some rates, of all heads, lane = head * rates + rate. Rates are independent.
struct Coupled {
    std::size_t heads, rates;
};

inline namespace UNITLESS_ISA {

inline std::size_t padded_rates(const Coupled& lanes) { return (lanes.rates + 7) / 8 * 8; }
// The number of lanes and eight more, because eight rates are read at once.
inline std::size_t padded_lanes(const Coupled& lanes) { return (lanes.heads * lanes.rates + 7) / 8 * 8 + 8; }

// Scratch for one row of coupled lanes.
struct Coupling {
    // By lane: the output o; the largest o of its rate; o minus that; its exponential; the sum of the other heads'
    // exponentials; the slope.
    double *o, *largest, *below, *e, *rest, *slope;
    double* after;                           // [head][padded rates]: sums of exponentials of later heads
    double *most, *before, *inverse, *loss;  // by rate, padded

    static std::size_t doubles(const Coupled& lanes) {
        return 6 * padded_lanes(lanes) + (lanes.heads + 4) * padded_rates(lanes);
    }
    Coupling(const Coupled& lanes, double* memory) {
        double** const by_lane[] = {&o, &largest, &below, &e, &rest, &slope};
        for (double** array : by_lane) {
            *array = memory;
            memory += padded_lanes(lanes);
        }
        double** const by_rate[] = {&most, &before, &inverse, &loss};
        for (double** array : by_rate) {
            *array = memory;
            memory += padded_rates(lanes);
        }
        after = memory;
    }
};

}  // namespace UNITLESS_ISA

struct SoftmaxKernel {
    // Runs the octets of `lanes` over rows. loss: [row][stride], by rate, or null. `memory`: scratch for a Coupling,
    // and 8 doubles per entry of the longest row.
    void (*run)(const Options&, const Octet*, const Coupled& lanes, const LaneLabels&, const Stage&, std::size_t rows,
                double* loss, double* memory);
    // The losses by rate of one row with known outputs, if its class is y.
    void (*losses)(const double* outputs, const Coupled& lanes, std::size_t y, double* loss, double* memory);
    // The scores of one rate: the log odds of each of the first `met` heads, whose outputs are `stride` apart, against
    // the others; then those of the spare head, if there is one, against all of them.
    void (*log_odds)(const double* outputs, std::size_t stride, std::size_t met, const double* spare, double* scores,
                     double* memory);
    static std::size_t log_odds_doubles(std::size_t met) { return met + 1; }
};

extern const SoftmaxKernel softmax_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const SoftmaxKernel softmax_kernel_avx2, softmax_kernel_avx512;
#endif

}  // namespace unitless
