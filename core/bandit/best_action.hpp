// The probability that an action is the best one, when the rewards of the actions are independent and normal.
//
//     p_a = P(X_a > X_b for all b != a),  X_a ~ N(f_a, u_a^2)
//         = integral of phi_a(v) prod_{b != a} Phi_b(v) dv
//
// by the trapezoidal rule over 101 points of [max(f - 4u), max(f + 4u)], divided by the sum. f and u have the unit of
// the rewards, p has none. An action is drawn from p itself, so the error of the rule (below 1e-3) biases nothing.
#pragma once

#include <cstddef>
#include <vector>

namespace unitless {

// The distribution function of the standard normal distribution.
double normal_below(double x);

// p of each action, from the means f and the deviations u >= 0 of its reward.
std::vector<double> best_probabilities(const std::vector<double>& f, const std::vector<double>& u);

}  // namespace unitless
