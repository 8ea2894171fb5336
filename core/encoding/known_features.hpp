// A learner's knowledge of its features, without the scratch for encoding rows. All encoders of the learner share it.
#pragma once

#include <optional>
#include <vector>

#include "encoding/center.hpp"
#include "encoding/features.hpp"
#include "encoding/interactions.hpp"
#include "encoding/raw_columns.hpp"
#include "encoding/word_counts.hpp"

namespace unitless {

struct EncoderSetup {
    std::optional<unsigned> bits = std::nullopt;
    bool center = false;
    bool falling = false;  // scales of centered columns may fall (window.hpp)
    Pairs pairs = Pairs::none;
    std::vector<Interaction> listed = {};
    bool raw = false;            // batches also have the values before encoding
    bool numbers_linear = true;  // if false, columns of numbers occur only among the raw values
};

struct KnownFeatures {
    explicit KnownFeatures(const EncoderSetup& setup)
        : features(setup.bits),
          interactions(setup.pairs, setup.listed),
          centering(setup.center),
          falling(setup.center && setup.falling),
          raw(setup.raw && !setup.bits),
          leaves_numbers(raw && !setup.numbers_linear) {}

    Features features;
    Interactions interactions;
    mutable WordCounts words;  // has its own lock
    bool centering, falling, raw, leaves_numbers;
    Center center;
    RawColumns raw_columns;  // for features with names
};

}  // namespace unitless
