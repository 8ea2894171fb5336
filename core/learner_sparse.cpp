// A learner's way with sparse matrices: read where they lie where that can be, collected row by row where not; then by
// way of the slots, or spread over all of them.

#include <cmath>

#include "dense_input.hpp"
#include "errors.hpp"
#include "learner.hpp"
#include "learner_batches.hpp"

namespace unitless {
namespace {

std::int64_t index_at(const void* indices, bool wide, std::size_t k) {
    return wide ? static_cast<const std::int64_t*>(indices)[k] : static_cast<const std::int32_t*>(indices)[k];
}

}  // namespace

void Learner::check(const CompressedRows& input) {
    const auto start = [&](std::size_t r) { return index_at(input.row_starts, input.wide_indices, r); };
    double largest = 0;
    for (std::size_t r = 0; r < input.rows; ++r) {
        if (start(r) < 0 || start(r) > start(r + 1) || static_cast<std::size_t>(start(r + 1)) > input.entries)
            throw InputError("the sparse matrix is malformed: its row starts do not rise" + where(r));
        for (auto k = static_cast<std::size_t>(start(r)); k < static_cast<std::size_t>(start(r + 1)); ++k) {
            const std::int64_t column = index_at(input.indices, input.wide_indices, k);
            if (column < 0 || static_cast<std::size_t>(column) >= input.columns)
                throw InputError("the sparse matrix is malformed: column index " + std::to_string(column) + where(r) +
                                 " is outside its " + std::to_string(input.columns) + " columns");
            if (!std::isfinite(input.values[k]))
                throw_not_finite(input.values[k], where(r, static_cast<std::size_t>(column), nullptr));
            largest = std::max(largest, std::fabs(input.values[k]));
        }
    }
    check_products(largest);
    if (largest > 0x1p960)  // entries of one slot might add up to infinity
        in_batches(input, Looking::predicting, nullptr, [](std::size_t, std::size_t) {});
}

// Sparse rows stay as they are, except where columns are centred: there a zero is a value like any other.
void Learner::widen(const CompressedRows& input, std::size_t first, std::size_t rows) {
    if (!centre_.any()) return;
    wide_.assign(rows * input.columns, 0.0);
    wide_features_.resize(input.columns);
    for (std::size_t j = 0; j < input.columns; ++j) wide_features_[j] = features_.column_slot(j);
    for (std::size_t r = 0; r < rows; ++r) {
        const auto from = static_cast<std::size_t>(index_at(input.row_starts, input.wide_indices, first + r));
        const auto to = static_cast<std::size_t>(index_at(input.row_starts, input.wide_indices, first + r + 1));
        for (std::size_t k = from; k < to; ++k)
            wide_[r * input.columns + static_cast<std::size_t>(index_at(input.indices, input.wide_indices, k))] +=
                input.values[k];
    }
}

void Learner::add_row(const CompressedRows& input, std::size_t row, std::size_t at, Looking looking, double weight) {
    if (centre_.any()) {
        centre_wide(at, input.columns, looking, weight);
        rows_.add_rising(wide_features_.data(), wide_.data() + at * input.columns, input.columns);
        return;
    }
    const auto from = static_cast<std::size_t>(index_at(input.row_starts, input.wide_indices, row));
    const auto to = static_cast<std::size_t>(index_at(input.row_starts, input.wide_indices, row + 1));
    for (std::size_t k = from; k < to; ++k) {
        const auto column = static_cast<std::uint64_t>(index_at(input.indices, input.wide_indices, k));
        rows_.add(features_.column_slot(column), input.values[k]);
        if (input.values[k] != 0 && interactions_.notes(features_))
            interactions_.note(features_.column_slot(column), {}, static_cast<std::int64_t>(column));
    }
}

// Can the kernel read the matrix where it is? Then it has been checked, too.
bool Learner::taken_as_they_lie(const CompressedRows& input) const {
    return !lanes_ && !setup_.centre && !interactions_.any() && !input.wide_indices &&
           kernel_->are_plain(input, column_mask());
}

// Calls action(first row, rows) for some rows at a time, which are the matrix's own.
template <class Action>
void Learner::in_place(const CompressedRows& input, Action action) {
    constexpr std::size_t at_once = 4096;
    const auto* starts = static_cast<const std::int32_t*>(input.row_starts);
    for (std::size_t first = 0, rows; first < input.rows; first += rows) {
        rows = std::min(at_once, input.rows - first);
        row_ends_.assign(starts + first + 1, starts + first + 1 + rows);
        action(first, SparseInput{static_cast<const std::uint32_t*>(input.indices), input.values, row_ends_.data(),
                                  rows, static_cast<std::size_t>(starts[first]), in_sequence(), column_mask(), 1});
    }
}

void Learner::learn_compressed(const CompressedRows& input, const Labels& labels, Results& results) {
    const std::lock_guard guard(lock_);
    double* const predictions = results.allocate(input.rows, learn_width() + labels.new_classes);
    check_columns(input.columns);
    check_listed_columns(input.columns);
    const Encoded encoded = encode(labels, input.rows);
    learn_all(encoded, labels, input.rows, predictions, [&] {
        use_columns(input.columns);
        if (!asks_first(labels, input.rows) && taken_as_they_lie(input)) {
            reserve(features_.slot_count());
            in_place(input, [&](std::size_t first, const SparseInput& rows) {
                learn_sparse(rows, encoded.with(labels).from(first), predictions + first, first);
            });
            return;
        }
        check(input);
        reserve(features_.slot_count());
        const bool settling =
            setup_.centre && centre_.columns().size() <= input.columns && any_weight(labels, input.rows);
        for (std::size_t j = 0; settling && j < input.columns; ++j)
            centre_.settle(features_.column_slot(j), Offset::kept);
        learn_batches(input, encoded.with(labels), predictions);
    });
}

void Learner::predict_compressed(const CompressedRows& input, bool extrapolate, Results& results) {
    const std::lock_guard guard(lock_);
    double* const predictions = results.allocate(input.rows, predict_width());
    check_columns(input.columns);
    all_or_nothing([&] {
        const Features::Mark mark = features_.mark();
        features_.use_columns(input.columns);
        if (taken_as_they_lie(input)) {
            reserve(features_.slot_count());
            in_place(input, [&](std::size_t first, const SparseInput& rows) {
                predict_sparse(rows, extrapolate, predictions + first);
            });
        } else {
            check(input);
            reserve(features_.slot_count());
            in_batches(input, extrapolate ? Looking::extrapolating : Looking::predicting, nullptr,
                       [&](std::size_t first, std::size_t) {
                           predict_prepared(extrapolate, predictions + first * predict_width());
                       });
        }
        add_offset(predictions, input.rows * predict_width());
        features_.rewind(mark);
    });
}

// Is it quicker to spread the rows over all slots? The dense way keeps the state in registers' order from row to row;
// the sparse way must collect and put back each feature's.
bool Learner::spreads(std::size_t rows, std::size_t entries) const {
    const std::size_t features = features_.slot_count() - 1;
    return !lanes_ && setup_.options.order == Order::paper && features_.space() != Space::hashed &&
           !interactions_.any() && rows >= 16 && features >= 8 && features <= 4 * (entries / rows) + 32;
}

void Learner::learn_spread(const SparseInput& input, const Labels& labels, double* predictions, std::size_t row) {
    const auto fill = [&](std::size_t r, double* to) {
        for (std::size_t k = input.begin(r); k < input.end(r); ++k) to[position(input.slot(k))] = input.values[k];
    };
    learn_tiles(input.rows, fill, labels, predictions, row);
}

// `row`: the number of the first one, for messages.
void Learner::learn_sparse(const SparseInput& input, const Labels& labels, double* predictions, std::size_t row) {
    if (spreads(input.rows, input.entries())) return learn_spread(input, labels, predictions, row);
    const std::size_t chunks = pack_chunks(input);
    const Outcome outcome = kernel_->learn_sparse(setup_.options, clock_, make_pack(chunks), chunks, slots_.get(),
                                                  input, labels, predictions);
    if (outcome.status == Status::diverged) throw_diverged(row + outcome.row);
}

void Learner::predict_sparse(const SparseInput& input, bool extrapolate, double* predictions) {
    const std::size_t chunks = pack_chunks(input);
    kernel_->predict_sparse(setup_.options, clock_, make_pack(chunks), chunks, slots_.get(), input,
                            extrapolate || setup_.options.order == Order::vw, predictions);
}

}  // namespace unitless
