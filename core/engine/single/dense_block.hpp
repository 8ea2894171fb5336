// Dense rows on their way into the kernel, a block at a time: the caller's x become z, and the scales learn.
//
// Scales depend on x alone, so a row can be made dimensionless while the row before it is still being learned: that
// fills the gaps in which the learning waits for its own results. What follows never sees a unit.
#pragma once

#include "base/limits.hpp"
#include "engine/single/dense_scale.hpp"
#include "engine/single/kernel.hpp"
#include "rows/dense_input.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

enum class RowKind : unsigned char { steady, grown, weightless };  // grown: its rho are to be applied

inline bool all_usable(const double* x, std::size_t length) {
    const Vec8 most = Vec8::all(largest_value);
    Flags beyond;
    for (std::size_t j = 0; j < length; j += width) beyond.note_beyond(Vec8::load(x + j), most);
    return !beyond.any();
}

template <class Scale>
class DenseBlock {
  public:
    DenseBlock(const DenseInput& input, const Pack& pack, std::size_t chunks, double* memory)
        : input_(input),
          scale_(pack, chunks),
          chunks_(chunks),
          length_(chunks * width),
          active_{pack.active, pack.active + chunks},
          z_(memory),
          rho_(memory + block_rows(chunks) * length_) {
        // What no column feeds stays zero.
        const std::size_t from = input.columns ? 0 : input.column_count;
        for (std::size_t r = 0; r < block_rows(chunks); ++r) clear(z(r) + from, length_ - from);
    }

    // Starts on rows [first, first + rows). Each row is then to be observed or peeked at, in order.
    void begin(std::size_t first, std::size_t rows) {
        first_ = first;
        if (input_.columns) widen_block(input_, first, rows, z_, length_);
    }

    // Learns the scales of row r of the block, which has weight h.
    UNITLESS_INLINE Outcome observe(std::size_t r, double h) {
        kind_[r] = RowKind::steady;
        if (h > 0 && fast(r)) return {};
        const Outcome seen = widen_and_check(r);
        if (h > 0) {
            if (seen.status == Status::ok && scale_.observe(z(r), h, rho(r))) kind_[r] = RowKind::grown;
        } else {
            scale_.peek(z(r));
            kind_[r] = RowKind::weightless;
        }
        active_count_[r % 2] = find_active(z(r), chunks_, active(r));
        return seen;
    }

    // bias + sum v z of a row that is only looked at, where that is quick.
    UNITLESS_INLINE bool dot(std::size_t r, double bias, double& result) const {
        if (input_.columns) return false;
        const char* x = input_.data + static_cast<std::ptrdiff_t>(first_ + r) * input_.row_stride;
        if (input_.type == Type::f32)
            return scale_.dot_within(reinterpret_cast<const float*>(x), input_.column_count, bias, result);
        if (input_.type == Type::f64)
            return scale_.dot_within(reinterpret_cast<const double*>(x), input_.column_count, bias, result);
        return false;
    }

    // The same for `rows_at_once` rows from r on.
    static constexpr std::size_t rows_at_once = DenseScale<Scale>::rows_at_once;
    UNITLESS_INLINE bool dots(std::size_t r, double bias, double* results) const {
        if (input_.columns) return false;
        const char* x = input_.data + static_cast<std::ptrdiff_t>(first_ + r) * input_.row_stride;
        if (input_.type == Type::f32)
            return scale_.template dots_within<float>(x, input_.row_stride, input_.column_count, bias, results);
        if (input_.type == Type::f64)
            return scale_.template dots_within<double>(x, input_.row_stride, input_.column_count, bias, results);
        return false;
    }

    // Only looks.
    Outcome peek(std::size_t r, bool extrapolate) {
        const Outcome seen = widen_and_check(r);
        extrapolate ? scale_.linear(z(r)) : scale_.peek(z(r));
        active_count_[r % 2] = find_active(z(r), chunks_, active(r));
        return seen;
    }

    // Asks the memory for a row that will be staged later, while the processor has other work.
    void prefetch(std::size_t row) const {
        if (input_.columns || row >= input_.rows) return;
        const char* x = input_.data + static_cast<std::ptrdiff_t>(row) * input_.row_stride;
        const std::size_t bytes = input_.column_count * (input_.type == Type::f32 ? 4 : 8);
        for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(x + at);
    }

    double* z(std::size_t r) { return z_ + r * length_; }
    double* rho(std::size_t r) { return rho_ + r * length_; }
    RowKind kind(std::size_t r) const { return kind_[r]; }
    // The chunks of row r that count. They are kept for two rows: the one being learned and the one being staged.
    std::uint32_t* active(std::size_t r) { return active_[r % 2]; }
    std::size_t active_count(std::size_t r) const { return active_count_[r % 2]; }

  private:
    const DenseInput& input_;
    DenseScale<Scale> scale_;
    std::size_t chunks_, length_, first_ = 0;
    std::uint32_t* active_[2];
    std::size_t active_count_[2] = {};
    double *z_, *rho_;
    RowKind kind_[64] = {};

    Outcome widen_and_check(std::size_t r) {
        if (!input_.columns) widen(input_, first_ + r, z(r));
        if (!all_usable(z(r), length_))
            for (std::size_t j = 0; j < length_; ++j)
                if (!(absolute(z(r)[j]) <= largest_value)) return {Status::bad_value, first_ + r, column_of(input_, j)};
        return {};
    }

    // Rows of floating-point numbers that lie side by side and hold nothing new.
    UNITLESS_INLINE bool fast(std::size_t r) {
        if (input_.columns) return false;
        const char* x = input_.data + static_cast<std::ptrdiff_t>(first_ + r) * input_.row_stride;
        if (input_.type == Type::f32) return within(reinterpret_cast<const float*>(x), r);
        if (input_.type == Type::f64) return within(reinterpret_cast<const double*>(x), r);
        return false;
    }

    template <class T>
    bool within(const T* x, std::size_t r) {
        return scale_.within(x, input_.column_count, z(r), active(r), active_count_[r % 2]);
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
