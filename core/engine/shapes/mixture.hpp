// What a model says, made from what its experts say: the experts and two stackers (small second-order learners over the
// experts' predictions, one slow and one that keeps moving) are speakers, and a top weighs them by their losses so far.
//
//   logistic   stackers over log odds; the top is Bayes' rule on probabilities
//   squared    stackers over numbers; the top is AdaHedge. The first row is charged to nobody: none can know the offset
//   classes    stackers over log probabilities by class; Bayes' rule again
//   other      any other loss: AdaHedge over the experts alone
//
// Nothing has a unit: with labels and predictions times a power of two, squared and other say exactly that much more.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "engine/shapes/ada_hedge.hpp"
#include "engine/shapes/bayes.hpp"
#include "engine/shapes/class_stacker.hpp"
#include "engine/shapes/logistic_stacker.hpp"
#include "engine/shapes/power_unit.hpp"
#include "engine/shapes/small_matrix.hpp"
#include "engine/shapes/squared_stacker.hpp"

namespace unitless {

class Mixture {
  public:
    enum class Kind { logistic, squared, classes, other };

    // At most `most_experts`. If there is one alone, what it says is said.
    Mixture(Kind kind, std::size_t experts);

    // experts: [expert][head], scores before the row is learned: log odds; numbers; one-vs-all log odds by class; any
    // scores. There is one head, but for classes. said: [head]; for classes log odds of which the sigmoids, normalised,
    // are the mixture's probabilities. offset: what is known to be part of all scores, which no stacker is to weigh.
    // Changes nothing.
    void say(const double* experts, std::size_t heads, double* said, double offset = 0) const;

    // The row's label: +1 or -1; a number; the number of its class. weight: how many times the row counts, relative to
    // the mean weight so far; one that counts 0 times changes nothing. losses: [expert], for kind other alone.
    void learn(const double* experts, std::size_t heads, double y, double weight, const double* losses,
               double offset = 0);

    std::vector<double> save() const;
    void load(const std::vector<double>& numbers);  // InputError if it is not such a state

  private:
    // Each kind: speakers and top.
    struct Logistic {
        std::size_t n;
        LogisticStacker stacker[stackers];
        Bayes top;

        explicit Logistic(std::size_t experts);
        void speak(const double* experts, double offset, double* x, double* score) const;
        void say(const double* experts, std::size_t heads, double* said, double offset) const;
        void learn(const double* experts, std::size_t heads, double y, double weight, const double* losses, double t,
                   double offset);
        template <class Each>
        void numbers(Each each);
        bool sound() const;
        void ready(double) {}
    };
    struct Squared {
        std::size_t n;
        double low = 0, high = -1;  // the labels so far; at first there is none
        PowerUnit unit;
        SquaredStacker stacker[stackers];
        AdaHedge top;

        explicit Squared(std::size_t experts);
        double speak(const double* experts, double* x, double* said) const;
        void say(const double* experts, std::size_t heads, double* said, double) const;
        void learn(const double* experts, std::size_t heads, double y, double weight, const double* losses, double t,
                   double);
        template <class Each>
        void numbers(Each each);
        bool sound() const;
        void ready(double t);
    };
    struct Classes {
        std::size_t n;
        ClassStacker stacker[stackers];
        Bayes top;

        explicit Classes(std::size_t experts);
        struct Row;
        Row speak(const double* experts, std::size_t heads) const;
        void say(const double* experts, std::size_t heads, double* said, double) const;
        void learn(const double* experts, std::size_t heads, double y, double weight, const double* losses, double t,
                   double);
        template <class Each>
        void numbers(Each each);
        bool sound() const;
        void ready(double) {}
    };
    struct Other {
        std::size_t n;
        PowerUnit unit;
        AdaHedge top;

        explicit Other(std::size_t experts);
        void say(const double* experts, std::size_t heads, double* said, double) const;
        void learn(const double* experts, std::size_t heads, double y, double weight, const double* losses, double t,
                   double);
        template <class Each>
        void numbers(Each each);
        bool sound() const;
        void ready(double t);
    };
    using Any = std::variant<Logistic, Squared, Classes, Other>;

    Kind kind_;
    std::size_t experts_;
    double rows_ = 0;  // learned so far
    Any of_;

    static Any made(Kind kind, std::size_t experts);
    template <class Each>
    void numbers(Each each);
};

}  // namespace unitless
