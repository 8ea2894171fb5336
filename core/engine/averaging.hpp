// The average of the weights over the stream, in which the weights at time t count in proportion to t. Like v, it is
// stored in units of the scales.
//
// The average is updated only at certain numbers of examples; v then stands for all examples since the previous update.
// Between T and t the times add up to (t^2 - T^2)/2, so v's share of the average is 1 - (T/t)^2. An update costs time
// proportional to the number of features. So updates are a sixty-fourth of the examples apart, or more with many
// features. Update times depend only on what was learned, not on how the rows are divided into calls.
//
// When a scale grows, the average is rescaled so that w stays constant: v adapts to its new scale only slowly, and an
// average of v would never adapt. But if a scale has grown by a very large factor between two updates, the unit has
// changed, and the old w would be wrong by that factor; then the average stays constant, like v.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace unitless {

// The unit of v: v = w; v = w s; v = w r/sqrt(t).
enum class Unit { none, scale, root_mean_square };

class Averaging {
  public:
    // `slots`: the largest possible number of slots, if it is known; every update reads them all.
    Averaging(bool on, Unit unit, std::uint64_t slots) : on_(on), unit_(unit), slots_(slots) {
        if (on) next_ = after(0, 0);
    }

    bool on() const { return on_; }
    // The total weight at the last update. Before the first update there is no average, and v replaces it.
    double t() const { return t_; }
    bool started() const { return t_ > 0; }

    // The number of rows, at most `rows`, up to and including the one that triggers the next update.
    std::size_t rows_until_update(std::uint64_t examples, std::size_t rows) const {
        const std::uint64_t left = next_ - examples;
        return left < rows ? static_cast<std::size_t>(left) : rows;
    }
    bool due(std::uint64_t examples) const { return examples == next_; }

    // The update from the last one to total weight t.
    struct Step {
        Unit unit = Unit::none;
        double spread = 1;  // the change of a root mean square by time
        double part = 0;    // v's share of the average

        // The factor of an average, from its feature's scale at the last update and now.
        double growth(double before, double now) const {
            if (unit == Unit::none || before == 0) return 1;
            const double ratio = now / before * spread;
            return ratio <= most ? ratio : 1;
        }
        // The average after the update.
        double with(double average, double v) const {
            const double now = average + part * (v - average);
            return std::fabs(now) <= largest ? now : v;
        }

      private:
        static constexpr double most = 16, largest = 0x1p1000;
    };
    Step step(double t) const {
        const double before = t_ / t;
        return {unit_, unit_ == Unit::root_mean_square ? std::sqrt(before) : 1.0, 1.0 - before * before};
    }
    // The factor of v's unit from the last update to total weight t, for a constant scale.
    double unit_at_update(double t) const { return unit_ == Unit::root_mean_square && t > 0 ? std::sqrt(t_ / t) : 1.0; }
    // Performs the update at total weight t. `features`: the number of features with a scale.
    Step update(double t, std::size_t features) {
        const Step result = step(t);
        t_ = t;
        next_ = after(next_, features);
        return result;
    }

    // Schedules the next update as if the last one had been after `examples` examples.
    void plan(std::uint64_t examples, std::size_t features) {
        if (on_) next_ = after(examples, features);
    }

    // The number of examples at the next update; 0 if there is no average.
    std::uint64_t next() const { return on_ ? next_ : 0; }
    void restore(double t, std::uint64_t next) {
        t_ = t;
        if (on_) next_ = next;
    }

  private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    bool on_;
    Unit unit_;
    std::uint64_t slots_, next_ = never;
    double t_ = 0;

    std::uint64_t after(std::uint64_t update, std::uint64_t features) const {
        return update + std::max({std::uint64_t{1}, update / 64, std::max(features, slots_) / 16});
    }
};

}  // namespace unitless
