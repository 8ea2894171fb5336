// Words and n-grams as features, in bounded memory. In a column of free text, the first words and pairs of words (or
// n-grams) get features of their own, `column=word`. Later ones, long ones, and n-grams that begin with '#', share
// features `column=#12345` by their hashes.
//
// The number of a column's own names follows from the names, so model files do not store it.
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
    static constexpr std::size_t most = std::size_t{1} << 18;  // a column's own names
    static constexpr std::size_t longest = 64;                 // bytes of a word that may have its own name

    // The number of shared features. A smaller number would make rare words, which are most words, look as common as
    // others.
    static constexpr std::uint64_t places = std::uint64_t{1} << 18;

    // Whether the column has used all its own names. `stem` is their beginning: "column=". Several threads may call
    // this.
    bool full(std::string_view stem, const std::vector<std::string>& names) {
        if (names.size() < most) return false;
        const std::lock_guard guard(lock_);
        auto found = counts_.find(stem);
        if (found == counts_.end()) found = counts_.emplace(stem, Count{}).first;
        Count& count = found->second;
        for (; count.seen < names.size(); ++count.seen) count.own += is_own(names[count.seen], stem);
        return count.own >= most;
    }

    // Must be called before the names from number `to` on are removed.
    void rewind(std::size_t to, const std::vector<std::string>& names) {
        for (auto& [stem, count] : counts_)
            for (; count.seen > to; --count.seen) count.own -= is_own(names[count.seen - 1], stem);
    }

    // Whether a word, pair or n-gram may have its own name.
    static bool may_be_own(std::string_view word) { return word.size() <= longest && !word.starts_with('#'); }

    // The part of a shared feature's name after the stem.
    static std::string shared(std::string_view word) { return '#' + std::to_string(hash_name(word) % places); }

    std::size_t bytes() const {
        const std::lock_guard guard(lock_);
        return counts_.size() * 96;
    }

  private:
    struct Count {
        std::size_t own = 0, seen = 0;  // the number of the column's own names among the first `seen` names
    };
    std::unordered_map<std::string, Count, NameHash, std::equal_to<>> counts_;
    mutable std::mutex lock_;  // protects the counts, which `full` updates

    static bool is_own(std::string_view name, std::string_view stem) {
        return name.starts_with(stem) && may_be_own(name.substr(stem.size()));
    }
};

}  // namespace unitless
