// Lanes where four are all there are: half the arithmetic of lane_kernel.cpp, and the same bits.
// Compiled for the baseline and for AVX2, with UNITLESS_FOUR_LANES set and UNITLESS_ISA naming what nothing else
// shares.

#include "engine/lanes/proximal_rows.hpp"

namespace unitless {

void UNITLESS_FOUR_LANES(const Options& options, const Octet* lanes, int octets, const LaneLabels& labels,
                         const Stage& stage, std::size_t rows, double* memory) {
    run_any_lanes(options, lanes, octets, labels, stage, rows, memory);
}

}  // namespace unitless
