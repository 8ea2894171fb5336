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

// Who learns beside that, under one mixture. second_order: a learner that keeps the inverse of all second derivatives
// and, of classes, a softmax model. second_moments: sNAG. softmax: that alone. automatic: what suits the data, settled
// when the first row is learned.
enum class Company { none, second_order, second_moments, softmax, automatic };

// Lanes of second order: all; those that forget slowly; the one that forgets fastest and follows labels that change
// slowly, whatever the features say. It is too careful to lead by its losses, but a mixture knows what it is worth.
enum class Walking { all, slowly, fastest };

// What a learner is like; settled, if nothing of it is automatic.
struct Form {
    Shape shape = Shape::linear;
    Company company = Company::none;

    bool settled() const { return shape != Shape::automatic && company != Company::automatic; }
    bool operator==(const Form&) const = default;
};

struct EngineSetup {
    Options options;
    Form form;
    std::vector<double> rates = {};             // none: the one of the options
    std::size_t first_rate = 0, last_rate = 0;  // those that run from the beginning
    // Of proximal learners: what each rate goes with. Rates that stand so many places apart differ in that alone.
    std::vector<double> penalties = {};
    std::size_t across = 1;
    Selecting selecting = Selecting::none;
    std::size_t classes = 0;  // how many there are; 0 and not open: labels are numbers
    bool open = false;        // classes may join
    bool coupled = false;     // classes share one softmax (softmax/); the loss is logistic
    bool average = false;     // v is averaged too (averaging.hpp)
    std::uint64_t slots = 0;  // how many there may be, where that is known
    // Second order (second_order/) instead of the options' rule. `block`: it takes the features that it has places for
    // and leaves out the others, which otherwise are an error.
    bool second_order = false, block = false;
    Walking walking = Walking::all;  // of second order: which of its lanes there are

    bool has_classes() const { return classes > 0 || open; }
};

}  // namespace unitless
