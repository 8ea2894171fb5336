// What an engine is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithm/options.hpp"

namespace unitless {

// How learning rates are chosen. none: there is only one. sweep: the results of all are reported. follow: the rate with
// the smallest loss so far makes the prediction (selection.hpp).
enum class Selecting { none, sweep, follow };

// What a model is made of: linear terms; curves of the columns beside them; trees over all columns beside both; curves
// alone. automatic: what suits the data, settled when the first row is learned.
enum class Shape { linear, curves, trees, curves_only, automatic };

struct EngineSetup {
    Options options;
    Shape shape = Shape::linear;
    std::vector<double> rates = {};             // none: the one of the options
    std::size_t first_rate = 0, last_rate = 0;  // those that run from the beginning
    Selecting selecting = Selecting::none;
    std::size_t classes = 0;  // how many there are; 0 and not open: labels are numbers
    bool open = false;        // classes may join
    bool average = false;     // v is averaged too (averaging.hpp)
    std::uint64_t slots = 0;  // how many there may be, where that is known
    // Second order (second_order/) instead of the options' rule. `block`: it takes the features that it has places for
    // and leaves out the others, which otherwise are an error.
    bool second_order = false, block = false;

    bool has_classes() const { return classes > 0 || open; }
};

}  // namespace unitless
