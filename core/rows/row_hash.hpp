// The hash of a row's number, by which rows come into random order and samples are drawn: a permutation of 64 bits
// (splitmix64's), so that no two rows have the same. `data/shuffle.py` has it in Python, and its inverse.
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
