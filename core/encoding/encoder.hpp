// Encodes rows as batches: it assigns slots to features, centers values, and adds products of features. Engines
// (engine/) see only slots and numbers.
//
// Rows of any kind arrive through `RowSource`. Changes that a row makes here (new names, new products, running means)
// can be undone back to a mark. Rows that are only predicted change nothing. Readers encode them: a reader has its own
// scratch and shares the learner's features.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.hpp"
#include "encoding/batch_builder.hpp"
#include "encoding/known_features.hpp"
#include "encoding/raw_rows.hpp"
#include "encoding/row_source.hpp"
#include "encoding/state.hpp"
#include "encoding/wide_rows.hpp"
#include "encoding/word_features.hpp"
#include "rows/kernel.hpp"

namespace unitless {

class Encoder {
  public:
    Encoder(const EncoderSetup& setup, const RowKernel& kernel)
        : own_(std::make_unique<KnownFeatures>(setup)), known_(own_.get()), kernel_(&kernel) {}

    // Limits of a batch: the number of rows, and the number of entries at which no further row is added.
    static constexpr std::size_t rows_per_batch = 512, entries_per_batch = 32768;

    // Returns an encoder for rows that are predicted. This encoder must outlive it, and must not change meanwhile.
    Encoder reader() const { return Encoder(*known_, *kernel_); }

    // Encodes at most `most` rows of the source from `first` on: so few that they stay in the cache. The batch is valid
    // until the call after the next one, so that it can be learned while the next one is encoded. It has no labels yet.
    Batch encode(RowSource& rows, std::size_t first, std::size_t most, Purpose purpose, const double* weight);

    const Features& features() const { return known_->features; }
    const Interactions& interactions() const { return known_->interactions; }
    const Center& center() const { return known_->center; }
    Center& center_to_learn() { return own_->center; }
    const RowKernel& kernel() const { return *kernel_; }

    bool centering() const { return known_->centering; }
    bool falling() const { return known_->falling; }
    bool hashed() const { return features().space() == Space::hashed; }
    bool raw() const { return known_->raw; }
    // Whether each value becomes one entry, unchanged, and nothing else is added.
    bool plain() const { return !centering() && !interactions().any() && !raw(); }
    std::size_t slot_count() const { return features().slot_count(); }
    // With `raw`: the number of columns known so far.
    std::size_t raw_count() const {
        return by_column() ? std::min<std::size_t>(features().column_count(), RawColumns::most)
                           : known_->raw_columns.count();
    }
    // Whether more slots are likely.
    bool growing() const { return features().space() == Space::names || interactions().any(); }

    // ---- Features

    void use_names() { own_->features.use_names(); }
    // Assigns numbers to the columns, and tells the interactions which columns they name.
    void use_columns(std::size_t count);
    // The number of a name, if it has one. With `grow`, a new name gets a number.
    std::optional<std::uint32_t> feature(std::string_view name, bool grow);
    // The number of a word, pair of words or n-gram in a column of text. The name begins with a stem, "column=", of the
    // given size. If several words share the feature, `name` is replaced by the shared name.
    std::optional<std::uint32_t> word(std::string& name, std::size_t stem, bool grow);

    // ---- Changes that can be undone

    struct Mark {
        Features::Mark features;
        std::size_t products;
        Center::Mark center;
    };
    Mark mark() const { return {features().mark(), interactions().mark(), center().mark()}; }
    void rewind(const Mark& mark);

    // ---- Checks, which throw before any change

    void check_columns(std::size_t count) const;
    void check_named() const;
    void check_name(std::string_view name) const;
    // Throws if interactions name features that the data does not have. `has(selector)` returns whether the data has
    // them; `what` describes the data.
    template <class Has>
    void check_listed(Has has, const std::string& what) const;
    // Throws if sums or products of `per_row` numbers of at most this magnitude could overflow.
    void check_magnitude(double largest, std::size_t per_row) const {
        if (largest > 0x1p500) check_large(largest, per_row);
    }

    EncoderState save() const;
    void load(const EncoderState& from);
    std::size_t bytes() const;

    // ---- For sources, which add rows one by one or all at once

    // Adds at most `most` rows from `first` on, until the batch is full, and returns their number. `add(row, at, use)`
    // adds the values of a row, which is number `at` in the batch.
    template <class Add>
    std::size_t add_rows(std::size_t first, std::size_t most, Purpose purpose, const double* weight, Add add);
    // Adds rows without features.
    std::size_t add_empty_rows(std::size_t first, std::size_t most) {
        return add_rows(first, most, Purpose::predict, nullptr, [](std::size_t, std::size_t, const RowUse&) {});
    }
    // The batch that is being built.
    BatchBuilder& builder() { return builder_; }

    // The value minus the feature's mean, if the feature is centered.
    double centered(std::uint32_t feature, double x, const RowUse& use);
    // With `raw`, before x is centered: records the feature's value.
    void add_raw(std::uint32_t feature, double x);
    // Adds a row of `wide`: its raw values, then its values, which are centered in place.
    void add_wide_row(std::size_t at, const RowUse& use);
    // Whether `note` must be called for every nonzero feature of the row. Hashed names may share a number, so only the
    // row itself determines which names it has.
    bool notes() const { return interactions().notes(features()); }
    void note(std::uint32_t feature, std::string_view name, std::int64_t column = -1) {
        interactions().note(products_, feature, name, column);
    }

    // Scratch of sources, reused between calls.
    WideRows wide;
    WordFeatures words;
    std::string name;

  private:
    std::unique_ptr<KnownFeatures> own_;  // null in readers, which change nothing
    const KnownFeatures* known_;
    const RowKernel* kernel_;
    BatchBuilder builder_, last_builder_;  // of this batch, and of the one before
    RawRows raw_rows_, last_raw_rows_;
    RowScratch products_;
    std::size_t slots_before_row_ = 0;

    Encoder(const KnownFeatures& known, const RowKernel& kernel) : known_(&known), kernel_(&kernel) {}

    void begin_row() {
        builder_.begin_row();
        slots_before_row_ = slot_count();
        if (raw()) raw_rows_.begin_row(raw_count());
    }
    void check_large(double largest, std::size_t per_row) const;
    void end_row(std::size_t row, bool grow) {
        if (interactions().any() || raw()) finish_row(grow);
        if (!builder_.end_row())
            throw InputError("values of one feature add up to more than a float64 can hold", Place{row});
    }
    void finish_row(bool grow);
    void add_raw_row(const double* row);
    void center_row(double* row, const RowUse& use);
    void load_products(const EncoderState& from);
    void load_windows(const EncoderState& from);

    bool by_column() const { return features().space() == Space::columns; }
    std::uint32_t raw_column(std::uint32_t feature) const {
        if (by_column()) return feature <= RawColumns::most ? feature - 1 : RawColumns::none;
        return known_->raw_columns.of(feature);
    }
    bool is_text(std::uint32_t raw_column) const { return !by_column() && known_->raw_columns.is_text(raw_column); }
    // Whether the feature occurs only among the raw values.
    bool leaves(std::uint32_t feature) const {
        if (!known_->leaves_numbers) return false;
        const std::uint32_t column = raw_column(feature);
        return column != RawColumns::none && !is_text(column);
    }
};

template <class Add>
std::size_t Encoder::add_rows(std::size_t first, std::size_t most, Purpose purpose, const double* weight, Add add) {
    std::size_t rows = 0;
    for (; rows < most && (rows == 0 || builder_.entries() < entries_per_batch); ++rows) {
        const RowUse use{purpose, weight ? weight[first + rows] : 1.0};
        begin_row();
        add(first + rows, rows, use);
        end_row(first + rows, use.learns());
    }
    return rows;
}

inline double Encoder::centered(std::uint32_t feature, double x, const RowUse& use) {
    if (!centering()) return x;
    if (!center().removed(feature)) {
        if (use.learns()) own_->center.settle(feature, Offset::kept);
        return x;
    }
    if (use.purpose == Purpose::extrapolate) return center().linear(feature, x);
    return use.learns() ? own_->center.observe(feature, x, use.weight) : center().peek(feature, x);
}

inline void Encoder::add_raw(std::uint32_t feature, double x) {
    const std::uint32_t column = raw_column(feature);
    if (column == RawColumns::none) return;
    if (!is_text(column)) return raw_rows_.put_number(column, x);
    if (x != 0 && x == x) raw_rows_.put_text(column, feature);
}

template <class Has>
void Encoder::check_listed(Has has, const std::string& what) const {
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
