// From what people have to rows of (slot, value): which slot a feature lives in, values less their running mean,
// products of features. What learns on top of it (engine/) sees slots and numbers alone.
//
// Rows of any kind come in through one concept, `Rows`; what a row may change here (new names, new products, running
// means) can be taken back to a mark. Rows that are only to be predicted change nothing: they can be prepared by
// readers, which have working memory of their own and share what the learner knows.
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "preparation/knowledge.hpp"
#include "preparation/raw_rows.hpp"
#include "preparation/state.hpp"
#include "rows/collected_rows.hpp"
#include "rows/kernel.hpp"
#include "rows/sparse_rows.hpp"

namespace unitless {

// What a row is prepared for: to be learned with its weight, to be predicted, or to be predicted without any limit.
enum class Looking { learning, predicting, extrapolating };

class Preparation;

// Rows of any kind, on their way in. `begin_batch` announces rows [first, first + count); each is then added, `at`
// being its place in the batch.
template <class Input>
concept Rows = requires(Input& input, Preparation& to, std::size_t n, Looking looking, double weight) {
    { input.rows() } -> std::convertible_to<std::size_t>;
    { input.width() } -> std::convertible_to<std::size_t>;  // features that a row has, roughly; not 0
    input.begin_batch(to, n, n);
    input.add_row(to, n, n, looking, weight);
    input.forget();  // what it has learned of the features, which have been taken back to a mark
};

class Preparation {
  public:
    Preparation(const PreparationSetup& setup, const RowKernel& kernel)
        : own_(std::make_unique<Knowledge>(setup)), known_(own_.get()), kernel_(&kernel) {}

    // Prepares rows that are predicted, as long as the other one is there and does not change.
    Preparation reader() const { return Preparation(*known_, *kernel_); }

    const Features& features() const { return known_->features; }
    const Interactions& interactions() const { return known_->interactions; }
    const Centre& centre() const { return known_->centre; }
    Centre& centre_to_learn() { return own_->centre; }
    const RowKernel& kernel() const { return *kernel_; }

    bool centring() const { return known_->centring; }
    bool falling() const { return known_->falling; }
    bool hashed() const { return features().space() == Space::hashed; }
    bool raw() const { return known_->raw; }
    // Are values taken as they are, one slot for each, and nothing else?
    bool plain() const { return !centring() && !interactions().any() && !raw(); }
    std::size_t slot_count() const { return features().slot_count(); }
    // With `raw`: the columns known so far.
    std::size_t raw_count() const {
        return by_column() ? std::min<std::size_t>(features().column_count(), RawColumns::most)
                           : known_->raw_columns.count();
    }
    // Will there be more slots soon?
    bool growing() const { return features().space() == Space::names || interactions().any(); }

    // ---- features

    void use_names() { own_->features.use_names(); }
    // Columns get their numbers, and interactions learn of the ones that they name.
    void use_columns(std::size_t count);
    // For a prediction: columns have numbers whether or not anything has been learned.
    void look_at_columns(std::size_t count) { own_->features.use_columns(count); }
    // The number of a name, if it has one; with `grow` it gets one.
    std::optional<std::uint32_t> feature(std::string_view name, bool grow);
    // The same for a word, or pair of words, of a column of words; the name begins with a stem, "column=", of that
    // size. The feature may be one that several words share, and the name is then changed to its name.
    std::optional<std::uint32_t> word(std::string& name, std::size_t stem, bool grow);
    // Must `note` be told of every name of the row that is being built?
    bool notes() const { return interactions().notes(features()); }
    void note(std::uint32_t feature, std::string_view name, std::int64_t column = -1) {
        interactions().note(row_in_the_making_, feature, name, column);
    }

    // ---- what can be taken back

    struct Mark {
        Features::Mark features;
        std::size_t products;
        Centre::Mark centre;
    };
    Mark mark() const { return {features().mark(), interactions().mark(), centre().mark()}; }
    void rewind(const Mark& mark) {
        own_->centre.rewind(mark.centre);
        own_->interactions.rewind(mark.products);
        own_->words.rewind(mark.features.name_count, features().names());
        own_->features.rewind(mark.features);
        if (raw()) own_->raw_columns.rewind(features().names().size());
    }

    // ---- rows

    double centred(std::uint32_t feature, double x, Looking looking, double weight) {
        if (!centring()) return x;
        if (!centre().removed(feature)) {
            if (looking == Looking::learning && weight > 0) own_->centre.settle(feature, Offset::kept);
            return x;
        }
        if (looking == Looking::extrapolating) return centre().linear(feature, x);
        if (looking == Looking::learning && weight > 0) return own_->centre.observe(feature, x, weight);
        return centre().peek(feature, x);
    }

    void begin() {
        row_in_the_making_.forget_notes();
        rows_.clear();
        collected_.rows = 0;
        if (raw()) raw_rows_.clear();
    }
    SparseRows& row() { return rows_; }  // the one that is being built
    void begin_row() {
        rows_.begin_row();
        if (raw()) raw_rows_.begin_row(raw_count());
    }
    // With `raw`, before x is centred: the row has the feature, with that value. Names have got their numbers.
    void mention(std::uint32_t feature, double x) {
        const std::uint32_t column = raw_column(feature);
        if (column == RawColumns::none) return;
        if (!is_text(column)) return raw_rows_.put_number(column, x);
        if (x != 0 && x == x) raw_rows_.put_text(column, feature);
    }
    // The same for rows that lie side by side, column j being feature 1 + j.
    void mention(const DenseInput& input, std::size_t row);
    // `grow`: products may be new. `row`: its number, for messages.
    void end_row(std::size_t row, bool grow) {
        const auto leave = [&](std::uint32_t feature) { return leaves(feature); };
        if (interactions().any() && grow) {
            own_->interactions.expand(row_in_the_making_, rows_, own_->features, leave);
        } else if (interactions().any()) {
            interactions().expand_known(row_in_the_making_, rows_, features(), leave);
        } else if (known_->leaves_numbers) {
            rows_.leave_out(leave);
        }
        if (raw()) raw_rows_.end_row(raw_count());
        if (!rows_.end_row())
            throw InputError("values of one feature add up to more than a float64 can hold", Place{row});
    }
    // Dense rows of floats, all at once.
    void collect(const DenseInput& rows);
    // What has been built since `begin`.
    SparseInput prepared() const;

    // Calls action(first row, number of rows) for batch after batch of prepared rows, which stay in the cache: of all
    // rows, or of those before `end` from one on.
    template <Rows Input, class Action>
    void in_batches(Input& input, Looking looking, const double* weight, Action action) {
        in_batches(input, 0, input.rows(), looking, weight, action);
    }
    template <Rows Input, class Action>
    void in_batches(Input& input, std::size_t from, std::size_t end, Looking looking, const double* weight,
                    Action action) {
        for (std::size_t first = from, rows; first < end; first += rows) {
            rows = prepare(input, first, end - first, looking, weight);
            action(first, rows);
        }
    }
    // Rows from `first` on, no more than `most`; gives how many.
    template <Rows Input>
    std::size_t prepare(Input& input, std::size_t first, std::size_t most, Looking looking, const double* weight) {
        begin();
        most = std::min({most, rows_per_batch, entries_per_batch / input.width() + 1});
        if constexpr (requires { input.collect(*this, first, most); })
            if (input.collect(*this, first, most)) return most;
        input.begin_batch(*this, first, most);
        std::size_t rows = 0;
        for (; rows < most && (rows == 0 || rows_.entries() < entries_per_batch); ++rows) {
            const double h = weight ? weight[first + rows] : 1.0;
            begin_row();
            input.add_row(*this, first + rows, rows, looking, h);
            end_row(first + rows, looking == Looking::learning && h > 0);
        }
        return rows;
    }

    // One row; `add()` adds what is in it.
    template <class Add>
    void prepare_one(Looking looking, std::size_t row, Add add) {
        begin();
        begin_row();
        add();
        end_row(row, looking == Looking::learning);
    }
    // One row of named features, whose values are finite. `resolve(i, grow)` gives the number of the i-th feature, or 0
    // for none; `resolve.name(i)` its name.
    template <class Resolve>
    void prepare_named(std::size_t count, const double* values, Looking looking, double weight, const Resolve& resolve,
                       std::size_t row);

    // One row of features that have all been learned from before, in the order of their slots: the same as
    // `prepare_named` in less time. No interactions and no raw values. If the row is to be learned,
    // its weight is not 0, and `centre` remembers what it was.
    SparseInput prepare_in_order(std::size_t count, const double* values, const std::uint32_t* slots, Looking looking,
                                 double weight);

    // ---- checks: throw before anything changes

    // Does the data know its features as the model does? By number, by name.
    void check_columns(std::size_t count) const;
    void check_named() const;
    void check_name(std::string_view name) const;
    // Interactions that name what the data does not have. `has(selector)` says whether there is something.
    template <class Has>
    void check_listed(Has has, const std::string& what) const;
    // The largest magnitude that there is: are products of such numbers still numbers?
    void check_magnitude(double largest) const;
    // Throws if the row's values, should they meet in one slot, add up to more than a number can be.
    void check_sum(std::size_t count, const double* values, std::size_t row);

    PreparationState save() const;
    void load(const PreparationState& from);
    std::size_t bytes() const;

    // Working memory of dense rows that are not taken as they lie, [row][column]; kept between calls.
    struct Wide {
        std::vector<double> values;
        std::vector<std::uint32_t> features;
        std::vector<Column> columns;
    };
    Wide wide;
    void centre_wide(std::size_t at, std::size_t columns, Looking looking, double weight);

  private:
    static constexpr std::size_t rows_per_batch = 512, entries_per_batch = 16384;

    std::unique_ptr<Knowledge> own_;  // null in readers, which change nothing
    const Knowledge* known_;
    const RowKernel* kernel_;
    SparseRows rows_;
    CollectedRows collected_;  // instead of rows_, where it has rows
    RawRows raw_rows_;         // beside either
    RowInTheMaking row_in_the_making_;
    std::vector<double> side_by_side_;
    CollectedRows in_order_;  // a row of features that are known

    Preparation(const Knowledge& known, const RowKernel& kernel) : known_(&known), kernel_(&kernel) {}

    void load_products(const PreparationState& from);
    void load_windows(const PreparationState& from);

    bool by_column() const { return features().space() == Space::columns; }
    std::uint32_t raw_column(std::uint32_t feature) const {
        if (by_column()) return feature <= RawColumns::most ? feature - 1 : RawColumns::none;
        return known_->raw_columns.of(feature);
    }
    bool is_text(std::uint32_t raw_column) const { return !by_column() && known_->raw_columns.is_text(raw_column); }
    // Is the feature to be found in the raw values alone?
    bool leaves(std::uint32_t feature) const {
        if (!known_->leaves_numbers) return false;
        const std::uint32_t column = raw_column(feature);
        return column != RawColumns::none && !is_text(column);
    }
};

template <class Resolve>
void Preparation::prepare_named(std::size_t count, const double* values, Looking looking, double weight,
                                const Resolve& resolve, std::size_t row) {
    const bool grow = looking == Looking::learning, noting = notes(), raw = this->raw(), centring = this->centring();
    prepare_one(looking, row, [&] {
        const auto [slots, written] = rows_.extend(count);
        std::size_t n = 0;
        bool rising = true;
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t feature = resolve(i, grow);
            if (feature == 0) continue;
            if (raw) mention(feature, values[i]);
            if (grow && centring) own_->centre.remember(feature);
            const double x = centring ? centred(feature, values[i], looking, weight) : values[i];
            if (x == 0) continue;
            if (noting) note(feature, resolve.name(i));
            rising &= n == 0 || slots[n - 1] < feature;
            slots[n] = feature;
            written[n++] = x;
        }
        rows_.commit(count, n);
        if (!rising) rows_.order_unknown();
    });
}

template <class Has>
void Preparation::check_listed(Has has, const std::string& what) const {
    for (const auto& [left, right] : interactions().listed()) {
        for (const auto* side : {&left, &right}) {
            for (const auto& selector : *side) {
                if (has(selector)) continue;
                throw InputError("an interaction names " + selector.shown() +
                                 ", which the data does not have; it has " + what);
            }
        }
    }
}

}  // namespace unitless
