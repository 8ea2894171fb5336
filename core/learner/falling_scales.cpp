// Lowers scales: when a window of examples ends, the scale of a column whose unit has become larger is lowered
// (encoding/window.hpp).

#include <algorithm>
#include <cmath>

#include "learner/learner.hpp"

namespace unitless {

std::size_t Learner::rows_of_window(const Labels& labels, std::size_t first, std::size_t rows) const {
    if (!has_windows()) return rows;
    std::uint64_t left = Window::examples - engine_->clock().examples % Window::examples;
    rows = std::min<std::size_t>(rows, Window::examples);
    std::size_t count = 0;
    for (; left > 0 && count < rows; ++count) left -= weight_of(labels, first + count) > 0;
    return count;
}

bool Learner::ends_windows(std::uint64_t before) const {
    const std::uint64_t now = engine_->clock().examples;
    return has_windows() && now > before && now % Window::examples == 0;
}

// In the unit of x; 0 if there is no scale, or if the rule does not use it.
double Learner::column_scale(std::uint32_t feature) const {
    const Unit unit = unit_of_v(options_);
    const bool none = unit == Unit::none || !can_.scales;
    const double scale = none ? 0.0 : can_.scales->scale(encoder_.features().slot_of(feature));
    return unit == Unit::root_mean_square ? scale / std::sqrt(engine_->clock().t) : scale;
}

bool Learner::scales_fall() const {
    return encoder_.center().falls([this](std::uint32_t feature) { return column_scale(feature); });
}

// A root mean square over the stream is replaced by that of the window, as if the whole stream had been like the
// window.
void Learner::end_windows() {
    const bool squares = unit_of_v(options_) == Unit::root_mean_square;
    const auto lower = [&](std::uint32_t feature, const Window& window) {
        const double now =
            squares ? window.root_mean_square() * std::sqrt(engine_->clock().t) : window.largest_deviation();
        if (!(now > 0)) return false;
        can_.scales->lower_scale(encoder_.features().slot_of(feature), now);
        return true;
    };
    encoder_.center_to_learn().end_windows([this](std::uint32_t feature) { return column_scale(feature); }, lower);
}

}  // namespace unitless
