// Trees to numbers and back.
#include "engine/shapes/trees.hpp"

#include "engine/shapes/numbers.hpp"

namespace unitless {

void Trees::save(std::vector<NamedNumbers>& to) const {
    std::vector<double> sizes, random, low, high, column, child, place, facts, sums, candidates;
    for (std::size_t k = 0; k < count && candidates_; ++k) {
        sizes.push_back(leaves_[k]);
        random.push_back(static_cast<double>(random_[k] >> 32));
        random.push_back(static_cast<double>(random_[k] & 0xffffffffu));
        for (std::size_t i = 0; i < 2 * leaves_[k] - 1; ++i) {
            const Question& node = nodes_[k * nodes + i];
            const bool text = node.column & Question::text;  // enclosed by what is not a value
            low.push_back(text ? node.low - 0.5 : node.low);
            high.push_back(text ? node.low + 0.5 : infinite);
            column.push_back(node.column & ~Question::text);
            child.push_back(node.child);
            place.push_back(places_[k * nodes + i]);
        }
        for (std::uint32_t i = 0; i < leaves_[k]; ++i) {
            const Leaf at = leaf_at(static_cast<std::uint32_t>(k * most) + i);
            const Watching& own = *at.facts;
            facts.insert(facts.end(), {static_cast<double>(own.weight), static_cast<double>(own.square),
                                       static_cast<double>(own.stage), static_cast<double>(own.need),
                                       static_cast<double>(own.rows), static_cast<double>(own.text)});
            sums.insert(sums.end(), at.whole, at.whole + watched_);
            if (leaves_[k] >= most) continue;  // it will never be split
            for (std::size_t z = 0; z < candidates_; ++z) {
                candidates.insert(candidates.end(), {at.low[z], static_cast<double>(at.column[z] & ~Question::text),
                                                     static_cast<double>(at.rows[z])});
                const float* const of = at.sums + z * watched_;
                candidates.insert(candidates.end(), of, of + watched_);
            }
        }
    }
    to.push_back({"tree.candidates", {static_cast<double>(candidates_), unit_}});
    to.push_back({"tree.sizes", std::move(sizes)});
    to.push_back({"tree.random", std::move(random)});
    to.push_back({"tree.low", std::move(low)});
    to.push_back({"tree.high", std::move(high)});
    to.push_back({"tree.column", std::move(column)});
    to.push_back({"tree.child", std::move(child)});
    to.push_back({"tree.place", std::move(place)});
    to.push_back({"tree.facts", std::move(facts)});
    to.push_back({"tree.sums", std::move(sums)});
    to.push_back({"tree.watched", std::move(candidates)});
}

void Trees::load(const std::vector<NamedNumbers>& from, std::size_t columns) {
    const auto require = [](bool sound) {
        if (!sound) throw InputError("the trees are not such as learning gives");
    };
    const auto named = [&](const char* name) -> const std::vector<double>& { return numbers_named(from, name); };
    const auto &candidates = named("tree.candidates"), &sizes = named("tree.sizes"), &random = named("tree.random");
    const auto &low = named("tree.low"), &high = named("tree.high"), &column = named("tree.column");
    const auto &child = named("tree.child"), &place = named("tree.place"), &facts = named("tree.facts");
    const auto &sums = named("tree.sums"), &watched = named("tree.watched");
    require(candidates.size() == 2 && (candidates[0] == 0 || candidates[0] == 16 || candidates[0] == 24));
    require(candidates[1] >= 0 && std::isfinite(candidates[1]));
    require(sizes.size() == (candidates[0] == 0 ? 0 : count) && random.size() == 2 * sizes.size());
    if (sizes.empty()) return;
    make_blocks(static_cast<std::size_t>(candidates[0]));
    unit_ = candidates[1];
    frozen_.clear();
    changed_.clear();
    std::size_t node = 0, leaf = 0, at_watched = 0;
    std::size_t all_leaves = 0, growing = 0;
    for (const double size : sizes) {
        require(size >= 1 && is_count(size, most + 1));
        all_leaves += static_cast<std::size_t>(size);
        growing += size < most ? static_cast<std::size_t>(size) : 0;
    }
    const std::size_t all_nodes = 2 * all_leaves - count, each = candidates_ * (3 + watched_);
    for (const auto* numbers : {&low, &high, &column, &child, &place}) require(numbers->size() == all_nodes);
    require(facts.size() == 6 * all_leaves && sums.size() == watched_ * all_leaves);
    require(watched.size() == growing * each);
    for (std::size_t k = 0; k < count; ++k) {
        const auto size = static_cast<std::uint32_t>(sizes[k]);
        require(is_count(random[2 * k], std::size_t{1} << 32) && is_count(random[2 * k + 1], std::size_t{1} << 32));
        leaves_[k] = size;
        random_[k] = static_cast<std::uint64_t>(random[2 * k]) << 32 | static_cast<std::uint64_t>(random[2 * k + 1]);
        bool met[most] = {};
        std::size_t inner = 0;
        for (std::uint32_t i = 0; i < 2 * size - 1; ++i, ++node) {
            require(is_count(child[node], 2 * size - 1) && is_count(place[node], size));
            const auto to = static_cast<std::uint32_t>(child[node]);
            require(!std::isnan(low[node]) && !std::isnan(high[node]));
            if (to == i) {  // a leaf, each place once
                const auto own = static_cast<std::size_t>(place[node]);
                require(!met[own] && low[node] == infinite);
                met[own] = true;
            } else {  // children come later, two by two
                require(to > i && to % 2 == 1 && to + 1 < 2 * size && is_count(column[node], columns));
                require(low[node] < infinite);
                ++inner;
            }
            const bool text = high[node] < infinite && to != i;
            asks_text_ = asks_text_ || text;
            const auto asked = to == i ? 0 : static_cast<std::uint32_t>(column[node]) | (text ? Question::text : 0u);
            nodes_[k * nodes + i] = {text ? low[node] + 0.5 : low[node], asked, to};
            places_[k * nodes + i] = static_cast<std::uint16_t>(place[node]);
        }
        require(inner + 1 == size);
        for (std::uint32_t i = 0; i < size; ++i, ++leaf) {
            const Leaf at = leaf_at(static_cast<std::uint32_t>(k * most) + i);
            const double* const own = &facts[6 * leaf];
            require(own[0] >= 0 && own[1] >= 0 && std::isfinite(static_cast<float>(own[0])));
            require(is_count(own[2], drawing + 1) && is_count(own[3], longest + 1) && is_count(own[4], longest + 1) &&
                    is_count(own[5], own[2] < drawing ? 1 : std::size_t{1} << candidates_));
            const auto whole = [](double x) { return static_cast<std::uint32_t>(x); };
            at.facts->weight = static_cast<float>(own[0]);
            at.facts->square = static_cast<float>(own[1]);
            at.facts->stage = whole(own[2]);
            at.facts->need = whole(own[3]);
            at.facts->rows = whole(own[4]);
            at.facts->text = whole(own[5]);
            for (std::size_t j = 0; j < watched_; ++j) at.whole[j] = static_cast<float>(sums[leaf * watched_ + j]);
            if (size >= most) continue;
            for (std::size_t z = 0; z < candidates_; ++z) {
                const double* const of = &watched[at_watched];
                require(!std::isnan(of[0]) && is_count(of[1], columns));
                at.low[z] = of[0];
                at.column[z] = whole(of[1]) | (at.facts->text >> z & 1 ? Question::text : 0u);
                at.rows[z] = static_cast<float>(of[2]);
                for (std::size_t j = 0; j < watched_; ++j) at.sums[z * watched_ + j] = static_cast<float>(of[3 + j]);
                at_watched += 3 + watched_;
            }
        }
    }
}

}  // namespace unitless
