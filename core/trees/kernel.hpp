// The hot path of curves and trees: what their engine passes to the kernels, which are compiled once per instruction
// set. All versions give the same bits.
#pragma once

#include "algorithm/options.hpp"
#include "engine/lanes/kernel.hpp"
#include "engine/leaf_facts.hpp"
#include "engine/softmax/kernel.hpp"

namespace unitless {

// A test of a value: whether a number is above `low`, or a text equals `low`. The answer for a missing value (NaN) is
// no. No leads to `child`, yes to the node after it; a leaf leads to itself in both cases.
struct Question {
    static constexpr std::uint32_t text = 0x80000000u;  // a flag in `column`
    double low;
    std::uint32_t column, child;
};

// The leaves of a row, whose indicators are features of scale 1; and the row's damp.
struct LeafRow {
    const std::uint32_t* leaves;
    std::size_t count;
    double damp;
};

// The lanes of one leaf learner. Unused positions of octets have lanes that never move, and whose rate is 0.
struct LeafLanes {
    std::size_t octets, heads;
    std::size_t head_stride;  // stride of arrays [leaf][head]
    double* const* linear;    // by octet: [slot][v of 8, H of 8]
    double* const* leaves;    // by octet: [leaf][w of 8], where the leaves are `leaf_stride` doubles apart
    std::size_t leaf_stride;
    const double *rate, *label;  // by lane
    const std::uint32_t* head;   // by lane
    double* evidence;            // G: [leaf][head], one for all rates
    // Scratch by lane, then by octet and feature, then by leaf of the row and head.
    double *y, *p, *slope, *loss, *step, *leaf_step;
    // For heads that share a softmax: the number of rates, and scratch for a Coupling; otherwise null.
    std::size_t rates;
    double* coupling;
    // For many classes: the octets of one rate (otherwise 0), and the leader's first one. An octet of heads is active
    // in a row if the row can change one of them noticeably; only active ones are learned. `active`: by octet of heads;
    // `rate_loss`: by rate, the sum over active heads.
    std::size_t block, leading;
    char* active;
    double* rate_loss;
};

// A head is active if its slope is above this share of the largest slope.
inline constexpr double noticeable = 0x1p-8;

// In memory, LeafFacts are followed by the sums of the residuals by head (float), in units of a power of two. From
// `watch_header` on, each candidate split has: low (double), rows and sums on the right side (float;
// [candidate][head]), and column (with the flag of Question).

// A row of a block, as trees count it.
struct CountedRow {
    const double* row;       // null: it is not counted
    const float* residuals;  // by group of heads: weighted
    const float* squares;    // by group: their sum
    const char* active;      // by group: whether its trees count the row; null: all do
    float weight;
};

// The statistics of a tree's leaves.
struct WatchedTree {
    char* leaves;  // `bytes` apart, counted over all trees
    std::size_t bytes, candidates, heads, group;
    std::uint32_t drawing;         // the stage from which a leaf watches
    const std::uint32_t* reached;  // by row: the leaf, `stride` apart
    std::size_t stride;
    std::uint32_t* due;  // leaves that have watched enough rows
};

inline namespace UNITLESS_ISA {

// The number of bytes before the candidates of a leaf.
inline std::size_t watch_header(std::size_t heads) {
    return (sizeof(LeafFacts) + heads * sizeof(float) + 31) / 32 * 32;
}
inline float* sums_of(LeafFacts* leaf) { return reinterpret_cast<float*>(leaf + 1); }

}  // namespace UNITLESS_ISA

struct TreeKernel {
    // Predicts with all lanes and, if the row is learned, computes slopes and losses.
    void (*predict_row)(const Options&, const Stage&, const StagedRow&, const LaneLabels&, std::size_t row,
                        const LeafRow&, const LeafLanes&);
    // Learns the row. `leading`: by head, the slope of the leader.
    void (*learn_row)(const Options&, const Stage&, const StagedRow&, double label_scale, const double* leading,
                      const LeafRow&, const LeafLanes&);
    // The intervals of a row's values, by column: the number of thresholds below the value.
    void (*locate)(const double* thresholds, const std::uint8_t* counts, const double* row, std::size_t columns,
                   std::uint8_t* intervals);
    // Lets `count` pairs of a tree and a row descend from the root, and writes the nodes: several rows of one tree
    // (nodes_step is 0), or one row of several trees (row_step is 0).
    using Descend = void (*)(const Question* nodes, std::size_t nodes_step, const double* row, std::size_t row_step,
                             std::size_t count, std::uint32_t* reached);
    Descend descend, descend_numbers;  // descend_numbers: no test is about text
    // Counts rows from number r on for all candidates of the leaves that they reached. Stops before a row whose leaf
    // draws, and returns its number. Adds to `due`, and to its number.
    std::size_t (*watch)(const WatchedTree&, const CountedRow* rows, std::size_t r, std::size_t end, std::size_t& due);
};

// The thresholds of a curve; unused ones are infinite.
inline constexpr std::size_t most_thresholds = 32;

extern const TreeKernel tree_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const TreeKernel tree_kernel_avx2, tree_kernel_avx512;
#endif

}  // namespace unitless
