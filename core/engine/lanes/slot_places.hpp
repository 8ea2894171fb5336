// Where slots live in memory. Of names that are hashed into many slots few may ever be met, or be left when a model has
// been pruned: then slots get places in the order in which they are first learned, and memory is as long as these are.
// Otherwise a slot's place is its number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace unitless {

class SlotPlaces {
  public:
    explicit SlotPlaces(bool on) : on_(on) {}

    bool on() const { return on_; }
    std::size_t count() const { return count_; }  // of places, where there are any
    void reserve(std::size_t slots) {
        if (slots > places_.size()) places_.resize(slots, nowhere);
        if (slots > 0) places_[0] = 0;
    }

    std::uint32_t find(std::uint32_t slot) const {
        if (!on_) return slot;
        return slot < places_.size() ? places_[slot] : nowhere;
    }
    std::uint32_t allot(std::uint32_t slot) {
        if (!on_) return slot;
        std::uint32_t& place = places_[slot];
        if (place == nowhere) place = static_cast<std::uint32_t>(count_++);
        return place;
    }

    std::size_t bytes() const { return places_.capacity() * sizeof(std::uint32_t); }

  private:
    static constexpr std::uint32_t nowhere = 1;  // which is never learned; before it the bias
    bool on_;
    std::size_t count_ = 2;
    std::vector<std::uint32_t> places_;
};

}  // namespace unitless
