// What the classes of the rows before say of the next one: the most frequent class so far, and how frequent each was.
//
// A class has the probability (n_k + 1/2)/(n + K/2), K being 2, or the number of classes met so far and one more for
// any class that has not been met. The most frequent class is the one that was first to be met so often. Each row is
// scored before it is counted; the very first has nothing to be compared with.
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
    double weight, wrong, lost, square;  // sums over the rows that were scored

    // Rows of classes that have a place in `by_class`, in order; without weights each counts 1.
    void follow(const std::int64_t* classes, const double* weights, std::size_t rows) {
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
