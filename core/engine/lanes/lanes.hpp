// The state of many learners on one stream: one set of scales, and v and H for each lane.
//
// A lane is one learning rate of one head. There is one head for labels that are numbers, and otherwise one head per
// class. Heads are independent of each other. A model whose set of classes may grow has one more head, the last, for
// the spare class: its labels are always negative, so it is the state of a class before its first row.
//
// Lanes can also be stored in blocks of octets, each with the lanes of some rates, of all heads. All heads then have
// the same rates. In softmax/ the heads depend on each other, and only different rates can run in parallel. The leaf
// learners of many classes (trees/) process only some octets of a row; each of their blocks has one rate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/memory.hpp"
#include "engine/lanes/kernel.hpp"
#include "engine/lanes/slot_places.hpp"
#include "engine/state.hpp"

namespace unitless {

// Zeros that begin at a cache line; memory that is never accessed costs nothing.
class ZeroedDoubles {
  public:
    ZeroedDoubles() = default;
    explicit ZeroedDoubles(std::size_t count) : memory_(zeroed((count + 8) * sizeof(double))) {
        data_ = reinterpret_cast<double*>((reinterpret_cast<std::uintptr_t>(memory_.get()) + 63) / 64 * 64);
    }
    double* data() const { return data_; }

  private:
    ZeroedMemory memory_;
    double* data_ = nullptr;
};

// How lanes are stored: all of them head by head; in blocks of up to eight rates; in blocks of one rate.
enum class Placing : unsigned char { by_head, in_blocks, by_rate };

class Lanes {
  public:
    // The lanes of some rates, head by head.
    struct Block {
        std::size_t first_octet, octets;
        std::size_t first_rate, rates;  // positions among the rates of a head
    };

    // Lanes are ordered by head, and within a head by rate. `penalties`: by rate, if any.
    Lanes(std::vector<double> rates, std::vector<Lane> lanes, std::size_t heads, bool classes, bool open, bool averaged,
          std::vector<double> penalties = {}, Placing placing = Placing::by_head)
        : rates_(std::move(rates)),
          penalties_(std::move(penalties)),
          lanes_(std::move(lanes)),
          heads_(heads),
          classes_(classes),
          open_(open),
          averaged_(averaged),
          placing_(placing) {
        place_lanes();
        describe();
        octets_.resize(octet_count());
        if (averaged) averages_.resize(octet_count());
    }

    const std::vector<double>& rates() const { return rates_; }
    const std::vector<Lane>& lanes() const { return lanes_; }
    std::size_t heads() const { return heads_; }
    // The first lane of a head; the end is begin(head + 1).
    std::size_t begin(std::size_t head) const { return begins_[head]; }
    bool classes() const { return classes_; }
    bool open() const { return open_; }
    std::size_t class_count() const { return classes_ ? heads_ - open_ : 0; }
    std::size_t octet_count() const { return octet_count_; }
    // The number of lanes in an octet; they fill its first positions.
    std::size_t lanes_of(std::size_t octet) const {
        return placing_ != Placing::by_head ? 8 : std::min<std::size_t>(8, lanes_.size() - octet * 8);
    }
    const std::vector<Block>& blocks() const { return blocks_; }
    Placing placing() const { return placing_; }
    // The position of a lane: its octet times eight, plus its position there. Without blocks, it is the lane's number.
    std::size_t place(std::size_t lane) const { return places_[lane]; }
    std::size_t capacity() const { return capacity_; }
    std::size_t bytes() const {
        return (capacity_ * (1 + (octets_.size() + averages_.size()) * octet_doubles) +
                leaf_capacity_ * lanes_.size()) *
               sizeof(double);
    }

    double* scale() const { return scale_.data(); }
    double* octet(std::size_t o) const { return octets_[o].data(); }
    // The averages of an octet's v, if there are any, in the same layout as the octet, so that they can predict. The
    // position of the first H has the scale in whose unit the averages are.
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

    // The unit of the average falls with the scale, so that neither v nor the average changes.
    void lower_scale(std::size_t slot, double lower) const {
        if (averaged_) set_average_scale(slot, lower * (average_scale(slot) / scale()[slot]));
        scale()[slot] = lower;
    }

    // Leaves of curves and trees (trees/): indicators, whose weights have neither a scale nor an H of their own. The
    // weights of a leaf in one octet are `leaf_stride` doubles after those of the leaf before it.
    double* leaves(std::size_t o) const {
        const std::size_t each = leaf_octets();
        return leaf_capacity_ ? leaves_[o / each].data() + o % each * leaf_doubles : nullptr;
    }
    std::size_t leaf_stride() const { return leaf_octets() * leaf_doubles; }
    double& w(std::size_t leaf, std::size_t lane) const {
        return leaves(place(lane) / 8)[leaf * leaf_stride() + place(lane) % 8];
    }
    std::size_t leaf_capacity() const { return leaf_capacity_; }
    // Must be called before the weights of a leaf are changed for the first time.
    void use_leaf(std::size_t leaf) { leaf_used_[leaf] = true; }
    bool uses_leaf(std::size_t leaf) const { return leaf_used_[leaf]; }

    void reserve(std::size_t slots) {
        if (slots <= capacity_) return;
        grow(scale_, capacity_, slots, 1);
        for (auto& octet : octets_) grow(octet, capacity_, slots, octet_doubles);
        for (auto& average : averages_) grow(average, capacity_, slots, octet_doubles);
        capacity_ = slots;
    }
    void reserve_leaves(std::size_t leaves) {
        if (leaves <= leaf_capacity_) return;
        leaves_.resize(octet_count() / leaf_octets());
        for (auto& octets : leaves_) grow(octets, leaf_capacity_, leaves, leaf_stride());
        leaf_used_.resize(leaves);
        leaf_capacity_ = leaves;
    }

    // Saves the slots that were ever nonzero, without leaves.
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
    // Loads slots for which `reserve` has allocated memory.
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

    // Replaces the lanes: lane k gets the state of lane from[k].
    void rearrange(std::vector<Lane> lanes, std::size_t heads, const std::vector<std::size_t>& from) {
        rearrange(std::move(lanes), heads, from, placing_);
    }
    void rearrange(std::vector<Lane> lanes, std::size_t heads, const std::vector<std::size_t>& from, Placing placing) {
        // If memory runs out here, nothing has changed.
        Lanes other(rates_, std::move(lanes), heads, classes_, open_, averaged_, penalties_, placing);
        if (capacity_) {
            for (auto& octet : other.octets_) octet = ZeroedDoubles(capacity_ * octet_doubles);
            for (auto& average : other.averages_) average = ZeroedDoubles(capacity_ * octet_doubles);
        }
        for (std::size_t slot = 0; slot < capacity_; ++slot) {
            if (scale_.data()[slot] == 0) continue;  // never accessed
            for (std::size_t k = 0; k < from.size(); ++k) {
                other.v(slot, k) = v(slot, from[k]);
                other.H(slot, k) = H(slot, from[k]);
                if (averaged_) other.average(slot, k) = average(slot, from[k]);
            }
            if (averaged_) other.set_average_scale(slot, average_scale(slot));
        }
        rearrange_leaves(other, from);
        other.leaf_used_ = std::move(leaf_used_);
        other.capacity_ = capacity_;
        other.scale_ = std::move(scale_);
        *this = std::move(other);
    }

    // Replaces the lanes, head by head, by new ones. Scales stay.
    void restart(std::vector<Lane> lanes) {
        Lanes fresh(rates_, std::move(lanes), heads_, classes_, open_, averaged_, penalties_);
        fresh.reserve(capacity_);
        fresh.reserve_leaves(leaf_capacity_);
        fresh.scale_ = std::move(scale_);
        *this = std::move(fresh);
    }

  private:
    std::vector<double> rates_, penalties_;
    std::vector<Lane> lanes_;
    std::size_t heads_;
    bool classes_, open_, averaged_;
    Placing placing_;
    std::size_t octet_count_ = 0;
    std::vector<Block> blocks_;
    std::vector<std::size_t> places_;
    std::size_t capacity_ = 0, leaf_capacity_ = 0;
    ZeroedDoubles scale_;
    std::vector<ZeroedDoubles> octets_, averages_, leaves_;
    std::vector<char> leaf_used_;
    std::vector<std::size_t> begins_;
    std::vector<double> lane_rate_, lane_label_, lane_penalty_;

    // How many octets share an array of leaf weights: those of a rate, if each rate has a block.
    std::size_t leaf_octets() const { return placing_ == Placing::by_rate ? blocks_[0].octets : 1; }

    static void grow(ZeroedDoubles& memory, std::size_t from, std::size_t to, std::size_t each) {
        ZeroedDoubles wider(to * each);
        if (from) std::memcpy(wider.data(), memory.data(), from * each * sizeof(double));
        memory = std::move(wider);
    }

    void rearrange_leaves(Lanes& other, const std::vector<std::size_t>& from) const {
        other.reserve_leaves(leaf_capacity_);
        for (std::size_t leaf = 0; leaf < leaf_capacity_; ++leaf)
            for (std::size_t k = 0; leaf_used_[leaf] && k < from.size(); ++k)  // unused memory stays untouched
                other.w(leaf, k) = w(leaf, from[k]);
    }

    // A block in softmax/ has eight rates, so that each head fills an octet. If there are fewer than two blocks' worth
    // of rates, blocks are smaller.
    void place_lanes() {
        constexpr std::size_t two = 2;
        places_.resize(lanes_.size());
        if (placing_ == Placing::by_head) {
            for (std::size_t k = 0; k < lanes_.size(); ++k) places_[k] = k;
            octet_count_ = (lanes_.size() + 7) / 8;
            blocks_ = {{0, octet_count_, 0, heads_ ? lanes_.size() / heads_ : 0}};
            return;
        }
        const std::size_t rates = lanes_.size() / heads_, few = std::max(std::min(rates, two), (rates + 7) / 8);
        const std::size_t count = placing_ == Placing::by_rate ? rates : few;
        for (std::size_t b = 0; b < count; ++b) {
            const std::size_t first = b * rates / count, size = (b + 1) * rates / count - first;
            for (std::size_t head = 0; head < heads_; ++head)
                for (std::size_t j = 0; j < size; ++j)
                    places_[head * rates + first + j] = octet_count_ * 8 + head * size + j;
            blocks_.push_back({octet_count_, (heads_ * size + 7) / 8, first, size});
            octet_count_ += blocks_.back().octets;
        }
    }

    // The unused positions in the last octet of a block have rate 0, so that they never move.
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
