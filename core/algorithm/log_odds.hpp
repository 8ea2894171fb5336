// Log odds of classes, each against all others: log(p_k/(1 - p_k)). The sigmoid of a log odds is the probability.
//
// A model is never more certain than 1 - 1e-15: log odds are limited to `most_certain`.
//
// Computing 1 - p_k from p_k would lose all digits when a class is nearly certain. So 1 - p_k is the sum of the other
// probabilities. For the likeliest class this sum is computed directly. For any other class k it is the sum over all
// classes but the likeliest, minus p_k, plus the likeliest, which is as large as any of them.
#pragma once

#include <cstddef>

#include "simd/elementary.hpp"
#include "simd/elementary8.hpp"
#include "simd/vec8.hpp"

namespace unitless {

inline constexpr double most_certain = 0x1.144f69ff9ffc4p+5;  // ln 1e15

inline namespace UNITLESS_ISA {

// Converts numbers that are proportional to the probabilities. At least one must not be 0. If there is only one class,
// its log odds are 0. `to` may be `shares`.
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
        // log() limits its argument to finite numbers, so an infinite ratio counts as certain.
        const Vec8 limit = Vec8::all(most_certain);
        smaller(larger(log(Vec8::load(ratio)), -limit), limit).store(odds);
        for (std::size_t i = 0; i < some; ++i) to[first + i] = count == 1 ? 0.0 : odds[i];
    }
}

// Converts scores o whose softmax gives the probabilities: p_k = e^(o_k)/sum_j e^(o_j).
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

// Converts the scores of a model whose set of classes may grow. The last class is the spare class: no row has had it,
// and it stands for classes that are not known yet. Its odds are against all other classes. The odds of the other
// classes leave it out, unless there is only one other class.
inline void log_odds_of_open(const double* scores, std::size_t count, double* to) {
    log_odds(scores, count, to);
    if (count <= 2) return;
    const double spare = to[count - 1];
    log_odds(scores, count - 1, to);
    to[count - 1] = spare;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
