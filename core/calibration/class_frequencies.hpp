// The baseline for classes: the most frequent class so far, and the frequencies of all classes.
//
// The probability of a class is (n_k + 1/2)/(n + K/2), where n_k is the weight of the class, n that of all rows, and K
// the number of classes: 2, or the classes met so far and one more for all that have not been met. Between equally
// frequent classes, the one that reached the weight first is the most frequent one. Each row is scored before it is
// counted; the first row is not scored.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/elementary.hpp"

namespace unitless {

struct ClassFrequencies {
    double* by_class;  // the weight of each class so far
    double total, most;
    std::int64_t leader;                 // the most frequent class, or -1
    std::int64_t met;                    // classes that have a weight
    bool open;                           // there may be classes that have not been met
    double weight, wrong, lost, square;  // sums over the scored rows: weight, errors, log losses, squared errors

    // Scores and counts rows, in order. Without weights each row counts 1.
    void update(const std::int64_t* classes, const double* weights, std::size_t rows) {
        for (std::size_t i = 0; i < rows; ++i) {
            const std::int64_t k = classes[i];
            const double h = weights ? weights[i] : 1.0, before = by_class[k];
            if (leader >= 0) {
                const double kinds = open ? static_cast<double>(met + 1) : 2.0;
                const double share = (before + 0.5) / (total + kinds / 2);
                wrong += leader != k ? h : 0.0;
                lost += -log(share) * h;
                square += (1 - share) * (1 - share) * h;
                weight += h;
            }
            met += before == 0;
            by_class[k] = before + h;
            total += h;
            if (by_class[k] > most) {
                most = by_class[k];
                leader = k;
            }
        }
    }
};

}  // namespace unitless
