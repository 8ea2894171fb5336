// Features that rows mention by name, and what is known of each name in the course of a call.
//
// Names get their numbers when a row that counts first mentions them, in the order of mention: so the same data gives
// the same slots, and with them the same bits, whether it comes as a table, as text or as mappings, at once or in
// parts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "preparation/preparation.hpp"

namespace unitless {

// A feature's number, or one of these: nothing was asked yet; it is not known, and nothing may be added.
inline constexpr std::uint32_t not_met = 0, not_known = ~std::uint32_t{0};

inline bool is_feature(std::uint32_t known) { return known - 1 < not_known - 1; }

// The number of a name that a row mentions, or 0. `learning`: what is not known now may be so later in the same call.
inline std::uint32_t mentioned(Preparation& preparation, std::uint32_t& known, std::string_view name, bool grow,
                               bool learning) {
    if (known != not_met) return known == not_known ? 0 : known;
    if (const auto found = preparation.feature(name, grow)) return known = *found;
    if (!learning) known = not_known;
    return 0;
}

// What is known of names that several threads meet at once: each may find out for itself, and all find the same.
class SharedMentions {
  public:
    explicit SharedMentions(std::size_t names = 0) : known_(names, not_met) {}
    void assign(std::size_t names) { known_.assign(names, not_met); }

    std::size_t size() const { return known_.size(); }
    std::uint32_t operator[](std::size_t i) const { return std::atomic_ref(known_[i]).load(std::memory_order_relaxed); }
    void set(std::size_t i, std::uint32_t known) { std::atomic_ref(known_[i]).store(known, std::memory_order_relaxed); }
    std::uint32_t mention(Preparation& preparation, std::size_t i, std::string_view name, bool grow, bool learning) {
        std::uint32_t known = (*this)[i];
        if (is_feature(known)) return known;
        const std::uint32_t before = known, found = mentioned(preparation, known, name, grow, learning);
        if (known != before) set(i, known);
        return found;
    }
    bool any_feature() const { return std::any_of(known_.begin(), known_.end(), is_feature); }

  private:
    mutable std::vector<std::uint32_t> known_;
};

}  // namespace unitless
