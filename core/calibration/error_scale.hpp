// How large errors are, as a function of the prediction: expensive houses have larger errors than cheap ones.
//
// Predictions are sorted into bins. A bin has a weight w, the mean prediction c of its rows, and their mean |error| e:
//
//     all w *= 1 - 1/min(1 + n, 1000) before row n
//     the lighter of the two bins around the prediction takes the row:
//         w += 1; c += (p - c)/w; e += (|r| - e)/w
//     if it weighs 100 or more, it first gives half its weight to a new bin with c = p and e = s(p), which takes the
//     row; then, while two neighbors together weigh less than 100, the lightest two are merged
//
// About the last 1000 rows count; of fewer rows the first count less, because the first errors of a model are large. A
// new bin lies on the curve s, so it does not change the curve. After 100 rows an |r| above 200 s(p) counts as 200
// s(p): one wrong label does not widen the intervals of other rows, and errors that stay large raise s quickly.
//
// So bins have about equally many rows, and follow predictions that drift. The scale at a prediction is interpolated
// between the e of the bins around it; before the first bin and after the last one it is constant. Only comparisons and
// means decide, so a unit of a power of two changes no bit.
#pragma once

#include <array>
#include <cstddef>

namespace unitless {

class ErrorScale {
  public:
    static constexpr double memory = 1000, full = 100, farthest = 200;
    // The largest sum of all weights is `memory`. Any two neighbors weigh at least `full` when a bin has begun, so
    // there are at most 1 + 2 memory/full bins, and one that begins.
    static constexpr std::size_t most = 22;
    // Numbers in a state: rows, how many bins there are, their weights, their mean predictions, their mean errors.
    static constexpr std::size_t count = 2 + 3 * most;

    explicit ErrorScale(const double* state);
    void save(double* state) const;

    // The mean |error| at a prediction. Without any row it is infinite: errors may have any size.
    double at(double prediction) const;

    // The error as it counts: limited once enough rows are known.
    double counted(double prediction, double error) const;

    // Learns a row, with the error as it counts. A row whose prediction or error is not finite changes nothing.
    void add(double prediction, double error);

  private:
    using Numbers = std::array<double, most>;
    double rows_;
    std::size_t bins_;
    Numbers weights_, predictions_, errors_;  // by bin, in increasing order of predictions

    std::size_t bins_below(double prediction) const;
    void insert(std::size_t place, double weight, double prediction, double error);
    void merge_light();
};

}  // namespace unitless
