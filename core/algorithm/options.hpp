// What a learner is asked to be. Plain data, shared by all translation units; validated once, in learner.cpp.
#pragma once

namespace unitless {

enum class RuleKind { gd, ag, ng, nag, snag };
enum class LossKind { squared, logistic, hinge, quantile, poisson };
enum class Schedule { root, constant };  // eta/sqrt(t), eta: for the rules without adaptive rates
enum class Order { paper, vw };          // squash then predict, or predict then squash
enum class Clip {
    none,
    labels,
    vw,
    signs
};  // limit predictions: to the range of earlier labels; of the current one too;
    // to [-1, 1], which are the labels of classes
enum class Precision { float32, float64 };  // of the stored v and H; arithmetic is always float64

struct Options {
    RuleKind rule = RuleKind::nag;
    LossKind loss = LossKind::squared;
    double learning_rate = 0.5;
    double quantile = 0.5;
    bool importance_aware = true;
    bool bias = true;
    Schedule schedule = Schedule::root;
    Order order = Order::paper;
    Clip clip = Clip::none;
    Precision precision = Precision::float64;
};

}  // namespace unitless
