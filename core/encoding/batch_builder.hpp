// Builds a batch: rows of (slot, value). Slots increase within a row, no slot occurs twice, and no value is zero. The
// bias is not an entry.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/memory.hpp"
#include "rows/batch.hpp"
#include "rows/kernel.hpp"

namespace unitless {

class BatchBuilder {
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

    // Adds many entries, whose slots increase.
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

    // Adds whole rows to an empty builder. `write(slots, values, row_ends)` writes them in order, with at most
    // `most_entries` entries. If it returns false, the builder stays empty.
    template <class Write>
    bool add_rows(std::size_t rows, std::size_t most_entries, Write write) {
        row_ends_.resize(rows);
        const auto [slots, values] = extend(most_entries + row_margin);
        const bool written = write(slots, values, row_ends_.data());
        if (!written) row_ends_.clear();
        slots_.resize(row_ends_.empty() ? 0 : row_ends_.back());
        values_.resize(slots_.size());
        return written;
    }

    // Returns memory for `count` more entries; `commit` then sets how many were written.
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

    // Moves the entries of the current row, in order, to the arguments. The current row is then empty and can be built
    // again.
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
    // Moves the entries of the current row whose slots are at least `slot`, and therefore new, to the row's end. A
    // prediction of the row does not know the new slots; so the other entries are added in the same order as in a
    // prediction.
    void put_last(std::uint32_t slot) {
        std::vector<std::uint32_t> late_slots;
        std::vector<double> late_values;
        std::size_t at = begin_;
        for (std::size_t k = begin_; k < slots_.size(); ++k) {
            if (slots_[k] >= slot) {
                late_slots.push_back(slots_[k]);
                late_values.push_back(values_[k]);
                continue;
            }
            slots_[at] = slots_[k];
            values_[at++] = values_[k];
        }
        std::copy(late_slots.begin(), late_slots.end(), slots_.begin() + static_cast<std::ptrdiff_t>(at));
        std::copy(late_values.begin(), late_values.end(), values_.begin() + static_cast<std::ptrdiff_t>(at));
    }
    // Removes the entries of the current row for which `leave(slot)` is true.
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
    // Declares that the row is in canonical order, and that no slot occurs twice.
    void accept_order() { rising_ = true; }

    // Ends the row. Returns false if the sum of the values of one slot is not finite.
    bool end_row() {
        const bool finite = (rising_ || put_in_order()) && finite_;
        row_ends_.push_back(slots_.size());
        return finite;
    }

    std::size_t entries() const { return slots_.size(); }
    Batch batch() const {
        return {
            .rows = row_ends_.size(), .slots = slots_.data(), .values = values_.data(), .row_ends = row_ends_.data()};
    }

  private:
    bool rising_ = true, finite_ = true;
    std::size_t begin_ = 0;
    std::vector<std::uint32_t, Unset<std::uint32_t>> slots_;
    std::vector<double, Unset<double>> values_;
    std::vector<std::size_t> row_ends_;
    std::vector<std::pair<std::uint32_t, double>> sorted_;
    std::vector<std::uint64_t> keys_;
    // By slot, counted from the row's lowest: the number of its entry, counted from 1; 0: the slot has no entry.
    std::vector<std::uint32_t> entry_at_;
    std::vector<double> moved_;

    // Sorts distinct slots that lie close together: stores each entry's number at its slot, then reads the slots in
    // order.
    bool place_distinct() {
        const std::size_t n = slots_.size() - begin_;
        if (n == 0) return true;
        const auto [low, high] =
            std::minmax_element(slots_.begin() + static_cast<std::ptrdiff_t>(begin_), slots_.end());
        const std::uint32_t first = *low;
        const std::size_t span = std::size_t{*high} - first + 1;
        if (span > 4 * n) return false;
        entry_at_.assign(span, 0);
        moved_.assign(values_.begin() + static_cast<std::ptrdiff_t>(begin_), values_.end());
        for (std::size_t k = 0; k < n; ++k) {
            std::uint32_t& entry = entry_at_[slots_[begin_ + k] - first];
            if (entry) return false;
            entry = static_cast<std::uint32_t>(k + 1);
        }
        std::size_t at = begin_;
        for (std::size_t i = 0; i < span; ++i) {
            if (!entry_at_[i]) continue;
            slots_[at] = first + static_cast<std::uint32_t>(i);
            values_[at++] = moved_[entry_at_[i] - 1];
        }
        return true;
    }

    // Sorts distinct slots of any distance. Sorting (slot, position) as one number is several times faster than sorting
    // pairs.
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

    // Sorts the row. The values of one slot are added, smallest first, so that their order within the row does not
    // matter.
    bool put_in_order() {
        if (place_distinct() || sort_distinct()) return true;
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
