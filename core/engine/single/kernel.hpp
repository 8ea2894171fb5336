// The hot path of one learner, compiled once per instruction set. All versions give the same bits.
#pragma once

#include "algorithm/options.hpp"
#include "algorithm/state.hpp"
#include "algorithm/step.hpp"
#include "engine/outcome.hpp"
#include "rows/batch.hpp"
#include "rows/dense.hpp"
#include "rows/predict_options.hpp"

namespace unitless {

// The register positions of a sparse row's features: by slot, so that sums are equal to those of dense rows; or one
// after another for hashed slots, which would fill some register positions far more than others.
enum class Positions { by_slot, in_sequence };

struct SingleKernel {
    // Dense rows: the pack mirrors all slots in `chunks` chunks; `block` is scratch of block_doubles(chunks).
    Outcome (*learn_dense)(const Options&, Clock&, Slot& bias, const Pack&, std::size_t chunks, double* block,
                           const DenseRows&, const Labels&, double* predictions);
    Outcome (*predict_dense)(const Options&, const Clock&, const Slot& bias, const Pack&, std::size_t chunks,
                             double* block, const DenseRows&, bool extrapolate, const double* offset,
                             double* predictions);
    // The pack has memory for the longest row, which takes `chunks` chunks.
    Outcome (*learn)(const Options&, Clock&, Slot* slots, Positions, const Pack&, std::size_t chunks, const Batch&,
                     double* predictions);
    void (*predict)(const Options&, const Clock&, const Slot* slots, Positions, const Pack&, std::size_t chunks,
                    const Batch&, bool extrapolate, double* predictions);
};

inline namespace UNITLESS_ISA {

// The number of rows in a block: as many as stay in the first-level cache.
inline constexpr std::size_t block_rows(std::size_t chunks) {
    const std::size_t rows = 2048 / (8 * chunks);
    return rows < 1 ? 1 : rows > 64 ? 64 : rows;
}

// The scratch of a block: z and rho of its rows.
inline constexpr std::size_t block_doubles(std::size_t chunks) { return 2 * block_rows(chunks) * 8 * chunks; }

}  // namespace UNITLESS_ISA

extern const SingleKernel single_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const SingleKernel single_kernel_avx2, single_kernel_avx512;
#endif

}  // namespace unitless
