// Types in a list, one of which is chosen by its place: once per call; no inner loop asks again.
#pragma once

#include <cstddef>
#include <type_traits>

#include "simd/isa.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

template <class... Types>
struct TypeList {};

// action(std::type_identity<the type at that place>). A place beyond the end means the last.
template <class First, class... Rest, class Action>
auto with_type_at(std::size_t place, TypeList<First, Rest...>, Action action) {
    if constexpr (sizeof...(Rest) == 0) {
        return action(std::type_identity<First>{});
    } else {
        if (place == 0) return action(std::type_identity<First>{});
        return with_type_at(place - 1, TypeList<Rest...>{}, action);
    }
}

// Calls action(place, std::type_identity<type>) for each.
template <class... Types, class Action>
void for_each_type(TypeList<Types...>, Action action) {
    std::size_t place = 0;
    (action(place++, std::type_identity<Types>{}), ...);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
