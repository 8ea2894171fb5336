#include "encoding/table_source.hpp"

#include <cmath>

#include "base/limits.hpp"
#include "encoding/encoder.hpp"
#include "encoding/table_values.hpp"
#include "rows/dense_values.hpp"

namespace unitless {
namespace {

Offset offset_of(const Column& column) { return column.indicator ? Offset::kept : Offset::removed; }

}  // namespace

TableSource::TableSource(const Table& table) : table_(table), numbers_(table.columns.size()) {
    for (const TableColumn& column : table.columns) has_text_ = has_text_ || column.is_text();
    forget_features();
}

void TableSource::forget_features() {
    for (std::size_t j = 0; j < numbers_.size(); ++j) {
        const TableColumn& column = table_.columns[j];
        numbers_[j].assign(column.is_split() ? 0 : column.is_text() ? column.values : 1);
    }
    missing_.assign(numbers_.size());
    dense_.reset();
}

// Columns of words and n-grams do not count as columns here, because curves and trees do not use them.
DataKind TableSource::kind() const {
    const auto others = static_cast<std::size_t>(std::count_if(
        table_.columns.begin(), table_.columns.end(), [](const TableColumn& column) { return !column.is_split(); }));
    return {others > 0 || table_.columns.empty(), others, others < table_.columns.size()};
}

// ---------------------------------------------------------------------------------------------------- checks

void TableSource::check_features(const Encoder& encoder) const {
    encoder.check_named();
    for (const TableColumn& column : table_.columns) encoder.check_name(column.name);
}

void TableSource::check_interactions(const Encoder& encoder) const {
    const auto has = [&](const Selector& selector) {
        return selector.column < 0 && std::any_of(
                                          table_.columns.begin(), table_.columns.end(),
                                          [&](const TableColumn& column) {
                                              const bool has_space =
                                                  !selector.spaces || column.name.find('^') != column.name.npos;
                                              return has_space && column.may_have(selector.name, selector.prefix);
                                          });
    };
    encoder.check_listed(has, std::to_string(table_.columns.size()) + " named columns");
}

void TableSource::check_values(const Encoder& encoder, std::size_t first, std::size_t end) {
    double largest = 0;
    for (const TableColumn& column : table_.columns) {
        for (std::size_t r = first; column.is_text() && r < end; ++r)
            if (column.codes[r] >= 0 && static_cast<std::size_t>(column.codes[r]) >= column.values)
                throw InputError("column '" + column.name + "' is malformed", Place{r});
        if (column.is_text()) continue;
        const DenseRows alone{nullptr, 0, Type::f64, &column.numbers, 1, table_.rows};
        std::vector<Column> part;
        double most = largest_of(rows_of(alone, first, end - first, part));
        if (std::isnan(most)) {
            most = 0;
            for (std::size_t r = first; r < end; ++r) {
                const double x = value_at(alone, r, 0);
                if (is_usable(x)) {
                    most = std::max(most, std::fabs(x));
                } else if (table_.missing && std::isnan(x)) {
                    some_missing_.store(true, std::memory_order_relaxed);
                } else {
                    throw_bad_value(x, Place{r, column.name});
                }
            }
        }
        largest = std::max(largest, most);
    }
    encoder.check_magnitude(largest, table_.columns.size());
}

void TableSource::check_known(const Encoder& encoder) const {
    const std::vector<std::string>& names = encoder.features().names();
    const auto any_found = [](const FeatureNumbers& numbers) { return numbers.any_found(); };
    // A missing value, or an unknown category, does not mean that a column is wrong.
    if (table_.missing || table_.rows == 0 || table_.columns.empty() || names.empty() || word_known_ ||
        !dense_columns_.empty() || any_found(missing_) || std::any_of(numbers_.begin(), numbers_.end(), any_found))
        return;
    throw InputError("the model knows none of the columns ('" + table_.columns[0].name + "', ...); it knows '" +
                     names[0] + "', ...");
}

// ---------------------------------------------------------------------------------------------------- features

// Columns of numbers that every row has get their features before the first row.
void TableSource::begin_learning(Encoder& encoder, bool counts) {
    if (!counts) return;
    encoder.use_names();
    if (has_text_ || some_missing_) return;
    for (const TableColumn& column : table_.columns) {
        const auto feature = encoder.feature(column.name, true);
        if (encoder.centering()) encoder.center_to_learn().settle(*feature, offset_of(column.numbers));
    }
}

// A table with missing values cannot be read as an array.
DenseSource* TableSource::as_dense(const Encoder& encoder) {
    const bool may_miss = some_missing_ || (table_.missing && !table_.whole);
    if (has_text_ || may_miss || encoder.features().space() != Space::names) return nullptr;
    dense_names_.clear();
    dense_columns_.clear();
    for (const TableColumn& column : table_.columns) {
        const auto feature = encoder.features().find(column.name);
        if (!feature) continue;
        dense_names_.push_back(column.name);
        dense_columns_.push_back(column.numbers);
        dense_columns_.back().slot = *feature;
    }
    dense_.emplace(DenseRows{nullptr, 0, Type::f64, dense_columns_.data(), dense_columns_.size(), table_.rows},
                   &dense_names_);
    return &*dense_;
}

// ---------------------------------------------------------------------------------------------------- rows

std::size_t TableSource::encode(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                                const double* weight) {
    const bool all_known = begin_wide(to, first, most, purpose);
    return to.add_rows(first, most, purpose, weight, [&](std::size_t row, std::size_t at, const RowUse& use) {
        const double* const numbers = to.wide.row(at);
        bool complete = true;
        for (std::size_t k = 0; k < to.wide.columns.size(); ++k) complete &= numbers[k] == numbers[k];
        if (all_known && complete) {
            to.add_wide_row(at, use);
            if (!has_text_) return;
        }
        for (std::size_t j = 0; j < table_.columns.size(); ++j) {
            if (table_.columns[j].is_text()) {
                add_text(to, j, row, use);
            } else if (!(all_known && complete)) {
                add_number_or_missing(to, j, numbers[to.wide.places[j]], use);
            }
        }
    });
}

// Makes the numbers of some rows contiguous. Columns with features come first. Returns whether all columns have
// features, so that whole rows can be added at once; predictions leave out the other columns.
bool TableSource::begin_wide(Encoder& to, std::size_t first, std::size_t rows, Purpose purpose) {
    WideRows& wide = to.wide;
    const std::size_t columns = table_.columns.size();
    wide.columns.clear();
    wide.features.clear();
    wide.places.assign(columns, 0);
    bool all_known = !to.notes();
    for (std::size_t j = 0; j < columns; ++j) {
        const TableColumn& column = table_.columns[j];
        if (column.is_text()) continue;
        const std::uint32_t feature = numbers_[j].find(to, 0, column.name, {purpose, 0.0});
        wide.columns.push_back(column.numbers);
        wide.columns.back().slot = feature ? feature : ~std::uint32_t{0};
        wide.columns.back().number = static_cast<std::int64_t>(j);
        const bool settled = !to.centering() || to.center().is_settled(feature);
        if (purpose == Purpose::learn) all_known = all_known && feature && settled;
    }
    std::stable_sort(wide.columns.begin(), wide.columns.end(),
                     [](const Column& a, const Column& b) { return a.slot < b.slot; });
    for (std::size_t k = 0; k < wide.columns.size(); ++k) {
        wide.places[static_cast<std::size_t>(wide.columns[k].number)] = k;
        if (wide.columns[k].slot != ~std::uint32_t{0}) wide.features.push_back(wide.columns[k].slot);
    }
    wide.settle_features();
    wide.widen_columns(first, rows);
    return all_known;
}

void TableSource::add_number_or_missing(Encoder& to, std::size_t j, double x, const RowUse& use) {
    const TableColumn& column = table_.columns[j];
    if (x != x) {
        if (table_.indicators) add_category(to, missing_, j, column, missing_value, use);
    } else if (const std::uint32_t feature = numbers_[j].find(to, 0, column.name, use)) {
        add_number(to, feature, x, offset_of(column.numbers), use, [&] { return std::string_view(column.name); });
    }
}

void TableSource::add_text(Encoder& to, std::size_t j, std::size_t row, const RowUse& use) {
    const TableColumn& column = table_.columns[j];
    const std::int32_t code = column.codes[row];
    const auto value = static_cast<std::size_t>(code);
    if (code < 0) {
        if (table_.indicators) add_category(to, missing_, j, column, missing_value, use);
    } else if (column.is_split()) {
        if (add_words(to, column.name, column.value(value), column.parts, use))
            word_known_.store(true, std::memory_order_relaxed);
    } else {
        add_category(to, numbers_[j], value, column, column.value(value), use);
    }
}

// Adds the feature `column=value`, which is the i-th of `numbers`.
void TableSource::add_category(Encoder& to, FeatureNumbers& numbers, std::size_t i, const TableColumn& column,
                               std::string_view value, const RowUse& use) {
    const auto name = [&] { return std::string_view(to.name.assign(column.name).append(1, '=').append(value)); };
    if (numbers.is_unknown(i)) return;
    std::uint32_t feature = numbers.found(i);
    if (!feature) feature = numbers.find(to, i, name(), use);
    if (feature) add_value(to, feature, 1.0, use, name);
}

}  // namespace unitless
