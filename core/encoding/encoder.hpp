// From what people have to batches: which slot a feature lives in, values less their running mean, products of
// features. What learns on top of it (engine/) sees slots and numbers alone.
//
// Rows of any kind come in through `RowSource`. What a row may change here (new names, new products, running means) can
// be taken back to a mark. Rows that are only predicted change nothing: readers encode them, which have memory of their
// own and share what the learner knows.
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

    // The most rows of a batch; and how many entries it has before the last of them.
    static constexpr std::size_t rows_per_batch = 512, entries_per_batch = 16384;

    // Encodes rows that are predicted, as long as this encoder lives and does not change.
    Encoder reader() const { return Encoder(*known_, *kernel_); }

    // Rows of the source from `first` on, at most so many: so few that they stay in the cache. The batch is there until
    // the next one; it has no labels yet.
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
    // Are values taken as they are, one slot for each, and nothing else?
    bool plain() const { return !centering() && !interactions().any() && !raw(); }
    std::size_t slot_count() const { return features().slot_count(); }
    // With `raw`: the columns known so far.
    std::size_t raw_count() const {
        return by_column() ? std::min<std::size_t>(features().column_count(), RawColumns::most)
                           : known_->raw_columns.count();
    }
    // Will there be more slots soon?
    bool growing() const { return features().space() == Space::names || interactions().any(); }

    // ---- Features

    void use_names() { own_->features.use_names(); }
    // Columns get their numbers, and interactions learn of the ones that they name.
    void use_columns(std::size_t count);
    // The number of a name, if it has one; with `grow` it gets one.
    std::optional<std::uint32_t> feature(std::string_view name, bool grow);
    // The number of a word, or pair of words, of a column of words; the name begins with a stem, "column=", of that
    // size. The feature may be one that several words share, and the name is then changed to its name.
    std::optional<std::uint32_t> word(std::string& name, std::size_t stem, bool grow);

    // ---- What can be taken back

    struct Mark {
        Features::Mark features;
        std::size_t products;
        Center::Mark center;
    };
    Mark mark() const { return {features().mark(), interactions().mark(), center().mark()}; }
    void rewind(const Mark& mark);

    // ---- Checks, which throw before anything changes

    void check_columns(std::size_t count) const;
    void check_named() const;
    void check_name(std::string_view name) const;
    // Interactions that name what the data does not have. `has(selector)` tells; `what` describes the data.
    template <class Has>
    void check_listed(Has has, const std::string& what) const;
    // Numbers of at most that size, so many in a row: are their sums and products numbers?
    void check_magnitude(double largest, std::size_t per_row) const {
        if (largest > 0x1p500) check_large(largest, per_row);
    }

    EncoderState save() const;
    void load(const EncoderState& from);
    std::size_t bytes() const;

    // ---- For sources: rows are added one after another, or all at once

    // Adds rows from `first` on, at most so many, until the batch is full; gives how many. `add(row, at, use)` adds the
    // values of a row, the at-th of the batch.
    template <class Add>
    std::size_t add_rows(std::size_t first, std::size_t most, Purpose purpose, const double* weight, Add add);
    // Rows without any feature.
    std::size_t add_empty_rows(std::size_t first, std::size_t most) {
        return add_rows(first, most, Purpose::predict, nullptr, [](std::size_t, std::size_t, const RowUse&) {});
    }
    // The row that is being added, and the batch.
    BatchBuilder& builder() { return builder_; }

    // The value less the feature's mean, where it has one.
    double centered(std::uint32_t feature, double x, const RowUse& use);
    // With `raw`, before x is centered: the row has the feature, with that value.
    void add_raw(std::uint32_t feature, double x);
    // A row of `wide`: its raw values, then its values, which are centered in place.
    void add_wide_row(std::size_t at, const RowUse& use);
    // Must `note` be told of every feature of the row that is not zero? Hashed names may share a number, so that only
    // the row itself knows which of them it has.
    bool notes() const { return interactions().notes(features()); }
    void note(std::uint32_t feature, std::string_view name, std::int64_t column = -1) {
        interactions().note(products_, feature, name, column);
    }

    // Memory of sources, kept between calls.
    WideRows wide;
    WordFeatures words;
    std::string name;

  private:
    std::unique_ptr<KnownFeatures> own_;  // null in readers, which change nothing
    const KnownFeatures* known_;
    const RowKernel* kernel_;
    BatchBuilder builder_;
    RawRows raw_rows_;
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
    // Is the feature to be found in the raw values alone?
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
