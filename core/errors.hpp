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
    DivergedError(const std::string& what, std::size_t where, std::size_t learned)
        : std::runtime_error(what), at(where), row(learned) {}
    std::size_t at;   // the row that is to blame
    std::size_t row;  // the first one that is not learned
};

inline std::string where(std::size_t row) { return " at row " + std::to_string(row); }

// `learned`: the number of rows that are.
[[noreturn]] inline void throw_diverged(std::size_t row, std::size_t learned) {
    throw DivergedError("the learner diverged" + where(row) +
                            (learned == row ? "; the rows before it are learned"
                                            : "; the rows before row " + std::to_string(learned) + " are learned") +
                            ". Look for values, labels or weights beyond reason there, or use a smaller learning_rate, "
                            "or importance_aware=True",
                        row, learned);
}
[[noreturn]] inline void throw_diverged(std::size_t row) { throw_diverged(row, row); }

}  // namespace unitless
