// Assigns numbers to names, in the order in which they are added. It is cleared for each chunk of text.
//
// A name is looked up by its written part and the number of the space in which the part is written, such as a
// namespace. So a reader joins a namespace and a name only once. Up to eight bytes are compared as one word.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/load_word.hpp"
#include "base/name_hash.hpp"

namespace unitless {

class NameTable {
  public:
    static constexpr std::uint32_t none = 0xffffffff;

    NameTable() : entries_(64) {}

    void clear() {
        if (++epoch_ == 0) {  // after four billion chunks; the oldest entries would look like new ones
            entries_.assign(entries_.size(), {});
            epoch_ = 1;
        }
        used_ = 0;
        text_.clear();
        ends_.clear();
        added_.clear();
    }

    std::size_t size() const { return ends_.size(); }
    const std::vector<char>& text() const { return text_; }
    const std::vector<std::size_t>& ends() const { return ends_; }
    std::string_view name(std::uint32_t number) const {
        const std::size_t begin = number == 0 ? 0 : ends_[number - 1];
        return {text_.data() + begin, ends_[number] - begin};
    }

    // The number of a name, or none. The written part must not be empty, and eight bytes from its beginning must be
    // readable.
    std::uint32_t find(std::uint32_t space, const char* written, std::size_t length) const {
        return length <= 8 ? find<false>(load_short(written, length), space, written, length)
                           : find<true>(long_hash({written, length}, seed_), space, written, length);
    }
    // Assigns a number to a new name: `prefix` and its written part.
    std::uint32_t add(std::uint32_t space, std::string_view prefix, const char* written, std::size_t length) {
        text_.insert(text_.end(), prefix.begin(), prefix.end());
        text_.insert(text_.end(), written, written + length);
        ends_.push_back(text_.size());
        const auto number = static_cast<std::uint32_t>(ends_.size() - 1);
        add_alias(number, space, written, length);
        return number;
    }
    std::uint32_t find_or_add(std::uint32_t space, std::string_view prefix, const char* written, std::size_t length) {
        const std::uint32_t number = find(space, written, length);
        return number == none ? add(space, prefix, written, length) : number;
    }
    // Adds another space and written part for a name that has a number. The part must be an end of the name.
    void add_alias(std::uint32_t number, std::uint32_t space, const char* written, std::size_t length) {
        if (2 * ++used_ > entries_.size()) grow();
        const std::uint64_t word = length <= 8 ? load_short(written, length) : long_hash({written, length}, seed_);
        added_.push_back(put({word, key_of(space, length), number, epoch_}));
    }

    // `rewind` removes the names that were added after `mark`; `size` is the number of names before.
    void mark() { added_.clear(); }
    void rewind(std::size_t size) {
        // The latest is removed first, because a search for it passes the positions of the earlier ones.
        for (; !added_.empty(); added_.pop_back(), --used_) entries_[added_.back()].epoch = 0;
        ends_.resize(size);
        text_.resize(size == 0 ? 0 : ends_[size - 1]);
    }

  private:
    struct Entry {
        std::uint64_t word = 0, key = 0;
        std::uint32_t number = 0, epoch = 0;
    };
    std::vector<Entry> entries_;  // open addressing; an entry of another epoch is empty
    std::size_t used_ = 0;
    unsigned shift_ = 64 - 6;  // the table has 2^(64 - shift) entries
    std::uint32_t epoch_ = 1;
    std::vector<char> text_;
    std::vector<std::size_t> ends_;
    std::vector<std::size_t> added_;  // the entries since `mark`
    NameSeed seed_ = NameSeed::of_process();

    static std::uint64_t key_of(std::uint32_t space, std::size_t length) {
        return static_cast<std::uint64_t>(space) << 40 ^ length;
    }
    // One multiplication by the secret seed is enough: without the seed, an attacker cannot choose names that collide.
    std::size_t place(std::uint64_t word, std::uint64_t key) const {
        return static_cast<std::size_t>(folded_product(word ^ (key << 7) ^ seed_.first, seed_.second) >> shift_);
    }

    template <bool is_long>
    std::uint32_t find(std::uint64_t word, std::uint32_t space, const char* written, std::size_t length) const {
        const std::uint64_t key = key_of(space, length);
        const std::size_t last = entries_.size() - 1;
        for (std::size_t at = place(word, key);; at = (at + 1) & last) {
            const Entry& entry = entries_[at];
            if (entry.epoch != epoch_) return none;
            if (entry.word != word || entry.key != key) continue;
            if (is_long && !name(entry.number).ends_with(std::string_view(written, length))) continue;
            return entry.number;
        }
    }

    std::size_t put(const Entry& entry) {
        std::size_t at = place(entry.word, entry.key);
        while (entries_[at].epoch == epoch_) at = (at + 1) & (entries_.size() - 1);
        entries_[at] = entry;
        return at;
    }
    void grow() {
        std::vector<Entry> old(2 * entries_.size());
        old.swap(entries_);
        shift_ -= 1;
        // `rewind` requires that the entries since `mark` are the last ones, in order.
        std::vector<Entry> young;
        for (const std::size_t at : added_) {
            young.push_back(old[at]);
            old[at].epoch = 0;
        }
        for (const Entry& entry : old)
            if (entry.epoch == epoch_) put(entry);
        for (std::size_t i = 0; i < young.size(); ++i) added_[i] = put(young[i]);
    }
};

}  // namespace unitless
