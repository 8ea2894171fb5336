#include "engine/information.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace unitless {

bool invert(double* matrix, std::size_t n) {
    constexpr double smallest = 0x1p-50;  // of a pivot, relative to the entry on the diagonal
    bool sound = true;
    // M = R R', R below the diagonal; then its inverse column by column, and M^-1 = R^-T R^-1.
    std::vector<double> root(n * n), inverse(n * n);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            double rest = matrix[i * n + j];
            for (std::size_t k = 0; k < j; ++k) rest -= root[i * n + k] * root[j * n + k];
            if (j < i) {
                root[i * n + j] = rest / root[j * n + j];
                continue;
            }
            const double least = std::max(smallest * matrix[i * n + i], __DBL_MIN__);
            sound = sound && rest >= least;
            root[i * n + i] = std::sqrt(std::max(rest, least));
        }
    }
    for (std::size_t j = 0; j < n; ++j) {
        inverse[j * n + j] = 1.0 / root[j * n + j];
        for (std::size_t i = j + 1; i < n; ++i) {
            double sum = 0;
            for (std::size_t k = j; k < i; ++k) sum -= root[i * n + k] * inverse[k * n + j];
            inverse[i * n + j] = sum / root[i * n + i];
        }
    }
    std::fill_n(matrix, n * n, 0.0);
    for (std::size_t k = 0; k < n; ++k)
        for (std::size_t i = 0; i <= k; ++i)
            for (std::size_t j = 0; j <= i; ++j) matrix[i * n + j] += inverse[k * n + i] * inverse[k * n + j];
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < i; ++j) matrix[j * n + i] = matrix[i * n + j];
    return sound;
}

void multiply(const double* matrix, const double* from, std::size_t n, double* to) {
    for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += matrix[i * n + j] * from[j];
        to[i] = sum;
    }
}

}  // namespace unitless
