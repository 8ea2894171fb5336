// The paper's step, written once for all engines: section 3, Algorithms 1 and 2, steps 2.(a).i to 2.(d), in the
// dimensionless state of rule.hpp.
//
// A row is a list of terms. A term has the value z, and for each learner the weight v and the squared gradients H:
//
//   rescale      H *= rho^2, v *= rho, as the rule requires               2.(a).i, when a scale has grown
//   dot          sum v z                                                  2.(b)
//   accumulate   H += h (g z)^2;  step = z/sqrt(H);  reach = sum z step   2.(d).i
//   add          v += move step                                           2.(d).ii
//
// The loss computes `move` between the last two: importance_aware_move in loss.hpp.
//
// There are two kinds of terms, which differ in what a register holds:
//
//   FeatureTerms   eight features of one learner: sums run across the register; slope, reach and move are numbers
//   LearnerTerms   one feature of eight or four learners: sums run over the terms; slope, reach and move are registers
#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithm/rule.hpp"
#include "simd/vec8.hpp"

namespace unitless {

// Memory for the features of one learner, in chunks of eight. The register position is (slot - 1) mod 8 for dense rows,
// and the order of the row for sparse rows.
struct Pack {
    double* x;  // the row: x, replaced by z when the scales are applied
    double* scale;
    double* inverse;  // 1/scale, for dense rows only
    double* v;
    double* H;
    double* rho;   // scale before / scale now
    double* step;  // z/sqrt(H)
    std::uint32_t* slot;
    std::uint32_t* active;  // the chunks with a nonzero value
};

inline namespace UNITLESS_ISA {

struct FeatureTerms {
    using Register = Vec8;
    using Number = double;
    static constexpr bool four_sums = false;  // four sums would depend on which other chunks are zero

    Pack pack;
    std::size_t count;  // the number of active chunks

    UNITLESS_INLINE std::size_t at(std::size_t i) const { return std::size_t{pack.active[i]} * width; }
    UNITLESS_INLINE Vec8 z(std::size_t i) const { return Vec8::load(pack.x + at(i)); }
    UNITLESS_INLINE Vec8 rho(std::size_t i) const { return Vec8::load(pack.rho + at(i)); }
    UNITLESS_INLINE double* v(std::size_t i) const { return pack.v + at(i); }
    UNITLESS_INLINE double* H(std::size_t i) const { return pack.H + at(i); }
    UNITLESS_INLINE double* step(std::size_t i) const { return pack.step + at(i); }
    static UNITLESS_INLINE double total(const Vec8& each) { return sum(each); }
};

template <class Numbers>
struct LearnerTerms {
    using Register = Numbers;
    using Number = Numbers;
    static constexpr bool four_sums = true;  // four sums do not wait for each other

    double* state;              // [slot][v of 8 learners, H of 8 learners]
    const std::uint32_t* slot;  // by term
    const double *zs, *rhos;
    double* steps;  // [term][8]
    std::size_t count;

    UNITLESS_INLINE Numbers z(std::size_t i) const { return Numbers::all(zs[i]); }
    UNITLESS_INLINE Numbers rho(std::size_t i) const { return Numbers::all(rhos[i]); }
    UNITLESS_INLINE double* v(std::size_t i) const { return state + std::size_t{slot[i]} * (2 * width); }
    UNITLESS_INLINE double* H(std::size_t i) const { return v(i) + width; }
    UNITLESS_INLINE double* step(std::size_t i) const { return steps + i * width; }
    static UNITLESS_INLINE Numbers total(const Numbers& each) { return each; }
};

// Returns `start` plus the sum of each(i) over the terms, in a fixed order: zero terms at the end change no bit.
template <class Terms, class Each>
UNITLESS_INLINE auto add_up(const Terms& terms, const typename Terms::Register& start, const Each& each) {
    using Register = typename Terms::Register;
    const std::size_t count = terms.count;
    std::size_t i = 0;
    if constexpr (Terms::four_sums) {
        Register first = start, second = Register::all(0.0), third = second, fourth = second;
        for (; i + 4 <= count; i += 4) {
            first = first + each(i);
            second = second + each(i + 1);
            third = third + each(i + 2);
            fourth = fourth + each(i + 3);
        }
        if (i < count) first = first + each(i);
        if (i + 1 < count) second = second + each(i + 1);
        if (i + 2 < count) third = third + each(i + 2);
        return (first + second) + (third + fourth);
    } else {
        Register total = start;
        for (; i < count; ++i) total = total + each(i);
        return total;
    }
}

// Applies the growth of a scale, rho = scale before / scale now.
template <class T>
UNITLESS_INLINE void rescale(Rescale how, const T& rho, T& v, T& H) {
    if (how == Rescale::none) return;
    H = H * (rho * rho);
    if (how == Rescale::v_by_rho) v = v * rho;
}
template <class Terms>
void rescale(Rescale how, const Terms& terms) {
    using Register = typename Terms::Register;
    if (how == Rescale::none) return;
    for (std::size_t i = 0; i < terms.count; ++i) {
        Register v = Register::load(terms.v(i)), H = Register::load(terms.H(i));
        rescale(how, terms.rho(i), v, H);
        v.store(terms.v(i));
        H.store(terms.H(i));
    }
}

// Returns `start` + sum v z.
template <class Terms>
UNITLESS_INLINE typename Terms::Number dot(const Terms& terms, const typename Terms::Register& start) {
    using Register = typename Terms::Register;
    return Terms::total(add_up(
        terms, start, [&](std::size_t i) UNITLESS_INLINE_LAMBDA { return Register::load(terms.v(i)) * terms.z(i); }));
}

// One term: adds the weighted squared gradient to H and returns the step z/sqrt(H). `squared` is h g^2. For rules
// without adaptive rates the step is z, and H is the sum of h z^2, which merging uses as the evidence for a weight.
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
// All terms. Returns `start` + reach.
template <bool adaptive, class Terms>
UNITLESS_INLINE typename Terms::Number accumulate(const Terms& terms, const typename Terms::Register& squared, double h,
                                                  const typename Terms::Register& start) {
    using Register = typename Terms::Register;
    return Terms::total(add_up(terms, start, [&](std::size_t i) UNITLESS_INLINE_LAMBDA {
        const Register z = terms.z(i);
        Register H = Register::load(terms.H(i));
        const Register step = accumulate<adaptive>(H, z, squared, h);
        H.store(terms.H(i));
        step.store(terms.step(i));
        return z * step;
    }));
}

template <class Terms>
UNITLESS_INLINE void add(const Terms& terms, const typename Terms::Register& move) {
    using Register = typename Terms::Register;
    for (std::size_t i = 0; i < terms.count; ++i)
        (Register::load(terms.v(i)) + move * Register::load(terms.step(i))).store(terms.v(i));
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
