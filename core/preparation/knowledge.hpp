// What a learner knows of its features, apart from the memory in which rows are prepared: readers share it.
#pragma once

#include <optional>
#include <vector>

#include "preparation/centre.hpp"
#include "preparation/features.hpp"
#include "preparation/interactions.hpp"
#include "preparation/raw_columns.hpp"
#include "preparation/word_counts.hpp"

namespace unitless {

struct PreparationSetup {
    std::optional<unsigned> bits = std::nullopt;
    bool centre = false;
    bool falling = false;  // scales of centred columns may fall (window.hpp)
    Pairs pairs = Pairs::none;
    std::vector<Interaction> listed = {};
    bool raw = false;            // values as they came are collected beside the prepared rows
    bool numbers_linear = true;  // if not, columns of numbers that are collected so are left out of the prepared rows
};

struct Knowledge {
    explicit Knowledge(const PreparationSetup& setup)
        : features(setup.bits),
          interactions(setup.pairs, setup.listed),
          centring(setup.centre),
          falling(setup.centre && setup.falling),
          raw(setup.raw && !setup.bits),
          leaves_numbers(raw && !setup.numbers_linear) {}

    Features features;
    Interactions interactions;
    mutable WordCounts words;  // which look after themselves
    bool centring, falling, raw, leaves_numbers;
    Centre centre;
    RawColumns raw_columns;  // of names
};

}  // namespace unitless
