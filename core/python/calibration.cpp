// Quantiles of errors: a state is an array of numbers that Python keeps. The interpreter's lock stays held: no other
// thread sees half of a change.

#include "calibration/error_quantiles.hpp"
#include "python/learner.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

void check(const Sums& state) {
    if (state.size() != ErrorQuantiles::count) throw InputError("this is not a state of error quantiles");
}

double reach(const Sums& state, double level, bool steady) {
    check(state);
    return ErrorQuantiles(state.data()).reach(ErrorQuantiles::Level(level), steady);
}

std::optional<NewDoubles> follow(const Sums& state, const Doubles& errors, const std::optional<Doubles>& weight,
                                 const std::optional<double>& level) {
    check(state);
    if (weight && weight->size() != errors.size()) throw InputError("errors and weights do not fit together");
    const std::size_t rows = errors.size();
    auto reaches = level ? std::make_unique<double[]>(rows) : nullptr;
    ErrorQuantiles quantiles(state.data());
    const ErrorQuantiles::Level at(level.value_or(ErrorQuantiles::levels[0]));
    quantiles.follow(errors.data(), weight ? weight->data() : nullptr, rows, at, reaches.get());
    quantiles.save(state.data());
    if (!level) return std::nullopt;
    return hand_over<NewDoubles>(std::move(reaches), rows);
}

}  // namespace

void define_calibration(nb::module_& m) {
    m.attr("ERROR_LEVELS") =
        nb::cast(std::vector<double>(ErrorQuantiles::levels.begin(), ErrorQuantiles::levels.end()));
    m.def("error_reach", &reach, "state"_a, "level"_a, "steady"_a,
          "How far from a prediction the truth lies at most, with this probability; infinite if nobody can say.");
    m.def(
        "follow_errors", &follow, "state"_a, "errors"_a, "weight"_a.none(), "level"_a.none(),
        "Bring quantiles of |error| up to date, row after row; with a level, what `error_reach` was before each row.");
}

}  // namespace unitless
