// Labels as people write them, and as the loss wants them; the label's own unit and offset.
#pragma once

#include <memory>

#include "algorithm/loss.hpp"
#include "base/errors.hpp"
#include "preparation/target.hpp"
#include "rows/labels.hpp"

namespace unitless {

// How a stream writes its negative class: settled by the first one met.
enum class NegativeLabel : int { unknown = 0, zero = 1, minus_one = 2 };

// What has been learned of the labels, for files and merging.
struct LabelState {
    NegativeLabel negative = NegativeLabel::unknown;
    Target target;
};

// Throws InputError if the weight is negative or not finite.
void check_weight(double weight, std::size_t row);
bool any_weight(const Labels& labels, std::size_t rows);

class LabelEncoder {
  public:
    LabelEncoder(const LossFacts& loss, bool classes, bool target, bool paced)
        : loss_(loss), classes_(classes), own_unit_(target) {
        state_.target.on = target;
        state_.target.paced = paced;
    }

    // Labels of one call as the loss wants them, and what they say of the labels' own unit. Nothing is settled before
    // `accept`.
    struct Encoded {
        const double* y = nullptr;
        std::unique_ptr<double[]> own, pace;  // where y had to be changed; with a target, the pace of each row
        LabelState after;

        Labels with(const Labels& given) const { return {y, given.weight, pace.get(), given.new_classes}; }
    };
    Encoded encode(const Labels& given, std::size_t rows, std::size_t class_count) const;

    // One label; `after` is what will be known when it is learned. A row without weight is only predicted.
    double encode(double y, double weight, std::size_t row, std::size_t class_count, LabelState& after,
                  double& pace) const;

    // The rows are learned: all of them, or those before `end`.
    void accept(const LabelState& after) { state_ = after; }
    void accept(const Labels& given, std::size_t end, std::size_t class_count);

    // Predictions are made of u; what is reported is c + u. Before the first label that is 0.
    void add_offset(double* predictions, std::size_t count) const;
    // The same for rows that have just been learned, of which the first may have brought the first label.
    void add_offset_before(const LabelState& before, const Labels& given, std::size_t rows, std::size_t width,
                           double* predictions) const;

    const LabelState& state() const { return state_; }
    void load(const LabelState& from);

  private:
    LossFacts loss_;
    bool classes_, own_unit_;
    LabelState state_;

    double encode(double y, std::size_t row, std::size_t class_count, NegativeLabel& negative) const;
};

}  // namespace unitless
