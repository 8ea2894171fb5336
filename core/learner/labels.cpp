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

double LabelEncoder::encode(double y, std::size_t row, std::size_t class_count, NegativeLabel& negative) const {
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

LabelEncoder::Encoded LabelEncoder::encode(const Labels& given, std::size_t rows, std::size_t class_count) const {
    for (std::size_t r = 0; given.weight && r < rows; ++r) check_weight(given.weight[r], r);
    const bool shifted = shifts_ && given.offset;
    Encoded encoded{given.y, nullptr, nullptr, state_, checked({false, given.offset}, rows).offset};
    if (!classes_ && !own_unit_ && !shifted && loss_.labels == LabelKind::number) {
        bool usable = true;
        for (std::size_t r = 0; r < rows; ++r) usable &= std::fabs(given.y[r]) <= largest_label;
        if (usable) return encoded;
    }
    encoded.own = std::make_unique_for_overwrite<double[]>(rows);
    encoded.y = encoded.own.get();
    if (own_unit_) encoded.pace = std::make_unique_for_overwrite<double[]>(rows);
    const bool signs = !classes_ && !own_unit_ && loss_.labels == LabelKind::sign;
    const auto encode_row = [&](std::size_t r) {
        double pace = 1;
        encoded.own[r] =
            encode(given.y[r], weight_of(given, r), offset_of(given, r), r, class_count, encoded.after, pace);
        if (own_unit_) encoded.pace[r] = pace;
    };
    std::size_t done = 0;
    while (signs && done < rows && encoded.after.negative == NegativeLabel::unknown) encode_row(done++);
    if (signs) {  // once it is known how the negative class is written, all others at once
        const double no = encoded.after.negative == NegativeLabel::zero ? 0.0 : -1.0;
        bool known = true;
        for (std::size_t r = done; r < rows; ++r) {
            known &= (given.y[r] == 1) | (given.y[r] == no);
            encoded.own[r] = given.y[r] == 1 ? 1.0 : -1.0;
        }
        if (known) return encoded;
    }
    for (std::size_t r = done; r < rows; ++r) encode_row(r);
    return encoded;
}

double LabelEncoder::encode(double y, double weight, double offset, std::size_t row, std::size_t class_count,
                            LabelState& after, double& pace) const {
    if (classes_ && weight == 0) return 0;  // only predicted
    NegativeLabel unseen = after.negative;  // a label without weight settles nothing
    double label = encode(y, row, class_count, weight == 0 ? unseen : after.negative);
    if (shifts_ && offset != 0) label -= offset;
    if (own_unit_) pace = after.target.observe(label, weight);
    return label;
}

void LabelEncoder::accept(const Labels& given, std::size_t end, std::size_t class_count) {
    double pace = 1;
    for (std::size_t r = 0; r < end; ++r)
        if (weight_of(given, r) > 0)
            encode(given.y[r], weight_of(given, r), offset_of(given, r), r, class_count, state_, pace);
}

Asking LabelEncoder::checked(const Asking& asking, std::size_t rows) const {
    if (!asking.offset) return asking;
    if (classes_)
        throw InputError("a model of several classes has no offsets",
                         "an offset is added to one score; leave it out, or learn one class against the rest");
    for (std::size_t r = 0; r < rows; ++r) check_offset(asking.offset[r], r);
    return {asking.extrapolate, shifts_ ? nullptr : asking.offset};
}

void LabelEncoder::complete(double* predictions, std::size_t rows, std::size_t width, const double* offset) const {
    const Target& target = state_.target;
    for (std::size_t i = 0; own_unit_ && i < rows * width; ++i)
        predictions[i] = target.started ? predictions[i] + target.centre : 0.0;
    for (std::size_t r = 0; shifts_ && offset && r < rows; ++r)
        for (std::size_t i = 0; offset[r] != 0 && i < width; ++i) predictions[r * width + i] += offset[r];
}

void LabelEncoder::complete_before(const LabelState& before, const Labels& given, std::size_t rows, std::size_t width,
                                   double* predictions) const {
    std::size_t unaware = 0;  // rows before the first label was known, its own included
    if (own_unit_ && !before.target.started) {
        while (unaware < rows && weight_of(given, unaware) == 0) ++unaware;
        unaware = std::min(rows, unaware + 1);
    }
    for (std::size_t i = 0; i < unaware * width; ++i)
        predictions[i] = shifts_ && given.offset ? given.offset[i / width] : 0.0;
    complete(predictions + unaware * width, rows - unaware, width, given.offset ? given.offset + unaware : nullptr);
}

void LabelEncoder::load(const LabelState& from) {
    const Target fresh = state_.target;
    state_ = from;
    state_.target.on = fresh.on;
    state_.target.paced = fresh.paced;
}

}  // namespace unitless
