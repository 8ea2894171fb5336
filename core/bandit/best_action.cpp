#include "bandit/best_action.hpp"

#include <algorithm>

#include "simd/elementary.hpp"

namespace unitless {
namespace {

constexpr std::size_t points = 101;
constexpr double reach = 4;     // of the points, in deviations
constexpr double certain = 39;  // beyond so many deviations, Phi is 0 or 1 in double precision

// Returns equal shares of the actions with the largest mean.
std::vector<double> shares_of_largest(const std::vector<double>& f) {
    const double most = *std::max_element(f.begin(), f.end());
    const double share = 1.0 / static_cast<double>(std::count(f.begin(), f.end(), most));
    std::vector<double> p(f.size());
    for (std::size_t a = 0; a < f.size(); ++a) p[a] = f[a] == most ? share : 0.0;
    return p;
}

}  // namespace

// The rational approximation of Hart et al., Computer Approximations (1968), no. 5666, and a continued fraction in the
// tails. Its error is below 1e-14.
double normal_below(double x) {
    const double size = absolute(x);
    double tail = 0;  // P(X > |x|)
    if (size < certain) {
        const double density = exp(-0.5 * size * size);
        if (size < 7.07106781186547) {
            constexpr double above[] = {0.0352624965998911, 0.700383064443688, 6.37396220353165, 33.912866078383,
                                        112.079291497871,   221.213596169931,  220.206867912376};
            constexpr double below[] = {0.0883883476483184, 1.75566716318264, 16.064177579207,  86.7807322029461,
                                        296.564248779674,   637.333633378831, 793.826512519948, 440.413735824752};
            double n = 0, d = 0;
            for (const double c : above) n = n * size + c;
            for (const double c : below) d = d * size + c;
            tail = density * n / d;
        } else {
            const double fraction = size + 1 / (size + 2 / (size + 3 / (size + 4 / (size + 0.65))));
            tail = density / (fraction * 2.506628274631);
        }
    }
    return x > 0 ? 1 - tail : tail;
}

std::vector<double> best_probabilities(const std::vector<double>& f, const std::vector<double>& u) {
    const std::size_t actions = f.size();
    double low = f[0] - reach * u[0], high = f[0] + reach * u[0];
    for (std::size_t a = 1; a < actions; ++a) {
        low = larger(low, f[a] - reach * u[a]);
        high = larger(high, f[a] + reach * u[a]);
    }
    // By action: Phi at the last point and at this one, and the probability that all others are below these points.
    std::vector<double> last(actions), here(actions), others_last(actions), others(actions), p(actions, 0.0);
    for (std::size_t i = 0; i < points; ++i) {
        const double v = low + (high - low) * (static_cast<double>(i) / (points - 1));
        double before = 1;
        for (std::size_t a = 0; a < actions; ++a) {
            here[a] = u[a] > 0 ? normal_below((v - f[a]) / u[a]) : v < f[a] ? 0.0 : 1.0;
            others[a] = before;
            before *= here[a];
        }
        double after = 1;
        for (std::size_t a = actions; a-- > 0; after *= here[a]) others[a] *= after;
        for (std::size_t a = 0; i > 0 && a < actions; ++a)
            p[a] += (here[a] - last[a]) * (others[a] + others_last[a]) / 2;
        std::swap(here, last);
        std::swap(others, others_last);
    }
    double sum = 0;
    for (const double one : p) sum += one;
    if (!(sum > 0)) return shares_of_largest(f);  // no deviation is larger than rounding
    for (double& one : p) one /= sum;
    return p;
}

}  // namespace unitless
