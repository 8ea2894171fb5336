// The update rules in the dimensionless state z = x/s, v = w s, H = G/s^2 (section 3 of the paper, rewritten).
//
// For each example with importance weight h, the kernel computes
//   t += h;  N += h gain^2 sum z^2;  yhat = gain sum v z
//   g = dL/dyhat;  adaptive rules: H += h (g z)^2
//   v -= eta_t h damp g z rate(H)
// A rule chooses
//   Scale     how x becomes z
//   adaptive  per-feature rates 1/sqrt(H), or none
//   rescale   how v and H change when a scale grows, with rho = s before / s now
//   gain(t), gain_squared(t), damp(t/N)
// The end of this file lists all rules; no other file of the core knows a rule by name.
#pragma once

#include "algorithm/scale.hpp"
#include "algorithm/type_list.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

enum class Rescale { none, v_by_rho, H_by_rho_squared };

// Gradient descent: w -= eta_t g x.
struct GD {
    static constexpr const char* name = "gd";
    using Scale = RawScale;
    static constexpr bool adaptive = false;
    static constexpr Rescale rescale = Rescale::none;
    static double gain(double /*t*/) { return 1.0; }
    static double gain_squared(double /*t*/) { return 1.0; }
    static double damp(double /*t_over_N*/) { return 1.0; }
};

// Adaptive gradient (McMahan & Streeter 2010, Duchi et al. 2011; section 1.1): G += (g x)^2; w -= eta g x/sqrt(G).
struct AG {
    static constexpr const char* name = "ag";
    using Scale = RawScale;
    static constexpr bool adaptive = true;
    static constexpr Rescale rescale = Rescale::none;
    static double gain(double) { return 1.0; }
    static double gain_squared(double) { return 1.0; }
    static double damp(double) { return 1.0; }
};

// Normalized gradient, Algorithm 1. A new maximum sets w *= rho^2, that is v *= rho. The step is v -= eta_t (t/N) g z.
struct NG {
    static constexpr const char* name = "ng";
    using Scale = ShrinkingMaxScale;
    static constexpr bool adaptive = false;
    static constexpr Rescale rescale = Rescale::v_by_rho;
    static double gain(double) { return 1.0; }
    static double gain_squared(double) { return 1.0; }
    static double damp(double t_over_N) { return t_over_N; }
};

// Normalized adaptive gradient, Algorithm 2. A new maximum sets w *= rho, which leaves v unchanged and sets H *= rho^2.
// The step is v -= eta sqrt(t/N) g z/sqrt(H).
struct NAG {
    static constexpr const char* name = "nag";
    using Scale = HoldingMaxScale;
    static constexpr bool adaptive = true;
    static constexpr Rescale rescale = Rescale::H_by_rho_squared;
    static double gain(double) { return 1.0; }
    static double gain_squared(double) { return 1.0; }
    static double damp(double t_over_N) { return square_root(t_over_N); }
};

// NAG with the root mean square sqrt(s/t), s = sum x^2, as the scale (end of section 3). Here z = x/r with r = sqrt(s),
// so the paper's x/sqrt(s/t) is sqrt(t) z: the factor `gain`. w sqrt(s/t) stays constant when the scale changes in
// either direction, also while a feature is absent, so v does not change.
struct SNAG {
    static constexpr const char* name = "snag";
    using Scale = RmsScale;
    static constexpr bool adaptive = true;
    static constexpr Rescale rescale = Rescale::H_by_rho_squared;
    static double gain(double t) { return square_root(t); }
    static double gain_squared(double t) { return t; }
    static double damp(double t_over_N) { return square_root(t_over_N); }
};

using Rules = TypeList<NAG, SNAG, NG, AG, GD>;

}  // namespace UNITLESS_ISA
}  // namespace unitless
