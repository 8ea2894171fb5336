// How a learner goes through its input, whatever kind it is: batch by batch, each prepared and then learned or
// predicted. Only for the learner's own translation units.
#pragma once

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

#include "errors.hpp"
#include "learner.hpp"

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
        if (labels.weight_of(r) > 0) return true;
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
    const Features::Mark mark = features_.mark();
    const std::size_t products = interactions_.mark();
    const std::uint64_t examples = clock_.examples;
    const auto observe = [&](std::size_t r) {
        double y = encode(labels.y[r], r, negative_, labels.new_classes);
        if (target_.on) target_.observe(y, labels.weight_of(r));
    };
    try {
        all_or_nothing(action);
    } catch (const DivergedError& error) {
        for (std::size_t r = 0; r < error.row; ++r)
            if (labels.weight_of(r) > 0) observe(r);
        throw;
    } catch (...) {
        std::uint64_t left = clock_.examples - examples;
        for (std::size_t r = 0; left > 0 && r < rows; ++r) {
            if (labels.weight_of(r) == 0) continue;
            observe(r);
            --left;
        }
        throw;
    }
    if (!any_weight(labels, rows)) {  // nothing has been learned, the features' kind and names included
        interactions_.rewind(products);
        features_.rewind(mark);
    }
    negative_ = encoded.negative;
    if (!target_.on) return;
    std::size_t unaware = 0;  // rows before the first label was known, its own included
    if (!target_.started) {
        while (unaware < rows && labels.weight_of(unaware) == 0) ++unaware;
        unaware = std::min(rows, unaware + 1);
    }
    target_ = encoded.target;
    std::fill_n(predictions, unaware * learn_width(), 0.0);
    add_offset(predictions + unaware * learn_width(), (rows - unaware) * learn_width());
}

// Calls action(first row, number of rows) for batch after batch of prepared rows.
// `asking`: those whose weight their prediction must not know are prepared twice, first without weight.
template <class Input, class Action>
void Learner::in_batches(Input&& input, Looking looking, const double* weight, Action action, bool asking) {
    std::vector<double> kept;
    for (std::size_t first = 0, rows; first < input.rows; first += rows) {
        marks_.clear();
        start_rows();
        const std::size_t most =
            std::min({input.rows - first, rows_per_batch, entries_per_batch / columns_of(input) + 1});
        if (!asking && collect(input, first, most)) {
            rows = most;
            action(first, rows);
            continue;
        }
        widen(input, first, most);
        for (rows = 0; rows < most && (rows == 0 || rows_.entries() < entries_per_batch); ++rows) {
            const double h = weight ? weight[first + rows] : 1.0;
            const auto add = [&](double counting) {
                marks_.push_back({features_.mark(), interactions_.mark()});
                rows_.begin_row();
                add_row(input, first + rows, rows, looking, counting);
                end_row(first + rows, looking == Looking::learning && counting > 0);
            };
            if (asking && asks_first(h)) [[unlikely]] {  // centring changes the numbers where they are
                const std::size_t length = wide_.size() / most;
                const auto at = wide_.begin() + static_cast<std::ptrdiff_t>(rows * length);
                kept.assign(at, at + static_cast<std::ptrdiff_t>(length));
                add(0.0);
                std::copy(kept.begin(), kept.end(), at);
            }
            add(h);
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
            return kernel_->learn_dense(setup_.options, clock, pack, chunks, block, spread, labels.from(first),
                                        predictions + first);
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

inline bool Learner::asks_first(const Labels& labels, std::size_t rows) const {
    if (!labels.weight || !asks_first(2.0)) return false;
    return std::any_of(labels.weight, labels.weight + rows, [&](double h) { return asks_first(h); });
}

// The rows of a call, those that are to be predicted first twice: without weight, then with it.
struct Learner::AskedFirst {
    std::vector<double> y, weight, pace, predictions;
    std::vector<unsigned char> again;
    std::vector<std::size_t> row, reported;  // whose row this is; where a row's own prediction stands

    AskedFirst(const Learner& learner, const Labels& labels, std::size_t rows) {
        const auto add = [&](std::size_t r, double h, bool second) {
            y.push_back(labels.y[r]);
            weight.push_back(h);
            if (labels.pace) pace.push_back(labels.pace[r]);
            again.push_back(second);
            row.push_back(r);
        };
        for (std::size_t r = 0; r < rows; ++r) {
            const double h = labels.weight_of(r);
            const bool asked = learner.asks_first(h);
            reported.push_back(y.size());
            if (asked) add(r, 0.0, false);
            add(r, h, asked);
        }
        row.push_back(rows);
        predictions.resize(y.size() * learner.learn_width());
    }
    Labels labels() const { return {y.data(), weight.data(), pace.empty() ? nullptr : pace.data()}; }
    void report(double* to, std::size_t width) const {
        for (std::size_t r = 0; r < reported.size(); ++r)
            std::copy_n(predictions.data() + reported[r] * width, width, to + r * width);
    }
};

template <class Input>
void Learner::learn_batches(Input&& input, const Labels& given, double* predictions) {
    add_classes(given.new_classes);
    std::optional<AskedFirst> asked;
    if (asks_first(given, input.rows)) asked.emplace(*this, given, input.rows);
    const FinishOnExit guard{*this};  // whatever happens, no other thread reads labels that are gone
    if (asked) again_ = {asked->weight.data(), asked->again};
    const Labels labels = asked ? asked->labels() : given;
    double* const to = asked ? asked->predictions.data() : predictions;
    const auto row_of = [&](std::size_t r) { return asked ? asked->row[r] : r; };
    Centre before;
    if (centre_.any()) before = centre_;
    const std::uint64_t examples = clock_.examples;
    std::size_t batch = 0, done = 0;  // the batch's first row; the same, where some rows come twice
    // Of the batch only the rows before `end` are learned: the others have not been seen.
    const auto give_up = [&](std::size_t end, bool forget) {
        if (centre_.any()) {
            std::swap(centre_, before);
            start_over(input);
            widen(input, batch, row_of(end) - batch);
            start_rows();
            for (std::size_t r = batch; r < row_of(end); ++r) {
                rows_.begin_row();
                add_row(input, r, r - batch, Looking::learning, given.weight_of(r));
            }
            start_rows();
        }
        if (!forget || end - done >= marks_.size()) return;
        interactions_.rewind(marks_[end - done].products);
        features_.rewind(marks_[end - done].features);
    };
    const auto learn = [&](std::size_t first, std::size_t rows) {
        const std::size_t count = prepared().rows;
        learn_prepared(labels.from(done), to + done * learn_width(), done);
        if (lanes_ && first + rows == input.rows) finish_lanes();
        batch = first + rows;
        done += count;
        if (centre_.any()) before = centre_;
    };
    try {
        in_batches(input, Looking::learning, given.weight, learn, asked.has_value());
    } catch (const DivergedError& error) {
        give_up(error.row, !lanes_);  // lanes may have gone on with the products of the others
        if (asked) throw_diverged(row_of(error.at), row_of(error.row));
        throw;
    } catch (...) {  // memory ran out: what the clock has counted is learned
        std::size_t end = 0;
        for (std::uint64_t left = clock_.examples - examples; left > 0; ++end) left -= labels.weight_of(end) > 0;
        give_up(std::max(end, done), true);
        throw;
    }
    if (asked) asked->report(predictions, learn_width());
}

}  // namespace unitless
