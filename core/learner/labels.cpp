#include "learner/labels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/limits.hpp"

namespace unitless {

void check_weight(double weight, std::size_t row) {
    if (!(weight >= 0 && weight <= largest_weight))
        throw InputError("weight is " + number(weight), Place{row}, "weights must be between 0 and 1e15");
}

void check_offset(double offset, std::size_t row) {
    if (!(std::fabs(offset) <= largest_label))
        throw InputError("offset is " + number(offset), Place{row}, "offsets must be finite, and not beyond 1e60");
}

bool any_weight(const Labels& labels, std::size_t rows) {
    for (std::size_t r = 0; r < rows; ++r)
        if (weight_of(labels, r) > 0) return true;
    return false;
}

double LabelEncoder::checked(double y, std::size_t row, std::size_t class_count, NegativeLabel& negative) const {
    const auto refuse = [&](const std::string& advice) {
        throw InputError("label is " + number(y), Place{row}, advice);
    };
    if (!(std::fabs(y) <= largest_label)) refuse("labels must be finite, and not beyond 1e60: use larger units");
    if (classes_) {
        if (!(y >= 0 && y < static_cast<double>(class_count) && y == std::floor(y)))
            throw InputError(
                "class " + number(y) + " is outside the model's " + std::to_string(class_count) + " classes",
                Place{row});
        return y;
    }
    if (loss_.labels == LabelKind::number) return y;
    if (loss_.labels == LabelKind::count) {
        if (y < 0) refuse(std::string(loss_.name) + " loss is for counts: labels must be 0 or more");
        return y;
    }
    if (y == 1) return 1;
    if (y != 0 && y != -1) refuse(std::string(loss_.name) + " loss takes {-1, +1}, {0, 1} or booleans");
    const NegativeLabel kind = y == 0 ? NegativeLabel::zero : NegativeLabel::minus_one;
    if (negative != NegativeLabel::unknown && negative != kind)
        refuse(std::string("earlier negative labels were ") + (kind == NegativeLabel::zero ? "-1" : "0") +
               ": use either {-1, +1} or {0, 1}");
    negative = kind;
    return -1;
}

void LabelEncoder::encode(const Labels& given, std::size_t rows, std::size_t class_count, EncodedLabels& to) const {
    for (std::size_t r = 0; given.weight && r < rows; ++r) check_weight(given.weight[r], r);
    to.labels = given;
    to.labels.offset = engine_offset(given.offset, rows);
    to.after = state_;
    const bool shifted = shifts_ && given.offset;
    if (!classes_ && !own_unit_ && !shifted && loss_.labels == LabelKind::number) {
        bool usable = true;
        for (std::size_t r = 0; r < rows; ++r) usable &= std::fabs(given.y[r]) <= largest_label;
        if (usable) return;
    }
    to.y.resize(rows);
    to.labels.y = to.y.data();
    if (own_unit_) {
        to.label_scale.resize(rows);
        to.labels.label_scale = to.label_scale.data();
    }
    const auto encode_one = [&](std::size_t r) {
        double label_scale = 1;
        to.y[r] = encode_row(given, r, class_count, to.after, label_scale);
        if (own_unit_) to.label_scale[r] = label_scale;
    };
    std::size_t done = 0;
    const bool signs = !classes_ && !own_unit_ && loss_.labels == LabelKind::sign;
    while (signs && done < rows && to.after.negative == NegativeLabel::unknown) encode_one(done++);
    if (signs) {  // once the form of the negative label is known, all others at once
        const double no = to.after.negative == NegativeLabel::zero ? 0.0 : -1.0;
        bool known = true;
        for (std::size_t r = done; r < rows; ++r) {
            known &= (given.y[r] == 1) | (given.y[r] == no);
            to.y[r] = given.y[r] == 1 ? 1.0 : -1.0;
        }
        if (known) return;
    }
    for (std::size_t r = done; r < rows; ++r) encode_one(r);
}

// `after`: the state of the labels after the row is learned. A row of weight 0 is only predicted.
double LabelEncoder::encode_row(const Labels& given, std::size_t row, std::size_t class_count, LabelState& after,
                                double& label_scale) const {
    const double weight = weight_of(given, row), offset = offset_of(given, row);
    if (classes_ && weight == 0) return 0;
    NegativeLabel unsettled = after.negative;
    double label = checked(given.y[row], row, class_count, weight == 0 ? unsettled : after.negative);
    if (shifts_ && offset != 0) label -= offset;
    if (own_unit_) label_scale = after.unit.observe(label, weight);
    return label;
}

void LabelEncoder::accept(const Labels& given, std::size_t end, std::size_t class_count) {
    double label_scale = 1;
    for (std::size_t r = 0; r < end; ++r)
        if (weight_of(given, r) > 0) encode_row(given, r, class_count, state_, label_scale);
}

const double* LabelEncoder::engine_offset(const double* offset, std::size_t rows) const {
    if (!offset) return nullptr;
    if (classes_)
        throw InputError("a model of several classes has no offsets",
                         "an offset is added to one score; leave it out, or learn one class against the rest");
    for (std::size_t r = 0; r < rows; ++r) check_offset(offset[r], r);
    return shifts_ ? nullptr : offset;
}

void LabelEncoder::complete(double* predictions, std::size_t rows, std::size_t width, const double* offset) const {
    const LabelUnit& unit = state_.unit;
    for (std::size_t i = 0; own_unit_ && i < rows * width; ++i)
        predictions[i] = unit.started ? predictions[i] + unit.center : 0.0;
    for (std::size_t r = 0; shifts_ && offset && r < rows; ++r)
        for (std::size_t i = 0; offset[r] != 0 && i < width; ++i) predictions[r * width + i] += offset[r];
}

void LabelEncoder::complete_learned(bool started, const Labels& given, std::size_t rows, std::size_t width,
                                    double* predictions) const {
    std::size_t unaware = 0;  // rows up to and including the first label
    if (own_unit_ && !started) {
        while (unaware < rows && weight_of(given, unaware) == 0) ++unaware;
        unaware = std::min(rows, unaware + 1);
    }
    for (std::size_t i = 0; i < unaware * width; ++i)
        predictions[i] = shifts_ && given.offset ? given.offset[i / width] : 0.0;
    complete(predictions + unaware * width, rows - unaware, width, given.offset ? given.offset + unaware : nullptr);
}

void LabelEncoder::load(const LabelState& from) {
    const LabelUnit fresh = state_.unit;
    state_ = from;
    state_.unit.on = fresh.on;
    state_.unit.in_rate = fresh.in_rate;
}

}  // namespace unitless
