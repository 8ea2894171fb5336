// Guesses the next feature's name. Most rows name the same features in the same order, so that a name is expected to be
// followed by the one that followed it before. To compare it with the text takes two words, and gives its length.
#pragma once

#include <cstdint>
#include <vector>

#include "base/load_word.hpp"

namespace unitless {

class ExpectedNames {
  public:
    static constexpr std::size_t longest = 16;  // with the colon behind the name

    struct Name {
        std::uint64_t words[2], masks[2];
        std::uint32_t number, length;  // the length includes the colon

        bool stands_at(const char* p) const {
            return ((load_word(p) ^ words[0]) & masks[0]) == 0 && ((load_word(p + 8) ^ words[1]) & masks[1]) == 0;
        }
    };

    // What a name can follow: the start of a row, or the name with a number.
    static constexpr std::uint32_t start = 0;
    static constexpr std::uint32_t after(std::uint32_t number) { return number + 1; }

    void clear() { followers_.clear(); }

    // The name that is expected there, or null.
    const Name* follower(std::uint32_t of) const {
        return of < followers_.size() && followers_[of].length ? &followers_[of] : nullptr;
    }
    // Expects the name at p, whose length includes the colon.
    void learn(std::uint32_t of, std::uint32_t number, const char* p, std::size_t length) {
        if (followers_.size() <= of) followers_.resize(of + 1);
        Name& name = followers_[of];
        name.number = number;
        name.length = static_cast<std::uint32_t>(length);
        name.masks[0] = length < 8 ? (std::uint64_t{1} << (8 * length)) - 1 : ~std::uint64_t{0};
        name.masks[1] = length <= 8 ? 0 : ~std::uint64_t{0} >> (8 * (longest - length));
        name.words[0] = load_word(p) & name.masks[0];
        name.words[1] = load_word(p + 8) & name.masks[1];
    }

  private:
    std::vector<Name> followers_;  // by `start` or `after(number)`
};

}  // namespace unitless
