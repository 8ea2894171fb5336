#include "calibration/error_scale.hpp"

#include <algorithm>

#include "simd/elementary.hpp"

namespace unitless {

ErrorScale::ErrorScale(const double* state) : bins_(static_cast<std::size_t>(state[0])) {
    const double* numbers = state + 1;
    for (Numbers* const each : {&weights_, &predictions_, &errors_}) {
        std::copy_n(numbers, most, each->begin());
        numbers += most;
    }
}

void ErrorScale::save(double* state) const {
    state[0] = static_cast<double>(bins_);
    double* numbers = state + 1;
    for (const Numbers* const each : {&weights_, &predictions_, &errors_}) {
        std::copy_n(each->begin(), bins_, numbers);
        std::fill(numbers + bins_, numbers + most, 0.0);  // so that equal scales have equal states
        numbers += most;
    }
}

std::size_t ErrorScale::bins_below(double prediction) const {
    std::size_t below = 0;
    while (below < bins_ && predictions_[below] < prediction) ++below;
    return below;
}

double ErrorScale::at(double prediction) const {
    if (bins_ == 0) return infinity;
    const std::size_t right = bins_below(prediction);
    if (right == 0) return errors_[0];
    if (right == bins_) return errors_[bins_ - 1];
    const std::size_t left = right - 1;
    const double share = (prediction - predictions_[left]) / (predictions_[right] - predictions_[left]);
    return errors_[left] + share * (errors_[right] - errors_[left]);
}

void ErrorScale::add(double prediction, double error) {
    if (!is_finite(prediction) || !is_finite(error)) return;
    for (std::size_t bin = 0; bin < bins_; ++bin) weights_[bin] *= 1 - 1 / memory;
    const std::size_t right = bins_below(prediction);
    const bool from_left = right > 0 && (right == bins_ || weights_[right - 1] <= weights_[right]);
    const std::size_t bin = from_left ? right - 1 : right;
    if (bin == bins_ || weights_[bin] >= full) return begin(right, prediction, error);
    weights_[bin] += 1;
    predictions_[bin] += (prediction - predictions_[bin]) / weights_[bin];
    errors_[bin] += (error - errors_[bin]) / weights_[bin];
}

void ErrorScale::begin(std::size_t place, double prediction, double error) {
    const auto insert = [&](Numbers& numbers, double number) {
        std::copy_backward(numbers.begin() + place, numbers.begin() + bins_, numbers.begin() + bins_ + 1);
        numbers[place] = number;
    };
    insert(weights_, 1);
    insert(predictions_, prediction);
    insert(errors_, error);
    ++bins_;
    merge_light();
}

void ErrorScale::merge_light() {
    while (bins_ > 1) {
        std::size_t left = 0;
        for (std::size_t bin = 1; bin + 1 < bins_; ++bin)
            if (weights_[bin] + weights_[bin + 1] < weights_[left] + weights_[left + 1]) left = bin;
        const std::size_t right = left + 1;
        const double weight = weights_[left] + weights_[right];
        if (weight >= full) return;
        const double share = weights_[right] / weight;
        predictions_[left] += share * (predictions_[right] - predictions_[left]);
        errors_[left] += share * (errors_[right] - errors_[left]);
        weights_[left] = weight;
        for (Numbers* const each : {&weights_, &predictions_, &errors_})
            std::copy(each->begin() + right + 1, each->begin() + bins_, each->begin() + right);
        --bins_;
    }
}

}  // namespace unitless
