// Trees over all columns, grown row by row. No rows are kept: a leaf draws candidates for a split from values that it
// meets, adds up what the model has left to explain (residuals) on both sides of each, and becomes two when the best of
// them is convincing. Memory is bounded by the number of leaves, whatever the length of the stream.
//
// A leaf's life: while it draws, each candidate takes a random column and the value of a row there; the first later row
// whose value differs says where between the two the cut is. Then it watches `need` rows. If no candidate convinces, it
// draws anew and watches twice as many.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/memory.hpp"
#include "engine/shapes/kernel.hpp"

namespace unitless {

struct NamedNumbers;

class Trees {
  public:
    static constexpr std::size_t count = 64;        // trees
    static constexpr std::size_t most = 256;        // leaves of each
    static constexpr std::size_t nodes = 2 * most;  // room for the nodes of each
    static constexpr std::size_t leaf_count() { return count * most; }
    static constexpr std::uint32_t drawing = 5;          // rows in which candidates are drawn
    static constexpr std::uint32_t enough = 24;          // rows that a new leaf watches
    static constexpr std::uint32_t longest = 1u << 22;   // no leaf watches more
    static constexpr double convincing = 2.0;            // a gain over the mean squared residual
    static constexpr std::size_t most_watched = 8;       // heads whose residuals a tree looks at

    // A leaf has become two: the rows that answered no stay, the others go to `right`.
    struct Split {
        std::uint32_t leaf, right;
        double share;            // of the rows that stay
        bool first;              // of its tree: before, there was no feature
        std::size_t first_head;  // means are of heads from here on
        std::size_t heads;
        double stay_mean[most_watched], right_mean[most_watched];  // of the residuals
    };

    Trees(std::size_t heads, bool classes) { regroup(heads, classes); }

    // The leaves of a row, as features; gives how many. Trees that have never been split have none.
    std::size_t find(const ShapeKernel& kernel, const double* row, std::uint32_t* leaves) {
        kernel.walk(nodes_.data(), nodes, count, row, reached_);
        std::size_t found = 0;
        for (std::size_t k = 0; k < count; ++k) {
            const std::uint32_t leaf = static_cast<std::uint32_t>(k * most) + places_[k * nodes + reached_[k]];
            leaves[found] = leaf;
            found += reached_[k] > 0;
            __builtin_prefetch(block(leaf));
        }
        return found;
    }

    // After the row that `find` was asked for has been learned: `residuals` by head, `weight` relative to the mean.
    // Calls action(split) where a leaf becomes two.
    template <class Action>
    void learn(const ShapeKernel& kernel, const double* row, const unsigned char* kinds, std::size_t columns,
               const double* residuals, double weight, Action action) {
        if (columns == 0) return;
        if (candidates_ == 0) make_blocks(columns <= 16 ? 16 : 24);
        double left[most_watched] = {};
        for (std::size_t k = 0; k < count; ++k) {
            if (leaves_[k] >= most) continue;
            const std::uint32_t leaf = static_cast<std::uint32_t>(k * most) + places_[k * nodes + reached_[k]];
            Leaf at = leaf_at(leaf);
            if (at.facts->stage < drawing) {
                draw(k, at, row, kinds, columns);
                continue;
            }
            const std::size_t from = first_head(k), heads = std::min(watched_, heads_ - from);
            double square = 0;
            for (std::size_t i = 0; i < heads; ++i) {
                const double r = residuals[from + i];
                left[i] = weight * r;
                square += left[i] * r;
                at.sums[i] += left[i];
            }
            for (std::size_t i = heads; i < watched_; ++i) left[i] = 0;
            at.facts->rows += 1;
            at.facts->weight += weight;
            at.facts->square += square;
            kernel.watch(at.watched, row, weight, left);
            if (at.facts->rows < at.facts->need) continue;
            const Best best = best_of(at);
            if (!(best.gain > convincing * at.facts->square / at.facts->weight)) {
                at.facts->need = std::min(2 * at.facts->need, longest);
                begin_drawing(at);
            } else {
                action(split(k, leaf, at, best.candidate));
            }
        }
    }

    // The number of heads has changed.
    void regroup(std::size_t heads, bool classes) {
        const std::size_t watched = classes ? most_watched : 1;
        const std::size_t groups = (heads + watched - 1) / watched;
        if (candidates_ > 0 && groups != groups_)  // sums would be of other heads
            for (std::size_t k = 0; k < count; ++k)
                for (std::uint32_t i = 0; i < leaves_[k]; ++i)
                    begin_drawing(leaf_at(static_cast<std::uint32_t>(k * most) + i));
        heads_ = heads;
        watched_ = watched;
        groups_ = groups;
    }

    std::size_t leaves_of(std::size_t tree) const { return leaves_[tree]; }
    const Question* questions(std::size_t tree) const { return &nodes_[tree * nodes]; }
    std::size_t place(std::size_t tree, std::size_t node) const { return places_[tree * nodes + node]; }

    void save(std::vector<NamedNumbers>& to) const;
    void load(const std::vector<NamedNumbers>& from, std::size_t columns);
    std::size_t bytes() const {
        return count * nodes * (sizeof(Question) + sizeof(std::uint16_t)) + count * most * block_bytes_;
    }

  private:
    static constexpr std::size_t none = ~std::size_t{0};
    static constexpr double infinite = std::numeric_limits<double>::infinity();

    struct Facts {
        double weight, square;  // of the rows watched: their weights, and squared residuals
        std::uint32_t stage, need, rows;
    };
    // What is known of a leaf, one after another in memory.
    struct Leaf {
        Facts* facts;
        double* sums;  // of the residuals, by head
        double *low, *high;
        std::uint32_t* column;
        Watched watched;
    };
    struct Best {
        std::size_t candidate = none;
        double gain = -1;
    };

    std::size_t heads_ = 1, watched_ = 1, groups_ = 1, candidates_ = 0, block_bytes_ = 0;
    std::vector<Question> nodes_ = first_nodes();
    std::vector<std::uint16_t> places_ = std::vector<std::uint16_t>(count * nodes);  // of the leaf at a node
    std::uint32_t leaves_[count] = {};
    std::uint64_t random_[count] = {};
    Zeros blocks_;
    std::uint32_t reached_[count] = {};

    static std::vector<Question> first_nodes() {
        std::vector<Question> all(count * nodes);
        for (std::size_t k = 0; k < count; ++k) all[k * nodes] = {infinite, infinite, 0, 0};
        return all;
    }

    // A tree looks at up to eight heads; with more classes, trees take turns.
    std::size_t first_head(std::size_t tree) const { return tree % groups_ * watched_; }

    void make_blocks(std::size_t candidates) {
        candidates_ = candidates;
        const std::size_t doubles = watched_ + candidates * (3 + watched_);
        block_bytes_ = (sizeof(Facts) + 7) / 8 * 8 + doubles * 8 + candidates * 4;
        block_bytes_ = (block_bytes_ + 63) / 64 * 64;
        blocks_ = Zeros(count * most * block_bytes_);
        for (std::size_t k = 0; k < count; ++k) {
            if (leaves_[k] == 0) {
                leaves_[k] = 1;
                random_[k] = k + 1;
            }
            leaf_at(static_cast<std::uint32_t>(k * most)).facts->need = enough;
        }
    }

    char* block(std::uint32_t leaf) const { return candidates_ ? blocks_.get() + leaf * block_bytes_ : nullptr; }
    Leaf leaf_at(std::uint32_t leaf) const {
        char* at = block(leaf);
        Leaf result;
        result.facts = reinterpret_cast<Facts*>(at);
        double* numbers = reinterpret_cast<double*>(at + (sizeof(Facts) + 7) / 8 * 8);
        const auto take = [&](std::size_t more) { return std::exchange(numbers, numbers + more); };
        result.low = take(candidates_);
        result.high = take(candidates_);
        double* const rows = take(candidates_);
        result.sums = take(watched_);
        double* const sums = take(candidates_ * watched_);
        result.column = reinterpret_cast<std::uint32_t*>(numbers);
        result.watched = {result.low, result.high, result.column, rows, sums, candidates_, watched_};
        return result;
    }

    std::uint64_t random(std::size_t tree) {
        random_[tree] = random_[tree] * 6364136223846793005u + 1442695040888963407u;
        return random_[tree] >> 33;
    }

    void begin_drawing(const Leaf& at) {
        at.facts->stage = at.facts->rows = 0;
        at.facts->weight = at.facts->square = 0;
        std::fill_n(at.sums, watched_, 0.0);
    }

    // While candidates are drawn, `low` is the value met and `rows` says whether the cut is open.
    void draw(std::size_t tree, const Leaf& at, const double* row, const unsigned char* kinds, std::size_t columns) {
        constexpr std::uint32_t turns = 4;  // candidates begin with one of the first rows each
        double* const open = at.watched.rows;
        const std::uint32_t stage = at.facts->stage;
        for (std::size_t z = 0; z < candidates_; ++z) {
            const auto turn = static_cast<std::uint32_t>(z % turns);
            if (stage < turn) continue;
            if (stage > turn) {
                if (open[z] == 0) continue;
                const bool text = kinds[at.column[z]] != 0;
                const double before = at.low[z], now = value(row, at.column[z]);
                if (now != before) {
                    const bool lower = random(tree) % 2 == 0;
                    open[z] = 0;
                    if (text) {
                        enclose(at, z, before == -infinite || (lower && now != -infinite) ? now : before);
                    } else {
                        at.low[z] = lower ? std::min(now, before) : just_below(std::max(now, before));
                    }
                    continue;
                }
            }
            at.column[z] = static_cast<std::uint32_t>(random(tree) % columns);
            at.low[z] = value(row, at.column[z]);
            at.high[z] = infinite;
            open[z] = 1;
        }
        at.facts->stage += 1;
        if (at.facts->stage < drawing) return;
        for (std::size_t z = 0; z < candidates_; ++z) {
            if (open[z] != 0 && kinds[at.column[z]] != 0 && at.low[z] != -infinite) enclose(at, z, at.low[z]);
            open[z] = 0;
        }
        std::fill_n(at.watched.sums, candidates_ * watched_, 0.0);
    }
    static double value(const double* row, std::uint32_t column) {
        return row[column] == row[column] ? row[column] : -infinite;
    }
    static void enclose(const Leaf& at, std::size_t z, double text) {
        at.low[z] = text - 0.5;
        at.high[z] = text + 0.5;
    }
    static double just_below(double x) { return std::nextafter(x, -infinite); }

    Best best_of(const Leaf& at) const {
        Best best;
        const double all = at.facts->weight;
        for (std::size_t z = 0; z < candidates_; ++z) {
            const double right = at.watched.rows[z], stay = all - right;
            if (!(right > 0 && stay > 0)) continue;
            double gain = 0;
            for (std::size_t i = 0; i < watched_; ++i) {
                const double sum = at.watched.sums[z * watched_ + i];
                const double apart = (at.sums[i] - sum) / stay - sum / right;
                gain += apart * apart;
            }
            gain = gain * (stay * right / all);
            if (gain > best.gain) best = {z, gain};
        }
        return best;
    }

    Split split(std::size_t tree, std::uint32_t leaf, const Leaf& at, std::size_t z) {
        const std::uint32_t node = reached_[tree], fresh = leaves_[tree]++, child = 2 * fresh - 1;
        const double right = at.watched.rows[z], stay = at.facts->weight - right;
        Split result{leaf, static_cast<std::uint32_t>(tree * most) + fresh, stay / at.facts->weight, fresh == 1,
                     first_head(tree), std::min(watched_, heads_ - first_head(tree)), {}, {}};
        for (std::size_t i = 0; i < result.heads; ++i) {
            const double sum = at.watched.sums[z * watched_ + i];
            result.stay_mean[i] = (at.sums[i] - sum) / stay;
            result.right_mean[i] = sum / right;
        }
        Question* const all = &nodes_[tree * nodes];
        all[node] = {at.low[z], at.high[z], at.column[z], child};
        all[child] = {infinite, infinite, 0, child};
        all[child + 1] = {infinite, infinite, 0, child + 1};
        places_[tree * nodes + child] = places_[tree * nodes + node];
        places_[tree * nodes + child + 1] = static_cast<std::uint16_t>(fresh);
        for (const std::uint32_t half : {leaf, result.right}) {
            const Leaf made = leaf_at(half);
            made.facts->need = enough;
            begin_drawing(made);
        }
        return result;
    }
};

}  // namespace unitless
