// Hashes of names that nobody can foresee, so that no choice of names makes a table slow. Different in every process;
// nothing that is learned or written depends on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>

#include "base/load_word.hpp"

namespace unitless {

struct NameSeed {
    std::uint64_t first, second;  // the second one is odd

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

// The two halves of the product of 128 bits: each bit of the result depends on all of both factors.
inline std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
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

inline std::uint64_t seeded_hash(std::string_view name, const NameSeed& seed) {
    std::uint64_t h = seed.first ^ name.size();
    const char* p = name.data();
    std::size_t left = name.size();
    for (; left >= 8; left -= 8, p += 8) h = folded(h ^ load_word(p), seed.second) + seed.first;
    std::uint64_t rest = 0;
    std::memcpy(&rest, p, left);
    return folded(h ^ rest, seed.second);
}

// For tables of names.
struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
        return static_cast<std::size_t>(seeded_hash(name, NameSeed::of_process()));
    }
};

}  // namespace unitless
