// A power of two that is equal to the largest magnitude so far, up to a factor of two. Numbers divided by it can be
// squared and added without overflow. Because the division is exact, the results do not depend on the unit of the
// numbers.
#pragma once

#include <bit>
#include <cstdint>

#include "simd/elementary.hpp"

namespace unitless {

class PowerUnit {
  public:
    // 1 divided by the unit.
    double inverse() const { return 1.0 / value_; }

    // Raises the unit to the magnitude of x. Returns the old unit divided by the new one; the caller must multiply
    // stored numbers by it.
    double reach(double x) {
        constexpr std::uint64_t exponent = std::uint64_t{0x7ff} << 52;
        const double reached = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & exponent);
        if (!(reached > value_ && reached <= __DBL_MAX__)) return 1.0;
        const double ratio = value_ / reached;
        value_ = reached;
        return ratio;
    }

    template <class Each>
    void numbers(Each each) {
        each(value_);
    }
    bool sound() const {
        return value_ >= least && (std::bit_cast<std::uint64_t>(value_) & ((std::uint64_t{1} << 52) - 1)) == 0;
    }

  private:
    static constexpr double least = 0x1p-1000;  // its inverse is finite
    double value_ = least;
};

}  // namespace unitless
