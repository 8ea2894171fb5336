// Rows of (slot, value) as the kernel wants them: slots rising, none twice, no zeros. The bias is not among them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "rows/sparse.hpp"

namespace unitless {

// The deepest pack that a row needs. By slot: no lane holds more than the row does; where that says too much, count.
inline std::size_t pack_chunks(const SparseInput& input) {
    std::size_t longest = 1;
    for (std::size_t r = 0; r < input.rows; ++r) longest = std::max(longest, end_of(input, r) - begin_of(input, r));
    if (input.in_sequence) return (longest + 7) / 8;
    if (longest <= 256) return longest;
    std::size_t deepest = 1;
    for (std::size_t r = 0; r < input.rows; ++r) {
        std::size_t depth[8] = {};
        for (std::size_t k = begin_of(input, r); k < end_of(input, r); ++k)
            deepest = std::max(deepest, ++depth[lane_of(input, slot_at(input, k))]);
    }
    return deepest;
}

class SparseRows {
  public:
    void clear() {
        slots_.clear();
        values_.clear();
        row_ends_.clear();
    }

    void begin_row() {
        begin_ = slots_.size();
        rising_ = finite_ = true;
    }

    void add(std::uint32_t slot, double value) {
        if (value == 0) return;
        rising_ = rising_ && (slots_.size() == begin_ || slots_.back() < slot);
        slots_.push_back(slot);
        values_.push_back(value);
    }

    // Many at once; slots rise.
    void add_rising(const std::uint32_t* slots, const double* values, std::size_t count) {
        std::size_t at = slots_.size();
        slots_.resize(at + count);
        values_.resize(at + count);
        for (std::size_t k = 0; k < count; ++k) {
            slots_[at] = slots[k];
            values_[at] = values[k];
            at += values[k] != 0;
        }
        slots_.resize(at);
        values_.resize(at);
    }

    // The numbers of a row that lie side by side, for the slots from `slot` on. Eight zeros are passed over at once.
    template <class T>
    void add_side_by_side(const char* row, std::size_t count, std::uint32_t slot) {
        const auto [slots, values] = extend(count);
        std::size_t n = 0, j = 0;
        const auto take = [&] {
            T x;
            std::memcpy(&x, row + j * sizeof(T), sizeof(T));
            slots[n] = slot + static_cast<std::uint32_t>(j);
            values[n] = static_cast<double>(x);
            n += x != 0;
        };
        while (j + 8 <= count) {
            std::uint64_t words[sizeof(T)], any = 0;
            std::memcpy(words, row + j * sizeof(T), 8 * sizeof(T));
            for (const std::uint64_t word : words) any |= word;
            if (any == 0) {
                j += 8;
            } else {
                for (int i = 0; i < 8; ++i, ++j) take();
            }
        }
        for (; j < count; ++j) take();
        commit(count, n);
    }

    // Room for so many more; `commit` then says how many were written.
    std::pair<std::uint32_t*, double*> extend(std::size_t count) {
        const std::size_t at = slots_.size();
        slots_.resize(at + count);
        values_.resize(at + count);
        return {slots_.data() + at, values_.data() + at};
    }
    void commit(std::size_t offered, std::size_t written) {
        slots_.resize(slots_.size() - offered + written);
        values_.resize(slots_.size());
    }

    // The features of the row that is being built, in order; it is then empty, to be built anew.
    void take_row(std::vector<std::uint32_t>& slots, std::vector<double>& values) {
        finite_ = (rising_ || put_in_order()) && finite_;
        const auto from = static_cast<std::ptrdiff_t>(begin_);
        slots.assign(slots_.begin() + from, slots_.end());
        values.assign(values_.begin() + from, values_.end());
        slots_.resize(begin_);
        values_.resize(begin_);
        rising_ = true;
    }
    void order_unknown() { rising_ = false; }
    // The row that is being built without what `leave` says of its slot.
    template <class Leave>
    void leave_out(Leave leave) {
        std::size_t at = begin_;
        for (std::size_t k = begin_; k < slots_.size(); ++k) {
            slots_[at] = slots_[k];
            values_[at] = values_[k];
            at += !leave(slots_[k]);
        }
        slots_.resize(at);
        values_.resize(at);
    }
    // The row's order is canonical as it is, and no slot occurs twice.
    void accept_order() { rising_ = true; }

    // False if values of one slot added up to something that is not finite.
    bool end_row() {
        const bool finite = (rising_ || put_in_order()) && finite_;
        row_ends_.push_back(slots_.size());
        return finite;
    }

    std::size_t rows() const { return row_ends_.size(); }
    std::size_t entries() const { return slots_.size(); }
    SparseInput view() const { return {slots_.data(), values_.data(), row_ends_.data(), row_ends_.size()}; }

  private:
    bool rising_ = true, finite_ = true;
    std::size_t begin_ = 0;
    std::vector<std::uint32_t, Unset<std::uint32_t>> slots_;
    std::vector<double, Unset<double>> values_;
    std::vector<std::size_t> row_ends_;
    std::vector<std::pair<std::uint32_t, double>> sorted_;
    std::vector<std::uint64_t> keys_;
    std::vector<double> moved_;

    // As it nearly always is: every slot once. Sorting (slot, place) as one number is several times faster than pairs.
    bool sort_distinct() {
        const std::size_t n = slots_.size() - begin_;
        keys_.resize(n);
        for (std::size_t k = 0; k < n; ++k) keys_[k] = std::uint64_t{slots_[begin_ + k]} << 32 | k;
        std::sort(keys_.begin(), keys_.end());
        for (std::size_t k = 1; k < n; ++k)
            if (keys_[k] >> 32 == keys_[k - 1] >> 32) return false;
        moved_.assign(values_.begin() + static_cast<std::ptrdiff_t>(begin_), values_.end());
        for (std::size_t k = 0; k < n; ++k) {
            slots_[begin_ + k] = static_cast<std::uint32_t>(keys_[k] >> 32);
            values_[begin_ + k] = moved_[keys_[k] & 0xffffffff];
        }
        return true;
    }

    // Features of the same slot are added up, smallest first, so that their order within the row does not matter.
    bool put_in_order() {
        if (sort_distinct()) return true;
        sorted_.clear();
        for (std::size_t k = begin_; k < slots_.size(); ++k) sorted_.emplace_back(slots_[k], values_[k]);
        std::sort(sorted_.begin(), sorted_.end());
        slots_.resize(begin_);
        values_.resize(begin_);
        bool finite = true;
        for (std::size_t k = 0; k < sorted_.size();) {
            const std::uint32_t slot = sorted_[k].first;
            double total = 0;
            for (; k < sorted_.size() && sorted_[k].first == slot; ++k) total += sorted_[k].second;
            finite = finite && std::isfinite(total);
            if (total == 0) continue;
            slots_.push_back(slot);
            values_.push_back(total);
        }
        return finite;
    }
};

}  // namespace unitless
