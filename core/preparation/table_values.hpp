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
    if (to.centring() && looking == Looking::learning && weight > 0) to.centre_to_learn().settle(feature, offset);
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

// A row that comes alone, on its way in; what it changes is remembered, so that it can be taken back.
class SingleTableRow {
  public:
    SingleTableRow(Preparation& to, WordFeatures& words, Looking looking, double weight)
        : to_(to), words_(words), looking_(looking), weight_(weight) {}

    // The number of a name, or 0; while learning it gets one.
    std::uint32_t feature(std::string_view name) {
        return to_.feature(name, looking_ == Looking::learning).value_or(0);
    }
    // `flag`: it is 0 or 1, and has no mean to speak of.
    template <class Name>
    void add_number(std::uint32_t feature, double x, bool flag, Name name) {
        remember(feature);
        unitless::add_number(to_, feature, x, flag ? Offset::kept : Offset::removed, looking_, weight_, name);
    }
    template <class Name>
    void add_category(std::uint32_t feature, Name name) {
        remember(feature);
        unitless::add_category(to_, feature, looking_, weight_, name);
    }
    void add_words(std::string_view column, std::string_view text) {
        unitless::add_words(to_, words_, column, text, looking_, weight_,
                            [&](std::uint32_t feature) { remember(feature); });
    }

  private:
    Preparation& to_;
    WordFeatures& words_;
    Looking looking_;
    double weight_;

    void remember(std::uint32_t feature) {
        if (looking_ == Looking::learning && to_.centring()) to_.centre_to_learn().remember(feature);
    }
};

}  // namespace unitless
