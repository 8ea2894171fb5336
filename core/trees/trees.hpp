// Trees over all columns, grown row by row. They store no rows: a leaf draws candidate splits from the values of its
// rows, adds up the model's residuals on both sides of each, and is split when the best candidate is significant.
// Memory is bounded by the number of leaves, whatever the length of the stream.
//
// While a leaf draws, each candidate takes a random column and the value of a row there; the first later row with a
// different value sets the threshold between the two. Then the leaf watches `need` rows. If no candidate is
// significant, it draws again and watches twice as many rows.
//
// Rows are learned in blocks, and the trees change only at their ends: so each tree can let the rows of a block
// descend, and count them, by itself, in any thread. A leaf that has watched enough is examined at the end of the
// block. The number of rows that were learned decides where blocks end; there are no blocks of several rows as long as
// few were learned.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "engine/setup.hpp"
#include "engine/state.hpp"
#include "trees/kernel.hpp"

namespace unitless {

// Rows as trees read them.
struct TreeRows {
    const double* raw;            // [row][column], NaN where a value is missing
    std::size_t stride;           // 0: there are no values
    const unsigned char* kinds;   // by column: 0 numbers, 1 text
    const std::uint32_t* counts;  // by row: the number of columns known at that time
    const double* row(std::size_t r) const { return raw + r * stride; }
};

class Trees {
  public:
    static constexpr std::size_t most_trees = 1024;     // Python checks it (options.py)
    static constexpr std::uint32_t drawing = 5;         // rows in which candidates are drawn
    static constexpr std::uint32_t enough = 16;         // rows that a new leaf watches, besides those of `patience`
    static constexpr std::uint32_t longest = 1u << 22;  // the largest number of rows that a leaf watches
    // The least gain of a split, relative to the mean squared residual.
    static constexpr double convincing = 2.5;
    static constexpr double clearly = 1.0 + 0x1p-10;  // the least ratio of the best gain to another
    // Largest residual in its unit: floats can hold sums of its square.
    static constexpr double far = 0x1p40;
    static constexpr std::size_t most_watched = 8;  // the number of heads whose residuals a tree adds up,
    // The number of groups of such heads; further heads do not influence splits.
    static constexpr std::size_t most_groups = 64;
    static constexpr std::size_t most_rows = 128;  // of a block
    static constexpr std::size_t at_once = 8;      // the rows or trees that the kernel lets descend at once

    // The number of rows after which a block ends that begins after `rows` rows, or has begun before.
    static std::uint64_t block_end(std::uint64_t rows) {
        const std::uint64_t length = std::clamp<std::uint64_t>(std::bit_floor(rows) / 64, 1, most_rows);
        return (rows / length + 1) * length;
    }

    // A leaf was split: the rows with the answer no stay, the others go to `right`.
    struct Split {
        std::uint32_t leaf, right;
        double share;            // of the rows that stay
        bool first;              // the tree's first split: it had no feature before
        std::size_t first_head;  // the means are of the heads from here on
        std::size_t heads;
        double stay_mean[most_watched], right_mean[most_watched];  // of the residuals
    };

    Trees(const TreeSize& size, std::size_t heads, bool classes)
        : count_(size.trees), most_(size.leaves), patience_(static_cast<double>(size.patience)) {
        regroup(heads, classes);
    }
    std::size_t count() const { return count_; }
    std::size_t leaf_count() const { return count_ * most_; }

    // The leaves of a segment's rows: those of some trees, row by row, then those of the next trees, so that threads
    // that write them do not share lines of the cache.
    static constexpr std::size_t trees_of_piece = 8;
    std::size_t piece_count() const { return (count_ + trees_of_piece - 1) / trees_of_piece; }
    static constexpr std::size_t piece_size = (most_rows + 2) * trees_of_piece;
    std::size_t leaves_size() const { return piece_count() * piece_size; }
    static std::size_t at(std::size_t row, std::size_t tree) {
        return tree / trees_of_piece * piece_size + row * trees_of_piece + tree % trees_of_piece;
    }

    // The leaves that `count` rows from number `first` on reach in the trees of a piece.
    void descend(const TreeKernel& kernel, const TreeRows& rows, std::size_t first, std::size_t count,
                 std::size_t piece, std::uint32_t* leaves) const {
        const std::size_t begin = piece * trees_of_piece, end = std::min(count_, begin + trees_of_piece);
        const std::size_t many = count / at_once * at_once;
        for (std::size_t k = begin; k < end && many; ++k) descend_tree(kernel, rows, first, many, k, leaves);
        std::uint32_t reached[trees_of_piece];
        bool text = false;
        for (std::size_t k = begin; many < count && k < end; ++k) text = text || texts_[k];
        for (std::size_t r = many; r < count; ++r) {
            (text ? kernel.descend : kernel.descend_numbers)(&nodes_[begin * nodes()], nodes(), rows.row(first + r), 0,
                                                             end - begin, reached);
            for (std::size_t k = begin; k < end; ++k) leaves[at(r, k)] = leaf_of(k, reached[k - begin]);
        }
    }
    // The same for one tree.
    void descend_tree(const TreeKernel& kernel, const TreeRows& rows, std::size_t first, std::size_t count,
                      std::size_t tree, std::uint32_t* leaves) const {
        std::uint32_t reached[most_rows];
        (texts_[tree] ? kernel.descend : kernel.descend_numbers)(&nodes_[tree * nodes()], 0, rows.row(first),
                                                                 rows.stride, count, reached);
        for (std::size_t r = 0; r < count; ++r) leaves[at(r, tree)] = leaf_of(tree, reached[r]);
    }
    // Writes the leaves of a row of the segment that are features, and returns their number: trees that were never
    // split have none.
    std::size_t features(const std::uint32_t* leaves, std::size_t row, std::uint32_t* to) const {
        std::size_t found = 0;
        for (std::size_t k = 0; k < count_; ++k) {
            to[found] = leaves[at(row, k)];
            found += leaves_[k] > 1;
        }
        return found;
    }
    bool has_split(std::size_t tree) const { return leaves_[tree] > 1; }
    // Calls action(leaf) for all leaves that are features.
    template <class Action>
    void for_each_feature(const Action& action) const {
        for (std::size_t k = 0; k < count_; ++k)
            for (std::uint32_t i = 0; has_split(k) && i < leaves_[k]; ++i) action(first_leaf(k) + i);
    }

    // Whether residuals need another unit; `change_unit` must then be called before the row is noted, when all rows
    // that were noted before have been counted.
    bool outgrows(const double* residuals) const { return largest(residuals) > far * unit_; }
    void change_unit(const double* residuals) {
        const double reached = std::ldexp(1.0, std::ilogb(largest(residuals)));
        if (unit_ > 0) multiply_sums(static_cast<float>(unit_ / reached));
        unit_ = reached;
    }

    // Begins a segment of a block: `count` rows.
    void begin_rows(std::size_t count) {
        rows_.assign(count, CountedRow{});
        residuals_.resize(std::max(residuals_.size(), count * groups_ * watched_));
        squares_.resize(std::max(squares_.size(), count * groups_));
        active_.resize(std::max(active_.size(), count * groups_));
    }
    // Notes a row of the segment that was learned. `residuals`: by head; `weight`: relative to the mean weight;
    // `active`: by group of heads, whether its trees count the row (null: all do).
    void note(const TreeRows& from, std::size_t r, std::size_t number, const double* residuals, double weight,
              const char* active) {
        const std::size_t columns = from.counts[r];
        if (columns == 0) return;
        if (candidates_ == 0) make_blocks(columns <= 16 ? 16 : 24);
        if (unit_ == 0) return;
        float* const left = &residuals_[number * groups_ * watched_];
        float* const squares = &squares_[number * groups_];
        for (std::size_t group = 0; group < groups_; ++group) {
            double square = 0;
            for (std::size_t i = 0; i < watched_; ++i) {
                const std::size_t head = group * watched_ + i;
                const double own = head < heads_ ? residuals[head] / unit_ : 0.0;
                left[group * watched_ + i] = static_cast<float>(weight * own);
                square += weight * own * own;
            }
            squares[group] = static_cast<float>(square);
        }
        char* const counting = active ? &active_[number * groups_] : nullptr;
        if (active) std::copy_n(active, groups_, counting);
        rows_[number] = {from.row(r), left, squares, counting, static_cast<float>(weight)};
    }
    // Counts rows [from, to) of the segment in a tree; `first`: the number of the segment's first row; `leaves`: as
    // `descend` wrote them for the segment.
    void count_rows(const TreeKernel& kernel, const TreeRows& rows, std::size_t first, std::size_t from, std::size_t to,
                    const std::uint32_t* leaves, std::size_t tree) {
        if (candidates_ == 0 || leaves_[tree] >= most_) return;
        std::uint32_t due[most_rows];
        std::size_t dues = 0;
        const WatchedTree watched{blocks_.get(),        bytes_,         candidates_, watched_, group_[tree], drawing,
                                  leaves + at(0, tree), trees_of_piece, due};
        for (std::size_t r = from; (r = kernel.watch(watched, rows_.data(), r, to, dues)) < to; ++r)
            draw(tree, leaf_at(leaves[at(r, tree)]), rows.row(first + r), rows.kinds, rows.counts[first + r]);
        due_[tree].insert(due_[tree].end(), due, due + dues);
    }
    // Examines the leaves of a tree that have watched enough rows, at the end of a block. Calls action(split) when a
    // leaf is split. Returns whether any was.
    template <class Action>
    bool end_block(std::size_t tree, const Action& action) {
        std::vector<std::uint32_t>& due = due_[tree];
        if (due.empty()) return false;
        const std::uint32_t before = leaves_[tree];
        std::sort(due.begin(), due.end());
        for (const std::uint32_t leaf : due) {
            const Leaf at = leaf_at(leaf);
            if (leaves_[tree] >= most_ || at.facts->stage < drawing || at.facts->rows < at.facts->need) continue;
            const Best best = best_of(at);
            if (best.gain >
                convincing * static_cast<double>(at.facts->square) / static_cast<double>(at.facts->weight)) {
                action(split(tree, leaf, at, best.candidate));
            } else {
                at.facts->need = std::min(2 * at.facts->need, longest);
                begin_drawing(at);
            }
        }
        due.clear();
        return leaves_[tree] > before;
    }

    // Adapts to a new number of heads. A tree adds up the residuals of up to eight heads; if there are more, groups of
    // heads are distributed over the trees.
    void regroup(std::size_t heads, bool classes) {
        const std::size_t watched = classes ? most_watched : 1;
        const std::size_t groups = std::min((heads + watched - 1) / watched, most_groups);
        if (candidates_ > 0 && groups != groups_)  // the sums would belong to other heads
            for (std::size_t k = 0; k < count_; ++k)
                for (std::uint32_t i = 0; i < leaves_[k]; ++i) begin_drawing(leaf_at(first_leaf(k) + i));
        heads_ = heads;
        watched_ = watched;
        groups_ = groups;
        for (std::size_t k = 0; k < count_; ++k) group_[k] = static_cast<std::uint8_t>(k % groups);
    }

    // Replaces all trees by new ones.
    void restart() {
        nodes_ = first_nodes();
        std::fill(places_.begin(), places_.end(), std::uint16_t{0});
        std::fill(homes_.begin(), homes_.end(), 0);
        std::fill(texts_.begin(), texts_.end(), char{0});
        for (auto& due : due_) due.clear();
        if (candidates_ == 0) return;
        unit_ = 0;
        std::fill_n(blocks_.get(), leaf_count() * bytes_, char{0});
        for (std::size_t k = 0; k < count_; ++k) begin_tree(k);
    }

    void save(TreeState& to) const;
    // Throws InputError if `save` cannot produce this state.
    void load(const TreeState& from, std::size_t columns);
    std::size_t bytes() const {
        return nodes_.capacity() * sizeof(Question) + places_.capacity() * sizeof(std::uint16_t) +
               homes_.capacity() * sizeof(std::uint32_t) + residuals_.capacity() * sizeof(float) +
               leaf_count() * bytes_;
    }

  private:
    static constexpr std::size_t none = ~std::size_t{0};
    static constexpr double infinite = std::numeric_limits<double>::infinity();

    // The statistics of a leaf, contiguous in memory.
    struct Leaf {
        LeafFacts* facts;
        float* whole;  // sums over all rows, by head
        double* low;
        float *rows, *sums;  // by candidate
        std::uint32_t* column;
    };
    struct Best {
        std::size_t candidate = none;
        double gain = -1;
    };

    std::size_t heads_ = 1, watched_ = 1, groups_ = 1, candidates_ = 0, bytes_ = 0;
    double unit_ = 0;           // of the residuals: a power of two, so that floats can hold their sums
    std::size_t count_, most_;  // the number of trees, and of the leaves of each
    double patience_;
    std::vector<Question> nodes_ = first_nodes();
    std::vector<std::uint16_t> places_ = std::vector<std::uint16_t>(count_ * nodes());  // of the leaf at a node
    std::vector<std::uint32_t> leaves_ = std::vector<std::uint32_t>(count_);            // by tree: their number
    std::vector<std::uint64_t> random_ = std::vector<std::uint64_t>(count_);
    std::vector<std::uint8_t> group_ = std::vector<std::uint8_t>(count_);
    Zeros blocks_;
    std::vector<std::uint32_t> homes_ = std::vector<std::uint32_t>(leaf_count());  // by leaf: its node
    std::vector<char> texts_ = std::vector<char>(count_);  // by tree: whether some test is about text
    // By tree: leaves that may have watched enough rows.
    std::vector<std::vector<std::uint32_t>> due_ = std::vector<std::vector<std::uint32_t>>(count_);
    std::vector<CountedRow> rows_;  // of the segment
    std::vector<float> residuals_, squares_;
    std::vector<char> active_;

    std::size_t nodes() const { return 2 * most_; }  // memory for the nodes of each tree
    std::uint32_t first_leaf(std::size_t tree) const { return static_cast<std::uint32_t>(tree * most_); }

    std::vector<Question> first_nodes() const {
        std::vector<Question> all(count_ * nodes());
        for (std::size_t k = 0; k < count_; ++k) all[k * nodes()] = {infinite, 0, 0};
        return all;
    }

    std::uint32_t leaf_of(std::size_t tree, std::uint32_t node) const {
        return first_leaf(tree) + places_[tree * nodes() + node];
    }

    double largest(const double* residuals) const {
        double largest = 0;
        for (std::size_t head = 0; head < heads_; ++head) largest = std::max(largest, std::fabs(residuals[head]));
        return largest;
    }

    void multiply_sums(float ratio) {
        for (std::size_t k = 0; k < count_; ++k)
            for (std::uint32_t i = 0; i < leaves_[k]; ++i) {
                const Leaf at = leaf_at(first_leaf(k) + i);
                at.facts->square *= ratio * ratio;
                for (std::size_t j = 0; j < watched_; ++j) at.whole[j] *= ratio;
                for (std::size_t j = 0; j < candidates_ * watched_; ++j) at.sums[j] *= ratio;
            }
    }

    void make_blocks(std::size_t candidates) {
        std::size_t bytes = watch_header(watched_) + candidates * (8 + 4 + 4 * watched_ + 4);
        bytes = (bytes + 63) / 64 * 64;
        blocks_ = Zeros(leaf_count() * bytes);  // before any change, because memory may run out
        bytes_ = bytes;
        candidates_ = candidates;
        for (std::size_t k = 0; k < count_; ++k) {
            random_[k] = k + 1;
            begin_tree(k);
        }
    }
    void begin_tree(std::size_t tree) {
        leaves_[tree] = 1;
        leaf_at(first_leaf(tree)).facts->need = enough;
    }

    // The rows that a new leaf watches, when the tree has `others` other leaves. With patience, n rows give a tree
    // about n^(2/3) leaves: so the number of leaves and the evidence for each grow together.
    std::uint32_t need_of(std::uint32_t others) const {
        return enough + static_cast<std::uint32_t>(patience_ * std::sqrt(static_cast<double>(others)));
    }

    Leaf leaf_at(std::uint32_t leaf) const {
        char* const block = blocks_.get() + leaf * bytes_;
        Leaf at;
        at.facts = reinterpret_cast<LeafFacts*>(block);
        at.whole = sums_of(at.facts);
        at.low = reinterpret_cast<double*>(block + watch_header(watched_));
        at.rows = reinterpret_cast<float*>(at.low + candidates_);
        at.sums = at.rows + candidates_;
        at.column = reinterpret_cast<std::uint32_t*>(at.sums + candidates_ * watched_);
        return at;
    }

    std::uint64_t random(std::size_t tree) {
        random_[tree] = random_[tree] * 6364136223846793005u + 1442695040888963407u;
        return random_[tree] >> 33;
    }

    void begin_drawing(const Leaf& at) {
        at.facts->stage = at.facts->rows = at.facts->text = 0;
        at.facts->weight = at.facts->square = 0;
        std::fill_n(at.whole, watched_, 0.0f);
    }

    // While candidates are drawn, `low` is the first value, and `rows` is 1 until the threshold is set.
    void draw(std::size_t tree, const Leaf& at, const double* row, const unsigned char* kinds, std::size_t columns) {
        constexpr std::uint32_t turns = 4;  // candidates begin with different rows
        const std::uint32_t stage = at.facts->stage;
        for (std::size_t z = 0; z < candidates_; ++z) {
            const auto turn = static_cast<std::uint32_t>(z % turns);
            if (stage < turn || (stage > turn && at.rows[z] == 0)) continue;
            if (stage > turn) {
                const double before = at.low[z], now = value(row, at.column[z]);
                if (now != before) {
                    const bool lower = random(tree) % 2 == 0;
                    at.rows[z] = 0;
                    if (kinds[at.column[z]]) {
                        at.low[z] = before == -infinite || (lower && now != -infinite) ? now : before;
                    } else {
                        at.low[z] = lower ? std::min(now, before) : just_below(std::max(now, before));
                    }
                    continue;
                }
            }
            at.column[z] = static_cast<std::uint32_t>(random(tree) * columns >> 31);
            at.low[z] = value(row, at.column[z]);
            at.rows[z] = 1;
        }
        at.facts->stage += 1;
        if (at.facts->stage < drawing) return;
        for (std::size_t z = 0; z < candidates_; ++z) {
            at.rows[z] = 0;
            if (!kinds[at.column[z]] || at.low[z] == -infinite) continue;  // the test is whether there is any text
            at.column[z] |= Question::text;
            at.facts->text |= 1u << z;
        }
        std::fill_n(at.sums, candidates_ * watched_, 0.0f);
    }
    static double value(const double* row, std::uint32_t column) {
        return row[column] == row[column] ? row[column] : -infinite;
    }
    static double just_below(double x) {  // x is finite
        const auto bits = std::bit_cast<std::uint64_t>(x);
        if (x == 0) return -std::numeric_limits<double>::denorm_min();
        return std::bit_cast<double>(x > 0 ? bits - 1 : bits + 1);
    }

    Best best_of(const Leaf& at) const {
        Best best;
        const double all = static_cast<double>(at.facts->weight);
        for (std::size_t z = 0; z < candidates_; ++z) {
            const double right = static_cast<double>(at.rows[z]), stay = all - right;
            if (!(right > 0 && stay > 0)) continue;
            double apart = 0;  // the squared difference of the means of both sides, times (stay right)^2
            for (std::size_t i = 0; i < watched_; ++i) {
                const double whole = static_cast<double>(at.whole[i]);
                const double sum = static_cast<double>(at.sums[z * watched_ + i]);
                const double one = (whole - sum) * right - sum * stay;
                apart += one * one;
            }
            const double gain = apart / (stay * right * all);
            if (gain > clearly * best.gain) best = {z, gain};  // so that rounding does not choose among equal gains
        }
        return best;
    }

    Split split(std::size_t tree, std::uint32_t leaf, const Leaf& at, std::size_t z) {
        const std::uint32_t node = homes_[leaf], fresh = leaves_[tree]++, child = 2 * fresh - 1;
        const std::size_t first_head = group_[tree] * watched_;
        const double all_rows = static_cast<double>(at.facts->weight), right = static_cast<double>(at.rows[z]);
        const double stay = all_rows - right;
        Split result{leaf,
                     first_leaf(tree) + fresh,
                     stay / all_rows,
                     fresh == 1,
                     first_head,
                     std::min(watched_, heads_ - first_head),
                     {},
                     {}};
        for (std::size_t i = 0; i < result.heads; ++i) {
            const double sum = static_cast<double>(at.sums[z * watched_ + i]);
            result.stay_mean[i] = (static_cast<double>(at.whole[i]) - sum) / stay * unit_;
            result.right_mean[i] = sum / right * unit_;
        }
        Question* const all = &nodes_[tree * nodes()];
        all[node] = {at.low[z], at.column[z], child};
        if (at.column[z] & Question::text) texts_[tree] = 1;
        all[child] = {infinite, 0, child};
        all[child + 1] = {infinite, 0, child + 1};
        places_[tree * nodes() + child] = places_[tree * nodes() + node];
        places_[tree * nodes() + child + 1] = static_cast<std::uint16_t>(fresh);
        homes_[leaf] = child;
        homes_[result.right] = child + 1;
        for (const std::uint32_t half : {leaf, result.right}) {
            const Leaf made = leaf_at(half);
            made.facts->need = need_of(fresh);
            begin_drawing(made);
        }
        return result;
    }
};

}  // namespace unitless
