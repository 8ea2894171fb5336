// P of one lane: products with a row, and rank-one updates.
//
// Half of P is stored (kernel.hpp). A stored row i is used as row i of P and as its column i. Updates are P -= a a',
// which keeps P exactly symmetric.
#pragma once

#include "engine/newton/kernel.hpp"
#include "simd/elementary.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

constexpr std::size_t blocks_of(std::size_t features) { return (features + 7) / 8; }

// A vector over the features and the bias.
struct alignas(64) Bordered {
    double of[most_places];
    double bias;
};

UNITLESS_INLINE double dot(const double* a, const double* b, std::size_t blocks) {
    Vec8 total = Vec8::all(0.0);
    for (std::size_t j = 0; j < blocks; ++j) total = total + Vec8::load(a + j * 8) * Vec8::load(b + j * 8);
    return sum(total);
}

// k = P z.
inline void multiply(const NewtonLane& lane, const double* z, double one, std::size_t blocks, Bordered& k) {
    std::uint32_t active[most_places / 8];
    const std::size_t active_count = find_active(z, blocks, active);
    if (one != 0) {
        Vec8 total = Vec8::first(*lane.corner * one);
        for (std::size_t j = 0; j < blocks; ++j) {
            const Vec8 p = Vec8::load(lane.border + j * 8);
            total = total + p * Vec8::load(z + j * 8);
            (p * one).store(k.of + j * 8);
        }
        k.bias = sum(total);
    } else {
        for (std::size_t j = 0; j < blocks; ++j) Vec8::all(0.0).store(k.of + j * 8);
        k.bias = 0;
    }
    constexpr std::size_t some = 4;
    for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t length = (block + 1) * 8;
        for (std::size_t i = block * 8; i < length; i += some) {
            const double* const p = lane.half + half_row(i);
            const Vec8 own = Vec8::load(z + block * 8);
            Vec8 total[some];
            for (std::size_t n = 0; n < some; ++n) total[n] = Vec8::load(p + n * length + block * 8) * own;
            if (z[i] == 0 && z[i + 1] == 0 && z[i + 2] == 0 && z[i + 3] == 0) {
                for (std::size_t a = 0; a < active_count && active[a] < block; ++a)
                    for (std::size_t n = 0; n < some; ++n)
                        total[n] =
                            total[n] + Vec8::load(p + n * length + active[a] * 8) * Vec8::load(z + active[a] * 8);
            } else {
                const Vec8 z0 = Vec8::all(z[i]), z1 = Vec8::all(z[i + 1]), z2 = Vec8::all(z[i + 2]),
                           z3 = Vec8::all(z[i + 3]);
                for (std::size_t j = 0; j < block * 8; j += 8) {
                    const Vec8 p0 = Vec8::load(p + j), p1 = Vec8::load(p + length + j),
                               p2 = Vec8::load(p + 2 * length + j), p3 = Vec8::load(p + 3 * length + j);
                    const Vec8 other = Vec8::load(z + j);
                    (Vec8::load(k.of + j) + ((p0 * z0 + p1 * z1) + (p2 * z2 + p3 * z3))).store(k.of + j);
                    total[0] = total[0] + p0 * other;
                    total[1] = total[1] + p1 * other;
                    total[2] = total[2] + p2 * other;
                    total[3] = total[3] + p3 * other;
                }
            }
            for (std::size_t n = 0; n < some; ++n) k.of[i + n] += sum(total[n]);
        }
    }
}

// P -= a a'.
inline void subtract_square(const NewtonLane& lane, const Bordered& a, bool bias, std::size_t blocks) {
    for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t length = (block + 1) * 8;
        for (std::size_t i = block * 8; i < length; ++i) {
            double* const p = lane.half + half_row(i);
            const Vec8 factor = Vec8::all(a.of[i]);
            for (std::size_t j = 0; j < length; j += 8)
                (Vec8::load(p + j) - factor * Vec8::load(a.of + j)).store(p + j);
        }
    }
    if (!bias) return;
    const Vec8 factor = Vec8::all(a.bias);
    for (std::size_t j = 0; j < blocks * 8; j += 8)
        (Vec8::load(lane.border + j) - factor * Vec8::load(a.of + j)).store(lane.border + j);
    *lane.corner -= a.bias * a.bias;
}

// A scale has grown, s' = s/rho. In the new unit, v_i and row and column i of P are divided by rho, and with them the
// prior P = I/prior. The prior is corrected, as if the unit had been the new one from the beginning: with c = prior (1
// - rho^2), P -= c/(1 + c P_ii) P_i P_i' after the division. Both steps are combined, so that nothing overflows however
// small rho is:
//   d = rho^2 + c P_ii;  P_jl -= c/d P_ji P_li;  P_ji *= rho/d;  P_ii *= 1/d;  v_j -= c/d P_ji v_i;  v_i *= rho/d
inline void grow(const NewtonLane& lane, const Growth& growth, bool bias, std::size_t features) {
    const std::size_t i = growth.place, blocks = blocks_of(features);
    double* const own = lane.half + half_entry(i, i);
    if (growth.rho == 0) {
        *own = 1.0 / lane.how.prior;
        return;
    }
    const double rho = growth.rho, c = lane.how.prior * (1.0 - rho * rho), variance = larger(*own, __DBL_MIN__);
    const double d = rho * rho + c * variance, f = c / d, shrink = rho / d, root = square_root(f);
    Bordered column{}, a{};
    for (std::size_t j = 0; j < features; ++j) {
        column.of[j] = lane.half[half_entry(i, j)];
        a.of[j] = root * column.of[j];
    }
    column.bias = lane.border[i];
    a.bias = root * column.bias;
    subtract_square(lane, a, bias, blocks);
    for (std::size_t j = 0; j < features; ++j)
        if (j != i) set_entry(lane.half, i, j, column.of[j] * shrink);
    *own = variance / d;
    lane.border[i] = column.bias * shrink;
    for (std::size_t head = 0; head < lane.heads; ++head) {
        double* const v = lane.v + head * most_places;
        const double move = f * v[i], kept = v[i] * shrink;
        for (std::size_t j = 0; j < features; ++j) v[j] -= move * column.of[j];
        lane.bias_v[head] -= move * column.bias;
        v[i] = kept;
    }
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
