// The hot path of curves and trees: what their engine hands to the kernels, which are compiled once per instruction
// set. All give the same bits.
#pragma once

#include "algorithm/options.hpp"
#include "engine/lanes/kernel.hpp"
#include "engine/leaf_facts.hpp"
#include "engine/softmax/kernel.hpp"

namespace unitless {

// A question to a value: whether a number is above `low`, or a text is `low`. The answer to a missing value (not a
// number) is no. No leads to `child`, yes to the node after it; a leaf leads to itself, whatever the answer.
struct Question {
    static constexpr std::uint32_t text = 0x80000000u;  // in `column`
    double low;
    std::uint32_t column, child;
};

// The leaves that a row falls into, whose indicators are features of scale 1; and what the row does to the rates.
struct LeafRow {
    const std::uint32_t* leaves;
    std::size_t count;
    double damp;
};

// The lanes of one leaf learner. Octets are filled up with lanes that never move.
struct LeafLanes {
    std::size_t octets, heads;
    std::size_t head_stride;     // of what there is for each leaf and head
    double* const* linear;       // by octet: [slot][v of 8, H of 8]
    double* const* leaves;       // by octet: [leaf][w of 8]
    const double *rate, *label;  // by lane
    const std::uint32_t* head;   // by lane
    double* evidence;            // G: [leaf][head], one for all rates
    // Working memory, by lane, then by octet and feature, then by leaf of the row and head.
    double *y, *p, *slope, *loss, *step, *leaf_step;
    // Where heads share a softmax: the rates of each, and what a Coupling needs; otherwise null.
    std::size_t rates;
    double* coupling;
};

// In memory, LeafFacts are followed by the sums of the residuals by head (float), in units of a power of two; from
// `watch_header` on, by candidate for a split: low (double), rows and sums on the right side (float;
// [candidate][head]), column (as a question's).

// The leaves of all trees that a row has reached.
struct WatchRow {
    char* leaves;  // what is known of each, `bytes` apart
    std::size_t bytes, candidates, heads;
    const std::uint32_t* reached;  // by tree: a leaf, or `none`
    std::size_t trees;
    std::uint32_t drawing;  // from this stage on a leaf watches
    const double* row;
    float weight;
    const float *residuals, *square;  // by group of heads: weighted; the squares' sum
    const std::uint8_t* group;        // by tree
    std::uint32_t* due;               // trees whose leaves are drawing, or have watched enough

    static constexpr std::uint32_t none = ~0u;
};

inline namespace UNITLESS_ISA {

// Bytes before the candidates of a leaf.
inline std::size_t watch_header(std::size_t heads) {
    return (sizeof(LeafFacts) + heads * sizeof(float) + 31) / 32 * 32;
}
inline float* sums_of(LeafFacts* leaf) { return reinterpret_cast<float*>(leaf + 1); }

}  // namespace UNITLESS_ISA

struct TreeKernel {
    // Predictions of all lanes and, where the row is to be learned, slopes and losses.
    void (*predict_row)(const Options&, const Stage&, const StagedRow&, const LaneLabels&, std::size_t row,
                        const LeafRow&, const LeafLanes&);
    // Learns the row. `leading`: by head, the slope of the leader.
    void (*learn_row)(const Options&, const Stage&, const StagedRow&, double label_scale, const double* leading,
                      const LeafRow&, const LeafLanes&);
    // The intervals that the values of a row fall into, by column: as many thresholds are below.
    void (*locate)(const double* thresholds, const std::uint8_t* counts, const double* row, std::size_t columns,
                   std::uint8_t* intervals);
    // The leaves that a row reaches, by tree, from the nodes in `reached` on.
    using Descend = void (*)(const Question* nodes, std::size_t nodes_each, std::size_t trees, const double* row,
                             std::uint32_t* reached);
    Descend descend, descend_numbers;  // descend_numbers: no question is about text
    // Counts a row for all candidates of the leaves that it has reached; gives how many trees are due.
    std::size_t (*watch)(const WatchRow&);
};

// Of a curve. There is memory for so many; those that are not used are infinite.
inline constexpr std::size_t most_thresholds = 32;

extern const TreeKernel tree_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const TreeKernel tree_kernel_avx2, tree_kernel_avx512;
#endif

}  // namespace unitless
