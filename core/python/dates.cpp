// Bindings for dates and times in text.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>

#include "python/learner.hpp"
#include "python/texts.hpp"
#include "text/written_date.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

DateForm form_of(std::string_view name) {
    const auto form = date_form_named(name);
    if (!form) throw InputError("'" + std::string(name) + "' is not a form of dates");
    return *form;
}

nb::tuple written_dates(const Integers& ends, const Bytes& bytes, std::string_view name) {
    const DateForm form = form_of(name);
    const Texts texts(ends, bytes);
    const std::size_t count = texts.size();
    auto wall = std::make_unique<std::int64_t[]>(count), ahead = std::make_unique<std::int64_t[]>(count);
    auto valid = std::make_unique<std::uint8_t[]>(count);
    {
        const Released release;
        for (std::size_t k = 0; k < count; ++k) {
            const auto moment = read_date(texts[k], form);
            valid[k] = moment.has_value();
            wall[k] = moment ? moment->wall : 0;
            ahead[k] = moment ? moment->ahead : 0;
        }
    }
    return nb::make_tuple(hand_over<NewIntegers>(std::move(wall), count),
                          hand_over<NewIntegers>(std::move(ahead), count),
                          hand_over<NewLetters>(std::move(valid), count));
}

std::optional<std::pair<std::int64_t, std::int64_t>> written_date(std::string_view text, std::string_view name) {
    const auto moment = read_date(text, form_of(name));
    if (!moment) return std::nullopt;
    return std::pair{moment->wall, moment->ahead};
}

}  // namespace

void define_dates(nb::module_& m) {
    nb::list forms;
    for (const std::string_view name : date_forms) forms.append(nb::str(name.data(), name.size()));
    m.attr("date_forms") = nb::tuple(forms);
    m.def("written_dates", &written_dates, "ends"_a, "text"_a, "form"_a,
          "The moments of texts on a local clock, in microseconds since 1970; how far each clock is ahead of UTC; and "
          "whether each text is a date.");
    m.def("written_date", &written_date, "text"_a, "form"_a,
          "The moment of one text on a local clock, and how far the clock is ahead of UTC; None if it is not a date.");
}

}  // namespace unitless
