// Bindings of error quantiles and of intervals of numbers. A state is an array of numbers that Python owns. The
// interpreter's lock stays held, so that no other thread sees half of a change.

#include <nanobind/stl/pair.h>

#include "calibration/error_quantiles.hpp"
#include "calibration/number_intervals.hpp"
#include "python/learner.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

void check(const Sums& state, std::size_t count = ErrorQuantiles::count) {
    if (state.size() != count) throw InputError("this is not a state of error quantiles");
}

void check_rows(std::size_t rows, const Doubles& other, const std::optional<Doubles>& weight) {
    if (other.size() != rows || (weight && weight->size() != rows))
        throw InputError("columns of rows differ in length");
}

double error_reach(const Sums& state, double level, bool steady) {
    check(state);
    return ErrorQuantiles(state.data()).half_width(ErrorQuantiles::Level(level), steady);
}

std::optional<NewDoubles> follow_errors(const Sums& state, const Doubles& errors, const std::optional<Doubles>& weight,
                                        const std::optional<double>& level) {
    check(state);
    check_rows(errors.size(), errors, weight);
    const std::size_t rows = errors.size();
    auto half_widths = level ? std::make_unique<double[]>(rows) : nullptr;
    ErrorQuantiles quantiles(state.data());
    const ErrorQuantiles::Level at(level.value_or(ErrorQuantiles::levels[0]));
    quantiles.update(errors.data(), weight ? weight->data() : nullptr, rows, at, half_widths.get());
    quantiles.save(state.data());
    if (!level) return std::nullopt;
    return hand_over<NewDoubles>(std::move(half_widths), rows);
}

using Limits = std::pair<NewDoubles, NewDoubles>;

NumberIntervals number_intervals(const Sums& state) {
    check(state, NumberIntervals::count);
    return NumberIntervals(state.data());
}

Limits limits(const Sums& state, const Doubles& predictions, double reach) {
    const NumberIntervals intervals = number_intervals(state);
    const std::size_t rows = predictions.size();
    auto low = std::make_unique<double[]>(rows), high = std::make_unique<double[]>(rows);
    for (std::size_t row = 0; row < rows; ++row) {
        const Interval interval = intervals.around(predictions.data()[row], reach);
        low[row] = interval.low, high[row] = interval.high;
    }
    return {hand_over<NewDoubles>(std::move(low), rows), hand_over<NewDoubles>(std::move(high), rows)};
}

std::optional<Limits> follow_numbers(const Sums& state, const Doubles& predictions, const Doubles& labels,
                                     const std::optional<Doubles>& weight, const std::optional<double>& level) {
    NumberIntervals intervals = number_intervals(state);
    const std::size_t rows = predictions.size();
    check_rows(rows, labels, weight);
    auto low = level ? std::make_unique<double[]>(rows) : nullptr;
    auto high = level ? std::make_unique<double[]>(rows) : nullptr;
    const ErrorQuantiles::Level at(level.value_or(ErrorQuantiles::levels[0]));
    intervals.update(predictions.data(), labels.data(), weight ? weight->data() : nullptr, rows, at, low.get(),
                     high.get());
    intervals.save(state.data());
    if (!level) return std::nullopt;
    return Limits{hand_over<NewDoubles>(std::move(low), rows), hand_over<NewDoubles>(std::move(high), rows)};
}

NewDoubles scale_numbers(const Sums& state, const Doubles& predictions, const Doubles& labels) {
    NumberIntervals intervals = number_intervals(state);
    const std::size_t rows = predictions.size();
    check_rows(rows, labels, std::nullopt);
    intervals.update_scale(predictions.data(), labels.data(), rows);
    intervals.save(state.data());
    auto errors = std::make_unique<double[]>(rows);
    for (std::size_t row = 0; row < rows; ++row)
        errors[row] = intervals.scaled_error(predictions.data()[row], labels.data()[row]);
    return hand_over<NewDoubles>(std::move(errors), rows);
}

}  // namespace

void define_calibration(nb::module_& m) {
    m.attr("ERROR_LEVELS") =
        nb::cast(std::vector<double>(ErrorQuantiles::levels.begin(), ErrorQuantiles::levels.end()));
    m.def("error_reach", &error_reach, "state"_a, "level"_a, "steady"_a,
          "Half the width of the prediction interval at a level; infinite if there are too few rows.");
    m.def("follow_errors", &follow_errors, "state"_a, "errors"_a, "weight"_a.none(), "level"_a.none(),
          "Updates quantiles of |error|, row after row. With a level, returns `error_reach` before each row.");
    m.attr("NUMBER_INTERVALS_SIZE") = NumberIntervals::count;
    m.def("number_limits", &limits, "state"_a, "predictions"_a, "reach"_a,
          "The lower and the upper limits of prediction intervals; `reach` is the quantile of scaled errors.");
    m.def("follow_numbers", &follow_numbers, "state"_a, "predictions"_a, "labels"_a, "weight"_a.none(),
          "level"_a.none(),
          "Updates the intervals of numbers, row after row. With a level, returns the limits before each row.");
    m.def("scale_numbers", &scale_numbers, "state"_a, "predictions"_a, "labels"_a,
          "Updates the scale of errors only. Returns the errors of the rows divided by the final scale.");
}

}  // namespace unitless
