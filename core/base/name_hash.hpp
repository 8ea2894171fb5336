// Hashes names with a secret seed, so that no choice of names can make a hash table slow. Each process has its own
// seed; no model and no file depends on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

#include "base/load_word.hpp"

namespace unitless {

struct NameSeed {
    std::uint64_t first, second;  // `second` is odd, so that multiplication by it is invertible

    static const NameSeed& of_process() {
        static const NameSeed seed = [] {
            std::random_device random;
            const auto word = [&] { return std::uint64_t{random()} << 32 ^ random(); };
            const std::uint64_t first = word();
            return NameSeed{first, word() | 1};
        }();
        return seed;
    }
};

// Combines the halves of the 128-bit product: each bit of the result depends on all bits of both factors.
inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
    const std::uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
    const std::uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffff);
    return a * b ^ (a1 * b1 + (middle >> 32) + (other >> 32));
#endif
}

// Hashes a name of at least eight bytes. The last word may overlap the word before it.
inline std::uint64_t long_hash(std::string_view name, const NameSeed& seed) {
    std::uint64_t h = seed.first ^ name.size();
    const char *p = name.data(), *const last = p + name.size() - 8;
    for (; p < last; p += 8) h = folded_product(h ^ load_word(p), seed.second) + seed.first;
    return folded_product(h ^ load_word(last), seed.second);
}

inline std::uint64_t seeded_hash(std::string_view name, const NameSeed& seed) {
    if (name.size() >= 8) return long_hash(name, seed);
    std::uint64_t word = 0;
    if (!name.empty()) std::memcpy(&word, name.data(), name.size());
    return folded_product(seed.first ^ name.size() ^ word, seed.second);
}

// For the standard library's hash tables, with lookup by any kind of string.
struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
        return static_cast<std::size_t>(seeded_hash(name, NameSeed::of_process()));
    }
};

}  // namespace unitless
