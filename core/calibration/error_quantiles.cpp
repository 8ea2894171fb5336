#include "calibration/error_quantiles.hpp"

#include <algorithm>

#include "simd/vec8.hpp"

namespace unitless {
namespace {

constexpr double memory = 1000;  // rows over which R is a mean
constexpr double gain = 0.2, first_gain = 1, fast_rows = 10;

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

double ErrorQuantiles::reach(const Level& at, bool steady) const {
    const auto& quantiles = steady ? steady_ : quantiles_;
    constexpr double rounding = 1 + 1e-12;  // so that 9 rows are enough for 0.9, which is not quite 9/10
    if (!((rows_ + 1) * at.level_ <= rows_ * rounding)) return infinity;
    double below = 0;
    for (std::size_t k = 0; k < at.above_; ++k) below = larger(below, quantiles[k]);
    const double above = larger(below, quantiles[at.above_]);
    return at.share_ == 1 ? above : below + at.share_ * (above - below);
}

void ErrorQuantiles::follow(const double* errors, const double* weights, std::size_t rows, const Level& at,
                            double* reaches) {
    if (weights || weight_ != rows_)  // rows of weight 1 among others are not of the mean weight
        follow_rows<true>(errors, weights, rows, at, reaches);
    else
        follow_rows<false>(errors, weights, rows, at, reaches);
}

template <bool weighted>
void ErrorQuantiles::follow_rows(const double* errors, const double* weights, std::size_t rows, const Level& at,
                                 double* reaches) {
    const Vec8 inside = Vec8::load(levels.data()), beyond = 1.0 - inside;
    Vec8 q = Vec8::load(quantiles_.data()), mean = Vec8::load(steady_.data());
    for (std::size_t row = 0; row < rows; ++row) {
        if (reaches) {
            q.store(quantiles_.data());
            reaches[row] = reach(at, false);
        }
        const double weight = weighted && weights ? weights[row] : 1;
        if (weighted && !(weight > 0)) continue;
        rows_ += 1;
        weight_ += weight;
        const double share = weighted ? weight * rows_ / weight_ : 1;  // of the mean weight
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
