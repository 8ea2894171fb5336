// A leaf learner: one model over linear terms, leaves of curves and, if it has them, leaves of trees. Several learning
// rates learn it side by side; the leader predicts.
//
// A leaf's indicator is a feature of scale 1. It has a weight for each lane and one G for all rates of a head, to which
// the leader's gradients are added: so all rates step by the same measure. When a leaf becomes two, both take its
// weight, and each takes the share of its G that its rows have; a leaf that is the first to be split has no weight yet,
// and its G is that of the bias.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "engine/averaging.hpp"
#include "engine/kernel.hpp"
#include "engine/lanes/lanes.hpp"
#include "engine/lanes/selection.hpp"
#include "engine/setup.hpp"
#include "trees/curves.hpp"
#include "trees/trees.hpp"

namespace unitless {

// Rows of a batch, their scales applied, with their leaves of curves.
struct LeafRows {
    Batch batch{};
    Stage stage{};
    const std::uint32_t* leaves = nullptr;   // of curves, one row after another
    const std::size_t* leaf_ends = nullptr;  // by row
    const Curves::Cut* cuts = nullptr;       // after rows, one after another
    const std::size_t* cut_ends = nullptr;   // by row
    std::size_t leaf_begin(std::size_t r) const { return r ? leaf_ends[r - 1] : 0; }
    std::size_t cut_begin(std::size_t r) const { return r ? cut_ends[r - 1] : 0; }
    const double* raw(std::size_t r) const { return batch.raw + r * batch.raw_stride; }
};

class LeafLearner {
  public:
    LeafLearner(const EngineSetup& setup, const Kernel& kernel, bool trees);

    std::size_t heads() const { return lanes_.heads(); }
    std::size_t class_count() const { return lanes_.class_count(); }
    void reserve(std::size_t slots) { lanes_.reserve(slots); }
    void reserve_columns(std::size_t columns);
    void add_classes(std::size_t count);

    // How rows are learned: `choosing`: losses are counted, and rates chosen by them; `pruning`: those that have lost
    // are dropped.
    struct RateChoice {
        bool choosing, pruning;
    };
    // Learns rows, `clock` being that before them; predictions: [row][width].
    void learn(const LeafRows& rows, const Clock& clock, const RateChoice& choice, std::size_t width,
               double* predictions);
    // Before `learn`: other threads can let the rows descend the trees, some rows at a time, while it runs; it does so
    // itself with those that no thread has begun with. Gives the number of pieces.
    std::size_t begin_descents(const LeafRows& rows);
    void descend(const LeafRows& rows, std::size_t piece);

    // Working memory.
    struct Scratch {
        std::vector<double> memory, odds;
        std::vector<std::uint32_t> head_of, leaves;
        std::vector<double*> octets, leaf_octets;
        std::vector<std::size_t> leaders;  // by head: where the leader has its results
    };
    void predict(const LeafRows& rows, std::size_t width, double* predictions, Scratch& scratch) const;
    // Predicts, and judges all rates by the rows' labels.
    void judge(const LeafRows& rows, std::size_t width, double* predictions);
    void prune_rates();
    // Whether no rate is left, or the only one diverged in the last rows that were learned.
    bool diverged() const;

    std::size_t leader(std::size_t head) const { return selection_.leader(lanes_, head); }
    const Lanes& lanes() const { return lanes_; }

    // `lanes`: where the state of the lanes goes, as an engine of lanes has it; `trees`: that of the trees, if any.
    void save(std::size_t slots, EngineState& lanes, LeafState& to, std::optional<TreeState>& trees) const;
    void load(const EngineState& lanes, const LeafState& from, const std::optional<TreeState>& trees, std::size_t slots,
              std::size_t columns);
    std::size_t bytes() const;

  private:
    EngineSetup setup_;
    const Kernel& kernel_;
    double split_step_;  // by which a mean residual goes into the leaves of a tree that was split
    Unit unit_;
    Lanes lanes_;
    Selection selection_;
    std::optional<Trees> trees_;
    std::size_t columns_ = 0;
    double N_ = 0;                  // sum of z^2, leaves included
    bool lost_ = false;             // in the last rows: the leader has diverged, and no other rate could take its place
    std::vector<double> evidence_;  // [leaf][head]
    std::vector<double> rows_;      // by leaf: about how many rows had it, for people who read the model
    Scratch own_;
    static constexpr std::size_t rows_of_piece = 32;
    enum class Descent { waiting, begun, done };
    std::unique_ptr<std::atomic<Descent>[]> descents_;  // by piece
    std::size_t pieces_ = 0;

    // The head that predicts a class: one that was never met has none of its own yet.
    std::size_t head_of(std::size_t class_) const { return class_ < class_count() ? class_ : heads() - 1; }
    std::size_t first_curve_leaf() const { return trees_ ? Trees::leaf_count() : 0; }
    static std::size_t stride_of(std::size_t heads) { return heads == 1 ? 1 : (heads + 7) / 8 * 8; }
    std::size_t head_stride() const { return stride_of(heads()); }
    std::size_t most_leaves() const { return columns_ + Trees::count; }
    LeafLanes working_memory(Scratch& scratch, std::size_t longest_row, std::size_t most_leaves) const;
    // Keeps the octets of the leaders alone.
    void keep_leaders(Scratch& scratch, LeafLanes& lanes) const;
    template <class Each>
    void predict_with(const LeafLanes& lanes, const LeafRows& rows, std::size_t width, double* predictions,
                      Scratch& scratch, const Each& each) const;
    // The leaders' prediction of a row whose lanes have predicted; `met`: the classes that were met before it.
    void take_leaders(const LeafLanes& lanes, Scratch& scratch, std::size_t met, std::size_t width,
                      double* predictions) const;
    void judge_row(const Labels& labels, const LeafLanes& lanes);
    // The row's leaves of curves, as features; gives how many.
    std::size_t take_curve_leaves(const LeafRows& rows, std::size_t r, std::uint32_t* to) const;
    std::size_t find_leaves(const LeafRows& rows, std::size_t r);
    void split_leaf(std::uint32_t leaf, std::uint32_t right, double share, bool first, double t, double root_t);
    void learn_trees(const LeafRows& rows, std::size_t r, const double* residuals, double t, std::uint64_t examples);
};

}  // namespace unitless
