// Log odds of classes, each against all others: log(p_k/(1 - p_k)). Their sigmoids are the probabilities.
//
// A model is never more certain than 1 - 1e-15: log odds go no further than `most_certain`.
//
// 1 - p_k is never computed from p_k, which would lose all digits where a class is nearly certain. It is the sum of the
// others: for the likeliest class a sum of its own, for any other one the sum of all but the likeliest, less its own,
// plus the likeliest, which is as large as any of them.
#pragma once

#include <cstddef>

#include "simd/elementary.hpp"
#include "simd/elementary8.hpp"
#include "simd/vec8.hpp"

namespace unitless {

inline constexpr double most_certain = 0x1.144f69ff9ffc4p+5;  // ln 1e15

inline namespace UNITLESS_ISA {

// From numbers that are proportional to the probabilities, at least one of them not 0. A class that is alone has log
// odds of 0. `to` may be `shares`.
inline void log_odds_of_shares(const double* shares, std::size_t count, double* to) {
    std::size_t likeliest = 0;
    for (std::size_t k = 1; k < count; ++k)
        if (shares[k] > shares[likeliest]) likeliest = k;
    const double most = shares[likeliest];
    double others = 0;
    for (std::size_t k = 0; k < count; ++k) others += k == likeliest ? 0.0 : shares[k];
    for (std::size_t first = 0; first < count; first += width) {
        const std::size_t some = smaller<std::size_t>(width, count - first);
        double ratio[width], odds[width];
        for (std::size_t i = 0; i < width; ++i) {
            const double own = i < some ? shares[first + i] : 1.0;
            ratio[i] = own / (first + i == likeliest ? others : (others - own) + most);
        }
        // The logarithm holds arguments within the range of numbers, and so an infinite ratio is certain, too.
        const Vec8 limit = Vec8::all(most_certain);
        smaller(larger(log(Vec8::load(ratio)), -limit), limit).store(odds);
        for (std::size_t i = 0; i < some; ++i) to[first + i] = count == 1 ? 0.0 : odds[i];
    }
}

// From scores o, whose softmax are the probabilities: p_k = e^(o_k)/sum_j e^(o_j).
inline void log_odds(const double* scores, std::size_t count, double* to) {
    double most = scores[0];
    for (std::size_t k = 1; k < count; ++k) most = larger(most, scores[k]);
    for (std::size_t first = 0; first < count; first += width) {
        const std::size_t some = smaller<std::size_t>(width, count - first);
        double share[width] = {};
        for (std::size_t i = 0; i < some; ++i) share[i] = scores[first + i] - most;
        exp(Vec8::load(share)).store(share);
        for (std::size_t i = 0; i < some; ++i) to[first + i] = share[i];
    }
    log_odds_of_shares(to, count, to);
}

// From scores of classes that may become more: the last one is the spare class, which no row has had and which stands
// for those that will join. Its odds are against all other classes; theirs do not include it, unless there is only one.
inline void log_odds_of_open(const double* scores, std::size_t count, double* to) {
    log_odds(scores, count, to);
    if (count <= 2) return;
    const double spare = to[count - 1];
    log_odds(scores, count - 1, to);
    to[count - 1] = spare;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
