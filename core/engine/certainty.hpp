// How certain a score may be. What is said of classes is never more certain than 1 - 1e-15: scores go no further.
#pragma once

namespace unitless {

inline constexpr double most_certain = 0x1.144f69ff9ffc4p+5;  // ln 1e15

}  // namespace unitless
