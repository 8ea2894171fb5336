// Features that rows mention by name, and what is known of each name in the course of a call.
//
// Names get their numbers when a row that counts first mentions them, in the order of mention: so the same data gives
// the same slots, and with them the same bits, whether it comes as a table, as text or as mappings, at once or in
// parts.
#pragma once

#include <cstdint>
#include <string_view>

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

}  // namespace unitless
