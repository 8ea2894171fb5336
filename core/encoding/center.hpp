// Centering: x becomes x - mean. The mean is a running mean that includes the current row.
//
// Only columns of dense input are centered. The first data of a column decides whether it is. A missing value counts as
// the mean. Columns whose unit may have become larger are watched (window.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "encoding/window.hpp"

namespace unitless {

enum class Offset : unsigned char { unknown, kept, removed };

class Center {
  public:
    struct Column {
        double mean = 0, weight = 0;
        Offset offset = Offset::unknown;
        std::uint32_t window = unwatched;  // its position among the windows
        double proven = 0;                 // its scale when a window last confirmed it (window.hpp)
    };
    static constexpr std::uint32_t unwatched = ~std::uint32_t{0};
    struct Watched {
        std::uint32_t slot;
        Window window;
    };

    bool any() const { return removed_ > 0; }
    const std::vector<Column>& columns() const { return columns_; }  // by slot
    bool removed(std::uint32_t slot) const {
        return slot < columns_.size() && columns_[slot].offset == Offset::removed;
    }

    bool is_settled(std::uint32_t slot) const {
        return slot < columns_.size() && columns_[slot].offset != Offset::unknown;
    }
    void settle(std::uint32_t slot, Offset offset) {
        if (slot >= columns_.size()) columns_.resize(slot + 1);
        if (columns_[slot].offset != Offset::unknown) return;
        remember(slot);
        columns_[slot].offset = offset;
        removed_ += offset == Offset::removed;
    }

    // A journal of columns before they change, to restore them if the rows are not learned after all. For a batch, the
    // journal has all columns. For a single row, which may use only a few of many columns, it has the columns that
    // change.
    struct Mark {
        std::size_t columns, windows;
    };
    Mark mark() const { return {journal_.size(), window_journal_.size()}; }
    void begin_batch(bool single_row) {
        remembers_each_ = single_row;
        if (single_row) return;
        for (std::uint32_t slot = 0; slot < columns_.size(); ++slot)
            if (columns_[slot].offset == Offset::removed) remember(slot);
    }
    void rewind(const Mark& mark) {
        for (; window_journal_.size() > mark.windows; window_journal_.pop_back())
            windows_[window_journal_.back().first].window = window_journal_.back().second;
        for (; journal_.size() > mark.columns; journal_.pop_back()) {
            const auto& [slot, column] = journal_.back();
            removed_ -= columns_[slot].offset == Offset::removed;
            removed_ += column.offset == Offset::removed;
            columns_[slot] = column;
        }
    }
    // Clears the journal; earlier marks can no longer be restored.
    void forget() {
        journal_.clear();
        window_journal_.clear();
    }

    void restore(std::uint32_t slot, const Column& column) {
        if (slot >= columns_.size()) columns_.resize(slot + 1);
        removed_ += column.offset == Offset::removed;
        columns_[slot] = column;
    }

    // The windows that have not ended.
    std::vector<Watched> watched() const {
        std::vector<Watched> open;
        for (const Watched& one : windows_)
            if (columns_[one.slot].window != unwatched) open.push_back(one);
        return open;
    }
    // Whether a scale would fall if the windows ended now. `scale(slot)` is the current scale, or 0.
    template <class Scale>
    bool falls(Scale scale) const {
        for (const auto& [slot, window] : windows_)
            if (falls(columns_[slot], window, scale(slot))) return true;
        return false;
    }
    // Ends the windows and begins new ones. `lower(slot, window)` lowers a scale, and returns whether it did; then the
    // mean, too, is replaced by the window's mean. Earlier marks can no longer be restored.
    template <class Scale, class Lower>
    void end_windows(Scale scale, Lower lower) {
        std::vector<Watched> ended;
        ended.reserve(removed_);  // if memory runs out, nothing has changed yet
        forget();
        ended.swap(windows_);
        for (const auto& [slot, window] : ended) {
            Column& column = columns_[slot];
            if (!falls(column, window, scale(slot)) || !lower(slot, window)) continue;
            column.mean = window.mean();
            column.weight = window.weight;
            column.proven = scale(slot);
        }
        for (std::uint32_t slot = 0; slot < columns_.size(); ++slot) {
            Column& column = columns_[slot];
            column.window = unwatched;
            if (column.offset != Offset::removed) continue;
            if (const double s = scale(slot); Window::can_begin_at(s)) watch({slot, {s, column.proven}});
        }
    }
    // Adds a window of a centered column.
    void watch(const Watched& one) {
        columns_[one.slot].window = static_cast<std::uint32_t>(windows_.size());
        windows_.push_back(one);
    }

    // Returns x - mean, where the mean includes x with weight 1: a prediction must not depend on the weight of its own
    // row, because the weight may reveal the label. The stored mean learns x with weight h. The formula has no
    // cancellation except x - mean itself.
    double observe(std::uint32_t slot, double x, double h) {
        const double seen = peek(slot, x);
        Column& column = columns_[slot];
        if (remembers_each_) remember(slot);
        if (column.window != unwatched) watch_value(column, x, h);
        column.weight += h;
        column.mean += h / column.weight * (x - column.mean);
        return seen;
    }
    // Centers a row of columns in place. Columns that are not centered stay unchanged.
    void observe(const std::uint32_t* slots, double* row, std::size_t count, double h) {
        for (std::size_t j = 0; remembers_each_ && j < count; ++j) remember(slots[j]);
        if (h == 1) return observe_once(slots, row, count);
        double last = -1, share = 1, seen = 1;  // nearly always equal for all columns
        for (std::size_t j = 0; j < count; ++j) {
            Column& column = columns_[slots[j]];
            if (column.offset != Offset::removed) continue;
            if (column.window != unwatched) watch_value(column, row[j], h);
            const double distance = row[j] - column.mean;
            if (column.weight != last) {
                last = column.weight;
                share = h / (column.weight + h);
                seen = 1.0 / (column.weight + 1.0);
            }
            column.weight += h;
            column.mean += share * distance;
            row[j] = distance - seen * distance;
        }
    }
    // Returns what `observe` would return. Changes nothing.
    double peek(std::uint32_t slot, double x) const {
        const Column& column = columns_[slot];
        const double distance = x - column.mean;
        return distance - distance * (1.0 / (column.weight + 1.0));
    }
    // Centers a row of columns in place. Columns that are not centered stay unchanged.
    void peek(const std::uint32_t* slots, double* row, std::size_t count) const {
        double last = -1, share = 1;  // nearly always equal for all columns
        for (std::size_t j = 0; j < count; ++j) {
            if (!removed(slots[j])) continue;
            const Column& column = columns_[slots[j]];
            const double distance = row[j] - column.mean;
            if (column.weight != last) {
                last = column.weight;
                share = 1.0 / (column.weight + 1.0);
            }
            row[j] = distance - distance * share;
        }
    }
    // Returns x minus the stored mean.
    double linear(std::uint32_t slot, double x) const { return x - columns_[slot].mean; }

  private:
    void remember(std::uint32_t slot) {
        if (slot >= columns_.size()) return;
        journal_.emplace_back(slot, columns_[slot]);
        if (const std::uint32_t at = columns_[slot].window; at != unwatched)
            window_journal_.emplace_back(at, windows_[at].window);
    }
    static bool falls(const Column& column, const Window& window, double scale) {
        return column.window != unwatched && window.falls_from(scale, column.proven, column.mean);
    }
    void watch_value(Column& column, double x, double h) {
        Window& window = windows_[column.window].window;
        window.observe(x, h);
        if (!window.over()) return;
        if (window.proves_scale()) column.proven = window.scale;
        column.window = unwatched;
    }
    void observe_once(const std::uint32_t* slots, double* row, std::size_t count) {
        double last = 0, share = 1;
        for (std::size_t j = 0; j < count; ++j) {
            Column& column = columns_[slots[j]];
            if (column.offset != Offset::removed) continue;
            if (column.window != unwatched) watch_value(column, row[j], 1.0);
            const double weight = column.weight + 1.0, distance = row[j] - column.mean;
            if (weight != last) {
                last = weight;
                share = 1.0 / weight;
            }
            column.weight = weight;
            column.mean += share * distance;
            row[j] = distance - share * distance;
        }
    }

    std::vector<Column> columns_;
    std::size_t removed_ = 0;
    bool remembers_each_ = false;
    std::vector<Watched> windows_;
    std::vector<std::pair<std::uint32_t, Column>> journal_;
    std::vector<std::pair<std::uint32_t, Window>> window_journal_;
};

}  // namespace unitless
