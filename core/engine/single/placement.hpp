// Where the features of a row stand in a pack, for a stream of rows that all have the same ones, or most of them:
// worked out once. The pack then mirrors those features' slots from row to row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "engine/single/kernel.hpp"

namespace unitless {

class Placement {
  public:
    Placement() = default;
    Placement(const Placement&) = delete;

    // Packed: each feature in its lane, as deep as that lane is filled by those with smaller slots; for hashed features
    // one after another. In order: by slots, to be read and not to be learned in place.
    enum class Kind { packed, packed_in_sequence, in_order };
    Kind kind() const { return kind_; }

    // False if two share a slot.
    bool assign(const std::vector<std::uint32_t>& slots, Kind kind) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
        for (const std::uint32_t slot : slots) order.emplace_back(slot, static_cast<std::uint32_t>(order.size()));
        std::sort(order.begin(), order.end());
        for (std::size_t k = 1; k < order.size(); ++k)
            if (order[k - 1].first == order[k].first) return false;
        kind_ = kind;
        std::uint32_t depth[8] = {}, next = 0;
        places_.resize(slots.size());
        for (const auto& [slot, feature] : order) {
            const std::uint32_t lane = (kind == Kind::packed ? slot - 1 : next++) % 8;
            places_[feature] = depth[lane]++ * 8 + lane;
        }
        const std::size_t chunks = std::max(1u, *std::max_element(depth, depth + 8)), length = chunks * 8;
        memory_.clear();
        double* base = aligned(memory_, 8 * length);
        const auto part = [&](std::size_t i) { return base + i * length; };
        indices_.assign(2 * length, 0);
        for (std::size_t i = 0; i < slots.size(); ++i) indices_[places_[i]] = slots[i];
        for (std::size_t c = 0; c < chunks; ++c) indices_[length + c] = static_cast<std::uint32_t>(c);
        std::fill_n(part(7), length, 1.0);
        row_ = {{&bias_, part(1), part(2), part(3), part(4), part(5), part(7), part(6), indices_.data(),
                 indices_.data() + length},
                part(0),
                places_.data(),
                slots.size(),
                chunks,
                true};
        mirrored = {};
        return true;
    }

    // Which state of the slots the pack mirrors: after so many examples, and with the last v or the average.
    struct Mirrored {
        static constexpr std::uint64_t never = ~std::uint64_t{0};
        std::uint64_t examples = never;
        bool averaged = false;
        bool operator==(const Mirrored&) const = default;
    };
    Mirrored mirrored;

    PlacedRow& row() { return row_; }

    // ---- A row in which features are missing. In a pack they count as 0, which changes nothing there. In order they
    // are left out, because a value of 0 is not the same as none where values are centred or have curves.

    bool may_miss() const { return kind_ != Kind::packed_in_sequence; }
    void expect_some() {
        if (kind_ == Kind::in_order) {
            met_.assign(row_.count, 0);
        } else {
            std::fill_n(row_.x, row_.chunks * 8, 0.0);
        }
    }
    void meet(std::uint32_t place) {
        if (kind_ == Kind::in_order) met_[place] = 1;
    }
    void take_met() {
        if (kind_ != Kind::in_order) return;
        some_values_.clear();
        some_slots_.clear();
        for (std::size_t k = 0; k < row_.count; ++k) {
            if (!met_[k]) continue;
            some_values_.push_back(row_.x[k]);
            some_slots_.push_back(row_.pack.slot[k]);
        }
        in_order_ = {some_values_.size(), some_values_.data(), some_slots_.data()};
    }
    void take_all() { in_order_ = {row_.count, row_.x, row_.pack.slot}; }

    // The row, in order.
    struct InOrder {
        std::size_t count = 0;
        const double* values = nullptr;
        const std::uint32_t* slots = nullptr;
    };
    const InOrder& in_order() const { return in_order_; }

  private:
    std::vector<double> memory_;
    std::vector<std::uint32_t> indices_, places_;
    Slot64 bias_{};
    Kind kind_ = Kind::packed;
    PlacedRow row_{};
    std::vector<unsigned char> met_;  // by place
    std::vector<double> some_values_;
    std::vector<std::uint32_t> some_slots_;
    InOrder in_order_;
};

}  // namespace unitless
