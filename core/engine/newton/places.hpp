// The features that a second-order learner knows: the first hundred that occurred, each with its scale and its position
// in P.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/newton/kernel.hpp"

namespace unitless {

class Places {
  public:
    static constexpr std::uint32_t none = ~0u;

    // Slots beyond `slots` have no position.
    void reserve(std::size_t slots) {
        if (slots > place_of_.size()) place_of_.resize(slots, none);
    }
    std::uint32_t of(std::uint32_t slot) const { return slot < place_of_.size() ? place_of_[slot] : none; }
    std::size_t count() const { return slots_.size(); }
    bool full() const { return slots_.size() == most_features; }
    std::uint32_t add(std::uint32_t slot) {
        scale_.reserve(most_features);  // before any change, because memory may run out
        slots_.reserve(most_features);
        slots_.push_back(slot);
        scale_.push_back(0.0);
        return place_of_[slot] = static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::vector<std::uint32_t>& slots() const { return slots_; }  // by place
    double& scale(std::size_t place) { return scale_[place]; }
    double scale(std::size_t place) const { return scale_[place]; }
    std::size_t bytes() const { return place_of_.capacity() * sizeof(std::uint32_t); }

  private:
    std::vector<std::uint32_t> place_of_;  // by slot
    std::vector<std::uint32_t> slots_;
    std::vector<double> scale_;
};

}  // namespace unitless
