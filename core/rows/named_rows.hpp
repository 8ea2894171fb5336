// Rows of named features: each name once, rows as (number of the name, value). Names are numbered in the order of first
// mention, row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace unitless {

struct NamedRows {
    std::vector<char> text;
    std::vector<std::size_t> name_ends;  // name i is text[name_ends[i-1], name_ends[i])
    std::vector<std::uint32_t> ids;
    std::vector<double> values;
    std::vector<std::size_t> row_ends;

    std::size_t rows() const { return row_ends.size(); }
    std::size_t names() const { return name_ends.size(); }
    std::string_view name(std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : name_ends[i - 1];
        return {text.data() + begin, name_ends[i] - begin};
    }
};

}  // namespace unitless
