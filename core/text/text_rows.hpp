// What a chunk of text gives: rows of named features with their labels, and the lines that are not as they should be.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rows/named_rows.hpp"

namespace unitless {

struct TextRows {
    // A line that gave no row. The caller knows the file's name and adds it, and the line's number, to the message.
    struct Bad {
        std::size_t line;
        std::string problem;
    };

    NamedRows features;
    std::vector<double> label;  // NaN: none
    std::vector<double> weight;
    std::vector<double> offset;  // empty if no row has one
    std::vector<char> tag_text;
    std::vector<std::size_t> tag_ends;  // as with names; empty if no row has a tag
    std::vector<std::size_t> line;      // of each row, counted from 0 at the chunk's first line
    std::vector<Bad> bad;               // the first ones
    std::size_t bad_count = 0;          // all of them
    std::size_t lines = 0, bytes_used = 0;
    // Names that are indices, all of which have been mentioned so far, in their order: from the first to before `next`.
    std::uint64_t first_index = 0, next_index = 0;

    std::size_t rows() const { return features.rows(); }
    std::string_view tag(std::size_t row) const {
        if (tag_ends.empty()) return {};
        const std::size_t begin = row == 0 ? 0 : tag_ends[row - 1];
        return {tag_text.data() + begin, tag_ends[row] - begin};
    }

    // The memory that the rows take.
    std::size_t bytes() const {
        return features.text.size() + tag_text.size() +
               sizeof(double) * (label.size() + weight.size() + offset.size()) +
               sizeof(std::size_t) *
                   (features.name_ends.size() + features.row_ends.size() + line.size() + tag_ends.size()) +
               (sizeof(std::uint32_t) + sizeof(double)) * features.ids.size();
    }

    // The rows for which `keep` is true; names keep their numbers.
    template <class Keep>
    TextRows select(Keep keep) const {
        TextRows to;
        to.features.text = features.text;
        to.features.name_ends = features.name_ends;
        to.bad = bad;
        to.bad_count = bad_count;
        to.lines = lines;
        to.bytes_used = bytes_used;
        to.first_index = first_index;
        to.next_index = next_index;
        for (std::size_t row = 0, begin = 0; row < rows(); begin = features.row_ends[row++]) {
            if (!keep(row)) continue;
            const auto first = static_cast<std::ptrdiff_t>(begin);
            const auto last = static_cast<std::ptrdiff_t>(features.row_ends[row]);
            to.features.ids.insert(to.features.ids.end(), features.ids.begin() + first, features.ids.begin() + last);
            to.features.values.insert(to.features.values.end(), features.values.begin() + first,
                                      features.values.begin() + last);
            to.features.row_ends.push_back(to.features.ids.size());
            to.label.push_back(label[row]);
            to.weight.push_back(weight[row]);
            to.line.push_back(line[row]);
            if (!offset.empty()) to.offset.push_back(offset[row]);
            if (tag_ends.empty()) continue;
            const std::string_view text = tag(row);
            to.tag_text.insert(to.tag_text.end(), text.begin(), text.end());
            to.tag_ends.push_back(to.tag_text.size());
        }
        return to;
    }
};

}  // namespace unitless
