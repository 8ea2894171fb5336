// Labels as people write them, and as the loss wants them; the label's own unit and offset.
#pragma once

#include <vector>

#include "algorithm/loss.hpp"
#include "base/errors.hpp"
#include "encoding/label_unit.hpp"
#include "rows/labels.hpp"

namespace unitless {

// How a stream writes its negative class: settled by the first one met.
enum class NegativeLabel : int { unknown = 0, zero = 1, minus_one = 2 };

// What has been learned of the labels, for files and merging.
struct LabelState {
    NegativeLabel negative = NegativeLabel::unknown;
    LabelUnit unit;
};

// These throw InputError for a weight below 0 or beyond `largest_weight`, and for an offset beyond `largest_label`.
void check_weight(double weight, std::size_t row);
void check_offset(double offset, std::size_t row);
bool any_weight(const Labels& labels, std::size_t rows);

// Labels of one call as the loss wants them, and what will be known of the labels when they are learned. Its memory can
// be used for the next call.
struct EncodedLabels {
    Labels labels;
    LabelState after;
    std::vector<double> y, label_scale;  // where they differ from what was given
};

class LabelEncoder {
  public:
    // `unit`: the label's unit and offset are learned; `in_rate`: and multiply the learning rate. `shifts`: a row's
    // offset is taken from its label, and added to its prediction, here; otherwise the engine does it.
    LabelEncoder(const LossFacts& loss, bool classes, bool unit, bool in_rate, bool shifts)
        : loss_(loss), classes_(classes), own_unit_(unit), shifts_(shifts) {
        state_.unit.on = unit;
        state_.unit.in_rate = in_rate;
    }

    // Throws InputError if a label, weight or offset cannot be learned. Nothing is settled before `accept`.
    void encode(const Labels& given, std::size_t rows, std::size_t class_count, EncodedLabels& to) const;
    // The offsets that the engine is to add; null if there are none, or if they are added here. Throws InputError if
    // one cannot be added.
    const double* engine_offset(const double* offset, std::size_t rows) const;

    // The rows are learned: all of them, or those before `end`.
    void accept(const EncodedLabels& encoded) { state_ = encoded.after; }
    void accept(const Labels& given, std::size_t end, std::size_t class_count);

    // Predictions are made of u; what is reported is c + u, and the row's offset. Before the first label c + u is 0.
    void complete(double* predictions, std::size_t rows, std::size_t width, const double* offset) const;
    // Predictions of rows that have just been learned. `started`: there had been a label before them.
    void complete_learned(bool started, const Labels& given, std::size_t rows, std::size_t width,
                          double* predictions) const;

    // Are rows coming that have been learned before?
    void repeat(bool repeated) { state_.unit.repeated = repeated; }

    const LabelState& state() const { return state_; }
    void load(const LabelState& from);

  private:
    LossFacts loss_;
    bool classes_, own_unit_, shifts_;
    LabelState state_;

    double checked(double y, std::size_t row, std::size_t class_count, NegativeLabel& negative) const;
    double encode_row(const Labels& given, std::size_t row, std::size_t class_count, LabelState& after,
                      double& label_scale) const;
};

}  // namespace unitless
