#include "learner.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "dense_input.hpp"
#include "dense_values.hpp"
#include "errors.hpp"
#include "learner_batches.hpp"

namespace unitless {
namespace {

// The features of a placed row, which are known; there are no interactions.
struct InOrder {
    const std::uint32_t* features;
    std::uint32_t operator()(std::size_t i, bool) const { return features[i]; }
    void note(std::size_t, std::uint32_t) const {}
};

// Do the numbers lie where the processor wants numbers of their size to lie? The kernel's dense way reads them as such.
bool is_aligned(const DenseInput& input) {
    const auto fits = [](const char* data, std::ptrdiff_t stride, Type type) {
        std::size_t size = 1;
        with_type(type, [&](auto x) { size = sizeof x; });
        return (reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(stride)) % size == 0;
    };
    if (!input.columns) return fits(input.data, input.row_stride, input.type);
    return std::all_of(input.columns, input.columns + input.column_count,
                       [&](const Column& column) { return fits(column.data, column.stride, column.type); });
}

}  // namespace

Learner::Learner(const Setup& setup, const Kernel& kernel)
    : setup_(setup),
      features_(setup.bits),
      interactions_(setup.pairs, setup.listed),
      kernel_(&kernel),
      selection_(setup.selecting, 0, 0, 0) {
    if (setup_.rates.empty()) setup_.rates = {setup.options.learning_rate};
    setup_.options.learning_rate = setup_.rates[0];
    target_.on = setup.target;
    const bool adaptive = setup.options.rule != RuleKind::gd && setup.options.rule != RuleKind::ng;
    target_.paced = adaptive || setup.options.loss != LossKind::squared;  // there a step follows the label by itself
    if (setup.target) setup_.options.clip = Clip::labels;
    if (setup_.options.clip == Clip::vw) {
        const bool scores = setup_.options.loss == LossKind::logistic || setup_.options.loss == LossKind::poisson;
        clock_.label_min = scores ? -50 : 0;
        clock_.label_max = scores ? 50 : 0;
    } else {
        clock_.label_min = std::numeric_limits<double>::infinity();
        clock_.label_max = -std::numeric_limits<double>::infinity();
    }
    const bool classes = setup.classes || setup.open;
    if (classes && setup_.options.clip == Clip::labels) {
        setup_.options.clip = Clip::signs;
        clock_.label_min = -1;
        clock_.label_max = 1;
    }
    if (classes || setup.selecting != Selecting::none) {
        const std::size_t heads = classes ? setup.classes + setup.open : 1;
        std::vector<Lane> lanes;
        for (std::uint32_t head = 0; head < heads; ++head)
            for (auto rate = static_cast<std::uint32_t>(setup.first_rate); rate <= setup.last_rate; ++rate)
                lanes.push_back({head, rate});
        selection_ = Selection(setup.selecting, lanes.size(), heads, setup_.rates.size());
        lanes_.emplace(setup_.rates, std::move(lanes), heads, classes, setup.open);
        make_pipeline();
    }
    reserve(features_.slot_count());
}

std::size_t Learner::predict_width() const { return lanes_ && lanes_->classes() ? lanes_->class_count() : 1; }

std::size_t Learner::learn_width() const {
    return setup_.selecting == Selecting::sweep ? lanes_->rates().size() : predict_width();
}

// ---------------------------------------------------------------------------------------------------- memory

std::size_t Learner::slot_bytes() const {
    return setup_.options.precision == Precision::float32 ? sizeof(Slot32) : sizeof(Slot64);
}

// Fresh slots are zero: nothing seen.
void Learner::reserve(std::size_t slots) {
    const bool growing = features_.space() == Space::names || interactions_.any();
    if (lanes_) {
        if (slots <= lanes_->capacity()) return;
        finish_lanes();
        lanes_->reserve(growing ? std::max(slots, 2 * lanes_->capacity()) : slots);
        return;
    }
    if (slots <= capacity_) return;
    const std::size_t capacity = growing ? std::max(slots, 2 * capacity_) : slots;
    Zeros memory(capacity * slot_bytes());
    if (capacity_) std::memcpy(memory.get(), slots_.get(), capacity_ * slot_bytes());
    slots_ = std::move(memory);
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
    with_slots(setup_.options, slots_.get(), [&](const auto* from) {
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
    with_slots(setup_.options, slots_.get(), [&](auto* to) {
        using Stored = decltype(to->v);
        to[0] = {pack.bias->scale, static_cast<Stored>(pack.bias->v), static_cast<Stored>(pack.bias->H)};
        for (std::size_t j = 0; j < features; ++j)
            to[j + 1] = {pack.scale[j], static_cast<Stored>(pack.v[j]), static_cast<Stored>(pack.H[j])};
    });
}

std::size_t Learner::bytes() const {
    const std::lock_guard guard(lock_);
    std::size_t total = sizeof(*this) + capacity_ * slot_bytes() + (lanes_ ? lanes_->bytes() : 0);
    total += interactions_.bytes();
    for (const auto& name : features_.names()) total += 2 * name.size() + 96;
    total += pipeline_.bytes() + collected_.bytes();
    return total + (pack_memory_.capacity() + block_.capacity() + wide_.capacity()) * sizeof(double);
}

Clock Learner::clock() const {
    const std::lock_guard guard(lock_);
    return clock_;
}

// ---------------------------------------------------------------------------------------------------- validation

double Learner::encode(double y, std::size_t row, NegativeLabel& negative, std::size_t new_classes) const {
    if (!std::isfinite(y)) throw InputError("label is " + number(y) + where(row) + "; labels must be finite");
    if (lanes_ && lanes_->classes()) {
        if (!(y >= 0 && y < static_cast<double>(lanes_->class_count() + new_classes) && y == std::floor(y)))
            throw InputError("class " + number(y) + where(row) + " is outside the model's " +
                             std::to_string(lanes_->class_count()) + " classes");
        return y;
    }
    switch (setup_.options.loss) {
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
    Encoded encoded{labels.y, nullptr, nullptr, negative_, target_};
    const bool classes = lanes_ && lanes_->classes();
    if (!classes && (setup_.options.loss == LossKind::squared || setup_.options.loss == LossKind::quantile)) {
        bool finite = true;
        for (std::size_t r = 0; r < rows; ++r) finite &= std::fabs(labels.y[r]) <= std::numeric_limits<double>::max();
        if (finite && !target_.on) return encoded;
    }
    encoded.own = std::make_unique_for_overwrite<double[]>(rows);
    encoded.y = encoded.own.get();
    for (std::size_t r = 0; r < rows; ++r) {
        const double y = labels.y[r];
        NegativeLabel unseen = encoded.negative;  // a label without weight settles nothing
        NegativeLabel& negative = labels.weight && labels.weight[r] == 0 ? unseen : encoded.negative;
        const bool known =
            (y == 0 && negative == NegativeLabel::zero) || (y == -1 && negative == NegativeLabel::minus_one);
        if (classes && labels.weight_of(r) == 0) {  // only predicted
            encoded.own[r] = 0;
            continue;
        }
        encoded.own[r] = y == 1 && !classes ? 1
                         : known            ? -1
                                            : encode(y, r, negative, labels.new_classes);  // 1 is 1 for every loss
    }
    if (target_.on) {
        encoded.pace = std::make_unique_for_overwrite<double[]>(rows);
        for (std::size_t r = 0; r < rows; ++r)
            encoded.pace[r] = encoded.target.observe(encoded.own[r], labels.weight_of(r));
    }
    return encoded;
}

// Predictions are made of u; what is reported is c + u.
void Learner::add_offset(double* predictions, std::size_t count) const {
    if (!target_.on) return;
    for (std::size_t i = 0; i < count; ++i) predictions[i] = target_.started ? predictions[i] + target_.centre : 0.0;
}

void Learner::check(const Labels& labels, std::size_t rows) const { encode(labels, rows); }

void Learner::check_sum(std::size_t count, const double* values, std::size_t row) const {
    double total = 0, largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        total += std::fabs(values[i]);
        largest = std::max(largest, std::fabs(values[i]));
    }
    check_products(largest);
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

void Learner::check_listed_columns(std::size_t count) const {
    const auto is_there = [count](const Selector& selector) {
        return selector.column >= 0 && static_cast<std::size_t>(selector.column) < count;
    };
    check_listed(is_there, std::to_string(count) + " columns, to be named by their numbers");
}

void Learner::check_products(double largest) const {
    if (interactions_.any() && largest > 0x1p500)
        throw InputError(
            "a value is beyond 1e150; products of such values leave the range of float64. Use larger units");
}

void Learner::check_finite(const DenseInput& input, const Names* names) {
    const double largest = largest_magnitude(input);
    for (std::size_t r = 0; std::isnan(largest) && r < input.rows; ++r)
        for (std::size_t j = 0; j < input.column_count; ++j)
            if (const double x = value_at(input, r, j); !std::isfinite(x)) throw_not_finite(x, where(r, j, names));
    check_products(largest);
    if (largest > 0x1p960 && features_.space() == Space::hashed)  // entries of one slot might add up to infinity
        in_batches(input, Looking::predicting, nullptr, [](std::size_t, std::size_t) {});
}

// Columns get their numbers, and interactions learn of the ones that they name.
void Learner::use_columns(std::size_t count) {
    const bool known = features_.space() == Space::columns;
    features_.use_columns(count);
    if (known) return;
    if (setup_.pairs != Pairs::listed || features_.space() == Space::hashed) return;
    for (const auto& [left, right] : interactions_.listed())
        for (const auto* side : {&left, &right})
            for (const auto& selector : *side)
                if (selector.column >= 0 && static_cast<std::size_t>(selector.column) < count)
                    interactions_.introduce(features_.column_slot(static_cast<std::uint64_t>(selector.column)), {},
                                            selector.column);
}

std::optional<std::uint32_t> Learner::feature(std::string_view name, bool grow) {
    if (!grow && features_.space() == Space::unset) return std::nullopt;
    const std::size_t before = features_.names().size();
    const auto found = grow ? std::optional(features_.intern(name)) : features_.find(name);
    if (features_.names().size() > before) interactions_.introduce(*found, name, -1);
    return found;
}

// ---------------------------------------------------------------------------------------------------- dense

// Is it worth mirroring all slots in a pack for this call? The kernel's dense way also wants the paper's order.
bool Learner::mirrors(const DenseInput& input) const {
    return is_aligned(input) && !lanes_ && !interactions_.any() && !setup_.centre &&
           setup_.options.order == Order::paper && features_.space() != Space::hashed &&
           features_.slot_count() <= 4 * input.column_count + 64;
}

void Learner::learn_dense(const DenseInput& input, const Labels& labels, Results& results) {
    const std::lock_guard guard(lock_);
    double* const predictions = results.allocate(input.rows, learn_width() + labels.new_classes);
    check_columns(input.column_count);
    check_listed_columns(input.column_count);
    const Encoded encoded = encode(labels, input.rows);
    learn_all(encoded, labels, input.rows, predictions, [&] {
        use_columns(input.column_count);
        learn_columns(input, nullptr, encoded.with(labels), predictions);
    });
}

void Learner::learn_columns(const DenseInput& input, const Names* names, const Labels& labels, double* predictions) {
    reserve(features_.slot_count());
    if (!mirrors(input) || asks_first(labels, input.rows)) {
        check_finite(input, names);
        const bool settling = setup_.centre && any_weight(labels, input.rows);
        for (std::size_t j = 0; settling && j < input.column_count; ++j) {
            const bool indicator = input.columns ? input.columns[j].indicator : input.indicators;
            centre_.settle(input.columns ? input.columns[j].slot : features_.column_slot(j),
                           indicator ? Offset::kept : Offset::removed);
        }
        learn_batches(input, labels, predictions);
        return;
    }
    const std::size_t features = features_.slot_count() - 1, chunks = chunks_for(features);
    const Pack pack = make_pack(chunks);
    double* block = aligned(block_, block_doubles(chunks));
    Clock clock;
    const auto learn = [&](const DenseInput& part, std::size_t first) {
        return kernel_->learn_dense(setup_.options, clock, pack, chunks, block, part, labels.from(first),
                                    predictions + first);
    };
    const auto run = [&](std::size_t rows) -> Outcome {
        load(pack, features);
        clock = clock_;
        DenseInput part = input;
        part.rows = rows;
        if (!input.columns || features < 8) return learn(part, 0);
        // Columns of their own are put side by side first, some rows at a time: the kernel is quickest with those.
        constexpr std::size_t at_once = 128;
        wide_.assign(at_once * features, 0.0);
        for (std::size_t first = 0; first < rows; first += at_once) {
            const std::size_t count = std::min(at_once, rows - first);
            kernel_->widen(input, first, count, wide_.data(), features);
            const DenseInput tile{reinterpret_cast<const char*>(wide_.data()),
                                  static_cast<std::ptrdiff_t>(features * sizeof(double)),
                                  Type::f64,
                                  nullptr,
                                  features,
                                  count};
            const Outcome outcome = learn(tile, first);
            if (outcome.status != Status::ok)
                return {outcome.status, first + outcome.row, column_of(input, outcome.column)};
        }
        return {};
    };
    const Outcome outcome = run(input.rows);
    if (outcome.status == Status::not_finite)
        throw_not_finite(value_at(input, outcome.row, outcome.column), where(outcome.row, outcome.column, names));
    if (outcome.status == Status::diverged) run(outcome.row);  // once more up to there, which gives the same bits
    store(pack, features);
    clock_ = clock;
    if (outcome.status == Status::diverged) throw_diverged(outcome.row);
}

void Learner::predict_dense(const DenseInput& input, bool extrapolate, Results& results) {
    const std::lock_guard guard(lock_);
    double* const predictions = results.allocate(input.rows, predict_width());
    check_columns(input.column_count);
    all_or_nothing([&] {
        const Features::Mark mark = features_.mark();
        features_.use_columns(input.column_count);
        predict_columns(input, nullptr, extrapolate, predictions);
        features_.rewind(mark);
    });
}

void Learner::predict_columns(const DenseInput& input, const Names* names, bool extrapolate, double* predictions) {
    reserve(features_.slot_count());
    if (!mirrors(input)) {
        check_finite(input, names);
        in_batches(input, extrapolate ? Looking::extrapolating : Looking::predicting, nullptr,
                   [&](std::size_t first, std::size_t) {
                       predict_prepared(extrapolate, predictions + first * predict_width());
                   });
    } else {
        const std::size_t features = features_.slot_count() - 1, chunks = chunks_for(features);
        const Pack pack = make_pack(chunks);
        double* block = aligned(block_, block_doubles(chunks));
        load(pack, features);
        const Outcome outcome =
            kernel_->predict_dense(setup_.options, clock_, pack, chunks, block, input, extrapolate, predictions);
        if (outcome.status == Status::not_finite)
            throw_not_finite(value_at(input, outcome.row, outcome.column), where(outcome.row, outcome.column, names));
    }
    add_offset(predictions, input.rows * predict_width());
}

// ---------------------------------------------------------------------------------------------------- rows

// Can the rows' non-zero numbers be taken as they lie?
bool Learner::side_by_side(const DenseInput& input) const {
    return !input.columns && !centre_.any() && features_.space() != Space::hashed;
}

// Dense rows as doubles, [row][column], columns in the order of their features.
void Learner::widen(const DenseInput& input, std::size_t first, std::size_t rows) {
    if (side_by_side(input)) return;
    const std::size_t columns = input.column_count;
    wide_.resize(rows * columns);
    wide_features_.resize(columns);
    wide_columns_.resize(columns);
    if (input.columns) {
        wide_columns_.assign(input.columns, input.columns + columns);
        std::stable_sort(wide_columns_.begin(), wide_columns_.end(),
                         [](const Column& a, const Column& b) { return a.slot < b.slot; });
        for (std::size_t j = 0; j < columns; ++j) {
            const std::int64_t number = wide_columns_[j].number;
            wide_features_[j] =
                number < 0 ? wide_columns_[j].slot : features_.column_slot(static_cast<std::uint64_t>(number));
            with_type(wide_columns_[j].type,
                      [&](auto x) { widen_column<decltype(x)>(wide_columns_[j], first, rows, &wide_[j], columns); });
        }
        return;
    }
    for (std::size_t j = 0; j < columns; ++j) {
        wide_features_[j] = features_.column_slot(j);
        wide_columns_[j].number = static_cast<std::int64_t>(j);
    }
    for (std::size_t r = 0; r < rows; ++r) unitless::widen(input, first + r, wide_.data() + r * columns);
}

void Learner::centre_wide(std::size_t at, std::size_t columns, Looking looking, double weight) {
    if (!centre_.any()) return;
    double* row = wide_.data() + at * columns;
    if (looking == Looking::learning && weight > 0) {
        centre_.observe(wide_features_.data(), row, columns, weight);
    } else {
        for (std::size_t j = 0; j < columns; ++j) row[j] = centred(wide_features_[j], row[j], looking, weight);
    }
}

void Learner::add_row(const DenseInput& input, std::size_t number, std::size_t at, Looking looking, double weight) {
    if (side_by_side(input)) {
        const char* from = input.data + static_cast<std::ptrdiff_t>(number) * input.row_stride;
        with_type(input.type, [&](auto x) { rows_.add_side_by_side<decltype(x)>(from, input.column_count, 1); });
        return;
    }
    centre_wide(at, input.column_count, looking, weight);
    const double* row = wide_.data() + at * input.column_count;
    if (features_.space() == Space::hashed) {
        for (std::size_t j = 0; j < input.column_count; ++j) {
            rows_.add(wide_features_[j], row[j]);
            if (row[j] != 0 && interactions_.notes(features_))
                interactions_.note(wide_features_[j], wide_columns_[j].name, wide_columns_[j].number);
        }
    } else {
        rows_.add_rising(wide_features_.data(), row, input.column_count);
    }
}

// Lanes take dense rows of floats a batch at a time, where nothing is to be done with them on the way.
bool Learner::collect(const DenseInput& input, std::size_t first, std::size_t rows) {
    if (!lanes_ || (input.type != Type::f32 && input.type != Type::f64)) return false;
    const std::size_t size = input.type == Type::f32 ? sizeof(float) : sizeof(double);
    const bool aligned =
        (reinterpret_cast<std::uintptr_t>(input.data) | static_cast<std::size_t>(input.row_stride)) % size == 0;
    if (!aligned || !side_by_side(input) || interactions_.any()) return false;
    DenseInput part = input;
    part.data += static_cast<std::ptrdiff_t>(first) * input.row_stride;
    part.rows = rows;
    collected_.reserve(rows, rows * input.column_count);
    kernel_->lanes->collect(part, collected_.slots.data(), collected_.values.data(), collected_.row_ends.data());
    collected_.rows = rows;
    return true;
}

void Learner::end_row(std::size_t row, bool grow) {
    if (interactions_.any()) interactions_.expand(rows_, features_, grow);
    if (!rows_.end_row()) throw InputError("values of one feature add up to more than a float64 can hold" + where(row));
}

// As if a named row had never been.
void Learner::forget_row(const Features::Mark& features, std::size_t products) {
    for (auto entry = journal_.rbegin(); entry != journal_.rend(); ++entry)
        centre_.put_back(entry->first, entry->second);
    interactions_.rewind(products);
    features_.rewind(features);
}

SparseInput Learner::prepared() const {
    SparseInput input = collected_.rows ? collected_.view() : rows_.view();
    input.in_sequence = in_sequence();
    return input;
}

void Learner::learn_prepared(const Labels& labels, double* predictions, std::size_t row) {
    reserve(features_.slot_count());
    const SparseInput input = prepared();
    if (!lanes_) return learn_sparse(input, labels, predictions, row);
    for (std::size_t done = 0, next; done < input.rows; done = next) {
        next = input.rows;
        if (setup_.selecting == Selecting::follow) {  // rates are looked at after certain numbers of examples
            const std::uint64_t left = Selection::next_look(clock_.examples) - clock_.examples;
            if (left < next - done) next = done + left;
            const unsigned char* const again = again_.of(labels);
            if (again && next < input.rows && again[next]) ++next;  // stays with the row before
        }
        learn_lanes(input.part(done, next), labels.from(done), predictions + done * learn_width(), row + done);
    }
}

void Learner::predict_prepared(bool extrapolate, double* predictions) {
    reserve(features_.slot_count());
    if (lanes_) return predict_lanes(prepared(), extrapolate, predictions);
    predict_sparse(prepared(), extrapolate, predictions);
}

// ---------------------------------------------------------------------------------------------------- placed rows

bool Learner::place(const std::vector<std::uint32_t>& features, Placement& to) const {
    if (interactions_.any()) return false;
    const bool packs = !lanes_ && !setup_.centre && kernel_->placed->supports(setup_.options);
    using enum Placement::Kind;
    return to.assign(features, !packs ? in_order : in_sequence() ? packed_in_sequence : packed);
}

// The slots change with the number of examples, and not otherwise.
void Learner::mirror(Placement& row) const {
    if (row.mirrored == clock_.examples) return;
    kernel_->placed->load(setup_.options, slots_.get(), row.row());
    row.mirrored = clock_.examples;
}

void Learner::learn_placed(Placement& row, double y, double weight, double* predictions) {
    if (row.kind() == Placement::Kind::in_order) {
        return learn_named(row.row().count, row.row().x, y, weight, InOrder{row.row().pack.slot}, predictions);
    }
    learn_label(y, weight, 0, 0, predictions, [&](const Labels& labels) {
        mirror(row);
        double first = 0;
        const bool asking = asks_first(weight);
        if (asking) first = kernel_->placed->predict(setup_.options, clock_, row.row(), false);
        row.mirrored = Placement::never;
        const Status status = kernel_->placed->learn(setup_.options, clock_, slots_.get(), row.row(), *labels.y, weight,
                                                     setup_.options.learning_rate * *labels.pace, *predictions);
        if (status == Status::diverged) throw_diverged(0);
        row.mirrored = clock_.examples;
        if (asking) *predictions = first;
    });
}

void Learner::predict_placed(Placement& row, bool extrapolate, double* predictions) {
    if (row.kind() == Placement::Kind::in_order) {
        return predict_named(row.row().count, row.row().x, extrapolate, InOrder{row.row().pack.slot}, predictions);
    }
    mirror(row);
    *predictions = kernel_->placed->predict(setup_.options, clock_, row.row(), extrapolate);
    add_offset(predictions, 1);
}

// ---------------------------------------------------------------------------------------------------- the rest

void Learner::loss(int which, const double* p, const double* y, const double* tau, std::size_t n, double* out) const {
    NegativeLabel negative = NegativeLabel::unknown;
    std::vector<double> labels(n);
    for (std::size_t i = 0; i < n; ++i) labels[i] = encode(y[i], i, negative);
    kernel_->loss(setup_.options, which, p, labels.data(), tau, n, out);
}

}  // namespace unitless
