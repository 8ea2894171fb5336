// A table: columns of numbers, and columns of text. A text value becomes a feature `column=value`. In a column of free
// text (a comment, a title), each word and each pair of neighboring words becomes a feature; in a column of names or
// codes, each character n-gram does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rows/dense.hpp"

namespace unitless {

// What becomes a feature in a column of text.
enum class TextParts : unsigned char { whole, words, ngrams };

struct TableColumn {
    std::string name;
    Column numbers{};                     // for a column of numbers
    const std::int32_t* codes = nullptr;  // for a column of text: the position of each row's value, or -1 if missing
    const char* text = nullptr;           // the concatenated values:
    const std::int64_t* ends = nullptr;   // value k is text[ends[k], ends[k + 1])
    std::size_t values = 0;
    TextParts parts = TextParts::whole;

    bool is_text() const { return codes != nullptr; }
    bool is_split() const { return parts != TextParts::whole; }
    std::string_view value(std::size_t k) const {
        return {text + ends[k], static_cast<std::size_t>(ends[k + 1] - ends[k])};
    }
    // Whether the column could have a feature of this name, or one that begins with it.
    bool may_have(std::string_view feature, bool prefix) const {
        if (!is_text()) return prefix ? name.starts_with(feature) : name == feature;
        const std::string stem = name + '=';
        return feature.starts_with(stem) || (prefix && stem.starts_with(feature));
    }
};

// The part after the '=' in the name of the feature for a missing value.
inline constexpr std::string_view missing_value = "(missing)";

struct Table {
    std::vector<TableColumn> columns;
    std::size_t rows = 0;
    bool missing = false;     // NaN means that the value is missing
    bool indicators = false;  // a missing value is a feature of its own: `column=(missing)`
    bool whole = false;       // all values are known to be present
};

}  // namespace unitless
