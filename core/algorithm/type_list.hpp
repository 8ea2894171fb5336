// Lists of types. A position selects one type, once per call, outside the inner loops.
#pragma once

#include <cstddef>
#include <type_traits>

#include "simd/isa.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

template <class... Types>
struct TypeList {};

// Calls action(std::type_identity<the type at that position>). A position beyond the end selects the last type.
template <class First, class... Rest, class Action>
auto with_type_at(std::size_t place, TypeList<First, Rest...>, Action action) {
    if constexpr (sizeof...(Rest) == 0) {
        return action(std::type_identity<First>{});
    } else {
        if (place == 0) return action(std::type_identity<First>{});
        return with_type_at(place - 1, TypeList<Rest...>{}, action);
    }
}

// Calls action(position, std::type_identity<type>) for each type.
template <class... Types, class Action>
void for_each_type(TypeList<Types...>, Action action) {
    std::size_t place = 0;
    (action(place++, std::type_identity<Types>{}), ...);
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
