#include "bandit/context.hpp"

#include <cmath>

namespace unitless {
namespace {

// The power of two at x: in this unit squares stay in the range of double precision, whatever the unit of x is.
double unit_of(double x) {
    int exponent = 0;
    std::frexp(x, &exponent);
    return std::ldexp(1.0, exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent);
}

double scaled(double* of_slot, double x, bool center) {
    double &unit = of_slot[0], &rows = of_slot[1], &mean = of_slot[2], &squares = of_slot[3];
    if (unit == 0 && x != 0) unit = unit_of(x);
    x = unit == 0 ? 0.0 : x / unit;
    rows += 1;
    if (center) {
        const double difference = x - mean;
        mean += difference / rows;
        squares += difference * (x - mean);
    } else {
        squares += x * x;
    }
    return squares > 0 ? (x - mean) / std::sqrt(squares / rows) : 0.0;
}

}  // namespace

std::vector<double> ContextScales::observe(const std::vector<std::uint32_t>& slots, const std::vector<double>& x,
                                           std::size_t centered) {
    state_[0] += 1;
    state_[1] += static_cast<double>(slots.size());
    const double d = state_[1] / state_[0];
    std::vector<double> z(slots.size());
    for (std::size_t i = 0; i < z.size(); ++i) {
        const std::size_t slot = slots[i];
        z[i] = slot > most_exact ? (x[i] != 0 ? 1.0 : 0.0) : scaled(state_ + 2 + 4 * slot, x[i], slot <= centered);
        z[i] /= std::sqrt(d);
    }
    return z;
}

}  // namespace unitless
