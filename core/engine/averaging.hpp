// The average of v over the stream, in scale units: the v that examples were met with, those at time t counting by t.
//
// It is not brought up to date with every example but at certain numbers of them, its looks, a sixty-fourth apart: v
// then stands for all examples since the look before. Between T and t the weights add up to t^2 - T^2, so that its part
// of the average is 1 - (T/t)^2. Looks depend on the number of examples alone: however rows come and are cut into
// calls, they are the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace unitless {

class Averaging {
  public:
    // `least`: looks are so many examples apart or more, for many slots.
    Averaging(bool on, std::uint64_t least) : on_(on), least_(least) { begin(0); }

    bool on() const { return on_; }
    // The total weight at the last look. Before the first one there is no average: v stands for it.
    double t() const { return t_; }
    bool started() const { return t_ > 0; }

    // Of so many rows that follow these examples, how many come before the next look or bring it about.
    std::size_t until_look(std::uint64_t examples, std::size_t rows) const {
        const std::uint64_t left = next_ - examples;
        return left < rows ? static_cast<std::size_t>(left) : rows;
    }
    bool due(std::uint64_t examples) const { return examples == next_; }

    // The look at total weight t: gives the part of the average that v makes up from now on.
    double look(double t) {
        const double before = t_ / t;
        t_ = t;
        next_ = after(next_);
        return 1.0 - before * before;
    }
    static double averaged(double average, double v, double part) { return average + part * (v - average); }

    // After so many examples, the last look having been at total weight t.
    void restore(double t, std::uint64_t examples) {
        t_ = t;
        begin(examples);
    }

  private:
    bool on_;
    std::uint64_t least_, next_ = never;
    double t_ = 0;
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    std::uint64_t after(std::uint64_t look) const { return look + std::max({std::uint64_t{1}, look / 64, least_}); }
    void begin(std::uint64_t examples) {
        if (!on_) return;
        for (next_ = after(0); next_ <= examples;) next_ = after(next_);
    }
};

}  // namespace unitless
