// Saving and loading of curves.
#include "trees/curves.hpp"

#include <utility>

#include "base/errors.hpp"

namespace unitless {

void Curves::save(CurveState& to) const {
    for (std::size_t j = 0; j < columns(); ++j) {
        to.leaves.push_back(static_cast<std::uint32_t>(leaves_of(j)));
        for (std::size_t i = 0; i < leaves_of(j); ++i) {
            if (i < counts_[j]) to.thresholds.push_back(thresholds_[j * most_thresholds + i]);
            const std::size_t place = places_[j * most + i], at = j * most + place;
            to.places.push_back(static_cast<std::uint32_t>(place));
            to.seen.push_back(seen_[at]);
            to.values.insert(to.values.end(), &rings_[at * enough], &rings_[at * enough] + enough);
        }
    }
}

void Curves::load(const CurveState& from) {
    const auto require = [](bool sound) {
        if (!sound) throw InputError("the curves have a state that learning cannot produce");
    };
    Curves fresh;
    std::size_t leaves = 0, cuts = 0;
    for (const std::uint32_t count : from.leaves) {
        require(count <= most);
        fresh.add_column(count > 0);
        leaves += count;
        cuts += count > 0 ? count - 1 : 0;
    }
    require(from.thresholds.size() == cuts && from.places.size() == leaves && from.seen.size() == leaves &&
            from.values.size() == leaves * enough);
    std::size_t at_leaf = 0, at_cut = 0;
    for (std::size_t j = 0; j < from.leaves.size(); ++j) {
        const std::uint32_t count = from.leaves[j];
        bool met[most] = {};
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t place = from.places[at_leaf];
            require(place < count && !met[place]);
            met[place] = true;
            fresh.places_[j * most + i] = static_cast<std::uint8_t>(place);
            fresh.seen_[j * most + place] = from.seen[at_leaf];
            std::copy_n(&from.values[at_leaf * enough], enough, &fresh.rings_[(j * most + place) * enough]);
            ++at_leaf;
            if (i + 1 == count) break;
            const double threshold = from.thresholds[at_cut++];
            require(i == 0 || threshold > from.thresholds[at_cut - 2]);
            fresh.thresholds_[j * most_thresholds + i] = threshold;
        }
        if (count) fresh.counts_[j] = static_cast<std::uint8_t>(count - 1);
    }
    *this = std::move(fresh);
}

}  // namespace unitless
