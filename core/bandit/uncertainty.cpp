#include "bandit/uncertainty.hpp"

#include <algorithm>

#include "base/errors.hpp"

namespace unitless {

Uncertainty::Uncertainty(double* exact, std::size_t size, double* rest) : exact_(exact), rest_(rest) {
    while (doubles(slots_) < size) ++slots_;
    if (doubles(slots_) != size || slots_ > most_exact + 1) throw InputError("this is not a state of an uncertainty");
}

double Uncertainty::variance(const std::vector<std::uint32_t>& slots, const std::vector<double>& z) const {
    double sum = 0;
    for (std::size_t a = 0; a < slots.size(); ++a) {
        if (slots[a] > most_exact) {
            sum += (rest_ ? rest_[slots[a] - most_exact - 1] : 1.0) * z[a] * z[a];
            continue;
        }
        double others = 0;
        for (std::size_t b = 0; b < a; ++b)
            if (slots[b] <= most_exact) others += at(slots[a], slots[b]) * z[b];
        sum += z[a] * (2 * others + at(slots[a], slots[a]) * z[a]);
    }
    return std::max(sum, 0.0);
}

void Uncertainty::learn(const std::vector<std::uint32_t>& slots, const std::vector<double>& z) {
    std::vector<double> k(slots_, 0.0);
    for (std::size_t a = 0; a < slots.size(); ++a)
        if (slots[a] <= most_exact)
            for (std::size_t i = 0; i < slots_; ++i) k[i] += at(i, slots[a]) * z[a];
    const double narrowed = 1 / (1 + variance(slots, z));
    for (std::size_t i = 0; i < slots_; ++i)
        for (std::size_t j = 0; j <= i; ++j) exact_[i * (i + 1) / 2 + j] -= k[i] * k[j] * narrowed;
    for (std::size_t a = 0; a < slots.size(); ++a) {
        if (slots[a] <= most_exact) continue;
        double& variance = rest_[slots[a] - most_exact - 1];
        variance = std::max(variance - variance * z[a] * (variance * z[a]) * narrowed, 0.0);
    }
}

}  // namespace unitless
