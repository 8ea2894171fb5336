// The state of an engine beside others, as numbers that begin with its name, for files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/shapes/numbers.hpp"
#include "engine/state.hpp"

namespace unitless {

// Lanes and their scores.
inline void put_lanes(const std::string& name, const EngineState& from, std::vector<NamedNumbers>& to) {
    std::vector<double> heads, rates, scores;
    for (const Lane& lane : from.lanes) {
        heads.push_back(lane.head);
        rates.push_back(lane.rate);
    }
    for (const LaneScores& own : from.scores)
        scores.insert(scores.end(), {own.loss, own.recent, own.gap, own.square, own.total_gap, own.total_square});
    to.push_back({name + ".v", from.v});
    to.push_back({name + ".H", from.H});
    to.push_back({name + ".lane_heads", std::move(heads)});
    to.push_back({name + ".lane_rates", std::move(rates)});
    to.push_back({name + ".scores", std::move(scores)});
    to.push_back({name + ".followed", from.followed});
}

inline EngineState taken_lanes(const std::string& name, const std::vector<NamedNumbers>& from) {
    const auto named = [&](const char* what) -> const std::vector<double>& { return numbers_named(from, name + what); };
    const auto &heads = named(".lane_heads"), &rates = named(".lane_rates"), &scores = named(".scores");
    if (rates.size() != heads.size() || scores.size() % 6 != 0) throw InputError("the model's arrays differ in length");
    EngineState to;
    to.v = named(".v");
    to.H = named(".H");
    to.followed = named(".followed");
    for (std::size_t k = 0; k < heads.size(); ++k) {
        if (!is_count(heads[k], 0x7fffffff) || !is_count(rates[k], 0x7fffffff))
            throw InputError("the lanes do not belong to a model with these options");
        to.lanes.push_back({static_cast<std::uint32_t>(heads[k]), static_cast<std::uint32_t>(rates[k])});
    }
    for (std::size_t k = 0; k < scores.size(); k += 6)
        to.scores.push_back({scores[k], scores[k + 1], scores[k + 2], scores[k + 3], scores[k + 4], scores[k + 5]});
    return to;
}

// All of it.
inline void put_state(const std::string& name, const EngineState& from, std::vector<NamedNumbers>& to) {
    const Clock& clock = from.clock;
    put_lanes(name, from, to);
    to.push_back({name + ".slots", {from.slots.begin(), from.slots.end()}});
    to.push_back({name + ".scale", from.scale});
    to.push_back({name + ".average", from.average});
    to.push_back({name + ".average_scale", from.average_scale});
    to.push_back({name + ".clock",
                  {clock.t, clock.T, clock.N, static_cast<double>(clock.examples), clock.label_min, clock.label_max,
                   from.averaged_t, static_cast<double>(from.next_look), from.keeps_average ? 1.0 : 0.0,
                   from.choosing.suspended_at, from.choosing.missed}});
    for (const NamedNumbers& one : from.shape) to.push_back({name + "." + one.name, one.numbers});
}

inline EngineState taken_state(const std::string& name, const std::vector<NamedNumbers>& from, std::size_t slots) {
    constexpr std::size_t most = std::size_t{1} << 53;
    EngineState to = taken_lanes(name, from);
    for (const double slot : numbers_named(from, name + ".slots")) {
        if (!is_count(slot, 0x7fffffff)) throw InputError("a slot is outside the model's features");
        to.slots.push_back(static_cast<std::uint32_t>(slot));
    }
    to.scale = numbers_named(from, name + ".scale");
    to.average = numbers_named(from, name + ".average");
    to.average_scale = numbers_named(from, name + ".average_scale");
    const std::vector<double>& clock = numbers_named(from, name + ".clock");
    bool sound = clock.size() == 11;
    for (std::size_t i = 0; sound && i < clock.size(); ++i)  // before the first label its range is from inf to -inf
        sound = std::isfinite(clock[i]) || ((i == 4 || i == 5) && clock[i] == clock[i]);
    if (!sound || clock[0] < 0 || clock[1] < 0 || clock[2] < 0 || !is_count(clock[3], most) ||
        !is_count(clock[7], most) || !is_count(clock[8], 2) || (clock[9] < 0 && clock[9] != Choosing::going_on) ||
        clock[10] < 0)
        throw InputError("the totals of the expert '" + name + "' are not such as learning gives");
    to.clock = {clock[0], clock[1], clock[2], static_cast<std::uint64_t>(clock[3]), clock[4], clock[5]};
    to.averaged_t = clock[6];
    to.next_look = static_cast<std::uint64_t>(clock[7]);
    to.keeps_average = clock[8] != 0;
    to.choosing = {clock[9], clock[10]};
    const std::string beginning = name + ".";
    for (const NamedNumbers& one : from)
        if (one.name.starts_with(beginning)) to.shape.push_back({one.name.substr(beginning.size()), one.numbers});
    check_slots(to, slots);
    return to;
}

}  // namespace unitless
