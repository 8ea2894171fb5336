// The positions of slots in memory. Often only a few of many hashed slots are used, or remain after a model was pruned.
// Then slots get positions in the order in which they are first learned, and the memory has only that length. Otherwise
// the position of a slot is its number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace unitless {

class SlotPlaces {
  public:
    explicit SlotPlaces(bool on) : on_(on) {}

    bool on() const { return on_; }
    std::size_t count() const { return count_; }  // the number of positions, if on
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
    static constexpr std::uint32_t nowhere = 1;  // the position of slots that are never learned; position 0 is the bias
    bool on_;
    std::size_t count_ = 2;
    std::vector<std::uint32_t> places_;
};

}  // namespace unitless
