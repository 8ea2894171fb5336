// Adds one value of a table to the current row. Rows of a table and single rows both use these functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "encoding/encoder.hpp"
#include "rows/table.hpp"

namespace unitless {

// `name()` returns the feature's name, for interactions that need it.
template <class Name>
void add_value(Encoder& to, std::uint32_t feature, double x, const RowUse& use, Name name) {
    if (to.raw()) to.add_raw(feature, x);
    x = to.centered(feature, x, use);
    if (x != 0 && to.notes()) to.note(feature, name());
    to.builder().add(feature, x);
}

// `offset`: whether the column is centered, if the model does not know it yet.
template <class Name>
void add_number(Encoder& to, std::uint32_t feature, double x, Offset offset, const RowUse& use, Name name) {
    if (to.centering() && use.learns()) to.center_to_learn().settle(feature, offset);
    add_value(to, feature, x, use, name);
}

// Adds the words or n-grams of a text. Curves and trees do not use them, so they are not among the raw values. Returns
// whether any of them has a feature.
inline bool add_words(Encoder& to, std::string_view column, std::string_view text, TextParts parts, const RowUse& use) {
    const auto find = [&](std::string& name, std::size_t stem) {
        const auto feature = to.word(name, stem, use.learns());
        if (feature && to.notes()) to.note(*feature, name);
        return feature;
    };
    const std::vector<std::uint32_t>& features = to.words.read(column, text, parts, find);
    for (const std::uint32_t feature : features) to.builder().add(feature, to.centered(feature, 1.0, use));
    return !features.empty();
}

}  // namespace unitless
