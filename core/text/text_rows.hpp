// The result of reading a chunk of text: rows of named features with their labels, and the invalid lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rows/named_rows.hpp"

namespace unitless {

struct TextRows {
    // A line that is not a valid row. The caller adds the file's name and the line's number to the message.
    struct Bad {
        std::size_t line;
        std::string problem;
    };

    NamedRows features;
    std::vector<double> label;  // NaN: none
    std::vector<double> weight;
    std::vector<double> offset;  // empty if no row has one
    std::vector<char> tag_text;
    std::vector<std::size_t> tag_ends;  // tag i is tag_text[tag_ends[i-1], tag_ends[i]); empty if no row has a tag
    std::vector<std::size_t> line;      // by row; 0 is the first line of the chunk
    std::vector<Bad> bad;               // the first invalid lines, up to a limit
    std::size_t bad_count = 0;          // the number of all invalid lines
    std::size_t lines = 0, bytes_used = 0;
    // All of libsvm's indices [first_index, next_index) have occurred, in order.
    std::uint64_t first_index = 0, next_index = 0;

    std::size_t rows() const { return features.rows(); }
    std::string_view tag(std::size_t row) const {
        if (tag_ends.empty()) return {};
        const std::size_t begin = row == 0 ? 0 : tag_ends[row - 1];
        return {tag_text.data() + begin, tag_ends[row] - begin};
    }

    // The memory of the rows in bytes.
    std::size_t bytes() const {
        return features.text.size() + tag_text.size() +
               sizeof(double) * (label.size() + weight.size() + offset.size()) +
               sizeof(std::size_t) *
                   (features.name_ends.size() + features.row_ends.size() + line.size() + tag_ends.size()) +
               (sizeof(std::uint32_t) + sizeof(double)) * features.ids.size();
    }

    // Ends the row whose features are the entries up to `entries_end`. Offsets and tags take no memory before the first
    // row that has one. Always inline, because a call with this many arguments takes 5% of the time to read short rows.
    [[gnu::always_inline]] void end_row(std::size_t entries_end, double row_label, double row_weight,
                                        std::size_t row_line, std::string_view row_tag, double row_offset) {
        features.row_ends.push_back(entries_end);
        label.push_back(row_label);
        weight.push_back(row_weight);
        line.push_back(row_line);
        if (row_offset != 0 || !offset.empty()) {
            offset.resize(label.size() - 1);  // zeros for the rows before
            offset.push_back(row_offset);
        }
        if (!row_tag.empty() || !tag_ends.empty()) {
            tag_ends.resize(label.size() - 1);  // no tags for the rows before
            tag_text.insert(tag_text.end(), row_tag.begin(), row_tag.end());
            tag_ends.push_back(tag_text.size());
        }
    }
    // Ends a row with the label, weight, line, tag and offset of another row.
    void end_row_like(const TextRows& from, std::size_t row) {
        end_row(features.ids.size(), from.label[row], from.weight[row], from.line[row], from.tag(row),
                from.offset.empty() ? 0.0 : from.offset[row]);
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
        for (std::size_t row = 0; row < rows(); ++row) {
            if (!keep(row)) continue;
            const auto first = static_cast<std::ptrdiff_t>(features.row_begin(row));
            const auto last = static_cast<std::ptrdiff_t>(features.row_ends[row]);
            to.features.ids.insert(to.features.ids.end(), features.ids.begin() + first, features.ids.begin() + last);
            to.features.values.insert(to.features.values.end(), features.values.begin() + first,
                                      features.values.begin() + last);
            to.end_row_like(*this, row);
        }
        // If the chunk has offsets or tags, every selection has them.
        if (!offset.empty()) to.offset.resize(to.rows());
        if (!tag_ends.empty()) to.tag_ends.resize(to.rows());
        return to;
    }
};

}  // namespace unitless
