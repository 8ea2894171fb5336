#include "engine/engine.hpp"

#include <type_traits>

#include "algorithm/dispatch.hpp"

namespace unitless {

Unit unit_of_v(const Options& options) {
    return with_rule(options.rule, [](auto rule) {
        using Scale = typename decltype(rule)::type::Scale;
        return std::is_same_v<Scale, RawScale>   ? Unit::none
               : std::is_same_v<Scale, RmsScale> ? Unit::root_mean_square
                                                 : Unit::scale;
    });
}

void Engine::settle() noexcept {
    try {
        finish();
    } catch (...) {  // only the wait matters here; the caller handles its own error
    }
}

void Engine::add_classes(std::size_t) {
    throw InputError("this model has a fixed list of classes, so no class can be added");
}

void Engine::save_common(EngineState& to) const {
    to.clock = clock_;
    to.averaged_t = averaging_.t();
    to.next_look = averaging_.next();
    to.choosing = choosing_;
}

void Engine::load_common(const EngineState& from) {
    clock_ = from.clock;
    averaging_.restore(from.averaged_t, from.next_look);
    choosing_ = from.choosing;
}

void Engine::check_average(const EngineState& from) const {
    const double t = from.averaged_t, most = from.clock.t;
    if (from.average.size() != (averages() ? from.v.size() : 0) ||
        from.average_scale.size() != (averages() ? from.slots.size() : 0))
        throw InputError("the average does not belong to the model's weights");
    if (!(t >= 0 && t <= most) || (!averages() && t > 0) || (averages() && from.next_look <= from.clock.examples))
        throw InputError("the average does not agree with the total weight of the examples");
}

}  // namespace unitless
