// The hot path of curves and trees: what their engine hands to the kernels, which are compiled once per instruction
// set. All give the same bits.
#pragma once

#include "algorithm/options.hpp"
#include "engine/lanes/kernel.hpp"

namespace unitless {

// A question to a value: is it above `low` and not above `high`? Of numbers `high` is infinite; of text the two enclose
// one value. What is not there (not a number) answers no. The answer no leads to `child`, yes to the node after it; a
// leaf leads to itself, whatever the answer.
struct Question {
    double low, high;
    std::uint32_t column, child;
};

// The leaves that a row falls into, whose indicators are features of scale 1; and what the row does to the rates.
struct LeafRow {
    const std::uint32_t* leaves;
    std::size_t count;
    double damp;
};

// The lanes of one expert. Lanes beyond the last are there, to fill up an octet; they never move.
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
};

// What a leaf of a tree has noticed so far of candidates for a split: residuals on the right side of each.
struct Watched {
    const double *low, *high;       // by candidate
    const std::uint32_t* column;    // by candidate
    double *rows, *sums;            // by candidate: weight; [candidate][head]
    std::size_t candidates, heads;  // multiples of eight; heads may be one
};

struct ShapeKernel {
    // Predictions, slopes and losses of all lanes, before the row is learned.
    void (*foresee)(const Options&, const Stage&, const StagedRow&, const LaneLabels&, std::size_t row, const LeafRow&,
                    const LeafLanes&);
    // Learns the row. `leading`: by head, the slope of the lane that leads.
    void (*update)(const Options&, const Stage&, const StagedRow&, double pace, const double* leading, const LeafRow&,
                   const LeafLanes&);
    // The intervals that the values of a row fall into, by column: as many thresholds are below.
    void (*locate)(const double* thresholds, const std::uint8_t* counts, const double* row, std::size_t columns,
                   std::uint8_t* intervals);
    // The leaves that a row reaches, by tree.
    void (*walk)(const Question* nodes, std::size_t nodes_each, std::size_t trees, const double* row,
                 std::uint32_t* reached);
    // Counts a row with its weight and weighted residuals for every candidate.
    void (*watch)(const Watched&, const double* row, double weight, const double* residuals);
};

inline constexpr std::size_t most_thresholds = 32;  // of a curve: room for so many, those that are not used infinite

extern const ShapeKernel shape_kernel_baseline;
#if defined(UNITLESS_X86_KERNELS)
extern const ShapeKernel shape_kernel_avx2, shape_kernel_avx512;
#endif

}  // namespace unitless
