// A power of two as large as the largest magnitude so far, to within a factor of two. Numbers divided by it can be
// squared and added up without overflow, and because the division is exact, all of it is the same whatever unit they
// came in.
#pragma once

#include <bit>
#include <cstdint>

#include "simd/elementary.hpp"

namespace unitless {

class PowerUnit {
  public:
    // One over it.
    double inverse() const { return 1.0 / value_; }

    // Makes it as large as x. Gives the old unit over the new: what was kept in the old one has to be multiplied by it.
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
    static constexpr double least = 0x1p-1000;  // its inverse is still a number
    double value_ = least;
};

}  // namespace unitless
