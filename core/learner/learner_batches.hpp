// How a learner goes through its input, whatever kind it is: batch by batch, each prepared and then learned or
// predicted. Only for the learner's own translation units.
#pragma once

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "base/errors.hpp"
#include "learner/learner.hpp"

namespace unitless {

// Rows are learned in batches that stay in the cache.
inline constexpr std::size_t rows_per_batch = 512, entries_per_batch = 16384;

inline std::string number(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", x);
    double back = 0;
    for (int digits = 1; digits < 17; ++digits) {  // the shortest text that reads back the same
        char shorter[32];
        std::snprintf(shorter, sizeof shorter, "%.*g", digits, x);
        if (std::sscanf(shorter, "%lf", &back) == 1 && back == x) return shorter;
    }
    return text;
}

inline std::string where(std::size_t row, std::size_t column, const Learner::Names* names) {
    return unitless::where(row) +
           (names ? ", column '" + (*names)[column] + "'" : ", column " + std::to_string(column));
}

[[noreturn]] inline void throw_not_finite(double value, const std::string& place) {
    throw InputError("value is " + number(value) + place +
                     "; drop or fill in such values (a feature that is left out counts as 0)");
}

inline bool any_weight(const Labels& labels, std::size_t rows) {
    for (std::size_t r = 0; r < rows; ++r)
        if (weight_of(labels, r) > 0) return true;
    return false;
}

inline std::size_t chunks_for(std::size_t features) { return features < 8 ? 1 : (features + 7) / 8; }

// How many features a row has, roughly.
template <class Input>
std::size_t columns_of(const Input& input) {
    return input.width();
}
inline std::size_t columns_of(const DenseInput& input) { return std::max<std::size_t>(1, input.column_count); }
inline std::size_t columns_of(const CompressedRows& input) {
    return std::max<std::size_t>(1, input.entries / input.rows);
}

// An interaction that names what the data has not. `has` says whether a selector finds something.
template <class Has>
void Learner::check_listed(Has has, const std::string& what) const {
    if (clock_.examples > 0) return;  // later, what is not there is absent
    for (const auto& [left, right] : interactions_.listed()) {
        for (const auto* side : {&left, &right}) {
            for (const auto& selector : *side) {
                if (has(selector)) continue;
                const std::string asked = selector.column >= 0 ? "column " + std::to_string(selector.column)
                                                               : "'" + selector.name + (selector.prefix ? "*'" : "'");
                throw InputError("an interaction names " + asked + ", which the data does not have; it has " + what);
            }
        }
    }
}

struct Learner::Encoded {
    const double* y;
    std::unique_ptr<double[]> own, pace;  // where y had to be changed; with a target, the pace of each row
    NegativeLabel negative;
    Target target;

    Labels with(const Labels& given) const { return {y, given.weight, pace.get(), given.new_classes}; }
};

// Bad input changes nothing; after divergence the rows before are learned, and with them what was seen of the labels.
template <class Action>
void Learner::learn_all(const Encoded& encoded, const Labels& labels, std::size_t rows, double* predictions,
                        Action action) {
    try {
        all_or_nothing(action);
    } catch (const DivergedError& error) {
        for (std::size_t r = 0; r < error.row; ++r) {
            if (weight_of(labels, r) == 0) continue;
            double y = encode(labels.y[r], r, negative_, labels.new_classes);
            if (target_.on) target_.observe(y, weight_of(labels, r));
        }
        throw;
    }
    negative_ = encoded.negative;
    if (!target_.on) return;
    std::size_t unaware = 0;  // rows before the first label was known, its own included
    if (!target_.started) {
        while (unaware < rows && weight_of(labels, unaware) == 0) ++unaware;
        unaware = std::min(rows, unaware + 1);
    }
    target_ = encoded.target;
    std::fill_n(predictions, unaware * learn_width(), 0.0);
    add_offset(predictions + unaware * learn_width(), (rows - unaware) * learn_width());
}

// Calls action(first row, number of rows) for batch after batch of prepared rows.
template <class Input, class Action>
void Learner::in_batches(Input&& input, Looking looking, const double* weight, Action action) {
    for (std::size_t first = 0, rows; first < input.rows; first += rows) {
        start_rows();
        const std::size_t most =
            std::min({input.rows - first, rows_per_batch, entries_per_batch / columns_of(input) + 1});
        if (collect(input, first, most)) {
            rows = most;
            action(first, rows);
            continue;
        }
        widen(input, first, most);
        marks_.clear();
        for (rows = 0; rows < most && (rows == 0 || rows_.entries() < entries_per_batch); ++rows) {
            const double h = weight ? weight[first + rows] : 1.0;
            marks_.push_back({features_.mark(), interactions_.mark()});
            rows_.begin_row();
            add_row(input, first + rows, rows, looking, h);
            end_row(first + rows, looking == Looking::learning && h > 0);
        }
        action(first, rows);
    }
}

// Rows spread over all slots, some at a time. `fill(row, to)` writes what is not zero.
template <class Fill>
void Learner::learn_tiles(std::size_t all_rows, Fill fill, const Labels& labels, double* predictions, std::size_t row) {
    const std::size_t features = features_.slot_count() - 1, chunks = chunks_for(features);
    const Pack pack = make_pack(chunks);
    double* block = aligned(block_, block_doubles(chunks));
    constexpr std::size_t at_once = 128;
    wide_.resize(at_once * features);
    load(pack, features);
    for (std::size_t first = 0, rows; first < all_rows; first += rows) {
        rows = std::min(at_once, all_rows - first);
        std::fill_n(wide_.begin(), rows * features, 0.0);
        for (std::size_t r = 0; r < rows; ++r) fill(first + r, wide_.data() + r * features);
        DenseInput spread{reinterpret_cast<const char*>(wide_.data()),
                          static_cast<std::ptrdiff_t>(features * sizeof(double)),
                          Type::f64,
                          nullptr,
                          features,
                          rows};
        Clock clock = clock_;
        const auto run = [&] {
            return kernel_->single->learn_dense(setup_.options, clock, pack, chunks, block, spread,
                                                labels_from(labels, first), predictions + first);
        };
        const Outcome outcome = run();
        if (outcome.status == Status::diverged) {  // once more up to there, which gives the same bits
            spread.rows = outcome.row;
            clock = clock_;
            load(pack, features);
            run();
        }
        store(pack, features);
        clock_ = clock;
        if (outcome.status == Status::diverged) throw_diverged(row + first + outcome.row);
    }
}

struct Learner::FinishOnExit {
    Learner& learner;
    ~FinishOnExit() {
        try {
            if (learner.lanes_) learner.settle_lanes();
        } catch (
            ...) {  // out of memory once more: what matters is that the other threads have stopped, which they have
        }
    }
};

template <class Input>
void Learner::learn_batches(Input&& input, const Labels& labels, double* predictions) {
    add_classes(labels.new_classes);
    Centre before;
    if (centre_.any()) before = centre_;
    const FinishOnExit guard{*this};  // whatever happens, no other thread reads labels that are gone
    in_batches(input, Looking::learning, labels.weight, [&](std::size_t first, std::size_t rows) {
        try {
            learn_prepared(labels_from(labels, first), predictions + first * learn_width(), first);
            if (lanes_ && first + rows == input.rows) finish_lanes();
        } catch (const DivergedError& error) {
            if (centre_.any()) {  // only the rows before have been seen
                centre_ = before;
                widen(input, first, rows);
                for (std::size_t r = first; r < error.row; ++r) {
                    rows_.begin_row();
                    add_row(input, r, r - first, Looking::learning, weight_of(labels, r));
                }
            }
            if (!lanes_) {  // nor have the products of the others been met; lanes may have gone on with them
                interactions_.rewind(marks_[error.row - first].products);
                features_.rewind(marks_[error.row - first].features);
            }
            throw;
        }
        if (centre_.any()) before = centre_;
    });
}

}  // namespace unitless
