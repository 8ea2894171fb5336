#include "engine/merging.hpp"

#include <algorithm>
#include <cmath>

namespace unitless {
namespace {

double squared(double x) { return x * x; }

// The largest scale, or the root of the sum of all squares, computed in units of the largest.
double common_scale(const Merging& how, const std::vector<SlotBlock>& parts, std::size_t slot) {
    double largest = 0;
    for (const SlotBlock& part : parts) largest = std::max(largest, part.scale[slot]);
    if (!how.sums_squares || largest == 0) return largest;
    double sum = 0;
    for (const SlotBlock& part : parts) sum += squared(part.scale[slot] / largest);
    return largest * std::sqrt(std::max(sum, 1.0));
}

}  // namespace

void combine(const Merging& how, const std::vector<SlotBlock>& parts, std::size_t count, SlotBlock& to) {
    const std::size_t models = parts.size(), lanes = to.lanes;
    std::vector<double> root(models, 1.0), rho(models), evidence(models);
    for (std::size_t p = 0; how.sums_squares && how.merged_t > 0 && p < models; ++p)
        root[p] = std::sqrt(how.t[p] / how.merged_t);
    // v, or its average, in the common scale.
    const auto carried = [&](std::size_t p, double v) {
        if (!how.unit_free) return v;
        if (how.bounded) return how.shrinks ? v * rho[p] : v;
        return rho[p] > 0 ? v / rho[p] * root[p] : 0.0;
    };
    for (std::size_t slot = 0; slot < count; ++slot) {
        const double common = common_scale(how, parts, slot);
        if (common == 0) {
            to.clear(slot);
            continue;
        }
        to.scale[slot] = common;
        for (std::size_t p = 0; p < models; ++p)
            rho[p] = how.unit_free ? parts[p].scale[slot] / common : parts[p].scale[slot] > 0;
        for (std::size_t lane = 0; how.proximal && lane < lanes; ++lane) {
            const std::size_t at = slot * lanes + lane;
            double roots = 0, sum = 0;
            for (std::size_t p = 0; p < models; ++p) {
                roots += std::sqrt(parts[p].H[at]) * rho[p];
                sum += parts[p].values[at] * (how.bounded ? rho[p] : 1.0);
            }
            to.H[at] = squared(roots);
            to.values[at] = sum;
        }
        for (std::size_t lane = 0; !how.proximal && lane < lanes; ++lane) {
            double all = 0;
            for (std::size_t p = 0; p < models; ++p)
                all += evidence[p] = parts[p].H[slot * lanes + lane] * squared(rho[p]);
            to.H[slot * lanes + lane] = all;
            for (std::size_t j = slot * to.width + lane; j < (slot + 1) * to.width; j += lanes) {
                double weighted = 0;
                for (std::size_t p = 0; p < models; ++p)
                    if (evidence[p] > 0) weighted += evidence[p] * carried(p, parts[p].values[j]);
                to.values[j] = all > 0 ? weighted / all : 0.0;
            }
        }
    }
}

}  // namespace unitless
