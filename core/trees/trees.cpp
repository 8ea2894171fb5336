// Saving and loading of trees.
#include "trees/trees.hpp"

#include "base/errors.hpp"

namespace unitless {

void Trees::save(TreeState& to) const {
    to.candidates = static_cast<std::uint32_t>(candidates_);
    to.unit = unit_;
    if (candidates_ == 0) return;
    std::size_t all = 0, growing = 0;
    for (const std::uint32_t size : leaves_) {
        all += size;
        growing += size < most_ ? size : 0;
    }
    for (auto* const by_node : {&to.low, &to.high}) by_node->reserve(2 * all);
    for (auto* const by_node : {&to.column, &to.child, &to.place}) by_node->reserve(2 * all);
    to.facts.reserve(all);
    to.sums.reserve(all * watched_);
    to.watched.reserve(growing * candidates_ * (3 + watched_));
    for (std::size_t k = 0; k < count_; ++k) {
        to.sizes.push_back(leaves_[k]);
        to.random.push_back(static_cast<std::uint32_t>(random_[k] >> 32));
        to.random.push_back(static_cast<std::uint32_t>(random_[k]));
        for (std::size_t i = 0; i < 2 * leaves_[k] - 1; ++i) {
            const Question& node = nodes_[k * nodes() + i];
            const bool text = node.column & Question::text;
            to.low.push_back(text ? node.low - 0.5 : node.low);
            to.high.push_back(text ? node.low + 0.5 : infinite);
            to.column.push_back(node.column & ~Question::text);
            to.child.push_back(node.child);
            to.place.push_back(places_[k * nodes() + i]);
        }
        for (std::uint32_t i = 0; i < leaves_[k]; ++i) {
            const Leaf at = leaf_at(first_leaf(k) + i);
            to.facts.push_back(*at.facts);
            to.sums.insert(to.sums.end(), at.whole, at.whole + watched_);
            if (leaves_[k] >= most_) continue;  // a tree with all its leaves is never split
            for (std::size_t z = 0; z < candidates_; ++z) {
                to.watched.insert(to.watched.end(), {at.low[z], static_cast<double>(at.column[z] & ~Question::text),
                                                     static_cast<double>(at.rows[z])});
                const float* const sums = at.sums + z * watched_;
                to.watched.insert(to.watched.end(), sums, sums + watched_);
            }
        }
    }
}

void Trees::load(const TreeState& from, std::size_t columns) {
    const auto require = [](bool sound) {
        if (!sound) throw InputError("the trees have a state that learning cannot produce");
    };
    require(from.candidates == 0 || from.candidates == 16 || from.candidates == 24);
    require(from.sizes.size() == (from.candidates == 0 ? 0 : count_) && from.random.size() == 2 * from.sizes.size());
    if (from.sizes.empty()) return;
    make_blocks(from.candidates);
    unit_ = from.unit;
    for (auto& due : due_) due.clear();
    std::size_t all_leaves = 0, growing = 0;
    for (const std::uint32_t size : from.sizes) {
        require(size >= 1 && size <= most_);
        all_leaves += size;
        growing += size < most_ ? size : 0;
    }
    const std::size_t all_nodes = 2 * all_leaves - count_, each = candidates_ * (3 + watched_);
    for (const auto* numbers : {&from.low, &from.high}) require(numbers->size() == all_nodes);
    for (const auto* numbers : {&from.column, &from.child, &from.place}) require(numbers->size() == all_nodes);
    require(from.facts.size() == all_leaves && from.sums.size() == watched_ * all_leaves);
    require(from.watched.size() == growing * each);
    std::size_t node = 0, leaf = 0;
    const double* watched = from.watched.data();
    for (std::size_t k = 0; k < count_; ++k) {
        const std::uint32_t size = from.sizes[k];
        leaves_[k] = size;
        random_[k] = std::uint64_t{from.random[2 * k]} << 32 | from.random[2 * k + 1];
        std::vector<char> met(size, 0);
        std::size_t inner = 0;
        for (std::uint32_t i = 0; i < 2 * size - 1; ++i, ++node) {
            const std::uint32_t child = from.child[node], place = from.place[node];
            const double low = from.low[node];
            const bool is_leaf = child == i, text = !is_leaf && from.high[node] < infinite;
            require(child < 2 * size - 1 && place < size);
            if (is_leaf) {  // each position once
                require(!met[place] && low == infinite);
                met[place] = true;
            } else {  // children come later, in pairs
                require(child > i && child % 2 == 1 && from.column[node] < columns && low < infinite);
                ++inner;
            }
            texts_[k] = texts_[k] || text;
            if (is_leaf) homes_[first_leaf(k) + place] = i;
            nodes_[k * nodes() + i] = {text ? low + 0.5 : low,
                                       is_leaf ? 0 : from.column[node] | (text ? Question::text : 0u), child};
            places_[k * nodes() + i] = static_cast<std::uint16_t>(place);
        }
        require(inner + 1 == size);
        for (std::uint32_t i = 0; i < size; ++i, ++leaf) {
            const Leaf at = leaf_at(first_leaf(k) + i);
            const LeafFacts& own = from.facts[leaf];
            require(own.stage <= drawing && own.need <= longest && own.rows <= longest + most_rows);
            require(own.stage < drawing ? own.text == 0 : own.text >> candidates_ == 0);
            *at.facts = own;
            for (std::size_t j = 0; j < watched_; ++j) at.whole[j] = static_cast<float>(from.sums[leaf * watched_ + j]);
            if (size >= most_) continue;
            if (own.stage == drawing && own.rows >= own.need) due_[k].push_back(first_leaf(k) + i);
            for (std::size_t z = 0; z < candidates_; ++z, watched += 3 + watched_) {
                require(watched[1] >= 0 && watched[1] < static_cast<double>(columns));
                at.low[z] = watched[0];
                at.column[z] = static_cast<std::uint32_t>(watched[1]) | (own.text >> z & 1 ? Question::text : 0u);
                at.rows[z] = static_cast<float>(watched[2]);
                for (std::size_t j = 0; j < watched_; ++j)
                    at.sums[z * watched_ + j] = static_cast<float>(watched[3 + j]);
            }
        }
    }
}

}  // namespace unitless
