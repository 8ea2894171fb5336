// Bindings of error quantiles and class frequencies. A state is an array of numbers that Python keeps. The
// interpreter's lock stays held, so that no other thread sees half of a change.

#include "calibration/class_frequencies.hpp"
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
    if (weight && weight->size() != errors.size()) throw InputError("errors and weights do not fit together");
    const std::size_t rows = errors.size();
    auto half_widths = level ? std::make_unique<double[]>(rows) : nullptr;
    ErrorQuantiles quantiles(state.data());
    const ErrorQuantiles::Level at(level.value_or(ErrorQuantiles::levels[0]));
    quantiles.update(errors.data(), weight ? weight->data() : nullptr, rows, at, half_widths.get());
    quantiles.save(state.data());
    if (!level) return std::nullopt;
    return hand_over<NewDoubles>(std::move(half_widths), rows);
}

// `sums`: the weight of all rows and of the most frequent class; then the sums over the scored rows of
// ClassFrequencies.
std::int64_t follow_classes(const Sums& by_class, const Sums& sums, std::int64_t leader, const Integers& classes,
                            const std::optional<Doubles>& weight, bool open) {
    const auto count = static_cast<std::int64_t>(by_class.size());
    bool good = sums.size() == 6 && leader >= -1 && leader < count && (!weight || weight->size() == classes.size());
    for (std::size_t i = 0; i < classes.size(); ++i) good = good && classes.data()[i] >= 0 && classes.data()[i] < count;
    if (!good) throw InputError("classes and their frequencies do not fit together");
    std::int64_t met = 0;
    for (std::size_t k = 0; k < by_class.size(); ++k) met += by_class.data()[k] != 0;
    double* const s = sums.data();
    ClassFrequencies frequencies{by_class.data(), s[0], s[1], leader, met, open, s[2], s[3], s[4], s[5]};
    frequencies.update(classes.data(), weight ? weight->data() : nullptr, classes.size());
    s[0] = frequencies.total;
    s[1] = frequencies.most;
    s[2] = frequencies.weight;
    s[3] = frequencies.wrong;
    s[4] = frequencies.lost;
    s[5] = frequencies.square;
    return frequencies.leader;
}

}  // namespace

void define_calibration(nb::module_& m) {
    m.def("follow_classes", &follow_classes, "by_class"_a, "sums"_a, "leader"_a, "classes"_a, "weight"_a.none(),
          "open"_a,
          "Scores each row by the classes of the rows before, then counts it. Returns the most frequent class.");
    m.attr("ERROR_LEVELS") =
        nb::cast(std::vector<double>(ErrorQuantiles::levels.begin(), ErrorQuantiles::levels.end()));
    m.def("error_reach", &error_reach, "state"_a, "level"_a, "steady"_a,
          "Half the width of the prediction interval at a level; infinite if there are too few rows.");
    m.def("follow_errors", &follow_errors, "state"_a, "errors"_a, "weight"_a.none(), "level"_a.none(),
          "Updates quantiles of |error|, row after row. With a level, returns `error_reach` before each row.");
}

}  // namespace unitless
