// What a learner is asked to be. Plain data, shared by all translation units; checked once, where Python sets it.
#pragma once

namespace unitless {

// A place in the list of rules (rule.hpp) or losses (loss.hpp). The first of each is the default.
enum class RuleKind : unsigned char {};
enum class LossKind : unsigned char {};

enum class Schedule { root, constant };  // eta/sqrt(t), eta: for the rules without adaptive rates
enum class Order { paper, vw };          // squash then predict, or predict then squash
// Limits of predictions: the range of earlier labels; of the current one too; [-1, 1], which are the labels of classes.
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
    bool proximal = false;  // weights that matter little are zero: see engine/lanes/proximal_rows.hpp
    double l2 = 0;          // then: how strongly weights are pulled towards zero besides
};

}  // namespace unitless
