// The setup of an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithm/options.hpp"

namespace unitless {

// How learning rates are chosen. none: there is only one. sweep: the results of all are reported. follow: the rate with
// the smallest loss so far makes the prediction (lanes/selection.hpp).
enum class Selecting { none, sweep, follow };

// What a model can express: linear terms; linear terms and curves of the columns; linear terms and trees over all
// columns; only curves. automatic: decided by the data when the first row is learned.
enum class ModelType { linear, curves, trees, curves_only, automatic };

// Members that an ensemble adds. newton: second-order learners and, for classes, a softmax model. snag: sNAG. softmax:
// only a softmax model. automatic: decided by the data when the first row is learned.
enum class Ensemble { none, newton, snag, softmax, automatic };

// The lanes of a second-order learner: all; those that forget slowly; or only the one that forgets fastest, which
// tracks labels that change slowly, whatever the features are. Its losses are too large to lead, but a mixture weights
// it correctly.
enum class Forgetting { all, slowly, fastest };

// The model type and ensemble of a learner. It is settled if neither is automatic.
struct Form {
    ModelType model_type = ModelType::linear;
    Ensemble ensemble = Ensemble::none;

    bool settled() const { return model_type != ModelType::automatic && ensemble != Ensemble::automatic; }
    bool operator==(const Form&) const = default;
};

// The number of trees, the largest number of leaves of each, and how many more rows the leaves of a large tree watch
// before they are split.
struct TreeSize {
    std::size_t trees = 64, leaves = 256, patience = 0;
};

struct EngineSetup {
    Options options;
    Form form;
    TreeSize tree_size = {};
    std::vector<double> rates = {};             // empty: the rate of the options
    std::size_t first_rate = 0, last_rate = 0;  // the rates that run from the beginning
    // For proximal learners: the penalty of each rate. Rates that are `across` positions apart differ only in their
    // penalty.
    std::vector<double> penalties = {};
    std::size_t across = 1;
    Selecting selecting = Selecting::none;
    std::size_t classes = 0;  // the number of classes; 0 and not open: labels are numbers
    bool open = false;        // new classes may join
    bool coupled = false;     // classes share one softmax (softmax/); the loss is logistic
    bool average = false;     // v is averaged (averaging.hpp)
    std::uint64_t slots = 0;  // the largest possible number of slots, if it is known
    // Sums run over a row's entries in their order, not by slot: for hashed features and products.
    bool in_sequence = false;
    // Second order (newton/) instead of the options' rule. `block`: features for which there is no space are left out;
    // otherwise they are an error.
    bool newton = false, block = false;
    Forgetting forgetting = Forgetting::all;  // which lanes a second-order learner has

    bool has_classes() const { return classes > 0 || open; }
};

}  // namespace unitless
