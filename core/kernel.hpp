// The hot path's interface: what the learner hands to a kernel, and the kernels that were compiled.
//
// A kernel is a table of functions from one source (kernel.cpp), compiled for one instruction set. All give the same
// bits. Everything here is plain data: kernels share no inline code with the rest (isa.hpp says why).
#pragma once

#include <cstddef>
#include <cstdint>

#include "options.hpp"
#include "state.hpp"

namespace unitless {

enum class Type { f32, f64, i8, i16, i32, i64, u8, u16, u32, u64 };

// A column of numbers and the slot that it feeds.
struct Column {
    const char* data;
    std::ptrdiff_t stride;
    Type type;
    std::uint32_t slot;
};

// Rows of equally typed numbers that lie side by side; column j feeds slot 1 + j. Used when `columns` is null.
// Otherwise `columns` has one entry per column.
struct DenseInput {
    const char* data;
    std::ptrdiff_t row_stride;
    Type type;
    const Column* columns;
    std::size_t column_count;
    std::size_t rows;
};

// Rows of (slot, value), slots rising within a row, no value zero.
struct SparseInput {
    const std::uint32_t* slots;
    const double* values;
    const std::size_t* row_ends;
    std::size_t rows;
};

// y and weight: one per row; no weight means 1. Labels are as the loss wants them.
struct Labels {
    const double* y;
    const double* weight;
};

enum class Status { ok, not_finite, diverged };

struct Outcome {
    Status status = Status::ok;
    std::size_t row = 0, column = 0;
};

struct Kernel {
    const char* name;
    bool (*supported)();
    // The pack mirrors all slots (pack_chunks of them); `block` holds block_doubles(pack_chunks).
    Outcome (*learn_dense)(const Options&, Clock&, const Pack&, std::size_t pack_chunks, double* block,
                           const DenseInput&, const Labels&, double* predictions);
    Outcome (*predict_dense)(const Options&, const Clock&, const Pack&, std::size_t pack_chunks, double* block,
                             const DenseInput&, bool extrapolate, double* predictions);
    // `slots` is the learner's array of Slot64 or Slot32; the pack has room for the longest row.
    Outcome (*learn_sparse)(const Options&, Clock&, const Pack&, void* slots, const SparseInput&, const Labels&,
                            double* predictions);
    void (*predict_sparse)(const Options&, const Clock&, const Pack&, const void* slots, const SparseInput&,
                           bool extrapolate, double* predictions);
    // The loss alone, for evaluation and tests: which = 0 value, 1 slope, 2 importance-aware change.
    void (*loss)(const Options&, int which, const double* p, const double* y, const double* tau, std::size_t n,
                 double* out);
};

// How many rows a block holds: as many as stay in the first-level cache.
inline constexpr std::size_t block_rows(std::size_t pack_chunks) {
    const std::size_t rows = 2048 / (8 * pack_chunks);
    return rows < 1 ? 1 : rows > 64 ? 64 : rows;
}

// The memory that a block needs: z and rho of its rows.
inline constexpr std::size_t block_doubles(std::size_t pack_chunks) {
    return 2 * block_rows(pack_chunks) * 8 * pack_chunks;
}

extern const Kernel kernel_baseline;
#if defined(__x86_64__)
extern const Kernel kernel_avx2;
extern const Kernel kernel_avx512;
#endif

}  // namespace unitless
