// Rows on their way to the lanes: what all lanes share is computed once.
#pragma once

#include "algorithm/rule.hpp"
#include "engine/lanes/kernel.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// Steps 2.(a) to (c) of the paper's algorithms, for all lanes: x becomes z, the scales, t and N move on.
template <class Rule>
class Stager {
    using Scale = typename Rule::Scale;

  public:
    Stager(const Options& options, double* scale, const Stage& to)
        : one_(options.bias ? 1.0 : 0.0), scale_(scale), to_(to) {}

    // False if a value left the range of numbers: the row is not to be learned.
    bool learn(const SparseInput& input, std::size_t r, double h, Clock& clock) {
        StagedRow& row = begin(r);
        grown_ = tiny_ = false;
        const std::size_t first = begin_of(input, r), count = end_of(input, r) - first;
        const double bias_before = scale_[0], root_h = square_root(h);
        double one_squared = 0;
        if (one_ != 0) {
            const Observed one = observe_bias<Scale>(scale_[0], one_, h);
            take(0, one.z, one.rho);
            one_squared = one.z * one.z;
        }
        Vec8 squares = Vec8::all(0.0);  // by place in the row
        std::size_t k = 0;
        for (; k + width <= count; k += width)
            squares = squares + some(input.slots + first + k, input.values + first + k, width, k, h, root_h);
        if (k < count) squares = squares + last(input, first + k, count - k, k, h, root_h);
        const double zz = one_squared + sum(squares);
        const double t = clock.t + h, N = clock.N + h * (Rule::spread_squared(clock.t + 1) * zz);
        if (!is_finite(t) || !is_finite(N)) {
            scale_[0] = bias_before;
            for (k = 0; k < count; ++k) scale_[input.slots[first + k]] = to_.before[k];
            return false;
        }
        row.spread = Rule::spread(clock.t + 1);
        clock.t = t;
        clock.T += h;
        clock.N = N;
        clock.examples += 1;
        row.end = at_;
        row.grown = grown_;
        row.tiny = tiny_;
        row.weight = h;
        row.damp = N > 0 ? Rule::damp(clock.T / N) : 0.0;
        row.root_t = square_root(t);
        row.zz = zz;
        return true;
    }

    // Only looks.
    void predict(const SparseInput& input, std::size_t r, const Clock& clock, bool extrapolate) {
        StagedRow& row = begin(r);
        const auto look = [&](std::uint32_t slot, double x) {
            const double s = scale_[slot];
            take(slot, extrapolate ? Scale::linear(s, x) : Scale::peek(s, x), 1.0);
        };
        if (one_ != 0) look(0, one_);
        for (std::size_t k = begin_of(input, r); k < end_of(input, r); ++k) look(input.slots[k], input.values[k]);
        row.end = at_;
        row.weight = 0;
        row.spread = Rule::spread(extrapolate ? clock.t : clock.t + 1);
    }

  private:
    double one_;
    double* scale_;
    Stage to_;
    std::size_t begin_ = 0, at_ = 0;  // of the row; where the next feature goes
    bool grown_ = false, tiny_ = false;

    void take(std::uint32_t slot, double z, double rho) {
        to_.slot[at_] = slot;
        to_.z[at_] = z;
        to_.squared[at_] = z * z;
        to_.rho[at_] = rho;
        grown_ |= rho != 1.0;
        tiny_ |= z * z < tiny_square;
        at_ += z != 0;
    }

    // Up to eight features of a row, `count` of them real; gives z^2 of each.
    UNITLESS_INLINE Vec8 some(const std::uint32_t* slots, const double* values, std::size_t count, std::size_t place,
                              double h, double root_h) {
        const Mask8 real = Vec8::load(ordinals) < static_cast<double>(count);
        const Vec8 x = select(real, Vec8::load(values), 0.0), s = Vec8::gather(scale_, slots);
        s.store(to_.before + place);
        if (!ordinary(x, s, root_h)) return one_by_one(slots, values, count, h);
        Vec8 z = x, rho = Vec8::all(1.0);
        if constexpr (std::is_same_v<Scale, RmsScale>) {  // the same numbers, eight at a time
            const Vec8 q = x * (1.0 / s) * Vec8::all(root_h), root = square_root(1.0 + q * q);
            rho = 1.0 / root;
            const Vec8 once = x * (1.0 / s);  // z is that of weight 1
            z = root_h == 1 ? q * rho : once * (1.0 / square_root(1.0 + once * once));
            double now[width];
            (s * root).store(now);
            for (std::size_t i = 0; i < count; ++i) scale_[slots[i]] = now[i];
            grown_ = true;
        } else if constexpr (!std::is_same_v<Scale, RawScale>) {
            z = x * (1.0 / s);
        }
        const Vec8 squared = z * z;
        z.store(to_.z + at_);
        squared.store(to_.squared + at_);
        if (grown_) rho.store(to_.rho + at_);  // elsewhere nobody looks: fewer lines go from one core to another
        __builtin_memcpy(to_.slot + at_, slots, width * sizeof(*slots));
        if (any((squared < tiny_square) & real)) [[unlikely]] {
            std::size_t kept = 0;
            for (std::size_t i = 0; i < count; ++i) {  // zeros are left out
                const double here = to_.z[at_ + i];
                to_.slot[at_ + kept] = to_.slot[at_ + i];
                to_.z[at_ + kept] = here;
                to_.squared[at_ + kept] = here * here;
                if (grown_) to_.rho[at_ + kept] = to_.rho[at_ + i];
                kept += here != 0;
            }
            tiny_ = true;
            at_ += kept;
        } else {
            at_ += count;
        }
        return squared;
    }
    static constexpr double ordinals[width] = {0, 1, 2, 3, 4, 5, 6, 7};

    // The last features of a row, fewer than eight. Beyond them lie those of the rows that follow, which do no harm;
    // where there are none, the first one's do.
    UNITLESS_INLINE Vec8 last(const SparseInput& input, std::size_t at, std::size_t count, std::size_t place, double h,
                              double root_h) {
        if (at + width <= end_of(input, input.rows - 1))
            return some(input.slots + at, input.values + at, count, place, h, root_h);
        std::uint32_t slots[width];
        double values[width];
        for (std::size_t i = 0; i < width; ++i) {
            slots[i] = input.slots[at + (i < count ? i : 0)];
            values[i] = input.values[at + (i < count ? i : 0)];
        }
        return some(slots, values, count, place, h, root_h);
    }

    UNITLESS_RARE Vec8 one_by_one(const std::uint32_t* slots, const double* values, std::size_t count, double h) {
        double zz[width] = {};
        for (std::size_t k = begin_; !grown_ && k < at_; ++k) to_.rho[k] = 1.0;
        for (std::size_t i = 0; i < count; ++i) {
            const Observed seen = Scale::observe(scale_[slots[i]], values[i], h);
            take(slots[i], seen.z, seen.rho);
            zz[i] = seen.z * seen.z;
        }
        return Vec8::load(zz);
    }

    // Are all scales ordinary numbers, and no value new to its scale?
    static bool ordinary(const Vec8& x, const Vec8& s, double root_h) {
        Vec8 limit = s;
        if constexpr (std::is_same_v<Scale, RmsScale>)
            limit = smaller(s * Vec8::all(RmsScale::negligible / (2 + root_h)),
                            Vec8::all(scale_ceiling / (2 + root_h)));  // so that r stays a number
        return !any(s < Vec8::all(scale_floor)) && !any(s > Vec8::all(scale_ceiling)) && !any_beyond(x, limit);
    }
    StagedRow& begin(std::size_t r) {
        to_.rows[r].begin = begin_ = at_;
        return to_.rows[r];
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
