#include "preparation/preparation.hpp"

#include <cmath>
#include <limits>

#include "base/limits.hpp"
#include "rows/dense_input.hpp"

namespace unitless {

void Preparation::use_columns(std::size_t count) {
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

std::optional<std::uint32_t> Preparation::feature(std::string_view name, bool grow) {
    if (!grow) return features().space() == Space::unset ? std::nullopt : features().find(name);
    const std::size_t before = features().names().size();
    const std::uint32_t found = own_->features.intern(name);
    if (features().names().size() > before) {
        own_->interactions.introduce(found, name, -1);
        if (raw()) own_->raw_columns.add(name);
    }
    return found;
}

std::optional<std::uint32_t> Preparation::word(std::string& name, std::size_t stem, bool grow) {
    if (hashed()) return feature(name, grow);
    const std::string_view start = std::string_view(name).substr(0, stem);
    if (name.size() - stem <= WordCounts::longest) {
        if (const auto known = feature(name, false)) return known;
        if (!known_->words.full(start, features().names())) return grow ? feature(name, true) : std::nullopt;
    }
    name.replace(stem, std::string::npos, WordCounts::shared(std::string_view(name).substr(stem)));
    return feature(name, grow);
}

void Preparation::collect(const DenseInput& rows) {
    collected_.reserve(rows.rows, rows.rows * rows.column_count);
    kernel_->collect(rows, collected_.slots.data(), collected_.values.data(), collected_.row_ends.data());
    collected_.rows = rows.rows;
    if (!raw()) return;
    for (std::size_t r = 0; r < rows.rows; ++r) {
        raw_rows_.begin_row(raw_count());
        mention(rows, r);
        raw_rows_.end_row(raw_count());
    }
    if (known_->leaves_numbers) collected_.leave_out([&](std::uint32_t feature) { return leaves(feature); });
}

void Preparation::mention(const DenseInput& input, std::size_t row) {
    const std::size_t count = input.column_count;
    if (count <= (by_column() ? RawColumns::most : known_->raw_columns.leading()))
        return widen(input, row, raw_rows_.row());
    side_by_side_.resize(count);
    widen(input, row, side_by_side_.data());
    for (std::size_t j = 0; j < count; ++j) mention(static_cast<std::uint32_t>(1 + j), side_by_side_[j]);
}

SparseInput Preparation::prepared() const {
    SparseInput input = collected_.rows ? collected_.view() : rows_.view();
    input.in_sequence = hashed();  // hashed features have no other kind of rows to agree with
    input.lanes = features().lanes();
    input.lanes_from = features().lanes_from();
    if (!raw()) return input;
    raw_rows_.view(input);
    input.raw_kinds = by_column() ? RawColumns::numbers() : known_->raw_columns.kinds();
    return input;
}

SparseInput Preparation::prepare_in_order(std::size_t count, const double* values, const std::uint32_t* slots,
                                          Looking looking, double weight) {
    in_order_.reserve(1, count);
    double* const row = in_order_.values.data();
    std::uint32_t* const at = in_order_.slots.data();
    std::copy_n(values, count, row);
    if (centring()) {
        if (looking == Looking::learning) {
            for (std::size_t k = 0; k < count; ++k) own_->centre.remember(slots[k]);
            own_->centre.observe(slots, row, count, weight);
        } else if (looking == Looking::predicting) {
            centre().peek(slots, row, count);
        } else {
            for (std::size_t k = 0; k < count; ++k) row[k] = centred(slots[k], row[k], looking, weight);
        }
    }
    std::size_t n = 0;
    for (std::size_t k = 0; k < count; ++k) {  // zeros are left out
        at[n] = slots[k];
        row[n] = row[k];
        n += row[k] != 0;
    }
    in_order_.row_ends[0] = n;
    in_order_.rows = 1;
    SparseInput input = in_order_.view();
    input.in_sequence = hashed();
    return input;
}

void Preparation::centre_wide(std::size_t at, std::size_t columns, Looking looking, double weight) {
    if (!centre().any()) return;
    double* row = wide.values.data() + at * columns;
    if (looking == Looking::learning && weight > 0) {
        own_->centre.observe(wide.features.data(), row, columns, weight);
    } else if (looking == Looking::predicting) {
        centre().peek(wide.features.data(), row, columns);
    } else {
        for (std::size_t j = 0; j < columns; ++j) row[j] = centred(wide.features[j], row[j], looking, weight);
    }
}

// ---------------------------------------------------------------------------------------------------- checks

void Preparation::check_named() const {
    if (features().space() == Space::columns)
        throw InputError("this learner knows its features as " + std::to_string(features().column_count()) + " columns",
                         "give it arrays or sparse matrices");
}

void Preparation::check_name(std::string_view name) const {
    if (name == bias_name)
        throw InputError("a feature is named '" + std::string(bias_name) + "', which is the bias's own name",
                         "rename it");
}

void Preparation::check_columns(std::size_t count) const {
    if (features().space() == Space::names)
        throw InputError("this learner knows its features by name", "give it mappings or a frame with those names");
    if (features().space() == Space::columns && count != features().column_count())
        throw InputError("X has " + std::to_string(count) + " columns, but the learner was made with " +
                         std::to_string(features().column_count()));
    if (count >= std::numeric_limits<std::uint32_t>::max() - 1 && !hashed())
        throw InputError("X has more columns than a learner can hold", "hash them with bits=");
}

void Preparation::check_magnitude(double largest) const {
    if (interactions().any() && largest > 0x1p500)
        throw InputError("a value is beyond 1e150; products of such values leave the range of float64",
                         "use larger units, so that the numbers become smaller");
}

void Preparation::check_sum(std::size_t count, const double* values, std::size_t row) {
    double total = 0, largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        total += std::fabs(values[i]);
        largest = std::max(largest, std::fabs(values[i]));
    }
    check_magnitude(largest);
    if (!std::isfinite(total))
        throw InputError("the values add up to more than a float64 can hold", Place{row},
                         "use larger units, so that the numbers become smaller");
}

// ---------------------------------------------------------------------------------------------------- files

PreparationState Preparation::save() const {
    PreparationState to;
    to.space = features().space();
    to.columns = features().column_count();
    to.names = features().names();
    to.products = interactions().products();
    for (std::uint32_t feature = 0; feature < centre().columns().size(); ++feature) {
        if (centre().columns()[feature].offset == Offset::unknown) continue;
        to.centre_features.push_back(feature);
        to.centre.push_back(centre().columns()[feature]);
    }
    to.windows = centre().watched();
    return to;
}

void Preparation::load(const PreparationState& from) {
    if (!centring() && !from.centre.empty()) throw InputError("a model without centring has means");
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
    for (std::size_t k = 0; k < from.centre.size(); ++k) {
        const std::uint32_t number = from.centre_features[k];
        if (number == 0 || number > features().feature_count() || (k && number <= from.centre_features[k - 1]))
            throw InputError("a mean belongs to a feature that the model does not have");
        if (!(is_usable(from.centre[k].mean) && from.centre[k].weight >= 0 && std::isfinite(from.centre[k].weight)))
            throw InputError("a mean is not a number");
        if (!(from.centre[k].proven >= 0 && std::isfinite(from.centre[k].proven)))
            throw InputError("a scale that was proven is not a number");
        Centre::Column column = from.centre[k];
        column.window = Centre::unwatched;
        own_->centre.restore(number, column);
    }
    load_windows(from);
}

void Preparation::load_windows(const PreparationState& from) {
    if (!falling() && !from.windows.empty()) throw InputError("a model whose scales do not fall has windows");
    for (std::size_t k = 0; k < from.windows.size(); ++k) {
        const auto& [feature, window] = from.windows[k];
        if (!centre().removed(feature) || (k && feature <= from.windows[k - 1].slot))
            throw InputError("a window belongs to a feature that is not centred");
        if (!window.is_sound()) throw InputError("a window is not such as learning gives");
        own_->centre.watch(from.windows[k]);
    }
}

// Slots that do not belong to a product belong to the names, in order.
void Preparation::load_products(const PreparationState& from) {
    if (from.products.empty()) return;
    if (!interactions().any()) throw InputError("a model without interactions has products");
    const std::size_t features = known_->features.feature_count(), slots = 1 + features + from.products.size();
    // Columns have the first slots to themselves. No memory is taken for them here: there may be billions.
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
    std::vector<std::uint32_t> products;
    for (const auto& product : from.products) products.push_back(product.slot);
    own_->features.restore_slots(std::move(free), products);
}

std::size_t Preparation::bytes() const {
    std::size_t total = sizeof(*this) + sizeof(Knowledge) + interactions().bytes() + collected_.bytes() +
                        wide.values.capacity() * sizeof(double) + known_->raw_columns.bytes() + raw_rows_.bytes() +
                        known_->words.bytes();
    for (const auto& name : features().names()) total += 2 * name.size() + 96;
    return total;
}

}  // namespace unitless
