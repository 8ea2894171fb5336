// An expert: one model over linear terms, leaves of curves and, if it has them, leaves of trees, with the rates that
// learn it side by side and the one that leads.
//
// A leaf's indicator is a feature of scale 1. It has a weight for each lane and one G for all rates of a head, to which
// the leading lane's gradients are added: so all rates step by the same measure. When a leaf becomes two, both take its
// weight, and of its G the share of the rows that fall to them; a leaf that is the first to be split has no weight yet,
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
#include "engine/shapes/curves.hpp"
#include "engine/shapes/trees.hpp"

namespace unitless {

// Rows on their way through the experts: scales applied, and their places on the curves.
struct ShapedRows {
    std::size_t rows = 0;
    Stage stage{};
    const double* raw = nullptr;  // [row][raw_stride]
    std::size_t raw_stride = 0;
    const std::uint32_t* raw_counts = nullptr;
    const unsigned char* kinds = nullptr;
    const std::uint32_t* leaves = nullptr;   // of curves, one row after another
    const std::size_t* leaf_ends = nullptr;  // by row
    const Curves::Cut* cuts = nullptr;       // after rows, one after another
    const std::size_t* cut_ends = nullptr;   // by row
    std::size_t leaf_begin(std::size_t r) const { return r ? leaf_ends[r - 1] : 0; }
    std::size_t cut_begin(std::size_t r) const { return r ? cut_ends[r - 1] : 0; }
};

class Expert {
  public:
    Expert(const EngineSetup& setup, const Kernel& kernel, bool trees);

    std::size_t heads() const { return lanes_.heads(); }
    std::size_t class_count() const { return lanes_.class_count(); }
    void reserve(std::size_t slots) { lanes_.reserve(slots); }
    void reserve_columns(std::size_t columns);
    void add_classes(std::size_t count);

    // Learns rows, `clock` being that before them; predictions: [row][width]. `choosing`: losses are counted, and rates
    // chosen by them; `sifting`: those that have lost are dropped.
    void learn(const ShapedRows& rows, const Labels& labels, const Clock& clock, bool choosing, bool sifting,
               std::size_t width, double* predictions);
    // Before `learn`: the ways of the rows through the trees can be walked by other threads, some rows at a time, while
    // it runs; those that nobody has begun with it walks itself. Gives the number of pieces.
    std::size_t begin_walks(const ShapedRows& rows);
    void walk(const ShapedRows& rows, std::size_t piece);
    // Working memory.
    struct Room {
        std::vector<double> memory, speaking;
        std::vector<std::uint32_t> head_of, leaves;
        std::vector<double*> octets, leaf_octets;
        std::vector<std::size_t> leaders;  // by head: where the lane that leads has its results
    };
    // Weights of leaves that rows have are those of the leading lanes.
    void predict(const ShapedRows& rows, std::size_t width, const double* offset, double* predictions,
                 Room& room) const;
    // The same, and all rates are judged by the labels.
    void judge(const ShapedRows& rows, std::size_t width, const double* offset, const Labels& labels,
               double* predictions);
    void sift_rates();
    bool diverged() const;  // no rate is left, or in the last rows that were learned the only one did

    std::size_t leader(std::size_t head) const { return selection_.leader(lanes_, head); }
    const Lanes& lanes() const { return lanes_; }

    // Lanes and scores as an engine of lanes saves them; the rest as named numbers that begin with `name`.
    void save(const std::string& name, std::size_t slots, EngineState& lanes, std::vector<NamedNumbers>& to) const;
    void load(const std::string& name, const EngineState& lanes, const std::vector<NamedNumbers>& from,
              std::size_t slots, std::size_t columns);
    std::size_t bytes() const;

  private:
    EngineSetup setup_;
    const Kernel& kernel_;
    double kick_;  // of a mean residual into the leaves of a tree that was split
    Unit unit_;
    Lanes lanes_;
    Selection selection_;
    std::optional<Trees> trees_;
    std::size_t columns_ = 0;
    double N_ = 0;                  // sum of z^2, leaves included
    bool lost_ = false;             // of the last rows: what leads has diverged, and no other rate could take its place
    std::vector<double> evidence_;  // [leaf][head]
    std::vector<double> rows_;      // by leaf: about how many rows had it, for those who read the model
    Room own_;
    static constexpr std::size_t walked_at_once = 32;  // rows of a piece
    std::unique_ptr<std::atomic<int>[]> walked_;       // by piece: 0 not yet, 1 begun, 2 done
    std::size_t pieces_ = 0;

    // The head that speaks for a class: one that was never met has none of its own yet.
    std::size_t speaking(std::size_t head) const { return head < class_count() ? head : heads() - 1; }
    std::size_t first_curve_leaf() const { return trees_ ? Trees::leaf_count() : 0; }
    static std::size_t stride_of(std::size_t heads) { return heads == 1 ? 1 : (heads + 7) / 8 * 8; }
    std::size_t head_stride() const { return stride_of(heads()); }
    LeafLanes working_memory(Room& room, std::size_t longest_row, std::size_t most_leaves) const;
    // Of the octets, only those of the lanes that lead.
    void keep_leading(Room& room, LeafLanes& lanes) const;
    template <class Each>
    void predict_with(const LeafLanes& lanes, const ShapedRows& rows, std::size_t width, const double* offset,
                      double* predictions, Room& room, const Each& each) const;
    // What is said of a row whose lanes have been foreseen, by the lanes that lead; of classes, those that were met
    // before it have heads that speak for them.
    void say(const LeafLanes& lanes, Room& room, std::size_t met, std::size_t width, double* predictions) const;
    void judge_row(const Labels& labels, const LeafLanes& lanes);
    std::size_t find_leaves(const ShapedRows& rows, std::size_t r);
    void hand_down(std::uint32_t leaf, std::uint32_t right, double share, bool first, double t, double root_t);
};

}  // namespace unitless
