// The scales of scale.hpp over whole rows: the same numbers, eight at a time where nothing unusual happens.
#pragma once

#include <type_traits>

#include "rule.hpp"
#include "state.hpp"
#include "vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

inline bool has_plain_inverse(double s) { return s == 0 || (s >= scale_floor && s <= scale_ceiling); }

// Over the rows of one call. `plain`: every scale has a normal inverse, so that x * inverse is ratio(x, s).
template <class Scale>
class DenseScale {
  public:
    DenseScale(const Pack& pack, std::size_t chunks) : pack_(pack), size_(chunks * width) {
        for (std::size_t j = 0; j < size_; ++j) refresh(j);
    }

    // x becomes z in place; scales are updated and pack.rho is set. True if some rho is not 1.
    // `quiet`: the caller knows that no |x| in this row is beyond its scale.
    bool observe(double* x, double h, bool quiet) {
        if constexpr (std::is_same_v<Scale, RawScale>) {
            for (std::size_t j = 0; j < size_; ++j) Scale::observe(pack_.scale[j], x[j], h);
            return false;
        } else if constexpr (std::is_same_v<Scale, RmsScale>) {
            const double root_h = square_root(h), inverse_root_h = 1.0 / root_h;
            for (std::size_t j = 0; j < size_; j += width) {
                if (!ordinary(x + j, j, root_h)) {
                    observe_each(x, j, h);
                    continue;
                }
                const Vec8 value = Vec8::load(x + j);
                if (!any_nonzero(value)) {
                    one.store(pack_.rho + j);
                    continue;
                }
                const Vec8 q = value * Vec8::load(pack_.inverse + j) * Vec8::all(root_h);
                const Vec8 root = square_root(one + q * q), rho = one / root;
                const Vec8 r = Vec8::load(pack_.scale + j) * root;
                (q * rho * Vec8::all(inverse_root_h)).store(x + j);
                rho.store(pack_.rho + j);
                r.store(pack_.scale + j);
                for (std::size_t i = j; i < j + width; ++i) refresh(i);
            }
            return true;
        } else {
            if (quiet && plain_) {
                multiply(x);
                return false;
            }
            bool grown = false;
            for (std::size_t j = 0; j < size_; j += width) {
                if (plain_ && !any_beyond(Vec8::load(x + j), Vec8::load(pack_.scale + j))) {
                    (Vec8::load(x + j) * Vec8::load(pack_.inverse + j)).store(x + j);
                    one.store(pack_.rho + j);
                } else {
                    grown |= observe_each(x, j, h);
                }
            }
            return grown;
        }
    }

    // x becomes the z with which it would be predicted; nothing is learned.
    void peek(double* x) const {
        if constexpr (std::is_same_v<Scale, RawScale>) return;
        for (std::size_t j = 0; j < size_; j += width) {
            if (ordinary(x + j, j)) {
                Vec8 z = Vec8::load(x + j) * Vec8::load(pack_.inverse + j);
                if constexpr (std::is_same_v<Scale, RmsScale>) z = z * (one / square_root(one + z * z));
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
    Vec8 one = Vec8::all(1.0);

    void refresh(std::size_t j) {
        const double s = pack_.scale[j];
        pack_.inverse[j] = s > 0 ? 1.0 / s : 0.0;
        plain_ = plain_ && has_plain_inverse(s);
    }

    void multiply(double* x) const {
        for (std::size_t j = 0; j < size_; j += width) (Vec8::load(x + j) * Vec8::load(pack_.inverse + j)).store(x + j);
    }

    // Can the eight features from j on take the vector's way?
    bool ordinary(const double* x, std::size_t j, double root_h = 1.0) const {
        Vec8 limit = Vec8::load(pack_.scale + j);
        if constexpr (std::is_same_v<Scale, RmsScale>) limit = limit * Vec8::all(RmsScale::negligible / (2 + root_h));
        return plain_ && !any_beyond(Vec8::load(x), limit);
    }

    bool observe_each(double* x, std::size_t j, double h) {
        bool grown = false;
        for (std::size_t i = j; i < j + width; ++i) {
            const Observed seen = Scale::observe(pack_.scale[i], x[i], h);
            x[i] = seen.z;
            pack_.rho[i] = seen.rho;
            grown |= seen.rho != 1.0;
            refresh(i);
        }
        return grown;
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
