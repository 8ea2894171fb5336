// The coupling of the heads of a softmax, for eight rates at once.
//
//   p_k = e^(o_k) / sum_j e^(o_j)
//   margin_k = o_k - log sum_{j != k} e^(o_j)          the log odds of class k: sigmoid(margin_k) = p_k
//   slope_k = dL/do_k = p_k - [k = y],  L = -log p_y
//
// Each head takes the importance-aware step of logistic loss (loss.hpp) from its margin, with the label +1 if k = y,
// else -1. The slopes at the start of the step are those of the softmax; during the step each head assumes that the
// others are constant.
//
// A sum over the other heads adds the sums before and after the head. Subtracting from the total would cancel where a
// class is nearly certain.
#pragma once

#include "algorithm/loss.hpp"
#include "engine/softmax/kernel.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// -log p, where e is the head's exponential and `rest` the sum of the others' exponentials.
UNITLESS_INLINE Vec8 loss_of(const Vec8& below, const Vec8& e, const Vec8& rest) {
    const Mask8 likely = e > rest;
    const Vec8 odds = select(likely, rest, e) / select(likely, e, rest);
    return log1p_below_one(odds) + larger(log(rest) - below, Vec8::all(0.0));
}

// `couple` for a single rate: a register holds eight heads instead of eight rates of one head.
UNITLESS_INLINE void couple_one(const Coupled& lanes, std::size_t y, const Coupling& at, bool losses) {
    const std::size_t heads = lanes.heads;
    double most = at.o[0];
    for (std::size_t k = 1; k < heads; ++k) most = at.o[k] > most ? at.o[k] : most;
    for (std::size_t i = 0; i < heads; i += width) {
        const Vec8 below = Vec8::load(at.o + i) - most;
        below.store(at.below + i);
        exp(below).store(at.e + i);
    }
    double sum = 0;
    for (std::size_t k = heads; k-- > 0; sum += at.e[k]) at.rest[k] = sum;
    const double part = 1.0 / sum;
    sum = 0;
    for (std::size_t k = 0; k < heads; sum += at.e[k], ++k) {
        at.rest[k] = sum + at.rest[k];
        at.slope[k] = k == y ? -1.0 * (at.rest[k] * part) : at.e[k] * part;
    }
    if (losses) loss_of(Vec8::all(at.below[y]), Vec8::all(at.e[y]), Vec8::all(at.rest[y])).store(at.loss);
}

// Computes slopes, sums over the other heads and, if `losses`, losses from the outputs `o` of a row of class y. Eight
// rates are written at once; the surplus overwrites the next head's entries, so heads are written in order.
UNITLESS_INLINE void couple(const Coupled& lanes, std::size_t y, const Coupling& at, bool losses) {
    const std::size_t heads = lanes.heads, rates = lanes.rates, padded = padded_rates(lanes);
    if (rates == 1) return couple_one(lanes, y, at, losses);
    for (std::size_t j = 0; j < rates; j += width) {
        Vec8 most = Vec8::load(at.o + j);
        for (std::size_t k = 1; k < heads; ++k) most = larger(Vec8::load(at.o + k * rates + j), most);
        most.store(at.most + j);
    }
    for (std::size_t k = 0; k < heads; ++k)
        for (std::size_t j = 0; j < rates; j += width) Vec8::load(at.most + j).store(at.largest + k * rates + j);
    for (std::size_t i = 0; i < heads * rates; i += width) {
        const Vec8 below = Vec8::load(at.o + i) - Vec8::load(at.largest + i);
        below.store(at.below + i);
        exp(below).store(at.e + i);
    }
    for (std::size_t j = 0; j < rates; j += width) {
        Vec8 sum = Vec8::all(0.0);
        for (std::size_t k = heads; k-- > 0;) {
            sum.store(at.after + k * padded + j);
            sum = sum + Vec8::load(at.e + k * rates + j);
        }
        (1.0 / sum).store(at.inverse + j);
        Vec8::all(0.0).store(at.before + j);
    }
    for (std::size_t k = 0; k < heads; ++k) {
        for (std::size_t j = 0; j < rates; j += width) {
            const std::size_t lane = k * rates + j;
            const Vec8 e = Vec8::load(at.e + lane), before = Vec8::load(at.before + j);
            const Vec8 rest = before + Vec8::load(at.after + k * padded + j), part = Vec8::load(at.inverse + j);
            (before + e).store(at.before + j);
            rest.store(at.rest + lane);
            (k == y ? -(rest * part) : e * part).store(at.slope + lane);
            if (k == y && losses) loss_of(Vec8::load(at.below + lane), e, rest).store(at.loss + j);
        }
    }
}

// The margins of eight lanes, for long steps.
UNITLESS_INLINE Vec8 margin_of(const Coupling& at, std::size_t lane) {
    return Vec8::load(at.below + lane) - log(Vec8::load(at.rest + lane));
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
