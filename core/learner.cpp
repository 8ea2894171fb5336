#include "learner.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "dense_input.hpp"
#include "errors.hpp"

namespace unitless {
namespace {

constexpr std::size_t rows_per_batch = 256;

std::string number(double x) {
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

std::string where(std::size_t row) { return " at row " + std::to_string(row); }

std::string where(std::size_t row, std::size_t column, const Learner::Names* names) {
    return where(row) + (names ? ", column '" + (*names)[column] + "'" : ", column " + std::to_string(column));
}

[[noreturn]] void throw_not_finite(double value, const std::string& place) {
    throw InputError("value is " + number(value) + place +
                     "; drop or fill in such values (a feature that is left out counts as 0)");
}

[[noreturn]] void throw_diverged(std::size_t row) {
    throw DivergedError("the learner diverged" + where(row) +
                        "; the rows before it are learned. Look for values, labels or weights beyond reason there, or "
                        "use a smaller learning_rate, or importance_aware=True");
}

std::int64_t index_at(const void* indices, bool wide, std::size_t k) {
    return wide ? static_cast<const std::int64_t*>(indices)[k] : static_cast<const std::int32_t*>(indices)[k];
}

double value_at(const DenseInput& input, std::size_t row, std::size_t j) {
    double value = 0;
    if (input.columns) {
        const Column& column = input.columns[j];
        with_type(column.type, [&](auto x) { widen_column<decltype(x)>(column, row, 1, &value, 1); });
    } else {
        with_type(input.type, [&](auto x) {
            const Column column{input.data + j * sizeof x, input.row_stride, input.type, 0};
            widen_column<decltype(x)>(column, row, 1, &value, 1);
        });
    }
    return value;
}

std::size_t chunks_for(std::size_t features) { return features < 8 ? 1 : (features + 7) / 8; }

// On a cache line's boundary, so that no eight doubles straddle two lines.
double* aligned(std::vector<double>& memory, std::size_t doubles) {
    if (memory.size() < doubles + 8) memory.assign(doubles + 8, 0.0);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return reinterpret_cast<double*>((address + 63) / 64 * 64);
}

// The learner's slots as what they are.
template <class Action>
void with_slots(const Options& options, char* slots, Action action) {
    if (options.precision == Precision::float32) {
        action(reinterpret_cast<Slot32*>(slots));
    } else {
        action(reinterpret_cast<Slot64*>(slots));
    }
}

}  // namespace

struct Learner::Encoded {
    const double* y;
    std::unique_ptr<double[]> own;  // where y had to be changed
    NegativeLabel negative;
};

Learner::Learner(const Options& options, std::optional<unsigned> bits, const Kernel& kernel)
    : options_(options), features_(bits), kernel_(&kernel) {
    if (options.clip == Clip::vw) {
        const bool scores = options.loss == LossKind::logistic || options.loss == LossKind::poisson;
        clock_.label_min = scores ? -50 : 0;
        clock_.label_max = scores ? 50 : 0;
    } else {
        clock_.label_min = std::numeric_limits<double>::infinity();
        clock_.label_max = -std::numeric_limits<double>::infinity();
    }
    reserve(features_.slot_count());
}

// ---------------------------------------------------------------------------------------------------- memory

std::size_t Learner::slot_bytes() const {
    return options_.precision == Precision::float32 ? sizeof(Slot32) : sizeof(Slot64);
}

// Fresh slots are zero: nothing seen. calloc, so that slots of a large hashed learner cost nothing until touched.
void Learner::reserve(std::size_t slots) {
    if (slots <= capacity_) return;
    const std::size_t capacity = features_.space() == Space::names ? std::max(slots, 2 * capacity_) : slots;
    auto* memory = static_cast<char*>(std::calloc(capacity, slot_bytes()));
    if (!memory) throw std::bad_alloc();
    if (capacity_) std::memcpy(memory, slots_.get(), capacity_ * slot_bytes());
    slots_ = {memory, std::free};
    capacity_ = capacity;
}

Pack Learner::make_pack(std::size_t chunks) {
    const std::size_t length = chunks * 8;
    double* base = aligned(pack_memory_, 7 * length);
    if (pack_indices_.size() < 2 * length) pack_indices_.assign(2 * length, 0);
    const auto part = [&](std::size_t i) { return base + i * length; };
    return {&bias_,
            part(0),
            part(1),
            part(2),
            part(3),
            part(4),
            part(5),
            part(6),
            pack_indices_.data(),
            pack_indices_.data() + length};
}

void Learner::load(const Pack& pack, std::size_t features) const {
    with_slots(options_, slots_.get(), [&](const auto* from) {
        *pack.bias = {from[0].scale, from[0].v, from[0].H};
        for (std::size_t j = 0; j < features; ++j) {
            pack.scale[j] = from[j + 1].scale;
            pack.v[j] = from[j + 1].v;
            pack.H[j] = from[j + 1].H;
        }
    });
    const std::size_t padded = chunks_for(features) * 8;
    for (std::size_t j = features; j < padded; ++j) pack.scale[j] = pack.v[j] = pack.H[j] = 0;
    for (std::size_t j = 0; j < padded; ++j) pack.slot[j] = static_cast<std::uint32_t>(j + 1);
}

void Learner::store(const Pack& pack, std::size_t features) {
    with_slots(options_, slots_.get(), [&](auto* to) {
        using Stored = decltype(to->v);
        to[0] = {pack.bias->scale, static_cast<Stored>(pack.bias->v), static_cast<Stored>(pack.bias->H)};
        for (std::size_t j = 0; j < features; ++j)
            to[j + 1] = {pack.scale[j], static_cast<Stored>(pack.v[j]), static_cast<Stored>(pack.H[j])};
    });
}

std::size_t Learner::bytes() const {
    const std::lock_guard guard(lock_);
    std::size_t total = sizeof(*this) + capacity_ * slot_bytes();
    for (const auto& name : features_.names()) total += 2 * name.size() + 96;
    return total + (pack_memory_.capacity() + block_.capacity()) * sizeof(double);
}

Clock Learner::clock() const {
    const std::lock_guard guard(lock_);
    return clock_;
}

// ---------------------------------------------------------------------------------------------------- validation

double Learner::encode(double y, std::size_t row, NegativeLabel& negative) const {
    if (!std::isfinite(y)) throw InputError("label is " + number(y) + where(row) + "; labels must be finite");
    switch (options_.loss) {
        case LossKind::squared:
        case LossKind::quantile:
            return y;
        case LossKind::poisson:
            if (y < 0)
                throw InputError("label is " + number(y) + where(row) +
                                 "; poisson loss counts things: labels must be 0 or more");
            return y;
        case LossKind::logistic:
        case LossKind::hinge:
            break;
    }
    if (y == 1) return 1;
    if (y != 0 && y != -1)
        throw InputError("label is " + number(y) + where(row) +
                         "; logistic and hinge loss take {-1, +1}, {0, 1} or booleans");
    const NegativeLabel kind = y == 0 ? NegativeLabel::zero : NegativeLabel::minus_one;
    if (negative != NegativeLabel::unknown && negative != kind)
        throw InputError("label is " + number(y) + where(row) + ", but earlier negative labels were " +
                         (kind == NegativeLabel::zero ? "-1" : "0") + "; use either {-1, +1} or {0, 1}");
    negative = kind;
    return -1;
}

Learner::Encoded Learner::encode(const Labels& labels, std::size_t rows) const {
    for (std::size_t r = 0; labels.weight && r < rows; ++r)
        if (!(labels.weight[r] >= 0 && std::isfinite(labels.weight[r])))
            throw InputError("weight is " + number(labels.weight[r]) + where(r) +
                             "; weights must be finite and not negative");
    Encoded encoded{labels.y, nullptr, negative_};
    if (options_.loss == LossKind::squared || options_.loss == LossKind::quantile) {
        bool finite = true;
        for (std::size_t r = 0; r < rows; ++r) finite &= std::fabs(labels.y[r]) <= std::numeric_limits<double>::max();
        if (finite) return encoded;
    }
    encoded.own = std::make_unique_for_overwrite<double[]>(rows);
    encoded.y = encoded.own.get();
    for (std::size_t r = 0; r < rows; ++r) {
        const double y = labels.y[r];
        NegativeLabel unseen = encoded.negative;  // a label without weight settles nothing
        NegativeLabel& negative = labels.weight && labels.weight[r] == 0 ? unseen : encoded.negative;
        const bool known =
            (y == 0 && negative == NegativeLabel::zero) || (y == -1 && negative == NegativeLabel::minus_one);
        encoded.own[r] = y == 1 ? 1 : known ? -1 : encode(y, r, negative);  // 1 is 1 for every loss
    }
    return encoded;
}

void Learner::check(const Labels& labels, std::size_t rows) const { encode(labels, rows); }

void Learner::check_sum(std::size_t count, const double* values, std::size_t row) const {
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) total += std::fabs(values[i]);
    if (!std::isfinite(total))
        throw InputError("the values add up to more than a float64 can hold" + where(row) + "; use smaller units");
}

void Learner::check_named() const {
    if (features_.space() == Space::columns)
        throw InputError("this learner knows its features as " + std::to_string(features_.column_count()) +
                         " columns; give it arrays or sparse matrices");
}

void Learner::check_columns(std::size_t count) const {
    if (features_.space() == Space::names)
        throw InputError("this learner knows its features by name; give it mappings or a frame with those names");
    if (features_.space() == Space::columns && count != features_.column_count())
        throw InputError("X has " + std::to_string(count) + " columns, but the learner was made with " +
                         std::to_string(features_.column_count()));
    if (count >= std::numeric_limits<std::uint32_t>::max() - 1 && features_.space() != Space::hashed)
        throw InputError("X has more columns than a learner can hold; hash them with bits=");
}

void Learner::check_finite(const DenseInput& input, const Names* names) {
    double largest = 0;
    for (std::size_t r = 0; r < input.rows; ++r) {
        for (std::size_t j = 0; j < input.column_count; ++j) {
            const double x = value_at(input, r, j);
            if (!std::isfinite(x)) throw_not_finite(x, where(r, j, names));
            largest = std::max(largest, std::fabs(x));
        }
    }
    if (largest > 0x1p960) in_batches(input, [](std::size_t) {});  // entries of one slot might add up to infinity
}

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
    if (largest > 0x1p960) in_batches(input, [](std::size_t) {});  // entries of one slot might add up to infinity
}

// ---------------------------------------------------------------------------------------------------- dense

// Bad input changes nothing; after divergence the rows before are learned, and with them how labels are written.
template <class Action>
void Learner::learn_all(const Encoded& encoded, Action action) {
    try {
        all_or_nothing(action);
    } catch (const DivergedError&) {
        negative_ = encoded.negative;
        throw;
    }
    negative_ = encoded.negative;
}

// Is it worth mirroring all slots in a pack for this call? The kernel's dense way also wants the paper's order.
bool Learner::mirrors(const DenseInput& input) const {
    return options_.order == Order::paper && features_.space() != Space::hashed &&
           features_.slot_count() <= 4 * input.column_count + 64;
}

void Learner::learn_dense(const DenseInput& input, const Labels& labels, double* predictions) {
    const std::lock_guard guard(lock_);
    check_columns(input.column_count);
    const Encoded encoded = encode(labels, input.rows);
    learn_all(encoded, [&] {
        features_.use_columns(input.column_count);
        learn_columns(input, nullptr, {encoded.y, labels.weight}, predictions);
    });
}

void Learner::learn_frame(const Names& names, std::vector<Column>& columns, std::size_t rows, const Labels& labels,
                          double* predictions) {
    const std::lock_guard guard(lock_);
    check_named();
    const Encoded encoded = encode(labels, rows);
    learn_all(encoded, [&] {
        features_.use_names();
        for (std::size_t j = 0; j < columns.size(); ++j) columns[j].slot = features_.intern(names[j]);
        const DenseInput input{nullptr, 0, Type::f64, columns.data(), columns.size(), rows};
        learn_columns(input, &names, {encoded.y, labels.weight}, predictions);
    });
}

void Learner::learn_columns(const DenseInput& input, const Names* names, const Labels& labels, double* predictions) {
    reserve(features_.slot_count());
    if (!mirrors(input)) {
        check_finite(input, names);
        in_batches(input, [&](std::size_t first) { learn_rows(labels, first, predictions); });
        return;
    }
    const std::size_t features = features_.slot_count() - 1, chunks = chunks_for(features);
    const Pack pack = make_pack(chunks);
    double* block = aligned(block_, block_doubles(chunks));
    Clock clock;
    const auto run = [&](const DenseInput& part) {
        load(pack, features);
        clock = clock_;
        return kernel_->learn_dense(options_, clock, pack, chunks, block, part, labels, predictions);
    };
    const Outcome outcome = run(input);
    if (outcome.status == Status::not_finite)
        throw_not_finite(value_at(input, outcome.row, outcome.column), where(outcome.row, outcome.column, names));
    if (outcome.status == Status::diverged) {  // once more up to there, which gives the same bits
        DenseInput part = input;
        part.rows = outcome.row;
        run(part);
    }
    store(pack, features);
    clock_ = clock;
    if (outcome.status == Status::diverged) throw_diverged(outcome.row);
}

void Learner::predict_dense(const DenseInput& input, bool extrapolate, double* predictions) {
    const std::lock_guard guard(lock_);
    check_columns(input.column_count);
    all_or_nothing([&] {
        const Features::Mark mark = features_.mark();
        features_.use_columns(input.column_count);
        predict_columns(input, nullptr, extrapolate, predictions);
        features_.rewind(mark);
    });
}

void Learner::predict_frame(const Names& names, std::vector<Column>& columns, std::size_t rows, bool extrapolate,
                            double* predictions) {
    const std::lock_guard guard(lock_);
    check_named();
    std::vector<Column> known;
    Names known_names;
    for (std::size_t j = 0; j < columns.size(); ++j) {
        const DenseInput alone{nullptr, 0, Type::f64, &columns[j], 1, rows};
        const Names name{names[j]};
        const auto slot = features_.find(names[j]);
        if (!slot) {
            check_finite(alone, &name);
            continue;
        }
        columns[j].slot = *slot;
        known.push_back(columns[j]);
        known_names.push_back(names[j]);
    }
    const DenseInput input{nullptr, 0, Type::f64, known.data(), known.size(), rows};
    predict_columns(input, &known_names, extrapolate, predictions);
}

void Learner::predict_columns(const DenseInput& input, const Names* names, bool extrapolate, double* predictions) {
    reserve(features_.slot_count());
    if (!mirrors(input)) {
        check_finite(input, names);
        in_batches(input, [&](std::size_t first) { predict_rows(first, extrapolate, predictions); });
        return;
    }
    const std::size_t features = features_.slot_count() - 1, chunks = chunks_for(features);
    const Pack pack = make_pack(chunks);
    double* block = aligned(block_, block_doubles(chunks));
    load(pack, features);
    const Outcome outcome =
        kernel_->predict_dense(options_, clock_, pack, chunks, block, input, extrapolate, predictions);
    if (outcome.status == Status::not_finite)
        throw_not_finite(value_at(input, outcome.row, outcome.column), where(outcome.row, outcome.column, names));
}

// ---------------------------------------------------------------------------------------------------- sparse

void Learner::add_row(const CompressedRows& input, std::size_t row) {
    const auto from = static_cast<std::size_t>(index_at(input.row_starts, input.wide_indices, row));
    const auto to = static_cast<std::size_t>(index_at(input.row_starts, input.wide_indices, row + 1));
    for (std::size_t k = from; k < to; ++k) {
        const auto column = static_cast<std::uint64_t>(index_at(input.indices, input.wide_indices, k));
        rows_.add(features_.column_slot(column), input.values[k]);
    }
}

void Learner::add_row(const DenseInput& input, std::size_t row) {
    for (std::size_t j = 0; j < input.column_count; ++j)
        rows_.add(input.columns ? input.columns[j].slot : features_.column_slot(j), value_at(input, row, j));
}

void Learner::end_row(std::size_t row) {
    if (!rows_.end_row()) throw InputError("values of one feature add up to more than a float64 can hold" + where(row));
}

template <class Input, class Action>
void Learner::in_batches(const Input& input, Action action) {
    for (std::size_t first = 0; first < input.rows; first += rows_per_batch) {
        rows_.clear();
        for (std::size_t r = first; r < std::min(input.rows, first + rows_per_batch); ++r) {
            rows_.begin_row();
            add_row(input, r);
            end_row(r);
        }
        action(first);
    }
}

void Learner::learn_rows(const Labels& labels, std::size_t first, double* predictions, std::size_t offset) {
    const Labels part{labels.y + first, labels.weight ? labels.weight + first : nullptr};
    const Outcome outcome = kernel_->learn_sparse(options_, clock_, make_pack(rows_.chunks()), slots_.get(),
                                                  rows_.view(), part, predictions + first);
    if (outcome.status == Status::diverged) throw_diverged(offset + first + outcome.row);
}

void Learner::predict_rows(std::size_t first, bool extrapolate, double* predictions) {
    kernel_->predict_sparse(options_, clock_, make_pack(rows_.chunks()), slots_.get(), rows_.view(),
                            extrapolate || options_.order == Order::vw, predictions + first);
}

void Learner::learn_compressed(const CompressedRows& input, const Labels& labels, double* predictions) {
    const std::lock_guard guard(lock_);
    check_columns(input.columns);
    const Encoded encoded = encode(labels, input.rows);
    learn_all(encoded, [&] {
        features_.use_columns(input.columns);
        check(input);
        reserve(features_.slot_count());
        const Labels ready{encoded.y, labels.weight};
        in_batches(input, [&](std::size_t first) { learn_rows(ready, first, predictions); });
    });
}

void Learner::predict_compressed(const CompressedRows& input, bool extrapolate, double* predictions) {
    const std::lock_guard guard(lock_);
    check_columns(input.columns);
    all_or_nothing([&] {
        const Features::Mark mark = features_.mark();
        features_.use_columns(input.columns);
        check(input);
        reserve(features_.slot_count());
        in_batches(input, [&](std::size_t first) { predict_rows(first, extrapolate, predictions); });
        features_.rewind(mark);
    });
}

// ---------------------------------------------------------------------------------------------------- the rest

void Learner::loss(int which, const double* p, const double* y, const double* tau, std::size_t n, double* out) const {
    NegativeLabel negative = NegativeLabel::unknown;
    std::vector<double> labels(n);
    for (std::size_t i = 0; i < n; ++i) labels[i] = encode(y[i], i, negative);
    kernel_->loss(options_, which, p, labels.data(), tau, n, out);
}

Snapshot Learner::snapshot() const {
    const std::lock_guard guard(lock_);
    Snapshot to{clock_, negative_, features_.space(), features_.column_count(), features_.names(), {}, {}, {}, {}};
    const auto copy = [&](const auto* from) {
        for (std::size_t j = 0; j < std::min(capacity_, features_.slot_count()); ++j) {
            if (from[j].scale == 0) continue;
            to.slots.push_back(static_cast<std::uint32_t>(j));
            to.scale.push_back(from[j].scale);
            to.v.push_back(from[j].v);
            to.H.push_back(from[j].H);
        }
    };
    with_slots(options_, slots_.get(), copy);
    return to;
}

void Learner::restore(const Snapshot& from) {
    const std::lock_guard guard(lock_);
    if (from.space == Space::columns) features_.use_columns(from.columns);
    if (from.space == Space::names) {
        features_.use_names();
        for (const auto& name : from.names) features_.intern(name);
        if (features_.names().size() != from.names.size()) throw InputError("a feature name occurs twice");
    }
    reserve(features_.slot_count());
    const auto copy = [&](auto* to) {
        using Stored = decltype(to->v);
        for (std::size_t k = 0; k < from.slots.size(); ++k) {
            if (from.slots[k] >= features_.slot_count()) throw InputError("a slot is outside the model's features");
            to[from.slots[k]] = {from.scale[k], static_cast<Stored>(from.v[k]), static_cast<Stored>(from.H[k])};
        }
    };
    with_slots(options_, slots_.get(), copy);
    clock_ = from.clock;
    negative_ = from.negative;
}

}  // namespace unitless
