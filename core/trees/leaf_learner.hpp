// A leaf learner: one model of linear terms, leaves of curves and, if it has them, leaves of trees. Several learning
// rates learn in the same pass; the leader predicts.
//
// A leaf's indicator is a feature of scale 1. It has a weight for each lane, and one G for all rates of a head, to
// which the leader's gradients are added: so all rates use the same step sizes. When a leaf is split, both new leaves
// get its weight, and each gets the share of its G that its rows have. A leaf that is the first of its column or tree
// to be split has no weight yet; its G is that of the bias.
//
// A learner that has become worse than a constant prediction begins anew: the concept has changed.
//
// Trees change, and a learner begins anew, only at the ends of blocks of rows (Trees::block_end). So a batch is learned
// in segments, each of one block: all trees let its rows descend; the weights learn its rows, one after another; all
// trees count its rows; and if the block ends there, trees split leaves. Other threads can assist, with some trees
// each.
#pragma once

#include <optional>
#include <vector>

#include "engine/averaging.hpp"
#include "engine/kernel.hpp"
#include "engine/lanes/lanes.hpp"
#include "engine/lanes/selection.hpp"
#include "engine/setup.hpp"
#include "trees/advantage.hpp"
#include "trees/curves.hpp"
#include "trees/trees.hpp"

namespace unitless {

// The rows of a batch with scales applied, and their leaves of curves.
struct LeafRows {
    Batch batch{};
    Stage stage{};
    const std::uint32_t* leaves = nullptr;   // of curves, concatenated
    const std::size_t* leaf_ends = nullptr;  // by row
    const Curves::Cut* cuts = nullptr;       // after rows, concatenated
    const std::size_t* cut_ends = nullptr;   // by row
    std::size_t leaf_begin(std::size_t r) const { return r ? leaf_ends[r - 1] : 0; }
    std::size_t cut_begin(std::size_t r) const { return r ? cut_ends[r - 1] : 0; }
    TreeRows raw() const { return {batch.raw, batch.raw_stride, batch.raw_kinds, batch.raw_counts}; }
};

class LeafLearner {
  public:
    LeafLearner(const EngineSetup& setup, const Kernel& kernel, bool trees);

    std::size_t heads() const { return lanes_.heads(); }
    std::size_t class_count() const { return lanes_.class_count(); }
    void reserve(std::size_t slots) { lanes_.reserve(slots); }
    void reserve_columns(std::size_t columns);
    void add_classes(std::size_t count);

    // How rows are learned. `choosing`: losses are counted, and rates chosen by them; `pruning`: worse rates are
    // dropped.
    struct RateChoice {
        bool choosing, pruning;
    };
    // Learns rows. `clock` is the clock before them; predictions: [row][width].
    void learn(const LeafRows& rows, const Clock& clock, const RateChoice& choice, std::size_t width,
               double* predictions);
    struct Scratch {
        std::vector<double> memory, odds;
        std::vector<std::uint32_t> head_of, leaves;
        std::vector<std::uint32_t> tree_leaves, next_leaves;  // of this segment, and of the next one (Trees::at)
        std::vector<double*> octets, leaf_octets;
        std::vector<std::size_t> leaders;  // by head: the position of the leader's results
        std::vector<char> active;          // of many classes: by octet of heads
    };
    void predict(const LeafRows& rows, std::size_t width, double* predictions, Scratch& scratch) const;
    // Predicts, and counts the losses of all rates on the rows.
    void judge(const LeafRows& rows, std::size_t width, double* predictions);
    void prune_rates();
    void keep_leaders() { selection_.keep_leaders(lanes_); }
    // Whether no rate is left, or the only rate diverged in the last rows that were learned.
    bool diverged() const;

    std::size_t leader(std::size_t head) const {
        return many() ? lanes_.begin(head) + selection_.leader(lanes_, 0) : selection_.leader(lanes_, head);
    }
    const Lanes& lanes() const { return lanes_; }
    // The rows of the last batch after which the learner began anew.
    const std::vector<std::size_t>& restarts() const { return restarts_; }

    // `lanes` receives the state of the lanes, in the form of an engine of lanes; `trees` the state of the trees, if
    // any.
    void save(std::size_t slots, EngineState& lanes, LeafState& to, std::optional<TreeState>& trees) const;
    void load(const EngineState& lanes, const LeafState& from, const std::optional<TreeState>& trees, std::size_t slots,
              std::size_t columns);
    std::size_t bytes() const;

  private:
    EngineSetup setup_;
    const Kernel& kernel_;
    // Above this number of classes, classes share their rates, and a row is learned only by those that it can change
    // noticeably.
    static constexpr std::size_t few_classes = 20;
    double split_step_;  // the factor of a mean residual in the leaves of a tree that was split
    Unit unit_;
    Lanes lanes_;
    Selection selection_;
    std::optional<Trees> trees_;
    std::size_t columns_ = 0;
    double N_ = 0;  // sum of z^2, including leaves
    Advantage advantage_;
    std::vector<std::size_t> restarts_;  // see restarts()
    bool lost_ = false;                  // in the last rows, a leader diverged that no other rate could replace
    std::vector<double> evidence_;       // [leaf][head]
    std::vector<double> rows_;           // by leaf: the approximate number of its rows, for people who read the model
    Scratch own_;
    // What had been counted when the learner began anew. Since then, it counts as a new one does.
    struct Began {
        double t = 0, T = 0, N = 0;
        std::uint64_t examples = 0;
    };
    Began began_;
    static constexpr std::size_t few_rows = 16;  // whose work is not worth a thread

    // Some rows of a batch, which all belong to one block.
    struct Segment {
        std::size_t first = 0, end = 0;
        std::size_t rows() const { return end - first; }
    };
    // A batch that is being learned.
    struct Progress {
        const LeafRows& rows;
        const RateChoice& choice;
        std::size_t width;
        double* predictions;
        double t, T;
        std::uint64_t examples;
        std::size_t met;  // the number of known classes before the row
        std::size_t longest = 0;
        LeafLanes lanes{};
        std::vector<double> leading{}, residuals{};  // by head
        Segment segment{};
        std::size_t counted = 0;  // the first row that the trees have not counted
        bool ahead = false;       // whether the next segment's rows descend while this one's are learned
    };

    // The head that predicts a class. A class that has not occurred yet has no head of its own.
    std::size_t head_of(std::size_t class_) const { return class_ < class_count() ? class_ : heads() - 1; }
    std::size_t first_curve_leaf() const { return trees_ ? trees_->leaf_count() : 0; }
    static std::size_t stride_of(std::size_t heads) { return heads == 1 ? 1 : (heads + 7) / 8 * 8; }
    std::size_t head_stride() const { return stride_of(heads()); }
    std::size_t most_leaves() const { return columns_ + (trees_ ? trees_->count() : 0); }
    bool has_many(std::size_t heads) const {
        return lanes_.classes() && heads - setup_.open > few_classes && !setup_.coupled;
    }
    bool many() const { return lanes_.placing() == Placing::by_rate; }
    void share_rates();
    LeafLanes working_memory(Scratch& scratch, std::size_t longest_row, std::size_t most_leaves) const;
    // Keeps only the octets of the leaders.
    void use_leaders(Scratch& scratch, LeafLanes& lanes) const;
    template <class Each>
    void predict_with(const LeafLanes& lanes, const LeafRows& rows, std::size_t width, double* predictions,
                      Scratch& scratch, const Each& each) const;
    // Takes the leaders' prediction of a row from the lanes' predictions; `met`: the number of classes known before it.
    void take_leaders(const LeafLanes& lanes, Scratch& scratch, std::size_t met, std::size_t width,
                      double* predictions) const;
    void judge_row(const Labels& labels, const LeafLanes& lanes);
    void judge_many(double y, const LeafLanes& lanes, double* loss) const;
    // Writes the row's leaves of curves, as features, and returns their number.
    std::size_t take_curve_leaves(const LeafRows& rows, std::size_t r, std::uint32_t* to) const;
    bool has_raw(const LeafRows& rows) const { return trees_ && rows.batch.raw_stride > 0; }
    template <class Action>
    void share_trees(std::size_t rows, const Action& action);
    std::size_t segment_end(const LeafRows& rows, std::size_t first, std::uint64_t examples) const;
    void prepare(Progress& now);
    void join(Progress& now, double label);
    void learn_row(Progress& now, std::size_t r);
    void prefetch(const LeafLanes& lanes, std::size_t number) const;
    void note(Progress& now, std::size_t r, double relative_weight);
    void count(const Progress& now, const Segment& segment, std::size_t piece);
    void split_leaves(const Progress& now, const Segment& next, double root_t, std::size_t piece);
    void descend(const LeafRows& rows, const Segment& segment, std::size_t piece, std::uint32_t* leaves) const;
    void count_loss(const LeafLanes& lanes, const Labels& labels, std::size_t r, double relative_weight);
    void restart(double t);
    void split_leaf(std::uint32_t leaf, std::uint32_t right, double share, bool first, double t, double root_t);
};

}  // namespace unitless
