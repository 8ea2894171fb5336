// The hot path of one learner: what its engine hands to the kernels, which are compiled once per instruction set. All
// give the same bits.
#pragma once

#include "algorithm/options.hpp"
#include "algorithm/state.hpp"
#include "engine/outcome.hpp"
#include "rows/asking.hpp"
#include "rows/dense.hpp"
#include "rows/labels.hpp"
#include "rows/sparse.hpp"

namespace unitless {

struct SingleKernel {
    // The pack mirrors all slots (pack_chunks of them); `block` holds block_doubles(pack_chunks).
    Outcome (*learn_dense)(const Options&, Clock&, const Pack&, std::size_t pack_chunks, double* block,
                           const DenseInput&, const Labels&, double* predictions);
    Outcome (*predict_dense)(const Options&, const Clock&, const Pack&, std::size_t pack_chunks, double* block,
                             const DenseInput&, const Asking&, double* predictions);
    // `slots` is the learner's array of Slot64 or Slot32; the pack has room for the longest row.
    Outcome (*learn_sparse)(const Options&, Clock&, const Pack&, std::size_t pack_chunks, void* slots,
                            const SparseInput&, const Labels&, double* predictions);
    void (*predict_sparse)(const Options&, const Clock&, const Pack&, std::size_t pack_chunks, const void* slots,
                           const SparseInput&, const Asking&, double* predictions);
};

// One row at a time: its features have their places in a pack of their own, which mirrors their slots. Where no feature
// stands, all is zero; all chunks are listed as active.
struct PlacedRow {
    Pack pack;
    double* x;                   // the row's values, by place; the pack's x is z alone
    const std::uint32_t* place;  // of each feature
    std::size_t count, chunks;
    bool plain;  // every scale has a normal inverse
};

struct PlacedKernel {
    bool (*supports)(const Options&);
    void (*load)(const Options&, const void* slots, PlacedRow&);
    // Writes the slots too. Diverged: they are as before, and the row is to be loaded again.
    Status (*learn)(const Options&, Clock&, void* slots, PlacedRow&, double y, double h, double eta, double offset,
                    double& prediction);
    double (*predict)(const Options&, const Clock&, const PlacedRow&, bool extrapolate, double offset);
};

inline namespace UNITLESS_ISA {

// How many rows a block holds: as many as stay in the first-level cache.
inline constexpr std::size_t block_rows(std::size_t pack_chunks) {
    const std::size_t rows = 2048 / (8 * pack_chunks);
    return rows < 1 ? 1 : rows > 64 ? 64 : rows;
}

// The memory that a block needs: z and rho of its rows.
inline constexpr std::size_t block_doubles(std::size_t pack_chunks) {
    return 2 * block_rows(pack_chunks) * 8 * pack_chunks;
}

}  // namespace UNITLESS_ISA

extern const SingleKernel single_kernel_baseline;
extern const PlacedKernel placed_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const SingleKernel single_kernel_avx2, single_kernel_avx512;
extern const PlacedKernel placed_kernel_avx2, placed_kernel_avx512;
#endif

}  // namespace unitless
