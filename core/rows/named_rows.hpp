// Rows of named features. Each name is stored once. An entry of a row is the number of a name and a value. Names are
// numbered in the order in which they first occur.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace unitless {

struct NamedRows {
    std::vector<char> text;
    std::vector<std::size_t> name_ends;  // name i is text[name_ends[i-1], name_ends[i])
    std::vector<std::uint32_t> ids;      // by entry
    std::vector<double> values;          // by entry
    std::vector<std::size_t> row_ends;   // row i has the entries [row_ends[i-1], row_ends[i])

    std::size_t rows() const { return row_ends.size(); }
    std::size_t row_begin(std::size_t row) const { return row == 0 ? 0 : row_ends[row - 1]; }
    std::size_t names() const { return name_ends.size(); }
    std::string_view name(std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : name_ends[i - 1];
        return {text.data() + begin, name_ends[i] - begin};
    }
};

}  // namespace unitless
