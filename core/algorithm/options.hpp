// The options of a learner. Plain data that all translation units share. Python checks the values when it sets them.
#pragma once

namespace unitless {

// Positions in the lists of rules (rule.hpp) and losses (loss.hpp). The first of each list is the default.
enum class RuleKind : unsigned char {};
enum class LossKind : unsigned char {};

enum class Schedule { root, constant };  // eta/sqrt(t) or eta: for the rules without adaptive rates
enum class Order { paper, vw };          // adapts scales, then predicts; predicts, then adapts scales
// The range that predictions are limited to: `labels` is the range of earlier labels, `vw` includes the current label,
// and `signs` is [-1, 1], the labels of classes.
enum class Clip { none, labels, vw, signs };

struct Options {
    RuleKind rule{};
    LossKind loss{};
    double learning_rate = 0.5;
    double quantile = 0.5;
    bool importance_aware = true;
    bool bias = true;
    Schedule schedule = Schedule::root;
    Order order = Order::paper;
    Clip clip = Clip::none;
    bool proximal = false;            // sets weights of little importance to zero: see engine/lanes/proximal_rows.hpp
    double l2 = 0;                    // the strength of the L2 penalty of proximal learners
    double leaf_l1 = 0, leaf_l2 = 0;  // of the weights in the leaves of curves and trees: see trees/kernel.cpp
};

}  // namespace unitless
