#include "calibration/error_quantiles.hpp"

#include <algorithm>

#include "simd/vec8.hpp"

namespace unitless {
namespace {

constexpr double memory = 1000;                               // the rows of which R is the mean
constexpr double gain = 0.2, first_gain = 1, fast_rows = 10;  // the gain is fast_rows / n between the two

}  // namespace

ErrorQuantiles::ErrorQuantiles(const double* state) : rows_(state[0]), weight_(state[1]), size_(state[2]) {
    std::copy_n(state + 3, levels.size(), quantiles_.begin());
    std::copy_n(state + 3 + levels.size(), levels.size(), steady_.begin());
}

void ErrorQuantiles::save(double* state) const {
    state[0] = rows_, state[1] = weight_, state[2] = size_;
    std::copy(quantiles_.begin(), quantiles_.end(), state + 3);
    std::copy(steady_.begin(), steady_.end(), state + 3 + levels.size());
}

double ErrorQuantiles::half_width(const Level& at, bool steady) const {
    const auto& quantiles = steady ? steady_ : quantiles_;
    constexpr double rounding = 1 + 1e-12;  // so that 9 rows suffice for 0.9, which as a double is not 9/10
    if (!((rows_ + 1) * at.level_ <= rows_ * rounding)) return infinity;
    double below = 0;
    for (std::size_t k = 0; k < at.above_; ++k) below = larger(below, quantiles[k]);
    const double above = larger(below, quantiles[at.above_]);
    return at.share_ == 1 ? above : below + at.share_ * (above - below);
}

void ErrorQuantiles::update(const double* errors, const double* weights, std::size_t rows, const Level& at,
                            double* half_widths) {
    const bool all_weights_are_one = !weights && weight_ == rows_;
    if (all_weights_are_one)
        update_rows<false>(errors, weights, rows, at, half_widths);
    else
        update_rows<true>(errors, weights, rows, at, half_widths);
}

template <bool weighted>
void ErrorQuantiles::update_rows(const double* errors, const double* weights, std::size_t rows, const Level& at,
                                 double* half_widths) {
    const Vec8 inside = Vec8::load(levels.data()), beyond = 1.0 - inside;
    Vec8 q = Vec8::load(quantiles_.data()), mean = Vec8::load(steady_.data());
    for (std::size_t row = 0; row < rows; ++row) {
        if (half_widths) {
            q.store(quantiles_.data());
            half_widths[row] = half_width(at, false);
        }
        const double weight = weighted && weights ? weights[row] : 1;
        if (weighted && !(weight > 0)) continue;
        rows_ += 1;
        weight_ += weight;
        const double share = weighted ? weight * rows_ / weight_ : 1;  // the weight divided by the mean weight
        const double error = is_finite(errors[row]) ? errors[row] : infinity;
        const double part = share / smaller(rows_, memory);
        if (error < infinity) size_ += (error - size_) * smaller(1.0, part);
        const double step = size_ * larger(gain, smaller(first_gain, fast_rows / rows_));
        Vec8 up = step * inside, down = step * beyond;
        if constexpr (weighted) {
            up = smaller(share * up, larger(up, error - q));
            down = smaller(share * down, larger(down, q - error));
        }
        const Vec8 moved = select(q < error, q + up, q - down);
        q = smaller(Vec8::all(__DBL_MAX__), larger(Vec8::all(0.0), moved));
        mean = mean + (q - mean) * smaller(1.0, 2 * part);
    }
    q.store(quantiles_.data());
    mean.store(steady_.data());
}

}  // namespace unitless
