// The state of many learners over one stream: scales once, v and H for each lane.
//
// A lane is a learning rate of a head. There is one head for labels that are numbers, and one for each class
// otherwise; they do not know of each other. A model whose classes are not settled keeps one head more, the last, whose
// labels are always negative: the state that a class has before it is first met.
//
// Where heads do know of each other (softmax/), what can run side by side are different rates, so that the lanes of
// some rates, of all heads, lie together in a block of octets. Heads then have the same rates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "engine/lanes/kernel.hpp"
#include "engine/lanes/slot_places.hpp"
#include "engine/state.hpp"

namespace unitless {

// Zeros on a cache line's boundary; memory that is never touched costs nothing.
class ZeroedDoubles {
  public:
    ZeroedDoubles() = default;
    explicit ZeroedDoubles(std::size_t count) : memory_(std::calloc(count + 8, sizeof(double)), std::free) {
        if (!memory_) throw std::bad_alloc();
        data_ = reinterpret_cast<double*>((reinterpret_cast<std::uintptr_t>(memory_.get()) + 63) / 64 * 64);
    }
    double* data() const { return data_; }

  private:
    std::unique_ptr<void, void (*)(void*)> memory_{nullptr, nullptr};
    double* data_ = nullptr;
};

class Lanes {
  public:
    // The lanes of some rates: those of one head after another, from the first place of an octet on.
    struct Block {
        std::size_t first_octet, octets;
        std::size_t first_rate, rates;  // among those of a head
    };

    // Lanes are kept in the order of their heads, and within a head of their rates. `penalties`: of each rate, if any.
    Lanes(std::vector<double> rates, std::vector<Lane> lanes, std::size_t heads, bool classes, bool open, bool averaged,
          std::vector<double> penalties = {}, bool in_blocks = false)
        : rates_(std::move(rates)),
          penalties_(std::move(penalties)),
          lanes_(std::move(lanes)),
          heads_(heads),
          classes_(classes),
          open_(open),
          averaged_(averaged),
          in_blocks_(in_blocks) {
        place_lanes();
        describe();
        octets_.resize(octet_count());
        if (averaged) averages_.resize(octet_count());
    }

    const std::vector<double>& rates() const { return rates_; }
    const std::vector<Lane>& lanes() const { return lanes_; }
    std::size_t heads() const { return heads_; }
    std::size_t begin(std::size_t head) const { return begins_[head]; }  // its first lane; its last one's is the next's
    bool classes() const { return classes_; }
    bool open() const { return open_; }
    std::size_t class_count() const { return classes_ ? heads_ - open_ : 0; }
    std::size_t octet_count() const { return octet_count_; }
    // How many lanes an octet has, from its first place on.
    std::size_t lanes_of(std::size_t octet) const {
        return in_blocks_ ? 8 : std::min<std::size_t>(8, lanes_.size() - octet * 8);
    }
    const std::vector<Block>& blocks() const { return blocks_; }
    bool in_blocks() const { return in_blocks_; }
    // Where a lane is: its octet, times eight, and its place there. In a single block, its number.
    std::size_t place(std::size_t lane) const { return places_[lane]; }
    std::size_t capacity() const { return capacity_; }
    std::size_t bytes() const {
        return (capacity_ * (1 + (octets_.size() + averages_.size()) * octet_doubles) +
                leaf_capacity_ * lanes_.size()) *
               sizeof(double);
    }

    double* scale() const { return scale_.data(); }
    double* octet(std::size_t o) const { return octets_[o].data(); }
    // The averages of an octet's v, where there are any: in its own form, so that they can predict. In the place of its
    // first H is the scale in whose unit they are.
    double* average(std::size_t o) const { return averages_[o].data(); }
    const double* rate_of(std::size_t o) const { return &lane_rate_[o * 8]; }
    const double* label_of(std::size_t o) const { return &lane_label_[o * 8]; }
    const double* penalty_of(std::size_t o) const { return &lane_penalty_[o * 8]; }
    double& v(std::size_t slot, std::size_t lane) const {
        return octets_[place(lane) / 8].data()[slot * octet_doubles + place(lane) % 8];
    }
    double& H(std::size_t slot, std::size_t lane) const {
        return octets_[place(lane) / 8].data()[slot * octet_doubles + 8 + place(lane) % 8];
    }

    double& average(std::size_t slot, std::size_t lane) const {
        return averages_[place(lane) / 8].data()[slot * octet_doubles + place(lane) % 8];
    }
    double average_scale(std::size_t slot) const { return average(0)[slot * octet_doubles + 8]; }
    void set_average_scale(std::size_t slot, double scale) const {
        for (const auto& average : averages_) average.data()[slot * octet_doubles + 8] = scale;
    }

    // The unit of the average falls as the scale does, so that neither v nor the average moves.
    void lower_scale(std::size_t slot, double lower) const {
        if (averaged_) set_average_scale(slot, lower * (average_scale(slot) / scale()[slot]));
        scale()[slot] = lower;
    }

    // Leaves of curves and trees (shapes/): indicators, whose weights have neither a scale nor an H of their own.
    double* leaves(std::size_t o) const { return leaf_capacity_ ? leaves_[o].data() : nullptr; }
    double& w(std::size_t leaf, std::size_t lane) const {
        return leaves_[place(lane) / 8].data()[leaf * leaf_doubles + place(lane) % 8];
    }
    std::size_t leaf_capacity() const { return leaf_capacity_; }

    void reserve(std::size_t slots) {
        if (slots <= capacity_) return;
        grow(scale_, capacity_, slots, 1);
        for (auto& octet : octets_) grow(octet, capacity_, slots, octet_doubles);
        for (auto& average : averages_) grow(average, capacity_, slots, octet_doubles);
        capacity_ = slots;
    }
    void reserve_leaves(std::size_t leaves) {
        if (leaves <= leaf_capacity_) return;
        leaves_.resize(octet_count());
        for (auto& octet : leaves_) grow(octet, leaf_capacity_, leaves, leaf_doubles);
        leaf_capacity_ = leaves;
    }

    // The slots that were ever other than zero; leaves are not among them.
    void save(std::size_t slots, EngineState& to, const SlotPlaces& places = SlotPlaces(false)) const {
        to.lanes = lanes_;
        for (std::size_t number = 0; number < (places.on() ? slots : std::min(capacity_, slots)); ++number) {
            const std::size_t slot = places.find(static_cast<std::uint32_t>(number));
            if (scale()[slot] == 0) continue;
            to.slots.push_back(static_cast<std::uint32_t>(number));
            to.scale.push_back(scale()[slot]);
            if (averaged_) to.average_scale.push_back(average_scale(slot));
            for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
                to.v.push_back(v(slot, lane));
                to.H.push_back(H(slot, lane));
                if (averaged_) to.average.push_back(average(slot, lane));
            }
        }
    }
    // Slots for which `reserve` has made room.
    void load(const EngineState& from, const SlotPlaces& places = SlotPlaces(false)) {
        for (std::size_t k = 0; k < from.slots.size(); ++k) {
            const std::uint32_t slot = places.find(from.slots[k]);
            scale()[slot] = from.scale[k];
            if (averaged_) set_average_scale(slot, from.average_scale[k]);
            for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
                v(slot, lane) = from.v[k * lanes_.size() + lane];
                H(slot, lane) = from.H[k * lanes_.size() + lane];
                if (averaged_) average(slot, lane) = from.average[k * lanes_.size() + lane];
            }
        }
    }

    // Other lanes: lane k becomes what lane from[k] was.
    void rearrange(std::vector<Lane> lanes, std::size_t heads, const std::vector<std::size_t>& from) {
        Lanes other(rates_, std::move(lanes), heads, classes_, open_, averaged_, penalties_,
                    in_blocks_);  // if memory runs out, nothing has changed
        if (capacity_) {
            for (auto& octet : other.octets_) octet = ZeroedDoubles(capacity_ * octet_doubles);
            for (auto& average : other.averages_) average = ZeroedDoubles(capacity_ * octet_doubles);
        }
        for (std::size_t slot = 0; slot < capacity_; ++slot) {
            if (scale_.data()[slot] == 0) continue;  // never touched
            for (std::size_t k = 0; k < from.size(); ++k) {
                other.v(slot, k) = v(slot, from[k]);
                other.H(slot, k) = H(slot, from[k]);
                if (averaged_) other.average(slot, k) = average(slot, from[k]);
            }
            if (averaged_) other.set_average_scale(slot, average_scale(slot));
        }
        rearrange_leaves(other, from);
        other.capacity_ = capacity_;
        other.scale_ = std::move(scale_);
        *this = std::move(other);
    }

  private:
    std::vector<double> rates_, penalties_;
    std::vector<Lane> lanes_;
    std::size_t heads_;
    bool classes_, open_, averaged_, in_blocks_;
    std::size_t octet_count_ = 0;
    std::vector<Block> blocks_;
    std::vector<std::size_t> places_;
    std::size_t capacity_ = 0, leaf_capacity_ = 0;
    ZeroedDoubles scale_;
    std::vector<ZeroedDoubles> octets_, averages_, leaves_;
    std::vector<std::size_t> begins_;
    std::vector<double> lane_rate_, lane_label_, lane_penalty_;

    static void grow(ZeroedDoubles& memory, std::size_t from, std::size_t to, std::size_t each) {
        ZeroedDoubles wider(to * each);
        if (from) std::memcpy(wider.data(), memory.data(), from * each * sizeof(double));
        memory = std::move(wider);
    }

    void rearrange_leaves(Lanes& other, const std::vector<std::size_t>& from) const {
        other.reserve_leaves(leaf_capacity_);
        for (std::size_t leaf = 0; leaf < leaf_capacity_; ++leaf)
            for (std::size_t k = 0; k < from.size(); ++k)
                if (const double weight = w(leaf, from[k]); weight != 0) other.w(leaf, k) = weight;  // untouched: 0
    }

    // Blocks are of eight rates, so that a head's are an octet; of fewer if there are fewer than two blocks' worth.
    void place_lanes() {
        constexpr std::size_t two = 2;
        places_.resize(lanes_.size());
        if (!in_blocks_) {
            for (std::size_t k = 0; k < lanes_.size(); ++k) places_[k] = k;
            octet_count_ = (lanes_.size() + 7) / 8;
            blocks_ = {{0, octet_count_, 0, heads_ ? lanes_.size() / heads_ : 0}};
            return;
        }
        const std::size_t rates = lanes_.size() / heads_, count = std::max(std::min(rates, two), (rates + 7) / 8);
        for (std::size_t b = 0; b < count; ++b) {
            const std::size_t first = b * rates / count, size = (b + 1) * rates / count - first;
            for (std::size_t head = 0; head < heads_; ++head)
                for (std::size_t j = 0; j < size; ++j)
                    places_[head * rates + first + j] = octet_count_ * 8 + head * size + j;
            blocks_.push_back({octet_count_, (heads_ * size + 7) / 8, first, size});
            octet_count_ += blocks_.back().octets;
        }
    }

    // Lanes that fill up the last octet of a block have rate 0: they never move.
    void describe() {
        lane_rate_.assign(octet_count() * 8, 0.0);
        lane_label_.assign(octet_count() * 8, -1.0);
        lane_penalty_.assign(octet_count() * 8, 0.0);
        begins_.assign(heads_ + 1, lanes_.size());
        for (std::size_t k = lanes_.size(); k-- > 0;) {
            lane_rate_[place(k)] = rates_[lanes_[k].rate];
            if (!penalties_.empty()) lane_penalty_[place(k)] = penalties_[lanes_[k].rate];
            if (lanes_[k].head < class_count()) lane_label_[place(k)] = lanes_[k].head;
            begins_[lanes_[k].head] = k;
        }
    }
};

}  // namespace unitless
