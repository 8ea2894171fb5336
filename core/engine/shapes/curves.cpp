// Curves to numbers and back.
#include "engine/shapes/curves.hpp"

#include <utility>

#include "engine/shapes/numbers.hpp"

namespace unitless {

void Curves::save(std::vector<NamedNumbers>& to) const {
    std::vector<double> counts, thresholds, places, seen, values;
    for (std::size_t j = 0; j < columns(); ++j) {
        counts.push_back(static_cast<double>(leaves_of(j)));
        for (std::size_t i = 0; i < leaves_of(j); ++i) {
            if (i < counts_[j]) thresholds.push_back(thresholds_[j * most_thresholds + i]);
            const std::size_t place = places_[j * most + i], at = j * most + place;
            places.push_back(static_cast<double>(place));
            seen.push_back(static_cast<double>(seen_[at]));
            values.insert(values.end(), &rings_[at * enough], &rings_[at * enough] + enough);
        }
    }
    to.push_back({"curve.leaves", std::move(counts)});
    to.push_back({"curve.thresholds", std::move(thresholds)});
    to.push_back({"curve.places", std::move(places)});
    to.push_back({"curve.seen", std::move(seen)});
    to.push_back({"curve.values", std::move(values)});
}

void Curves::load(const std::vector<NamedNumbers>& from) {
    const auto named = [&](const char* name) -> const std::vector<double>& { return numbers_named(from, name); };
    const auto &counts = named("curve.leaves"), &thresholds = named("curve.thresholds"),
               &places = named("curve.places");
    const auto &seen = named("curve.seen"), &values = named("curve.values");
    Curves fresh;
    std::size_t leaves = 0, cuts = 0;
    const auto require = [](bool sound) {
        if (!sound) throw InputError("the curves are not such as learning gives");
    };
    for (const double count : counts) {
        require(is_count(count, most + 1));
        fresh.add_column(count > 0);
        leaves += static_cast<std::size_t>(count);
        cuts += count > 0 ? static_cast<std::size_t>(count) - 1 : 0;
    }
    require(thresholds.size() == cuts && places.size() == leaves && seen.size() == leaves &&
            values.size() == leaves * enough);
    std::size_t at_leaf = 0, at_cut = 0;
    for (std::size_t j = 0; j < counts.size(); ++j) {
        const auto count = static_cast<std::size_t>(counts[j]);
        bool met[most] = {};
        for (std::size_t i = 0; i < count; ++i) {
            const double place = places[at_leaf], rows = seen[at_leaf];
            require(is_count(place, count) && is_count(rows, std::size_t{1} << 53));
            const auto to = static_cast<std::size_t>(place);
            require(!met[to]);
            met[to] = true;
            fresh.places_[j * most + i] = static_cast<std::uint8_t>(to);
            fresh.seen_[j * most + to] = static_cast<std::uint64_t>(rows);
            for (std::size_t k = 0; k < enough; ++k) {
                require(std::isfinite(values[at_leaf * enough + k]));
                fresh.rings_[(j * most + to) * enough + k] = values[at_leaf * enough + k];
            }
            ++at_leaf;
            if (i + 1 == count) break;
            const double threshold = thresholds[at_cut++];
            require(std::isfinite(threshold) && (i == 0 || threshold > thresholds[at_cut - 2]));
            fresh.thresholds_[j * most_thresholds + i] = threshold;
        }
        if (count) fresh.counts_[j] = static_cast<std::uint8_t>(count - 1);
    }
    *this = std::move(fresh);
}

}  // namespace unitless
