// Bindings of error quantiles. A state is an array of numbers that Python owns. The interpreter's lock stays held, so
// that no other thread sees half of a change.

#include "calibration/error_quantiles.hpp"
#include "python/learner.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

void check(const Sums& state) {
    if (state.size() != ErrorQuantiles::count) throw InputError("this is not a state of error quantiles");
}

double error_reach(const Sums& state, double level, bool steady) {
    check(state);
    return ErrorQuantiles(state.data()).half_width(ErrorQuantiles::Level(level), steady);
}

std::optional<NewDoubles> follow_errors(const Sums& state, const Doubles& errors, const std::optional<Doubles>& weight,
                                        const std::optional<double>& level) {
    check(state);
    if (weight && weight->size() != errors.size()) throw InputError("errors and weights differ in length");
    const std::size_t rows = errors.size();
    auto half_widths = level ? std::make_unique<double[]>(rows) : nullptr;
    ErrorQuantiles quantiles(state.data());
    const ErrorQuantiles::Level at(level.value_or(ErrorQuantiles::levels[0]));
    quantiles.update(errors.data(), weight ? weight->data() : nullptr, rows, at, half_widths.get());
    quantiles.save(state.data());
    if (!level) return std::nullopt;
    return hand_over<NewDoubles>(std::move(half_widths), rows);
}

}  // namespace

void define_calibration(nb::module_& m) {
    m.attr("ERROR_LEVELS") =
        nb::cast(std::vector<double>(ErrorQuantiles::levels.begin(), ErrorQuantiles::levels.end()));
    m.def("error_reach", &error_reach, "state"_a, "level"_a, "steady"_a,
          "Half the width of the prediction interval at a level; infinite if there are too few rows.");
    m.def("follow_errors", &follow_errors, "state"_a, "errors"_a, "weight"_a.none(), "level"_a.none(),
          "Updates quantiles of |error|, row after row. With a level, returns `error_reach` before each row.");
}

}  // namespace unitless
