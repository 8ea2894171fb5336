// What the core can complain about. The bindings turn these into unitless.errors.
#pragma once

#include <stdexcept>
#include <string>

namespace unitless {

// The caller's data is not what it should be; nothing has changed.
struct InputError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The numbers ran away; the rows before the one named have been learned.
struct DivergedError : std::runtime_error {
    DivergedError(const std::string& what, std::size_t at) : std::runtime_error(what), row(at) {}
    std::size_t row;
};

}  // namespace unitless
