// Words as features, in bounded memory. A column of words gives names of their own, `column=word`, to the first words
// and pairs of words that it meets; any that come later, and long ones, share features `column=#12345` by their hashes.
//
// How many names a column has given follows from the names, so that nothing has to be saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/name_hash.hpp"
#include "encoding/features.hpp"

namespace unitless {

class WordCounts {
  public:
    static constexpr std::size_t most = std::size_t{1} << 18;  // names of a column's own
    static constexpr std::size_t longest = 64;                 // bytes of a word or pair that may have one

    // Features that the others share. Fewer would do harm: rare words, which most are, would be as common as others.
    static constexpr std::uint64_t places = std::uint64_t{1} << 18;

    // Has the column given all its names? `stem` is what they begin with: "column=". Threads may ask at once.
    bool full(std::string_view stem, const std::vector<std::string>& names) {
        if (names.size() < most) return false;
        const std::lock_guard guard(lock_);
        auto found = counts_.find(stem);
        if (found == counts_.end()) found = counts_.emplace(stem, Count{}).first;
        Count& count = found->second;
        for (; count.seen < names.size(); ++count.seen) count.own += is_own(names[count.seen], stem);
        return count.own >= most;
    }

    // Names from this number on are about to be forgotten.
    void rewind(std::size_t to, const std::vector<std::string>& names) {
        for (auto& [stem, count] : counts_)
            for (; count.seen > to; --count.seen) count.own -= is_own(names[count.seen - 1], stem);
    }

    // What follows the stem in the name of a feature that is shared.
    static std::string shared(std::string_view word) { return '#' + std::to_string(hash_name(word) % places); }

    std::size_t bytes() const {
        const std::lock_guard guard(lock_);
        return counts_.size() * 96;
    }

  private:
    struct Count {
        std::size_t own = 0, seen = 0;  // names of the column's own, among so many of the first names
    };
    std::unordered_map<std::string, Count, NameHash, std::equal_to<>> counts_;
    mutable std::mutex lock_;  // of the counts, which are brought up to date when they are asked for

    // No word begins with '#'.
    static bool is_own(std::string_view name, std::string_view stem) {
        return name.starts_with(stem) && !name.substr(stem.size()).starts_with('#');
    }
};

}  // namespace unitless
