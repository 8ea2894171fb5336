// The scales of scale.hpp over whole rows: the same numbers, eight at a time where nothing unusual happens.
#pragma once

#include <type_traits>

#include "algorithm/rule.hpp"
#include "algorithm/state.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

inline bool has_plain_inverse(double s) { return s == 0 || (s >= scale_floor && s <= scale_ceiling); }

// Over the rows of one call. `plain`: every scale has a normal inverse, so that x * inverse is ratio(x, s).
template <class Scale>
class DenseScale {
    static constexpr bool raw = std::is_same_v<Scale, RawScale>, rms = std::is_same_v<Scale, RmsScale>;

  public:
    DenseScale(const Pack& pack, std::size_t chunks) : pack_(pack), size_(chunks * width) {
        for (std::size_t j = 0; j < size_; ++j) refresh(j);
    }

    // The way of nearly all rows, straight from the caller's numbers: z = x/s, and the active chunks (see find_active).
    // False if some value is new to its scale or not finite; then z is not to be used.
    template <class T>
    bool within(const T* x, std::size_t count, double* z, std::uint32_t* active, std::size_t& active_count) const {
        if (raw || rms || !plain_ || count < width) return false;
        const double *scale = pack_.scale, *inverse = pack_.inverse;
        Flags beyond;
        std::size_t n = 0;
        const auto eight = [&](std::size_t j, std::size_t chunk) {
            const Vec8 value = Vec8::load(x + j);
            beyond.note_beyond(value, Vec8::load(scale + j));
            (value * Vec8::load(inverse + j)).store(z + j);
            active[n] = static_cast<std::uint32_t>(chunk);
            n += any_nonzero(value);
        };
        std::size_t j = 0;
        for (; j + width <= count; j += width) eight(j, j / width);
        if (j < count) eight(count - width, j / width);  // some of them for the second time, with the same result
        active_count = n;
        return !beyond.any();
    }

    // bias + sum v x/s for a row that is only looked at, without a trace of it: the same conditions, the same bits as
    // by way of z.
    template <class T>
    UNITLESS_INLINE bool dot_within(const T* x, std::size_t count, double bias, double& result) const {
        if (raw || rms || !plain_) return false;
        Flags beyond;
        Vec8 total = Vec8::first(bias);
        const auto eight = [&](const Vec8& value, std::size_t j) UNITLESS_INLINE_LAMBDA {
            beyond.note_beyond(value, Vec8::load(pack_.scale + j));
            total = total + Vec8::load(pack_.v + j) * (value * Vec8::load(pack_.inverse + j));
        };
        std::size_t j = 0;
        for (; j + width <= count; j += width) eight(Vec8::load(x + j), j);
        if (j < count) eight(Vec8::load(x + j, count - j), j);
        result = sum(total);
        return !beyond.any();
    }

    // The same for some rows at once, `stride` bytes apart: what is known of the columns is read once for all of them.
    // False if that holds for one of them.
    static constexpr std::size_t rows_at_once = 4;
    template <class T>
    UNITLESS_INLINE bool dots_within(const char* rows, std::ptrdiff_t stride, std::size_t count, double bias,
                                     double* results) const {
        if (raw || rms || !plain_) return false;
        const T* x[rows_at_once];
        for (std::size_t r = 0; r < rows_at_once; ++r)
            x[r] = reinterpret_cast<const T*>(rows + static_cast<std::ptrdiff_t>(r) * stride);
        Flags beyond;
        Vec8 total[rows_at_once];
        for (Vec8& one : total) one = Vec8::first(bias);
        const auto eight = [&](auto load, std::size_t j) UNITLESS_INLINE_LAMBDA {
            const Vec8 scale = Vec8::load(pack_.scale + j), inverse = Vec8::load(pack_.inverse + j),
                       v = Vec8::load(pack_.v + j);
            for (std::size_t r = 0; r < rows_at_once; ++r) {
                const Vec8 value = load(x[r] + j);
                beyond.note_beyond(value, scale);
                total[r] = total[r] + v * (value * inverse);
            }
        };
        std::size_t j = 0;
        for (; j + width <= count; j += width)
            eight([](const T* at) UNITLESS_INLINE_LAMBDA { return Vec8::load(at); }, j);
        if (j < count) eight([&](const T* at) UNITLESS_INLINE_LAMBDA { return Vec8::load(at, count - j); }, j);
        for (std::size_t r = 0; r < rows_at_once; ++r) results[r] = sum(total[r]);
        return !beyond.any();
    }

    // x becomes z in place; scales are updated and rho is set. True if some rho is not 1.
    bool observe(double* x, double h, double* rho) {
        if constexpr (raw) {
            for (std::size_t j = 0; j < size_; ++j) Scale::observe(pack_.scale[j], x[j], h);
            return false;
        }
        const double root_h = square_root(h);
        bool grown = rms;
        for (std::size_t j = 0; j < size_; j += width) {
            const Vec8 value = Vec8::load(x + j);
            if (!ordinary(x + j, j, root_h)) {
                grown |= observe_each(x, j, h, rho);
            } else if (rms && any_nonzero(value)) {
                const Vec8 q = value * Vec8::load(pack_.inverse + j) * Vec8::all(root_h);
                const Vec8 root = square_root(one_ + q * q), shrunk = one_ / root;
                const Vec8 once = value * Vec8::load(pack_.inverse + j);  // z is that of weight 1
                (root_h == 1 ? q * shrunk : once * (one_ / square_root(one_ + once * once))).store(x + j);
                shrunk.store(rho + j);
                (Vec8::load(pack_.scale + j) * root).store(pack_.scale + j);
                for (std::size_t i = j; i < j + width; ++i) refresh(i);
            } else {
                (value * Vec8::load(pack_.inverse + j)).store(x + j);
                one_.store(rho + j);
            }
        }
        return grown;
    }

    // x becomes the z with which it would be predicted; nothing is learned.
    void peek(double* x) const {
        if constexpr (raw) return;
        for (std::size_t j = 0; j < size_; j += width) {
            if (ordinary(x + j, j, 1.0)) {
                Vec8 z = Vec8::load(x + j) * Vec8::load(pack_.inverse + j);
                if constexpr (rms) z = z * (one_ / square_root(one_ + z * z));
                z.store(x + j);
            } else {
                for (std::size_t i = j; i < j + width; ++i) x[i] = Scale::peek(pack_.scale[i], x[i]);
            }
        }
    }

    void linear(double* x) const {
        for (std::size_t j = 0; j < size_; ++j) x[j] = Scale::linear(pack_.scale[j], x[j]);
    }

  private:
    const Pack& pack_;
    std::size_t size_;
    bool plain_ = true;
    Vec8 one_ = Vec8::all(1.0);

    void refresh(std::size_t j) {
        const double s = pack_.scale[j];
        pack_.inverse[j] = s > 0 ? 1.0 / s : 0.0;
        plain_ = plain_ && has_plain_inverse(s);
    }

    // Can the eight features from j on take the vector's way?
    bool ordinary(const double* x, std::size_t j, double root_h) const {
        Vec8 limit = Vec8::load(pack_.scale + j);
        if constexpr (rms)
            limit = smaller(limit * Vec8::all(RmsScale::negligible / (2 + root_h)),
                            Vec8::all(scale_ceiling / (2 + root_h)));  // so that r stays a number
        return plain_ && !any_beyond(Vec8::load(x), limit);
    }

    bool observe_each(double* x, std::size_t j, double h, double* rho) {
        bool grown = false;
        for (std::size_t i = j; i < j + width; ++i) {
            const Observed seen = Scale::observe(pack_.scale[i], x[i], h);
            x[i] = seen.z;
            rho[i] = seen.rho;
            grown |= seen.rho != 1.0;
            refresh(i);
        }
        return grown;
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
