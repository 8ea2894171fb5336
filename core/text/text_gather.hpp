// Rows of several chunks of text, in any order.
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

// Returns what a reader would return if the lines of the rows followed one another in this order: each name once,
// numbered by first occurrence. Before all other features, the first row has the indices [first, next) with the value
// 0, because the libsvm reader inserts indices that a text leaves out. Rows keep the line numbers of their chunks.
// Invalid lines are left out.
inline TextRows gathered(const std::vector<TextRows*>& pieces, Picked rows, std::uint64_t first = 0,
                         std::uint64_t next = 0) {
    constexpr std::uint32_t unknown = 0xffffffff;
    TextRows to;
    NamedRows& features = to.features;
    std::vector<std::size_t> used(pieces.size());  // by chunk: the number of its entries that are picked
    std::size_t entries = 0;
    for (std::size_t i = 0; i < rows.count; ++i) {
        const auto piece = static_cast<std::size_t>(rows.piece[i]), row = static_cast<std::size_t>(rows.row[i]);
        const NamedRows& from = pieces[piece]->features;
        used[piece] += from.row_ends[row] - from.row_begin(row);
        entries += from.row_ends[row] - from.row_begin(row);
    }
    if (rows.count == 0) next = first;
    entries += next - first;
    features.ids.reserve(entries);
    features.values.reserve(entries);
    features.row_ends.reserve(rows.count);

    std::unordered_map<std::string_view, std::uint32_t, NameHash> numbers;
    const auto number_of = [&](std::string_view name) {
        const auto [found, added] = numbers.emplace(name, static_cast<std::uint32_t>(features.names()));
        if (added) {
            features.text.insert(features.text.end(), name.begin(), name.end());
            features.name_ends.push_back(features.text.size());
        }
        return found->second;
    };
    std::deque<std::string> indices;  // a deque never moves its elements, to which the map refers
    for (std::uint64_t index = first; index < next; ++index) {
        features.ids.push_back(number_of(indices.emplace_back(std::to_string(index))));
        features.values.push_back(0);
    }
    // By chunk and number within it. Chunks with few picked entries have no table, because filling it would take longer
    // than looking up each name.
    std::vector<std::vector<std::uint32_t>> known(pieces.size());
    for (std::size_t i = 0; i < rows.count; ++i) {
        const auto piece = static_cast<std::size_t>(rows.piece[i]), row = static_cast<std::size_t>(rows.row[i]);
        const NamedRows& from = pieces[piece]->features;
        std::vector<std::uint32_t>& here = known[piece];
        if (here.empty() && 4 * used[piece] > from.names()) here.assign(from.names(), unknown);
        for (std::size_t k = from.row_begin(row); k < from.row_ends[row]; ++k) {
            std::uint32_t looked_up = unknown;
            std::uint32_t& number = here.empty() ? looked_up : here[from.ids[k]];
            if (number == unknown) number = number_of(from.name(from.ids[k]));
            features.ids.push_back(number);
            features.values.push_back(from.values[k]);
        }
        to.end_row_like(*pieces[piece], row);
    }
    return to;
}

}  // namespace unitless
