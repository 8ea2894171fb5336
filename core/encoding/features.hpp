// The numbers and slots of features. Slot 0 is the bias.
//
// A learner's features are columns (column j is feature 1 + j), interned names (numbered in the order in which they
// first occur; exact, growing on demand), or hashed names (bounded memory; two names may share a slot). The first data
// decides between columns and names. A feature's number is its slot, except for names that first occur after products
// of features have received slots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/errors.hpp"
#include "base/name_hash.hpp"

namespace unitless {

inline constexpr std::string_view bias_name = "(bias)";

enum class Space { unset, columns, names, hashed };

// 64-bit FNV-1a with a final mix (the low bits of FNV alone are weak). It reads bytes, so all machines give the same
// hash.
inline std::uint64_t hash_name(std::string_view name) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdULL;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
}

class Features {
  public:
    explicit Features(std::optional<unsigned> bits) : space_(bits ? Space::hashed : Space::unset) {
        if (bits) mask_ = (std::uint32_t{1} << *bits) - 1;
    }

    Space space() const { return space_; }
    std::size_t column_count() const { return column_count_; }
    const std::vector<std::string>& names() const { return names_; }
    std::uint32_t mask() const { return mask_; }
    // The bits of a column's number that determine its slot.
    std::uint32_t column_mask() const { return space_ == Space::hashed ? mask_ : ~std::uint32_t{0}; }
    // Whether columns have slots. Before the first data they have none.
    bool has_columns() const { return space_ == Space::columns || space_ == Space::hashed; }

    // The number of slots, including the bias.
    std::size_t slot_count() const {
        switch (space_) {
            case Space::columns:
                return 1 + column_count_ + product_count_;
            case Space::names:
                return 1 + names_.size() + product_count_;
            case Space::hashed:
                return std::size_t{2} + mask_;
            case Space::unset:
                break;
        }
        return 1;
    }
    // The number of features, without the bias and products.
    std::size_t feature_count() const { return space_ == Space::columns ? column_count_ : names_.size(); }

    std::uint32_t slot_of(std::uint32_t feature) const {
        return space_ == Space::names && !name_slots_.empty() ? name_slots_[feature - 1] : feature;
    }

    // Assigns the slot of a new product.
    std::uint32_t allot() {
        if (space_ == Space::names)
            while (name_slots_.size() < names_.size())
                name_slots_.push_back(static_cast<std::uint32_t>(name_slots_.size() + 1));
        if (slot_count() >= 0xfffffffe)
            throw InputError("there are more features and products than a learner can hold", "hash them with bits=");
        const auto slot = static_cast<std::uint32_t>(slot_count());
        ++product_count_;
        return slot;
    }
    void restore_slots(std::vector<std::uint32_t> name_slots, std::size_t product_count) {
        name_slots_ = std::move(name_slots);
        product_count_ = product_count;
    }

    void use_columns(std::size_t count) {
        if (space_ == Space::hashed) return;
        space_ = Space::columns;
        column_count_ = count;
    }
    void use_names() {
        if (space_ == Space::unset) space_ = Space::names;
    }

    // A state of the features that can be restored if the data turns out to be invalid.
    struct Mark {
        Space space;
        std::size_t column_count, name_count, product_count;
    };
    Mark mark() const { return {space_, column_count_, names_.size(), product_count_}; }
    void rewind(const Mark& mark) {
        space_ = mark.space;
        column_count_ = mark.column_count;
        for (; names_.size() > mark.name_count; names_.pop_back()) slots_.erase(names_.back());
        if (name_slots_.size() > mark.name_count) name_slots_.resize(mark.name_count);
        product_count_ = mark.product_count;
    }

    std::uint32_t column_slot(std::uint64_t column) const {
        return static_cast<std::uint32_t>(1 + (space_ == Space::hashed ? column & mask_ : column));
    }

    // The number of a name, if it has one.
    std::optional<std::uint32_t> find(std::string_view name) const {
        if (space_ == Space::hashed) return static_cast<std::uint32_t>(1 + (hash_name(name) & mask_));
        const auto found = slots_.find(name);
        if (found == slots_.end()) return std::nullopt;
        return found->second;
    }

    // The number of a name. A new name gets a number.
    std::uint32_t intern(std::string_view name) {
        if (name == bias_name)
            throw InputError("a feature is named '(bias)', which is the bias's own name", "rename it");
        if (const auto feature = find(name)) return *feature;
        const auto feature = static_cast<std::uint32_t>(names_.size() + 1);
        const auto added = slots_.emplace(name, feature).first;
        try {
            const auto slot = static_cast<std::uint32_t>(slot_count());
            names_.emplace_back(name);
            if (!name_slots_.empty()) name_slots_.push_back(slot);
        } catch (...) {  // memory ran out: undo the addition
            if (names_.size() == feature) names_.pop_back();
            if (name_slots_.size() == feature) name_slots_.pop_back();
            slots_.erase(added);
            throw;
        }
        return feature;
    }

  private:
    Space space_;
    std::size_t column_count_ = 0, product_count_ = 0;
    std::uint32_t mask_ = 0;
    std::vector<std::uint32_t> name_slots_;  // empty while every name's slot equals its number
    std::vector<std::string> names_;
    std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>> slots_;
};

}  // namespace unitless
