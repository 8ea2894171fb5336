#include "engine/information.hpp"

#include <vector>

#include "algorithm/ldl.hpp"

namespace unitless {

bool invert(double* matrix, std::size_t n) {
    constexpr double least_pivot = 0x1p-50;
    std::vector<double> lower(n * n), memory(3 * n);
    double* const column = memory.data() + 2 * n;
    const LdlMemory factors{lower.data(), memory.data(), memory.data() + n, n, n};
    const bool sound = factorize(matrix, least_pivot, factors);
    invert(factors, column, matrix);
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
