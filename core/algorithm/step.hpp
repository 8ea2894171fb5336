// The paper's step, written once for all engines: section 3, Algorithms 1 and 2, steps 2.(a).i to 2.(d), in the
// dimensionless state of rule.hpp.
//
// A row is a list of terms. A term has the value z and, of each learner, the weight v and the squared gradients H:
//
//   rescale      H *= rho^2, v *= rho where the rule says so              2.(a).i, when a scale has grown
//   dot          sum v z                                                  2.(b)
//   accumulate   H += h (g z)^2;  step = z/sqrt(H);  reach = sum z step   2.(d).i
//   add          v += move step                                           2.(d).ii
//
// Between the last two the loss says how far to move: importance_aware_move in loss.hpp.
//
// There are two kinds of terms, which differ in what a register holds:
//
//   FeatureTerms   eight features of one learner: sums run across the register; slope, reach and move are numbers
//   LearnerTerms   one feature of eight learners: sums run over the terms; slope, reach and move are registers
#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithm/rule.hpp"
#include "simd/vec8.hpp"

namespace unitless {

// Memory of the features of one learner in chunks of eight; register position (slot - 1) mod 8, or as the row has them.
struct Pack {
    double* x;  // the row: x, then z when its scales have been applied
    double* scale;
    double* inverse;  // 1/scale, of dense rows only
    double* v;
    double* H;
    double* rho;   // scale before / scale now
    double* step;  // z/sqrt(H)
    std::uint32_t* slot;
    std::uint32_t* active;  // the chunks that hold a value other than zero
};

inline namespace UNITLESS_ISA {

struct FeatureTerms {
    using Number = double;
    static constexpr std::size_t sums = 1;  // more would make sums depend on which other chunks are zero

    Pack pack;
    std::size_t count;  // of active chunks

    UNITLESS_INLINE std::size_t at(std::size_t i) const { return std::size_t{pack.active[i]} * width; }
    UNITLESS_INLINE Vec8 z(std::size_t i) const { return Vec8::load(pack.x + at(i)); }
    UNITLESS_INLINE Vec8 rho(std::size_t i) const { return Vec8::load(pack.rho + at(i)); }
    UNITLESS_INLINE double* v(std::size_t i) const { return pack.v + at(i); }
    UNITLESS_INLINE double* H(std::size_t i) const { return pack.H + at(i); }
    UNITLESS_INLINE double* step(std::size_t i) const { return pack.step + at(i); }
    static UNITLESS_INLINE double total(const Vec8& each) { return sum(each); }
};

struct LearnerTerms {
    using Number = Vec8;
    static constexpr std::size_t sums = 4;  // which do not wait for one another

    double* state;              // [slot][v of 8, H of 8]
    const std::uint32_t* slot;  // by term
    const double *zs, *rhos;
    double* steps;  // [term][8]
    std::size_t count;

    UNITLESS_INLINE Vec8 z(std::size_t i) const { return Vec8::all(zs[i]); }
    UNITLESS_INLINE Vec8 rho(std::size_t i) const { return Vec8::all(rhos[i]); }
    UNITLESS_INLINE double* v(std::size_t i) const { return state + std::size_t{slot[i]} * (2 * width); }
    UNITLESS_INLINE double* H(std::size_t i) const { return v(i) + width; }
    UNITLESS_INLINE double* step(std::size_t i) const { return steps + i * width; }
    static UNITLESS_INLINE Vec8 total(const Vec8& each) { return each; }
};

// The sum of each(i) over the terms, added to `start`, in a fixed order: terms at the end that are zero change nothing.
template <class Terms, class Each>
UNITLESS_INLINE Vec8 add_up(const Terms& terms, const Vec8& start, const Each& each) {
    constexpr std::size_t sums = Terms::sums;
    Vec8 part[sums];
    part[0] = start;
    for (std::size_t k = 1; k < sums; ++k) part[k] = Vec8::all(0.0);
    std::size_t i = 0;
    for (; i + sums <= terms.count; i += sums)
        for (std::size_t k = 0; k < sums; ++k) part[k] = part[k] + each(i + k);
    for (std::size_t k = 0; i < terms.count; ++i, ++k) part[k] = part[k] + each(i);
    if constexpr (sums == 4) return (part[0] + part[1]) + (part[2] + part[3]);
    return part[0];
}

// Where a scale has grown, rho = scale before / scale now.
template <class T>
UNITLESS_INLINE void rescale(Rescale how, const T& rho, T& v, T& H) {
    if (how == Rescale::none) return;
    H = H * (rho * rho);
    if (how == Rescale::v_by_rho) v = v * rho;
}
template <class Terms>
void rescale(Rescale how, const Terms& terms) {
    if (how == Rescale::none) return;
    for (std::size_t i = 0; i < terms.count; ++i) {
        Vec8 v = Vec8::load(terms.v(i)), H = Vec8::load(terms.H(i));
        rescale(how, terms.rho(i), v, H);
        v.store(terms.v(i));
        H.store(terms.H(i));
    }
}

// sum v z; `start` is what is added to it.
template <class Terms>
UNITLESS_INLINE typename Terms::Number dot(const Terms& terms, const Vec8& start) {
    return Terms::total(add_up(
        terms, start, [&](std::size_t i) UNITLESS_INLINE_LAMBDA { return Vec8::load(terms.v(i)) * terms.z(i); }));
}

// One term: H grows by the weighted squared gradient, `squared` being h g^2; gives the step z/sqrt(H). Rules without
// adaptive rates step by z, and H is the sum of h z^2, the evidence for a weight that merging asks for.
template <bool adaptive, class T>
UNITLESS_INLINE T accumulate(T& H, const T& z, const T& squared, double h) {
    if constexpr (adaptive) {
        H = H + squared * (z * z);
        return z * inverse_root(H);
    } else {
        H = H + h * (z * z);
        return z;
    }
}
// All terms; gives the reach, added to `start`.
template <bool adaptive, class Terms>
UNITLESS_INLINE typename Terms::Number accumulate(const Terms& terms, const Vec8& squared, double h,
                                                  const Vec8& start) {
    return Terms::total(add_up(terms, start, [&](std::size_t i) UNITLESS_INLINE_LAMBDA {
        const Vec8 z = terms.z(i);
        Vec8 H = Vec8::load(terms.H(i));
        const Vec8 step = accumulate<adaptive>(H, z, squared, h);
        H.store(terms.H(i));
        step.store(terms.step(i));
        return z * step;
    }));
}

template <class Terms>
UNITLESS_INLINE void add(const Terms& terms, const Vec8& move) {
    for (std::size_t i = 0; i < terms.count; ++i)
        (Vec8::load(terms.v(i)) + move * Vec8::load(terms.step(i))).store(terms.v(i));
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
