// Dense rows for the kernel, a block at a time: the caller's x becomes z, and the scales are updated.
//
// Scales depend only on x, so a row can be made dimensionless while the previous row is still being learned. This fills
// the gaps in which learning waits for its own results. The code after this step never sees a unit.
#pragma once

#include "algorithm/scale8.hpp"
#include "algorithm/step.hpp"
#include "base/limits.hpp"
#include "engine/single/kernel.hpp"
#include "rows/dense_input.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

enum class RowKind : unsigned char { steady, grown, weightless };  // grown: some rho is not 1

inline bool has_plain_inverse(double s) { return s == 0 || (s >= scale_floor && s <= scale_ceiling); }

template <class Scale>
class DenseBlock {
  public:
    DenseBlock(const DenseRows& input, const Pack& pack, std::size_t chunks, double* memory)
        : input_(input),
          pack_(pack),
          chunks_(chunks),
          length_(chunks * width),
          active_{pack.active, pack.active + chunks},
          z_(memory),
          rho_(memory + block_rows(chunks) * length_) {
        for (std::size_t j = 0; j < length_; ++j) refresh(j);
        // Positions without a column stay zero.
        const std::size_t from = input.columns ? 0 : input.column_count;
        for (std::size_t r = 0; r < block_rows(chunks); ++r) clear(z(r) + from, length_ - from);
    }

    // Starts rows [first, first + rows). Each row is then observed or peeked at, in order.
    void begin(std::size_t first, std::size_t rows) {
        first_ = first;
        if (input_.columns) widen_block(input_, first, rows, z_, length_);
    }

    // Updates the scales with row r of the block, which has weight h.
    UNITLESS_INLINE Outcome observe(std::size_t r, double h) {
        kind_[r] = RowKind::steady;
        if (h > 0 && with_floats(r, [&](const auto* x) UNITLESS_INLINE_LAMBDA { return within(x, r); })) return {};
        const Outcome seen = widen_and_check(r);
        if (seen.status != Status::ok) return seen;
        if (h > 0) {
            if (observe_scales(z(r), rho(r), h)) kind_[r] = RowKind::grown;
        } else {
            peek_scales(z(r), false);
            kind_[r] = RowKind::weightless;
        }
        active_count_[r % 2] = find_active(z(r), chunks_, active(r));
        return seen;
    }

    // Computes bias + sum v z of `rows_at_once` rows from r on that are only predicted, directly from the caller's
    // numbers: the state of the columns is read once for all of them. Returns false if some value is beyond its scale
    // or not usable.
    static constexpr std::size_t rows_at_once = 4;
    UNITLESS_INLINE bool dots(std::size_t r, double bias, double* results) const {
        if (!is_maximum<Scale> || !plain_) return false;
        return with_floats(r, [&](const auto* x) UNITLESS_INLINE_LAMBDA {
            Mask8 outside{};
            Vec8 total[rows_at_once];
            for (Vec8& one : total) one = Vec8::first(bias);
            const auto eight = [&](auto load, std::size_t j) UNITLESS_INLINE_LAMBDA {
                const Vec8 scale = Vec8::load(pack_.scale + j), inverse = Vec8::load(pack_.inverse + j),
                           v = Vec8::load(pack_.v + j);
                for (std::size_t i = 0; i < rows_at_once; ++i) {
                    const Vec8 value = load(row_after(x, i) + j);
                    outside = outside | beyond(value, scale);
                    total[i] = total[i] + v * (value * inverse);
                }
            };
            const std::size_t count = input_.column_count;
            std::size_t j = 0;
            for (; j + width <= count; j += width)
                eight([](const auto* at) UNITLESS_INLINE_LAMBDA { return Vec8::load(at); }, j);
            if (j < count) eight([&](const auto* at) UNITLESS_INLINE_LAMBDA { return Vec8::load(at, count - j); }, j);
            for (std::size_t i = 0; i < rows_at_once; ++i) results[i] = sum(total[i]);
            return !any(outside);
        });
    }

    // Computes z of a row that is only predicted.
    Outcome peek(std::size_t r, bool extrapolate) {
        const Outcome seen = widen_and_check(r);
        peek_scales(z(r), extrapolate);
        active_count_[r % 2] = find_active(z(r), chunks_, active(r));
        return seen;
    }

    // Prefetches a row that will be staged later.
    void prefetch(std::size_t row) const {
        if (input_.columns || row >= input_.rows) return;
        const char* x = input_.data + static_cast<std::ptrdiff_t>(row) * input_.row_stride;
        const std::size_t bytes = input_.column_count * (input_.type == Type::f32 ? 4 : 8);
        for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(x + at);
    }

    double* z(std::size_t r) const { return z_ + r * length_; }
    double* rho(std::size_t r) const { return rho_ + r * length_; }
    RowKind kind(std::size_t r) const { return kind_[r]; }
    // The active chunks of row r. They are stored for two rows: the one being learned and the one being staged.
    std::uint32_t* active(std::size_t r) const { return active_[r % 2]; }
    FeatureTerms terms(std::size_t r) const {
        FeatureTerms terms{pack_, active_count_[r % 2]};
        terms.pack.x = z(r);
        terms.pack.rho = rho(r);
        terms.pack.active = active(r);
        return terms;
    }

  private:
    const DenseRows& input_;
    Pack pack_;
    std::size_t chunks_, length_, first_ = 0;
    std::uint32_t* active_[2];
    std::size_t active_count_[2] = {};
    double *z_, *rho_;
    bool plain_ = true;  // every scale has a normal inverse, so that x * inverse is ratio(x, s)
    RowKind kind_[64] = {};

    void refresh(std::size_t j) {
        const double s = pack_.scale[j];
        pack_.inverse[j] = s > 0 ? 1.0 / s : 0.0;
        plain_ = plain_ && has_plain_inverse(s);
    }

    // Calls action(row r as the caller's floats or doubles) if they are contiguous; otherwise returns false.
    template <class Action>
    UNITLESS_INLINE bool with_floats(std::size_t r, const Action& action) const {
        if (input_.columns) return false;
        const char* x = input_.data + static_cast<std::ptrdiff_t>(first_ + r) * input_.row_stride;
        if (input_.type == Type::f32) return action(reinterpret_cast<const float*>(x));
        if (input_.type == Type::f64) return action(reinterpret_cast<const double*>(x));
        return false;
    }
    template <class T>
    const T* row_after(const T* x, std::size_t rows) const {
        return reinterpret_cast<const T*>(reinterpret_cast<const char*>(x) +
                                          static_cast<std::ptrdiff_t>(rows) * input_.row_stride);
    }

    Outcome widen_and_check(std::size_t r) {
        if (!input_.columns) widen(input_, first_ + r, z(r));
        const Vec8 most = Vec8::all(largest_value);
        Mask8 outside{};
        for (std::size_t j = 0; j < length_; j += width) outside = outside | beyond(Vec8::load(z(r) + j), most);
        if (!any(outside)) return {};
        std::size_t j = 0;
        while (absolute(z(r)[j]) <= largest_value) ++j;
        return {Status::bad_value, first_ + r, column_of(input_, j)};
    }

    // The path of nearly all rows, directly from the caller's numbers: computes z = x/s and the active chunks. Returns
    // false if some value is beyond its scale or not finite; then z is invalid.
    template <class T>
    bool within(const T* x, std::size_t r) {
        const std::size_t count = input_.column_count;
        if (!is_maximum<Scale> || !plain_ || count < width) return false;
        double* const to = z(r);
        std::uint32_t* const active = this->active(r);
        Mask8 outside{};
        std::size_t n = 0;
        const auto eight = [&](std::size_t j, std::size_t chunk) UNITLESS_INLINE_LAMBDA {
            const Vec8 value = Vec8::load(x + j);
            outside = outside | beyond(value, Vec8::load(pack_.scale + j));
            (value * Vec8::load(pack_.inverse + j)).store(to + j);
            active[n] = static_cast<std::uint32_t>(chunk);
            n += any_nonzero(value);
        };
        std::size_t j = 0;
        for (; j + width <= count; j += width) eight(j, j / width);
        if (j < count) eight(count - width, j / width);  // repeats some of them, with the same result
        active_count_[r % 2] = n;
        return !any(outside);
    }

    // Replaces x by z in place, updates the scales, and sets rho. Returns whether some rho is not 1.
    bool observe_scales(double* x, double* rho, double h) {
        Mask8 grown{};
        for (std::size_t j = 0; j < length_; j += width) {
            const Vec8 value = Vec8::load(x + j), before = Vec8::load(pack_.scale + j);
            if (!any_nonzero(value)) {
                Vec8::all(1.0).store(rho + j);
                continue;
            }
            Vec8 scale = before;
            const Observed8 seen = unitless::observe<Scale>(value, scale, h, 1.0);
            seen.z.store(x + j);
            seen.rho.store(rho + j);
            grown = grown | (seen.rho < 1.0);
            if (!any_beyond(scale, before)) continue;
            scale.store(pack_.scale + j);
            // Other scales do not use inverses.
            for (std::size_t i = j; is_maximum<Scale> && i < j + width; ++i) refresh(i);
        }
        return any(grown);
    }
    void peek_scales(double* x, bool extrapolate) const {
        for (std::size_t j = 0; j < length_; j += width)
            unitless::peek<Scale>(Vec8::load(x + j), Vec8::load(pack_.scale + j), extrapolate).store(x + j);
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
