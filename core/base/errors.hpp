// The exceptions of the core. An exception stores the problem, the place and the advice separately. The bindings
// convert it to an exception of unitless.errors, which composes the message. `what()` is for the core's own tests.
#pragma once

#include <cmath>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <variant>

namespace unitless {

// A place in the caller's data: a row, and optionally a column of it by name or number.
struct Place {
    std::optional<std::size_t> row = std::nullopt;
    std::variant<std::monostate, std::size_t, std::string> column = {};  // empty: the whole row

    std::string text() const {
        std::string text = row ? " at row " + std::to_string(*row) : "";
        if (const auto* number = std::get_if<std::size_t>(&column)) text += ", column " + std::to_string(*number);
        if (const auto* name = std::get_if<std::string>(&column)) text += ", column '" + *name + "'";
        return text;
    }
};

// The caller's data is invalid. The learner has not changed.
struct InputError : std::runtime_error {
    InputError(std::string what_is_wrong, Place at, std::string to_do = {})
        : std::runtime_error(what_is_wrong + at.text() + (to_do.empty() ? "" : "; " + to_do)),
          problem(std::move(what_is_wrong)),
          place(std::move(at)),
          advice(std::move(to_do)) {}
    explicit InputError(std::string what_is_wrong, std::string to_do = {})
        : InputError(std::move(what_is_wrong), Place{}, std::move(to_do)) {}

    std::string problem;
    Place place;
    std::string advice;
    std::optional<double> value = std::nullopt;  // the invalid number, if any
};

// A number of the model became infinite or NaN.
struct DivergedError : std::runtime_error {
    DivergedError(std::size_t at, std::size_t learned)
        : std::runtime_error("the learner diverged at row " + std::to_string(at)), diverged_at(at), row(learned) {}
    std::size_t diverged_at;  // the row where the learner diverged
    std::size_t row;          // the first row that has not been learned
};

// `learned`: the number of rows that were learned.
[[noreturn]] inline void throw_diverged(std::size_t row, std::size_t learned) { throw DivergedError(row, learned); }
[[noreturn]] inline void throw_diverged(std::size_t row) { throw_diverged(row, row); }

// The shortest text that reads back as the same number.
inline std::string number(double x) {
    char text[32];
    double back = 0;
    for (int digits = 1; digits < 17; ++digits) {
        std::snprintf(text, sizeof text, "%.*g", digits, x);
        if (std::sscanf(text, "%lf", &back) == 1 && back == x) return text;
    }
    std::snprintf(text, sizeof text, "%.17g", x);
    return text;
}

[[noreturn]] inline void throw_bad_value(double value, Place place) {
    InputError error("value is " + number(value), std::move(place),
                     std::isfinite(value) ? "numbers must stay below 1e300: drop such values, or use larger units"
                                          : "drop or fill in such values (a feature that is left out counts as 0)");
    error.value = value;
    throw error;
}

}  // namespace unitless
