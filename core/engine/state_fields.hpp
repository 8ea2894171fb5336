// The fields of a state by name: the one list for saving, loading and checking.
//
// visit_fields(visit, state) calls, for each field,
//
//   visit(name, field, sound)         a number; an array of numbers, or some fields of an array of structs (`columns`);
//                                     or an optional one of these, which may be missing
//   visit.extra(name, field, sound)   an optional field that only some engines have
//   visit.part(prefix, part, mark)    an optional struct, whose field names have this prefix; it is present if its
//                                     field `mark` is
//   visit.members(array)              the members of an ensemble: "member." is the prefix of their fields
#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>

#include "engine/state.hpp"

namespace unitless {

// The values that learning can produce: any number (including NaN), a number, a finite number, a finite number >= 0.
// Integer fields may have any value of their type.
enum class Sound { any, number, finite, not_negative };

inline bool is_sound(double x, Sound sound) {
    switch (sound) {
        case Sound::number:
            return !std::isnan(x);
        case Sound::finite:
            return std::isfinite(x);
        case Sound::not_negative:
            return std::isfinite(x) && x >= 0;
        default:
            return true;
    }
}

// Some fields of an array of structs, as one array: the fields of the first struct, of the second, ... A field is a
// pointer to a member, or a function that returns a reference to it.
template <class Records, class... Fields>
struct Columns {
    using Record = typename Records::value_type;
    template <class Field>
    using Number = std::remove_cvref_t<std::invoke_result_t<Field, Record&>>;
    static constexpr std::size_t width = sizeof...(Fields);
    static constexpr bool whole = (!std::is_floating_point_v<Number<Fields>> && ...);

    Records& records;
    bool sized;  // whether the number of structs is known
    std::tuple<Fields...> fields;

    // Calls action(field) for all fields.
    template <class Action>
    void for_each(Action action) const {
        for (auto& record : records)
            std::apply([&](auto... field) { (action(std::invoke(field, record)), ...); }, fields);
    }
};
template <class Records, class... Fields>
Columns<Records, Fields...> columns(Records& records, Fields... fields) {
    return {records, false, {fields...}};
}
// More fields of structs whose first fields were visited by `columns`; or the fields of a single struct, in a span.
template <class Records, class... Fields>
Columns<Records, Fields...> more_columns(Records& records, Fields... fields) {
    return {records, true, {fields...}};
}

template <class Field>
inline constexpr bool is_number = std::is_arithmetic_v<Field>;
template <class Field>
inline constexpr bool is_optional = requires(Field& field) { field.has_value(); };

// Calls action(number) for the numbers of a field, if the field is present.
template <class Field, class Action>
void for_each_number(const Field& field, Action action) {
    if constexpr (is_number<Field>) {
        action(field);
    } else if constexpr (requires { field.for_each(action); }) {
        field.for_each(action);
    } else {
        for (const auto& number : field) action(number);
    }
}

template <class State, class Of>
concept StateOf = std::is_same_v<std::remove_const_t<State>, Of>;

template <class Visitor, class State>
void visit_lanes(Visitor& visit, State& state) {
    visit("v", state.v, Sound::finite);
    visit("H", state.H, Sound::finite);  // rounding may make a variance negative
    visit("lane_heads", columns(state.lanes, &Lane::head), Sound::any);
    visit("lane_rates", more_columns(state.lanes, &Lane::rate), Sound::any);
    using Scores = LaneScores;  // a lane that diverged has an infinite loss
    visit("scores",
          columns(state.scores, &Scores::loss, &Scores::recent, &Scores::gap, &Scores::square, &Scores::total_gap,
                  &Scores::total_square),
          Sound::number);
    visit("followed", state.followed, Sound::finite);
}

template <class Visitor, StateOf<LaneState> State>
void visit_fields(Visitor& visit, State& state) {
    visit_lanes(visit, state);
}

template <class Visitor, StateOf<NewtonState> State>
void visit_fields(Visitor& visit, State& state) {
    visit("order", state.order, Sound::any);
    visit("P", state.P, Sound::finite);
    visit("recent", state.recent, Sound::not_negative);
    visit("met", state.met, Sound::any);
}

template <class Visitor, StateOf<CurveState> State>
void visit_fields(Visitor& visit, State& state) {
    visit("leaves", state.leaves, Sound::any);
    visit("thresholds", state.thresholds, Sound::finite);
    visit("places", state.places, Sound::any);
    visit("seen", state.seen, Sound::any);
    visit("values", state.values, Sound::finite);
    visit("met", state.met, Sound::any);
}

template <class Visitor, StateOf<TreeState> State>
void visit_fields(Visitor& visit, State& state) {
    visit("candidates", state.candidates, Sound::any);
    visit("unit", state.unit, Sound::not_negative);
    visit("sizes", state.sizes, Sound::any);
    visit("random", state.random, Sound::any);
    visit("low", state.low, Sound::number);  // a leaf's test is whether a value is above infinity
    visit("high", state.high, Sound::number);
    visit("column", state.column, Sound::any);
    visit("child", state.child, Sound::any);
    visit("place", state.place, Sound::any);
    using Facts = LeafFacts;
    visit("facts",
          columns(state.facts, &Facts::weight, &Facts::square, &Facts::stage, &Facts::need, &Facts::rows, &Facts::text),
          Sound::not_negative);
    visit("sums", state.sums, Sound::any);
    visit("watched", state.watched, Sound::number);
}

template <class Visitor, StateOf<LeafState> State>
void visit_fields(Visitor& visit, State& state) {
    visit("leaves", state.leaves, Sound::any);
    visit("weights", state.weights, Sound::finite);
    visit("evidence", state.evidence, Sound::not_negative);
    visit("rows", state.rows, Sound::finite);
    visit("N", state.N, Sound::not_negative);
    visit("advantage", state.advantage, Sound::finite);
    visit("began", state.began, Sound::not_negative);
    visit.part("", state.lanes, "v");
}

template <class Visitor, StateOf<EngineState> State>
void visit_fields(Visitor& visit, State& state) {
    visit("t", state.clock.t, Sound::not_negative);
    visit("T", state.clock.T, Sound::not_negative);
    visit("N", state.clock.N, Sound::not_negative);
    visit("examples", state.clock.examples, Sound::any);
    visit("label_min", state.clock.label_min, Sound::number);  // before the first label, from infinity to -infinity
    visit("label_max", state.clock.label_max, Sound::number);
    visit("slots", state.slots, Sound::any);
    visit("scale", state.scale, Sound::not_negative);
    visit_lanes(visit, state);
    visit("average", state.average, Sound::finite);
    visit("average_scale", state.average_scale, Sound::not_negative);
    visit("averaged_t", state.averaged_t, Sound::not_negative);
    visit("next_look", state.next_look, Sound::any);
    visit("errors", state.errors, Sound::not_negative);
    visit("suspended_at", state.choosing.suspended_at, Sound::not_negative);
    visit("missed", state.choosing.missed, Sound::not_negative);
    visit.extra("softmax.classes", state.announced_classes, Sound::any);
    visit.part("newton.", state.newton, "order");
    visit.extra("linear.N", state.linear_N, Sound::not_negative);
    visit.extra("classes.met", state.classes_met, Sound::any);
    visit.part("curve.", state.curves, "leaves");
    visit.part("curves.", state.curve_learner, "leaves");
    visit.part("trees.", state.tree_learner, "leaves");
    visit.part("tree.", state.trees, "candidates");
    visit.extra("mixture", state.mixture, Sound::finite);
    visit.members(state.members);
}

// A visitor that throws InputError for the first value that learning cannot produce.
class FieldChecker {
  public:
    explicit FieldChecker(std::string prefix = {}) : prefix_(std::move(prefix)) {}

    template <class Field>
    void operator()(const char* name, const Field& field, Sound sound) {
        if constexpr (is_optional<Field>) {
            if (field) (*this)(name, *field, sound);
        } else {
            for_each_number(field, [&](const auto& number) {
                if constexpr (std::is_floating_point_v<std::remove_cvref_t<decltype(number)>>)
                    if (!is_sound(static_cast<double>(number), sound)) refuse(prefix_ + name);
            });
        }
    }
    template <class Field>
    void extra(const char* name, const Field& field, Sound sound) {
        (*this)(name, field, sound);
    }
    template <class Part>
    void part(const char* prefix, const std::optional<Part>& part, const char* /*mark*/) {
        FieldChecker inner(prefix_ + prefix);
        if (part) visit_fields(inner, *part);
    }
    void members(const std::vector<MemberState>& all) {
        for (const MemberState& member : all) {
            FieldChecker inner(prefix_ + member.name + ".");
            visit_fields(inner, member.state);
        }
    }

    [[noreturn]] static void refuse(const std::string& name) {
        throw InputError("the model's field '" + name + "' has a value that learning cannot produce");
    }

  private:
    std::string prefix_;
};

template <class State>
void check_fields(const State& state) {
    FieldChecker checker;
    visit_fields(checker, state);
}

}  // namespace unitless
