// Labels as people write them, and as the loss wants them; the label's own unit and offset.
#pragma once

#include <memory>

#include "algorithm/loss.hpp"
#include "base/errors.hpp"
#include "preparation/target.hpp"
#include "rows/asking.hpp"
#include "rows/labels.hpp"

namespace unitless {

// How a stream writes its negative class: settled by the first one met.
enum class NegativeLabel : int { unknown = 0, zero = 1, minus_one = 2 };

// What has been learned of the labels, for files and merging.
struct LabelState {
    NegativeLabel negative = NegativeLabel::unknown;
    Target target;
};

// These throw InputError for a weight below 0 or beyond `largest_weight`, and for an offset beyond `largest_label`.
void check_weight(double weight, std::size_t row);
void check_offset(double offset, std::size_t row);
bool any_weight(const Labels& labels, std::size_t rows);

class LabelEncoder {
  public:
    // `shifts`: a row's offset is taken from its label, and added to its prediction, here; otherwise the engine does
    // it.
    LabelEncoder(const LossFacts& loss, bool classes, bool target, bool paced, bool shifts)
        : loss_(loss), classes_(classes), own_unit_(target), shifts_(shifts) {
        state_.target.on = target;
        state_.target.paced = paced;
    }

    // Labels of one call as the loss wants them, and what they say of the labels' own unit. Nothing is settled before
    // `accept`.
    struct Encoded {
        const double* y = nullptr;
        std::unique_ptr<double[]> own, pace;  // where y had to be changed; with a target, the pace of each row
        LabelState after;
        const double* offset = nullptr;  // what the engine is to add

        Labels with(const Labels& given) const { return {y, given.weight, pace.get(), given.new_classes, offset}; }
    };
    Encoded encode(const Labels& given, std::size_t rows, std::size_t class_count) const;

    // One label; `after` is what will be known when it is learned. A row without weight is only predicted.
    double encode(double y, double weight, double offset, std::size_t row, std::size_t class_count, LabelState& after,
                  double& pace) const;
    // How an engine is to be asked: with the offsets, or without those that are added here. Throws InputError if one is
    // not finite.
    Asking checked(const Asking& asking, std::size_t rows) const;

    // The rows are learned: all of them, or those before `end`.
    void accept(const LabelState& after) { state_ = after; }
    void accept(const Labels& given, std::size_t end, std::size_t class_count);

    // Predictions are made of u; what is reported is c + u, and the row's offset. Before the first label c + u is 0.
    void complete(double* predictions, std::size_t rows, std::size_t width, const double* offset) const;
    // The same for rows that have just been learned, of which the first may have brought the first label.
    void complete_before(const LabelState& before, const Labels& given, std::size_t rows, std::size_t width,
                         double* predictions) const;

    // Are rows coming that have been learned before?
    void repeat(bool repeated) { state_.target.repeated = repeated; }

    const LabelState& state() const { return state_; }
    void load(const LabelState& from);

  private:
    LossFacts loss_;
    bool classes_, own_unit_, shifts_;
    LabelState state_;

    double encode(double y, std::size_t row, std::size_t class_count, NegativeLabel& negative) const;
};

}  // namespace unitless
