// One prediction from those of the members of an ensemble. The candidates are the members and two stackers (small
// second-order learners over the members' predictions; one is slow, one keeps moving); they are weighted by their
// losses so far.
//
//   logistic   stackers over log odds; weights by Bayes' rule on probabilities
//   squared    stackers over numbers; weights by AdaHedge. The first row counts for no candidate: none can know the
//              offset of the labels
//   classes    stackers over log probabilities by class; weights by Bayes' rule
//   other      any other loss: weights by AdaHedge, over the members alone
//
// Nothing has a unit: with labels and predictions times a power of two, squared and other predict exactly that much
// more.
#pragma once

#include <cstddef>
#include <variant>
#include <vector>

#include "ensemble/ada_hedge.hpp"
#include "ensemble/bayes.hpp"
#include "ensemble/class_stacker.hpp"
#include "ensemble/logistic_stacker.hpp"
#include "ensemble/power_unit.hpp"
#include "ensemble/small_matrix.hpp"
#include "ensemble/squared_stacker.hpp"

namespace unitless {

class Mixture {
  public:
    enum class Kind { logistic, squared, classes, other };

    // At most `most_members`. The prediction of a member that is alone is passed on as it is.
    Mixture(Kind kind, std::size_t members);

    // The members' predictions of a row before it is learned, [member][head]: log odds; numbers; one-vs-all log odds by
    // class; any scores. There is one head, but for classes. offset: what is known to be part of all scores, which no
    // stacker is to weight.
    struct Row {
        const double* members;
        std::size_t heads;
        double offset = 0;
    };

    // The prediction, [head]; for classes log odds of which the sigmoids, normalized, are the mixture's probabilities.
    void combine(const Row& row, double* prediction) const;

    // y: +1 or -1; a number; the number of a class. weight: how many times the row counts, relative to the mean weight
    // so far; one that counts 0 times changes nothing. losses: [member], for kind other alone.
    void learn(const Row& row, double y, double weight, const double* losses);

    std::vector<double> save() const;
    void load(const std::vector<double>& numbers);  // InputError if it is not such a state

  private:
    // A row's label, the number of the row, and what else `learn` gets.
    struct Outcome {
        double y, weight;
        const double* losses;
        double t;
    };

    // Each kind: stackers and weights.
    struct Logistic {
        std::size_t n;
        LogisticStacker stacker[stackers];
        Bayes weighting;

        explicit Logistic(std::size_t members);
        void find_candidates(const Row& row, double* x, double* score) const;
        void combine(const Row& row, double* prediction) const;
        void learn(const Row& row, const Outcome& outcome);
        template <class Each>
        void numbers(Each each);
        bool sound() const;
        void set_weights(double) {}
    };
    struct Squared {
        std::size_t n;
        double low = 0, high = -1;  // the labels so far; at first there is none
        PowerUnit unit;
        SquaredStacker stacker[stackers];
        AdaHedge weighting;

        explicit Squared(std::size_t members);
        double find_candidates(const double* members, double* x, double* candidates) const;
        void combine(const Row& row, double* prediction) const;
        void learn(const Row& row, const Outcome& outcome);
        template <class Each>
        void numbers(Each each);
        bool sound() const;
        void set_weights(double t);
    };
    struct Classes {
        std::size_t n;
        ClassStacker stacker[stackers];
        Bayes weighting;

        explicit Classes(std::size_t members);
        struct Memory;
        Memory find_candidates(const Row& row) const;
        void combine(const Row& row, double* prediction) const;
        void learn(const Row& row, const Outcome& outcome);
        template <class Each>
        void numbers(Each each);
        bool sound() const;
        void set_weights(double) {}
    };
    struct Other {
        std::size_t n;
        PowerUnit unit;
        AdaHedge weighting;

        explicit Other(std::size_t members);
        void combine(const Row& row, double* prediction) const;
        void learn(const Row& row, const Outcome& outcome);
        template <class Each>
        void numbers(Each each);
        bool sound() const;
        void set_weights(double t);
    };
    using Any = std::variant<Logistic, Squared, Classes, Other>;

    Kind kind_;
    std::size_t members_;
    double rows_ = 0;  // learned so far
    Any of_;

    static Any made(Kind kind, std::size_t members);
    template <class Each>
    void numbers(Each each);
};

}  // namespace unitless
