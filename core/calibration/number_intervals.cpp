#include "calibration/number_intervals.hpp"

#include "simd/elementary.hpp"

namespace unitless {
namespace {

constexpr std::size_t scale_at = ErrorQuantiles::count, signs_at = scale_at + ErrorScale::count;

double scaled(double error, double scale) { return error == 0 ? 0 : error / scale; }

}  // namespace

NumberIntervals::NumberIntervals(const double* state)
    : quantiles_(state),
      scale_(state + scale_at),
      negative_(state[signs_at] != 0),
      positive_(state[signs_at + 1] != 0) {}

void NumberIntervals::save(double* state) const {
    quantiles_.save(state);
    scale_.save(state + scale_at);
    state[signs_at] = negative_, state[signs_at + 1] = positive_;
}

Interval NumberIntervals::around(double prediction, double reach) const {
    const double scale = scale_.at(prediction);
    if (!(reach < infinity && scale < infinity)) return {-infinity, infinity};
    const double low = prediction - reach * scale, high = prediction + reach * scale;
    return {negative_ ? low : larger(0.0, low), positive_ ? high : smaller(0.0, high)};
}

double NumberIntervals::scaled_error(double prediction, double label) const {
    return scaled(absolute(prediction - label), scale_.at(prediction));
}

void NumberIntervals::add(double prediction, double label) {
    scale_.add(prediction, scale_.counted(prediction, absolute(prediction - label)));
    negative_ = negative_ || label < 0;
    positive_ = positive_ || label > 0;
}

void NumberIntervals::update_scale(const double* predictions, const double* labels, std::size_t rows) {
    for (std::size_t row = 0; row < rows; ++row) add(predictions[row], labels[row]);
}

void NumberIntervals::update(const double* predictions, const double* labels, const double* weights, std::size_t rows,
                             const ErrorQuantiles::Level& at, double* low, double* high) {
    for (std::size_t row = 0; row < rows; ++row) {
        const double prediction = predictions[row], label = labels[row];
        if (low) {
            const Interval interval = around(prediction, quantiles_.half_width(at, false));
            low[row] = interval.low, high[row] = interval.high;
        }
        if (weights && !(weights[row] > 0)) continue;
        const double error = scale_.counted(prediction, absolute(prediction - label)), scale = scale_.at(prediction);
        const double measured = scaled(error, scale < infinity ? scale : error);
        quantiles_.update(&measured, weights ? weights + row : nullptr, 1, at, nullptr);
        add(prediction, label);
    }
}

}  // namespace unitless
