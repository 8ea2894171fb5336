// Rows of several chunks of text in any order.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/name_hash.hpp"
#include "rows/gather.hpp"
#include "text/text_rows.hpp"

namespace unitless {

// What a reader would give if the rows' lines followed one another in this order: each name once, numbered by first
// mention. Before all others the first row mentions the indices from `first` to before `next`, with the value 0, as the
// reader of libsvm does when they are left out. Lines are not numbered anew, and what is told of bad lines stays with
// the chunks.
inline TextRows gathered(const std::vector<TextRows*>& pieces, Picked rows, std::uint64_t first = 0,
                         std::uint64_t next = 0) {
    constexpr std::uint32_t unknown = 0xffffffff;
    struct Hash {
        std::size_t operator()(std::string_view s) const {
            return static_cast<std::size_t>(seeded_hash(s, NameSeed::of_process()));
        }
    };
    TextRows to;
    NamedRows& features = to.features;
    std::unordered_map<std::string_view, std::uint32_t, Hash> numbers;
    // By chunk and number there, for chunks of which enough is used.
    std::vector<std::vector<std::uint32_t>> known(pieces.size());
    std::vector<std::size_t> used(pieces.size());
    std::size_t entries = 0;
    bool tagged = false, offsets = false;
    const auto begin_of = [](const TextRows& from, std::size_t row) {
        return row == 0 ? std::size_t{0} : from.features.row_ends[row - 1];
    };
    for (std::size_t i = 0; i < rows.count; ++i) {
        const auto piece = static_cast<std::size_t>(rows.piece[i]);
        const TextRows& from = *pieces[piece];
        const auto row = static_cast<std::size_t>(rows.row[i]);
        const std::size_t count = from.features.row_ends[row] - begin_of(from, row);
        entries += count;
        used[piece] += count;
        tagged = tagged || !from.tag(row).empty();
        offsets = offsets || (!from.offset.empty() && from.offset[row] != 0);
    }
    if (rows.count == 0) next = first;
    std::deque<std::string> indices;  // which do not move, because the names' table refers to them
    entries += next - first;
    features.ids.reserve(entries);
    features.values.reserve(entries);
    features.row_ends.reserve(rows.count);
    const auto number_of = [&](std::string_view name) {
        const auto [found, added] = numbers.emplace(name, static_cast<std::uint32_t>(features.names()));
        if (added) {
            features.text.insert(features.text.end(), name.begin(), name.end());
            features.name_ends.push_back(features.text.size());
        }
        return found->second;
    };
    for (std::uint64_t index = first; index < next; ++index) {
        features.ids.push_back(number_of(indices.emplace_back(std::to_string(index))));
        features.values.push_back(0);
    }
    for (std::size_t i = 0; i < rows.count; ++i) {
        const auto piece = static_cast<std::size_t>(rows.piece[i]);
        const auto row = static_cast<std::size_t>(rows.row[i]);
        const TextRows& from = *pieces[piece];
        std::vector<std::uint32_t>& here = known[piece];
        if (here.empty() && 4 * used[piece] > from.features.names()) here.assign(from.features.names(), unknown);
        std::uint32_t apart = unknown;
        for (std::size_t k = begin_of(from, row); k < from.features.row_ends[row]; ++k) {
            std::uint32_t& number = here.empty() ? apart : here[from.features.ids[k]];
            if (here.empty() || number == unknown) number = number_of(from.features.name(from.features.ids[k]));
            features.ids.push_back(number);
            features.values.push_back(from.features.values[k]);
        }
        features.row_ends.push_back(features.ids.size());
        to.label.push_back(from.label[row]);
        to.weight.push_back(from.weight[row]);
        to.line.push_back(from.line[row]);
        if (offsets) to.offset.push_back(from.offset.empty() ? 0.0 : from.offset[row]);
        if (!tagged) continue;
        const std::string_view tag = from.tag(row);
        to.tag_text.insert(to.tag_text.end(), tag.begin(), tag.end());
        to.tag_ends.push_back(to.tag_text.size());
    }
    return to;
}

}  // namespace unitless
