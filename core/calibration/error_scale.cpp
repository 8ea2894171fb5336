#include "calibration/error_scale.hpp"

#include <algorithm>

#include "simd/elementary.hpp"

namespace unitless {

ErrorScale::ErrorScale(const double* state) : rows_(state[0]), bins_(static_cast<std::size_t>(state[1])) {
    const double* numbers = state + 2;
    for (Numbers* const each : {&weights_, &predictions_, &errors_}) {
        std::copy_n(numbers, most, each->begin());
        numbers += most;
    }
}

void ErrorScale::save(double* state) const {
    state[0] = rows_, state[1] = static_cast<double>(bins_);
    double* numbers = state + 2;
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

double ErrorScale::counted(double prediction, double error) const {
    const double scale = at(prediction);
    return rows_ >= full && scale > 0 && is_finite(error) ? smaller(error, farthest * scale) : error;
}

void ErrorScale::add(double prediction, double error) {
    if (!is_finite(prediction) || !is_finite(error)) return;
    rows_ += 1;
    const double kept = 1 - 1 / smaller(memory, 1 + rows_);
    for (std::size_t bin = 0; bin < bins_; ++bin) weights_[bin] *= kept;
    if (bins_ == 0) insert(0, 0, prediction, error);
    const std::size_t right = bins_below(prediction);
    const bool from_left = right > 0 && (right == bins_ || weights_[right - 1] <= weights_[right]);
    std::size_t bin = from_left ? right - 1 : right;
    const bool split = weights_[bin] >= full;
    if (split) {
        weights_[bin] /= 2;
        insert(right, weights_[bin], prediction, at(prediction));
        bin = right;
    }
    weights_[bin] += 1;
    predictions_[bin] += (prediction - predictions_[bin]) / weights_[bin];
    errors_[bin] += (error - errors_[bin]) / weights_[bin];
    if (split) merge_light();
}

void ErrorScale::insert(std::size_t place, double weight, double prediction, double error) {
    const auto make_room = [&](Numbers& numbers, double number) {
        std::copy_backward(numbers.begin() + place, numbers.begin() + bins_, numbers.begin() + bins_ + 1);
        numbers[place] = number;
    };
    make_room(weights_, weight);
    make_room(predictions_, prediction);
    make_room(errors_, error);
    ++bins_;
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
