// The advantage of a learner over a constant prediction: over all rows, how much smaller its loss was. The loss of a
// class is -log of the label's probability; that of a number is the squared error, divided by twice the constant's mean
// one.
//
// A learner whose advantage falls far below its highest value has been worse than a constant since then: what it has
// learned is no longer true, and a new learner is better. If probabilities are calibrated, exp(-fall) is a likelihood
// ratio, so that a fall by `far` is chance once in exp(far) rows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "simd/elementary.hpp"

namespace unitless {

class Advantage {
  public:
    // Count a row that was predicted and learned; `loss` is the learner's, `weight` is relative to the mean weight.
    void add_class(std::size_t label, double loss, double weight) {
        if (label >= rows_.size()) rows_.resize(label + 1);
        const double share = (rows_[label] + 1.0) / (weight_ + static_cast<double>(rows_.size()));
        rows_[label] += weight;
        add(-log(share) - loss, weight);
    }
    void add_number(double label, double loss, double weight) {
        const double apart = label - mean_, constant = apart * apart;
        const double difference = square_ > 0 ? (constant - loss) / (2.0 * (square_ / weight_)) : 0.0;
        mean_ += weight / (weight_ + weight) * apart;
        square_ += weight * constant;
        add(difference, weight);
    }
    // Whether what was learned is no longer true.
    bool is_lost() const { return highest_ >= earned && highest_ - now_ >= far; }
    void begin_anew() { now_ = highest_ = 0; }

    std::vector<double> save() const {
        std::vector<double> numbers = {now_, highest_, weight_, mean_, square_};
        numbers.insert(numbers.end(), rows_.begin(), rows_.end());
        return numbers;
    }
    // Returns whether `save` can produce these numbers.
    bool load(const std::vector<double>& numbers) {
        constexpr std::size_t fixed = 5;
        if (numbers.size() < fixed) return false;
        now_ = numbers[0];
        highest_ = numbers[1];
        weight_ = numbers[2];
        mean_ = numbers[3];
        square_ = numbers[4];
        rows_.assign(numbers.begin() + fixed, numbers.end());
        const bool counts = std::all_of(rows_.begin(), rows_.end(), [](double rows) { return rows >= 0; });
        return counts && now_ <= highest_ && highest_ >= 0 && weight_ >= 0 && square_ >= 0;
    }

  private:
    static constexpr double far = 16.0;
    static constexpr double earned = 64.0;  // a learner that was never this far ahead has learned nothing yet
    static constexpr double most = 4.0;     // of one row, so that a few rows cannot decide
    double now_ = 0, highest_ = 0;
    double weight_ = 0;
    std::vector<double> rows_;      // by class: their weight
    double mean_ = 0, square_ = 0;  // of numbers; the constant's squared errors

    void add(double difference, double weight) {
        weight_ += weight;
        now_ += weight * (difference < most ? std::max(difference, -most) : most);
        highest_ = std::max(highest_, now_);
    }
};

}  // namespace unitless
