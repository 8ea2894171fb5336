// The numbers of named features that were looked up so far in a call.
//
// Names get numbers when a row with a positive weight first has them, in the order of that row. So the same data gives
// the same slots and the same bits, whether it arrives as a table, as text or as mappings, at once or in parts.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "encoding/encoder.hpp"

namespace unitless {

// Threads that predict share one object: each may look up a name itself, and all find the same number.
class FeatureNumbers {
  public:
    explicit FeatureNumbers(std::size_t names = 0) : numbers_(names, not_looked_up) {}
    void assign(std::size_t names) { numbers_.assign(names, not_looked_up); }
    void forget() { assign(numbers_.size()); }

    // The number of the i-th name, or 0 if it has none. A row that is learned with a positive weight assigns one.
    std::uint32_t find(Encoder& encoder, std::size_t i, std::string_view name, const RowUse& use) {
        const std::uint32_t known = load(i);
        if (known != not_looked_up) return known == unknown ? 0 : known;
        const auto found = encoder.feature(name, use.learns());
        // A name that a row of weight 0 does not find may get a number later in the same call.
        if (found || use.purpose != Purpose::learn) store(i, found.value_or(unknown));
        return found.value_or(0);
    }
    // The number if it was found before, otherwise 0.
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
