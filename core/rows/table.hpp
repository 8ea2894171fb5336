// A table as people have it: columns of numbers, and columns of text whose values become features `column=value`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rows/dense.hpp"

namespace unitless {

struct TableColumn {
    std::string name;
    Column numbers{};                     // of a column of numbers
    const std::int32_t* codes = nullptr;  // of a column of text: each row's place among its values, or -1 for none
    const char* text = nullptr;           // the values, one after another:
    const std::int64_t* ends = nullptr;   // value k is text[ends[k], ends[k + 1])
    std::size_t values = 0;

    bool is_text() const { return codes != nullptr; }
    std::string_view value(std::size_t k) const {
        return {text + ends[k], static_cast<std::size_t>(ends[k + 1] - ends[k])};
    }
    // Could the column have a feature of this name, or one that begins so?
    bool may_have(std::string_view feature, bool prefix) const {
        if (!is_text()) return prefix ? name.starts_with(feature) : name == feature;
        const std::string stem = name + '=';
        return feature.starts_with(stem) || (prefix && stem.starts_with(feature));
    }
};

// What follows the '=' in the name of the feature of a missing value.
inline constexpr std::string_view missing_value = "(missing)";

struct Table {
    std::vector<TableColumn> columns;
    std::size_t rows = 0;
    bool missing = false;     // not-a-number means that there is none
    bool indicators = false;  // that there is none is a feature of its own: `column=(missing)`
    bool whole = false;       // no value is known to be missing
};

}  // namespace unitless
