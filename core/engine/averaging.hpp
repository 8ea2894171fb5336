// The average of the weights over the stream, those at time t counting by t; kept, like v, in units of the scales.
//
// It is updated at certain numbers of examples, not with each: v then stands for all examples since the update before.
// Between T and t the weights add up to t^2 - T^2, so that v's part of the average is 1 - (T/t)^2. An update costs as
// much as there are features, so that updates are a sixty-fourth of the examples apart, or more if there are many
// features. They depend on what was learned and on nothing else: however rows are cut into calls, they are the same.
//
// When a scale grows, the average follows it, so that w stays what it was: v lags behind its scale, and an average of v
// would do so for ever. But a scale that has grown far more than that between two updates is one of another unit, in
// which the old w would be wrong by as much: then the average stays, as v does.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace unitless {

// How the unit of v follows from the scale: v = w; v = w s; v = w r/sqrt(t).
enum class Unit { none, scale, root_mean_square };

class Averaging {
  public:
    // `slots`: as many as there may be, if that is known; every update goes through them.
    Averaging(bool on, Unit unit, std::uint64_t slots) : on_(on), unit_(unit), slots_(slots) {
        if (on) next_ = after(0, 0);
    }

    bool on() const { return on_; }
    // The total weight at the last update. Before the first one there is no average: v stands for it.
    double t() const { return t_; }
    bool started() const { return t_ > 0; }

    // Of so many rows that follow these examples, how many come before the next update or bring it about.
    std::size_t rows_until_update(std::uint64_t examples, std::size_t rows) const {
        const std::uint64_t left = next_ - examples;
        return left < rows ? static_cast<std::size_t>(left) : rows;
    }
    bool due(std::uint64_t examples) const { return examples == next_; }

    // From the last update to total weight t.
    struct Step {
        Unit unit = Unit::none;
        double spread = 1;  // what time does to a root mean square
        double part = 0;    // of v in the average

        // What becomes of an average, given its feature's scale at the last update and now.
        double growth(double before, double now) const {
            if (unit == Unit::none || before == 0) return 1;
            const double ratio = now / before * spread;
            return ratio <= most ? ratio : 1;
        }
        // The average at the update.
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
    // What the unit of v at the last update was, had the scales been the same then as at total weight t.
    double unit_at_update(double t) const { return unit_ == Unit::root_mean_square && t > 0 ? std::sqrt(t_ / t) : 1.0; }
    // The update at total weight t, `features` having a scale.
    Step update(double t, std::size_t features) {
        const Step result = step(t);
        t_ = t;
        next_ = after(next_, features);
        return result;
    }

    // The next update comes as if the last one had come after these examples.
    void plan(std::uint64_t examples, std::size_t features) {
        if (on_) next_ = after(examples, features);
    }

    // The number of examples at the next update; 0 if nothing is averaged.
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
