// What one value of a table adds to the row that is being built, whether the row comes with a whole table or alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "preparation/preparation.hpp"
#include "preparation/word_features.hpp"

namespace unitless {

// `name()` gives the feature's name, for interactions that ask for it.
template <class Name>
void add_value(Preparation& to, std::uint32_t feature, double x, Looking looking, double weight, Name name) {
    if (to.centring()) x = to.centred(feature, x, looking, weight);
    if (x != 0 && to.notes()) to.note(feature, name());
    to.row().add(feature, x);
}

// `offset`: what becomes of the column's, should the model not know it yet.
template <class Name>
void add_number(Preparation& to, std::uint32_t feature, double x, Offset offset, Looking looking, double weight,
                Name name) {
    if (to.raw()) to.mention(feature, x);
    if (to.centring() && looking == Looking::learning && weight > 0) to.centre().settle(feature, offset);
    add_value(to, feature, x, looking, weight, name);
}

template <class Name>
void add_category(Preparation& to, std::uint32_t feature, Looking looking, double weight, Name name) {
    if (to.raw()) to.mention(feature, 1.0);
    add_value(to, feature, 1.0, looking, weight, name);
}

// Words are not for curves and trees: they are not among the raw values. `seen(feature)` is told of each that has a
// number, before it is added.
template <class Seen>
void add_words(Preparation& to, WordFeatures& words, std::string_view column, std::string_view text, Looking looking,
               double weight, Seen seen) {
    const bool grow = looking == Looking::learning && weight > 0;
    const auto find = [&](std::string& name, std::size_t stem) {
        const auto feature = to.word(name, stem, grow);
        if (feature) seen(*feature);
        if (feature && to.notes()) to.note(*feature, name);
        return feature;
    };
    for (const std::uint32_t feature : words.read(column, text, find))
        to.row().add(feature, to.centred(feature, 1.0, looking, weight));
}

}  // namespace unitless
