#include "engine/merging.hpp"

#include <algorithm>
#include <cmath>

namespace unitless {
namespace {

double squared(double x) { return x * x; }

// The largest; or the root of all sums of squares, taken in units of the largest.
double common_scale(const Merging& how, const std::vector<SlotBlock>& parts, std::size_t slot) {
    double largest = 0;
    for (const SlotBlock& part : parts) largest = std::max(largest, part.scale[slot]);
    if (!how.sums_squares || largest == 0) return largest;
    const std::size_t added = parts.size() - how.base;
    const double start = how.base ? squared(parts.back().scale[slot] / largest) : 0.0;
    double sum = 0;
    for (std::size_t p = 0; p < added; ++p) sum += squared(parts[p].scale[slot] / largest) - start;
    return largest * std::sqrt(std::max(start + sum, 1.0));
}

// What the models have added to a sum that they have all begun at `start`.
template <class Of>
double added_up(std::size_t added, double start, Of of) {
    double sum = start;
    for (std::size_t p = 0; p < added; ++p) sum += of(p) - start;
    return sum;
}

}  // namespace

void combine(const Merging& how, const std::vector<SlotBlock>& parts, std::size_t count, SlotBlock& to) {
    const std::size_t added = parts.size() - how.base, lanes = to.lanes;
    std::vector<double> root(parts.size(), 1.0), rho(parts.size()), gain(added);
    for (std::size_t p = 0; how.sums_squares && how.merged_t > 0 && p < parts.size(); ++p)
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
        for (std::size_t p = 0; p < parts.size(); ++p)
            rho[p] = how.unit_free ? parts[p].scale[slot] / common : parts[p].scale[slot] > 0;
        for (std::size_t lane = 0; how.proximal && lane < lanes; ++lane) {
            const std::size_t at = slot * lanes + lane;
            const auto root_of = [&](std::size_t p) { return std::sqrt(parts[p].H[at]) * rho[p]; };
            const auto u = [&](std::size_t p) { return parts[p].values[at] * (how.bounded ? rho[p] : 1.0); };
            to.H[at] = squared(std::max(added_up(added, how.base ? root_of(added) : 0.0, root_of), 0.0));
            to.values[at] = added_up(added, how.base ? u(added) : 0.0, u);
        }
        for (std::size_t lane = 0; !how.proximal && lane < lanes; ++lane) {
            const auto G = [&](std::size_t p) { return parts[p].H[slot * lanes + lane] * squared(rho[p]); };
            const double start = how.base ? G(added) : 0.0;
            double gained = 0;
            for (std::size_t p = 0; p < added; ++p) gained += gain[p] = std::max(G(p) - start, 0.0);
            to.H[slot * lanes + lane] = start + gained;
            for (std::size_t j = slot * to.width + lane; j < (slot + 1) * to.width; j += lanes) {
                double weighted = 0;
                for (std::size_t p = 0; p < added; ++p)
                    if (gain[p] > 0) weighted += gain[p] * carried(p, parts[p].values[j]);
                to.values[j] = gained > 0 ? weighted / gained : how.base ? carried(added, parts[added].values[j]) : 0.0;
            }
        }
    }
}

}  // namespace unitless
