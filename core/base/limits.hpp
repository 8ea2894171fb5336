// The largest numbers that learners accept, in every kind of input. No unit of measurement needs larger ones, and their
// sums and squares would exceed the range of float64.
#pragma once

namespace unitless {

inline constexpr double largest_value = 1e300;  // of a feature
inline constexpr double largest_label = 1e60;   // of a numeric label or an offset: its fourth power is still finite
inline constexpr double largest_weight = 1e15;  // of a row

inline bool is_usable(double x) { return -largest_value <= x && x <= largest_value; }

}  // namespace unitless
