// The numbers that learners take, the same for every kind of input. Larger ones are of no use in any unit, and their
// sums and squares leave the range of float64 and, with it, models that cannot go on.
#pragma once

namespace unitless {

inline constexpr double largest_value = 1e300;  // of features
inline constexpr double largest_label =
    1e60;  // of offsets, and labels that are numbers: squares of their squares are numbers
inline constexpr double largest_weight = 1e15;  // of an example

inline bool is_usable(double x) { return -largest_value <= x && x <= largest_value; }

}  // namespace unitless
