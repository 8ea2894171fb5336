// Combines the predictions of the members of an ensemble. The candidates are the members and two stackers (small
// second-order learners over the members' predictions; one is slow, one keeps adapting). They are weighted by their
// losses so far. The stackers of logistic and classes also see the last label that was learned: in many streams, equal
// labels follow each other, and members do not know where they are in the stream.
//
//   logistic   stackers over log odds; weights by Bayes' rule on probabilities
//   squared    stackers over numbers; weights by AdaHedge. The first row counts for no candidate, because none can know
//              the offset of the labels
//   classes    stackers over log probabilities by class; weights by Bayes' rule
//   other      any other loss: weights by AdaHedge, over the members only
//
// Nothing depends on a unit: if labels and predictions are multiplied by a power of two, so are the predictions of
// squared and other, exactly.
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

    // At most `most_members`. The prediction of a single member is returned unchanged.
    Mixture(Kind kind, std::size_t members);

    // The members' predictions of a row before it is learned, [member][head]: log odds; numbers; one-vs-all log odds by
    // class; any scores. There is one head, except for classes. offset: a known part of all scores, which stackers must
    // not weight.
    struct Row {
        const double* members;
        std::size_t heads;
        double offset = 0;
    };

    // Writes the prediction, [head]. For classes these are log odds whose normalized sigmoids are the mixture's
    // probabilities.
    void combine(const Row& row, double* prediction) const;

    // y: +1 or -1; a number; the number of a class. weight: how many times the row counts, relative to the mean weight
    // so far; a row of weight 0 changes nothing. losses: [member], only for kind other.
    void learn(const Row& row, double y, double weight, const double* losses);

    // Forgets how good the members were: one of them began anew.
    void restart();

    std::vector<double> save() const;
    void load(const std::vector<double>& numbers);  // throws InputError if it is not a valid state

  private:
    // A row's label, its number, and the other arguments of `learn`.
    struct Outcome {
        double y, weight;
        const double* losses;
        double t;
    };

    // Each kind has stackers and weights.
    struct Logistic {
        std::size_t n;
        double last = 0;  // label; 0: none
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
        void restart() { weighting = Bayes(n + stackers); }
    };
    struct Squared {
        std::size_t n;
        double low = 0, high = -1;  // the range of labels so far; empty at first
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
        void restart() { *this = Squared(n); }
    };
    struct Classes {
        std::size_t n;
        double last = -1;  // label; -1: none
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
        void restart() { weighting = Bayes(n + stackers); }
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
        void restart() { *this = Other(n); }
    };
    using Any = std::variant<Logistic, Squared, Classes, Other>;

    Kind kind_;
    std::size_t members_;
    double rows_ = 0;  // the number of rows learned so far
    Any of_;

    static Any made(Kind kind, std::size_t members);
    template <class Each>
    void numbers(Each each);
};

}  // namespace unitless
