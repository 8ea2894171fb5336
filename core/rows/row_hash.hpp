// The hash of a row's number, for random order and random samples of rows. It is the 64-bit permutation of splitmix64,
// so no two rows have the same hash. `data/rows/shuffle.py` has the permutation and its inverse in Python.
#pragma once

#include <cstdint>

namespace unitless {

inline std::uint64_t row_hash(std::uint64_t key, std::uint64_t number) {
    std::uint64_t x = number + key;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

}  // namespace unitless
