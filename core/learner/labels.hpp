// Converts the caller's labels to those of the loss, and removes the label's unit and offset.
#pragma once

#include <vector>

#include "algorithm/loss.hpp"
#include "base/errors.hpp"
#include "encoding/label_unit.hpp"
#include "rows/labels.hpp"

namespace unitless {

// The value of negative labels in a stream, 0 or -1. The first negative label decides.
enum class NegativeLabel : int { unknown = 0, zero = 1, minus_one = 2 };

// What was learned about the labels, for model files and merging.
struct LabelState {
    NegativeLabel negative = NegativeLabel::unknown;
    LabelUnit unit;
};

// Throw InputError for a weight below 0 or beyond `largest_weight`, and for an offset beyond `largest_label`.
void check_weight(double weight, std::size_t row);
void check_offset(double offset, std::size_t row);
bool any_weight(const Labels& labels, std::size_t rows);

// The labels of one call as the loss needs them, and the state of the labels after they are learned. The memory can be
// reused for the next call.
struct EncodedLabels {
    Labels labels;
    LabelState after;
    std::vector<double> y, label_scale;  // if they differ from the given ones
};

class LabelEncoder {
  public:
    // `unit`: the label's unit and offset are learned; `in_rate`: the unit multiplies the learning rate. `shifts`: this
    // class subtracts a row's offset from its label and adds it to its prediction; otherwise the engine does it.
    LabelEncoder(const LossFacts& loss, bool classes, bool unit, bool in_rate, bool shifts)
        : loss_(loss), classes_(classes), own_unit_(unit), shifts_(shifts) {
        state_.unit.on = unit;
        state_.unit.in_rate = in_rate;
    }

    // Throws InputError if a label, weight or offset cannot be learned. The state does not change before `accept`.
    void encode(const Labels& given, std::size_t rows, std::size_t class_count, EncodedLabels& to) const;
    // The offsets for the engine to add; null if there are none, or if this class adds them. Throws InputError if an
    // offset is invalid.
    const double* engine_offset(const double* offset, std::size_t rows) const;

    // Updates the state after rows were learned: all of them, or those before `end`.
    void accept(const EncodedLabels& encoded) { state_ = encoded.after; }
    void accept(const Labels& given, std::size_t end, std::size_t class_count);

    // Converts predictions of u to c + u plus the row's offset. Before the first label c + u is 0.
    void complete(double* predictions, std::size_t rows, std::size_t width, const double* offset) const;
    // Converts the predictions of rows that were just learned. `started`: whether there was a label before them.
    void complete_learned(bool started, const Labels& given, std::size_t rows, std::size_t width,
                          double* predictions) const;

    // Sets whether the next rows were learned before, in an earlier pass.
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
