// The fields of a learner's snapshot by name (engine/state_fields.hpp), except names and words.
#pragma once

#include "engine/state_fields.hpp"
#include "learner/learner.hpp"

namespace unitless {

template <class Visitor, StateOf<EncoderState> State>
void visit_fields(Visitor& visit, State& state) {
    using Product = Interactions::Product;
    using Column = Center::Column;
    const auto of = [](double Window::* field) {
        return [field](auto& watched) -> auto& { return watched.window.*field; };
    };
    visit("products", columns(state.products, &Product::left, &Product::right, &Product::slot), Sound::any);
    visit("center_features", state.center_features, Sound::any);
    visit("center_kinds", columns(state.center, &Column::offset), Sound::any);
    visit("center_means", more_columns(state.center, &Column::mean, &Column::weight), Sound::any);
    visit("proven_scales", more_columns(state.center, &Column::proven), Sound::any);
    visit("window_features", columns(state.windows, &Center::Watched::slot), Sound::any);
    visit("windows",
          more_columns(state.windows, of(&Window::scale), of(&Window::limit), of(&Window::low), of(&Window::high),
                       of(&Window::first), of(&Window::sum), of(&Window::square), of(&Window::weight),
                       of(&Window::count)),
          Sound::any);
}

template <class Visitor, StateOf<LabelState> State>
void visit_fields(Visitor& visit, State& state) {
    using Unit = LabelUnit;
    std::span unit(&state.unit, 1);
    visit("target",
          more_columns(unit, &Unit::started, &Unit::center, &Unit::weight, &Unit::sum, &Unit::square, &Unit::far_rows,
                       &Unit::limited),
          Sound::finite);
}

template <class Visitor, StateOf<Snapshot> State>
void visit_fields(Visitor& visit, State& state) {
    visit_fields(visit, state.engine);
    visit_fields(visit, state.labels);
    visit_fields(visit, state.encoder);
    visit("slopes", state.slopes, Sound::finite);
}

}  // namespace unitless
