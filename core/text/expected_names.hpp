// Predicts the next feature's name. Most rows name the same features in the same order, so a name is expected to be
// followed by the one that followed it before. Comparing it with the text takes two words, and gives its length.
#pragma once

#include <cstdint>
#include <vector>

#include "base/load_word.hpp"

namespace unitless {

class ExpectedNames {
  public:
    static constexpr std::size_t longest = 16;  // including the colon after the name

    struct Name {
        std::uint64_t words[2], masks[2];
        std::uint32_t number, length;  // the length includes the colon

        bool stands_at(const char* p) const {
            return ((load_word(p) ^ words[0]) & masks[0]) == 0 && ((load_word(p + 8) ^ words[1]) & masks[1]) == 0;
        }
    };

    // The predecessor of a name: the start of a row, or the name with a number.
    static constexpr std::uint32_t start = 0;
    static constexpr std::uint32_t after(std::uint32_t number) { return number + 1; }

    void clear() { followers_.clear(); }

    // The expected name after this predecessor, or null.
    const Name* follower(std::uint32_t of) const {
        return of < followers_.size() && followers_[of].length ? &followers_[of] : nullptr;
    }
    // Stores the name at p, whose length includes the colon, as the expected one.
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
