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

// What a model can express: linear terms; these and curves of the columns; these and trees over all columns; curves
// alone. automatic: what suits the data, settled when the first row is learned.
enum class ModelType { linear, curves, trees, curves_only, automatic };

// Members that an ensemble adds to that. newton: second-order learners and, of classes, a softmax model. snag: sNAG.
// softmax: that alone. automatic: what suits the data, settled when the first row is learned.
enum class Ensemble { none, newton, snag, softmax, automatic };

// Lanes of second order: all; those that forget slowly; the one that forgets fastest and follows labels that change
// slowly, whatever the features say. It is too careful to lead by its losses, but a mixture knows what it is worth.
enum class Forgetting { all, slowly, fastest };

// What a learner is like; settled, if nothing of it is automatic.
struct Form {
    ModelType model_type = ModelType::linear;
    Ensemble ensemble = Ensemble::none;

    bool settled() const { return model_type != ModelType::automatic && ensemble != Ensemble::automatic; }
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
    std::size_t classes = 0;   // how many there are; 0 and not open: labels are numbers
    bool open = false;         // classes may join
    bool coupled = false;      // classes share one softmax (softmax/); the loss is logistic
    bool average = false;      // v is averaged too (averaging.hpp)
    std::uint64_t slots = 0;   // how many there may be, where that is known
    bool in_sequence = false;  // sums run over a row's entries in their order, not by slot: hashed features, products
    // Second order (newton/) instead of the options' rule. `block`: it takes the features that it has places for
    // and leaves out the others, which otherwise are an error.
    bool newton = false, block = false;
    Forgetting forgetting = Forgetting::all;  // of second order: which of its lanes there are

    bool has_classes() const { return classes > 0 || open; }
};

}  // namespace unitless
