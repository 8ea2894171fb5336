#include "encoding/encoder.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "base/limits.hpp"

namespace unitless {

void Encoder::use_columns(std::size_t count) {
    const bool known = features().space() == Space::columns;
    own_->features.use_columns(count);
    if (known || hashed()) return;
    for (const auto& [left, right] : interactions().listed())
        for (const auto* side : {&left, &right})
            for (const auto& selector : *side)
                if (selector.column >= 0 && static_cast<std::size_t>(selector.column) < count)
                    own_->interactions.introduce(features().column_slot(static_cast<std::uint64_t>(selector.column)),
                                                 {}, selector.column);
}

std::optional<std::uint32_t> Encoder::feature(std::string_view name, bool grow) {
    if (!grow) return features().space() == Space::unset ? std::nullopt : features().find(name);
    const std::size_t before = features().names().size();
    const std::uint32_t found = own_->features.intern(name);
    if (features().names().size() > before) {
        own_->interactions.introduce(found, name, -1);
        if (raw()) own_->raw_columns.add(name);
    }
    return found;
}

std::optional<std::uint32_t> Encoder::word(std::string& name, std::size_t stem, bool grow) {
    if (hashed()) return feature(name, grow);
    const std::string_view start = std::string_view(name).substr(0, stem);
    if (WordCounts::may_be_own(std::string_view(name).substr(stem))) {
        if (const auto known = feature(name, false)) return known;
        if (!known_->words.full(start, features().names())) return grow ? feature(name, true) : std::nullopt;
    }
    name.replace(stem, std::string::npos, WordCounts::shared(std::string_view(name).substr(stem)));
    return feature(name, grow);
}

void Encoder::rewind(const Mark& mark) {
    own_->center.rewind(mark.center);
    own_->interactions.rewind(mark.products);
    own_->words.rewind(mark.features.name_count, features().names());
    own_->features.rewind(mark.features);
    if (raw()) own_->raw_columns.rewind(features().names().size());
}

// ---------------------------------------------------------------------------------------------------- rows

Batch Encoder::encode(RowSource& rows, std::size_t first, std::size_t most, Purpose purpose, const double* weight) {
    if (most > 1) most = std::min({most, rows_per_batch, entries_per_batch / rows.features_per_row() + 1});
    Batch batch;
    if (!plain() || !rows.as_batch(first, most, batch)) {
        products_.forget_notes();
        std::swap(builder_, last_builder_);
        std::swap(raw_rows_, last_raw_rows_);
        builder_.clear();
        if (raw()) raw_rows_.clear();
        rows.encode(*this, first, most, purpose, weight);
        batch = builder_.batch();
    }
    batch.row = first;
    if (!raw()) return batch;
    raw_rows_.view(batch);
    batch.raw_kinds = by_column() ? RawColumns::numbers() : known_->raw_columns.kinds();
    return batch;
}

// Adds products and raw values. `grow`: whether products may be new.
void Encoder::finish_row(bool grow) {
    const auto leave = [&](std::uint32_t feature) { return leaves(feature); };
    if (interactions().any() && grow) {
        own_->interactions.expand(products_, builder_, own_->features, leave);
        if (slot_count() > slots_before_row_) builder_.put_last(static_cast<std::uint32_t>(slots_before_row_));
    } else if (interactions().any()) {
        interactions().expand_known(products_, builder_, features(), leave);
    } else if (known_->leaves_numbers) {
        builder_.leave_out(leave);
    }
    if (raw()) raw_rows_.end_row(raw_count());
}

void Encoder::add_wide_row(std::size_t at, const RowUse& use) {
    double* const row = wide.row(at);
    if (raw()) add_raw_row(row);
    center_row(row, use);
    const std::uint32_t* const features = wide.features.data();
    if (!hashed()) return builder_.add_rising(features, row, wide.count());
    for (std::size_t j = 0; j < wide.count(); ++j) {
        builder_.add(features[j], row[j]);
        if (row[j] != 0 && notes()) note(features[j], wide.columns[j].name, wide.columns[j].number);
    }
}

void Encoder::center_row(double* row, const RowUse& use) {
    if (!center().any()) return;
    const std::uint32_t* const features = wide.features.data();
    if (use.learns()) {
        own_->center.observe(features, row, wide.count(), use.weight);
    } else if (use.purpose == Purpose::extrapolate) {
        for (std::size_t j = 0; j < wide.count(); ++j) row[j] = centered(features[j], row[j], use);
    } else {
        center().peek(features, row, wide.count());
    }
}

void Encoder::add_raw_row(const double* row) {
    const std::size_t in_order = by_column() ? RawColumns::most : known_->raw_columns.leading();
    if (wide.count() <= in_order && wide.are_first_features) {
        std::copy_n(row, wide.count(), raw_rows_.row());
    } else {
        for (std::size_t j = 0; j < wide.count(); ++j) add_raw(wide.features[j], row[j]);
    }
}

// ---------------------------------------------------------------------------------------------------- checks

void Encoder::check_named() const {
    if (features().space() == Space::columns)
        throw InputError("this learner knows its features as " + std::to_string(features().column_count()) + " columns",
                         "give it arrays or sparse matrices");
}

void Encoder::check_name(std::string_view name) const {
    if (name == bias_name)
        throw InputError("a feature is named '" + std::string(bias_name) + "', which is the bias's own name",
                         "rename it");
}

void Encoder::check_columns(std::size_t count) const {
    if (features().space() == Space::names)
        throw InputError("this learner knows its features by name", "give it mappings or a frame with those names");
    if (features().space() == Space::columns && count != features().column_count())
        throw InputError("X has " + std::to_string(count) + " columns, but the learner was made with " +
                         std::to_string(features().column_count()));
    if (count >= std::numeric_limits<std::uint32_t>::max() - 1 && !hashed())
        throw InputError("X has more columns than a learner can hold", "hash them with bits=");
}

void Encoder::check_large(double largest, std::size_t per_row) const {
    if (interactions().any())
        throw InputError("a value is beyond 1e150; products of such values leave the range of float64",
                         "use larger units, so that the numbers become smaller");
    if (!std::isfinite(largest * static_cast<double>(per_row)))  // all of them might have the same slot
        throw InputError("the values of a row add up to more than a float64 can hold",
                         "use larger units, so that the numbers become smaller");
}

// ---------------------------------------------------------------------------------------------------- files

EncoderState Encoder::save() const {
    EncoderState to;
    to.space = features().space();
    to.columns = features().column_count();
    to.names = features().names();
    to.products = interactions().products();
    for (std::uint32_t feature = 0; feature < center().columns().size(); ++feature) {
        if (center().columns()[feature].offset == Offset::unknown) continue;
        to.center_features.push_back(feature);
        to.center.push_back(center().columns()[feature]);
    }
    to.windows = center().watched();
    return to;
}

void Encoder::load(const EncoderState& from) {
    if (!centering() && !from.center.empty()) throw InputError("a model without centering has means");
    if (from.space == Space::columns) {
        check_columns(from.columns);
        use_columns(from.columns);
    }
    if (from.space == Space::names) {
        use_names();
        for (const auto& name : from.names) feature(name, true);
        if (features().names().size() != from.names.size()) throw InputError("a feature name occurs twice");
    }
    load_products(from);
    for (std::size_t k = 0; k < from.center.size(); ++k) {
        const std::uint32_t number = from.center_features[k];
        if (number == 0 || number > features().feature_count() || (k && number <= from.center_features[k - 1]))
            throw InputError("a mean belongs to a feature that the model does not have");
        if (!(is_usable(from.center[k].mean) && from.center[k].weight >= 0 && std::isfinite(from.center[k].weight)))
            throw InputError("a mean is not a number");
        if (!(from.center[k].proven >= 0 && std::isfinite(from.center[k].proven)))
            throw InputError("a scale that was proven is not a number");
        Center::Column column = from.center[k];
        column.window = Center::unwatched;
        own_->center.restore(number, column);
    }
    load_windows(from);
}

void Encoder::load_windows(const EncoderState& from) {
    if (!falling() && !from.windows.empty()) throw InputError("a model whose scales do not fall has windows");
    for (std::size_t k = 0; k < from.windows.size(); ++k) {
        const auto& [feature, window] = from.windows[k];
        if (!center().removed(feature) || (k && feature <= from.windows[k - 1].slot))
            throw InputError("a window belongs to a feature that is not centered");
        if (!window.is_sound()) throw InputError("a window is not such as learning gives");
        own_->center.watch(from.windows[k]);
    }
}

// The slots that no product uses belong to the names, in order.
void Encoder::load_products(const EncoderState& from) {
    if (from.products.empty()) return;
    if (!interactions().any()) throw InputError("a model without interactions has products");
    const std::size_t features = known_->features.feature_count(), slots = 1 + features + from.products.size();
    // Columns use the first slots. They take no memory here, because there may be billions of columns.
    const std::size_t first = from.space == Space::columns ? 1 + features : 1;
    std::vector<bool> taken(slots - first, false);
    for (const auto& product : from.products) {
        const bool known = product.left - 1 < features && product.right - 1 < features;
        if (!known || product.slot < first || product.slot >= slots || taken[product.slot - first])
            throw InputError("a product has an impossible feature or slot");
        taken[product.slot - first] = true;
        if (!own_->interactions.restore(product.left, product.right, product.slot))
            throw InputError("a product occurs twice");
    }
    std::vector<std::uint32_t> free;
    for (std::size_t slot = first; slot < slots && from.space == Space::names; ++slot)
        if (!taken[slot - first]) free.push_back(static_cast<std::uint32_t>(slot));
    own_->features.restore_slots(std::move(free), from.products.size());
}

std::size_t Encoder::bytes() const {
    std::size_t total = sizeof(*this) + sizeof(KnownFeatures) + interactions().bytes() + known_->raw_columns.bytes() +
                        known_->words.bytes();
    for (const auto& name : features().names()) total += 2 * name.size() + 96;
    return total;
}

}  // namespace unitless
