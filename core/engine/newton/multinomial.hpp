// The softmax of scores o: its loss, and the implicit step along one direction that all heads share.
#pragma once

#include "engine/newton/kernel.hpp"
#include "simd/elementary.hpp"
#include "simd/elementary8.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

inline double largest_of(const double* o, std::size_t heads) {
    double most = o[0];
    for (std::size_t head = 1; head < heads; ++head) most = larger(most, o[head]);
    return most;
}

// The sum of e^(o - most) over all heads but one.
inline double sum_of_others(const double* o, std::size_t heads, double most, std::size_t but) {
    Vec8 total = Vec8::all(0.0);
    for (std::size_t first = 0; first < heads; first += width) {
        double some[width];
        for (std::size_t i = 0; i < width; ++i)
            some[i] = first + i < heads && first + i != but ? o[first + i] - most : -infinity;
        const Vec8 x = Vec8::load(some);
        total = total + select(x > -708.0, exp(x), 0.0);
    }
    return sum(total);
}

// -log p_y, without cancellation where p_y is nearly 1.
inline double multinomial_loss(const double* o, std::size_t heads, std::size_t y) {
    const double most = largest_of(o, heads), own = o[y] - most, others = sum_of_others(o, heads, most, y);
    return own == 0 ? log1p(others) : log(others + exp(own)) - own;
}

// Computes the scores after a step, o' = o + tau (onehot(y) - softmax(o')). They minimize delta^2/2 - tau log p_y(o +
// delta) over delta = o' - o. Newton's method: the Jacobian of F = delta - tau (onehot - p(o + delta)) is I + tau (diag
// p - p p'), which has an explicit inverse. An iteration changes no score by more than `longest`, and is halved if it
// increases the objective.
class Multinomial {
  public:
    // `memory`: six doubles per head, padded.
    Multinomial(std::size_t heads, double* memory) : heads_(heads), padded_(padded_heads(heads)), memory_(memory) {
        for (std::size_t i = 0; i < 6 * padded_; ++i) memory_[i] = 0;
        for (std::size_t head = heads; head < padded_; ++head) o()[head] = -infinity;
    }

    double* scores() { return o(); }

    void solve(std::size_t y, double tau) {
        y_ = y;
        for (std::size_t head = 0; head < heads_; ++head) delta()[head] = 0;
        double height = evaluate(tau);
        for (int i = 0; tau > 0 && i < 200; ++i) {
            double length = find_step(tau), part = length > longest ? longest / length : 1.0, size = 0;
            for (std::size_t head = 0; head < heads_; ++head) before()[head] = delta()[head];
            double after = 0;
            for (int halved = 0; halved < 60; ++halved, part *= 0.5) {
                size = 0;
                for (std::size_t head = 0; head < heads_; ++head) {
                    delta()[head] = before()[head] - part * step()[head];
                    size = larger(size, absolute(delta()[head]));
                }
                after = evaluate(tau);
                if (after <= height * (1.0 + 1e-9)) break;
            }
            height = after;
            if (!(part * length > 1e-8 * size)) break;
        }
    }

    // onehot - p after the step, per unit of weight.
    double slope(std::size_t head, double tau) {
        if (tau > 0) return delta()[head] / tau;
        return head == y_ ? others_ : -p()[head];
    }
    // Half the trace of diag p - p p'.
    double curvature() {
        double total = 0;
        for (std::size_t head = 0; head < heads_; ++head) total += p()[head] * (head == y_ ? others_ : 1.0 - p()[head]);
        return 0.5 * total;
    }

  private:
    static constexpr double longest = 5;
    std::size_t heads_, padded_, y_ = 0;
    double others_ = 0;  // 1 - p_y
    double* memory_;

    double* o() { return memory_; }
    double* delta() { return o() + padded_; }
    double* p() { return o() + 2 * padded_; }
    double* step() { return o() + 3 * padded_; }
    double* weight() { return o() + 4 * padded_; }
    double* before() { return o() + 5 * padded_; }

    // Computes p at delta, and returns the objective that the step minimizes.
    double evaluate(double tau) {
        double most = -infinity, square = 0;
        for (std::size_t head = 0; head < heads_; ++head) {
            most = larger(most, o()[head] + delta()[head]);
            square += delta()[head] * delta()[head];
        }
        Vec8 total = Vec8::all(0.0);
        for (std::size_t first = 0; first < padded_; first += width) {
            const Vec8 x = (Vec8::load(o() + first) + Vec8::load(delta() + first)) - most;
            const Vec8 e = select(x > -708.0, exp(x), 0.0);
            e.store(p() + first);
            total = total + e;
        }
        const double all = sum(total);
        double others = 0;
        for (std::size_t head = 0; head < heads_; ++head) others += head == y_ ? 0.0 : p()[head];
        others_ = others / (p()[y_] + others);
        for (std::size_t first = 0; first < padded_; first += width)
            (Vec8::load(p() + first) * (1.0 / all)).store(p() + first);
        return 0.5 * square + tau * (log(all) - (o()[y_] + delta()[y_] - most));
    }

    // Computes Newton's step, and returns its largest change.
    double find_step(double tau) {
        double across = 0, rest = 0;  // p'D F; 1 - tau p'D p = sum of p D, with D = 1/(1 + tau p)
        for (std::size_t head = 0; head < heads_; ++head) {
            const double share = p()[head], d = 1.0 / (1.0 + tau * share);
            step()[head] = d * (delta()[head] - tau * (head == y_ ? others_ : -share));
            weight()[head] = share * d;
            across += share * step()[head];
            rest += weight()[head];
        }
        const double factor = tau * across / rest;
        double length = 0;
        for (std::size_t head = 0; head < heads_; ++head) {
            step()[head] += factor * weight()[head];
            length = larger(length, absolute(step()[head]));
        }
        return length;
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
