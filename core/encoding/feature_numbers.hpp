// The numbers of some named features, as far as they have been looked up in the course of a call.
//
// Names get their numbers when a row with a weight first has them, in the order in which it has them: so the same data
// gives the same slots, and with them the same bits, whether it comes as a table, as text or as mappings, at once or in
// parts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encoding/encoder.hpp"

namespace unitless {

// Threads that predict share them: each may look a name up for itself, and all find the same.
class FeatureNumbers {
  public:
    explicit FeatureNumbers(std::size_t names = 0) : numbers_(names, not_looked_up) {}
    void assign(std::size_t names) { numbers_.assign(names, not_looked_up); }
    void forget() { assign(numbers_.size()); }

    // The number of the i-th name, or 0 where there is none. A row that is learned with a weight gives it one.
    std::uint32_t find(Encoder& encoder, std::size_t i, std::string_view name, const RowUse& use) {
        const std::uint32_t known = load(i);
        if (known != not_looked_up) return known == unknown ? 0 : known;
        const auto found = encoder.feature(name, use.learns());
        // What a row without weight does not find may have a number later in the same call.
        if (found || use.purpose != Purpose::learn) store(i, found.value_or(unknown));
        return found.value_or(0);
    }
    // The number, if it was found before; otherwise 0.
    std::uint32_t found(std::size_t i) const {
        const std::uint32_t known = load(i);
        return known == unknown ? 0 : known;
    }
    bool is_unknown(std::size_t i) const { return load(i) == unknown; }
    bool any_found() const {
        for (std::size_t i = 0; i < numbers_.size(); ++i)
            if (found(i)) return true;
        return false;
    }

  private:
    static constexpr std::uint32_t not_looked_up = 0, unknown = ~std::uint32_t{0};
    mutable std::vector<std::uint32_t> numbers_;

    std::uint32_t load(std::size_t i) const { return std::atomic_ref(numbers_[i]).load(std::memory_order_relaxed); }
    void store(std::size_t i, std::uint32_t number) {
        std::atomic_ref(numbers_[i]).store(number, std::memory_order_relaxed);
    }
};

}  // namespace unitless
