// Tables on their way in: columns of numbers and of text, with values that may be missing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/limits.hpp"
#include "preparation/dense_rows.hpp"
#include "preparation/mention.hpp"
#include "preparation/table_values.hpp"
#include "rows/table.hpp"

namespace unitless {

// What is known of a table's features in the course of a call; threads that predict its rows share it.
class TableMentions {
  public:
    explicit TableMentions(const Table& table) : from_(table), features_(table.columns.size()) { forget(); }
    void forget() {
        for (std::size_t j = 0; j < features_.size(); ++j) features_[j].assign(values_of(from_.columns[j]));
        missing_.assign(features_.size());
    }

    SharedMentions& of_column(std::size_t column) { return features_[column]; }  // by value, where it is text
    SharedMentions& of_missing() { return missing_; }                            // values, by column
    void know_word() { word_known_.store(true, std::memory_order_relaxed); }

    // Has a row mentioned a feature that the model knows?
    bool any_known() const {
        const auto any = [](const SharedMentions& column) { return column.any_feature(); };
        return word_known_ || any(missing_) || std::any_of(features_.begin(), features_.end(), any);
    }

  private:
    const Table& from_;
    std::vector<SharedMentions> features_;
    SharedMentions missing_;
    std::atomic<bool> word_known_{false};

    static std::size_t values_of(const TableColumn& column) {
        return column.words ? 0 : column.is_text() ? column.values : 1;
    }
};

class TableRows {
  public:
    TableRows(const Table& table, TableMentions& known) : from_(table), known_(known) {
        for (std::size_t j = 0; j < table.columns.size(); ++j)
            if (!table.columns[j].is_text()) numeric_.push_back(j);
    }
    void forget() {
        known_.forget();
        numeric_features_.clear();
        settled_ = false;
    }

    std::size_t rows() const { return from_.rows; }
    std::size_t width() const { return std::max<std::size_t>(1, from_.columns.size()); }

    // The numbers as doubles, [row][column of numbers].
    void begin_batch(Preparation& to, std::size_t first, std::size_t rows) const {
        const std::size_t columns = numeric_.size();
        std::vector<double>& wide = to.wide.values;
        wide.resize(rows * columns);
        for (std::size_t j = 0; j < columns; ++j) {
            const Column& column = from_.columns[numeric_[j]].numbers;
            with_type(column.type,
                      [&](auto x) { widen_column<decltype(x)>(column, first, rows, wide.data() + j, columns); });
        }
    }

    void add_row(Preparation& to, std::size_t row, std::size_t at, Looking looking, double weight) {
        const bool learning = looking == Looking::learning, grow = learning && weight > 0, noting = to.notes();
        const std::vector<TableColumn>& columns = from_.columns;
        double* numbers = to.wide.values.data() + at * numeric_.size();
        const bool numbers_first = settled_ && !noting;
        if (numbers_first) add_numbers(to, numbers, looking, weight);
        std::size_t met = 0;
        for (std::size_t j = 0, i = 0; j < columns.size(); ++j) {
            const TableColumn& column = columns[j];
            if (column.is_text()) {
                const std::int32_t code = column.codes[row];
                const auto value = static_cast<std::size_t>(code);
                if (code < 0 && from_.indicators) {
                    take_category(to, known_.of_missing(), j, column, missing_value, looking, weight);
                } else if (code >= 0 && column.words) {
                    add_words(to, words_, column.name, column.value(value), looking, weight,
                              [&](std::uint32_t) { known_.know_word(); });
                } else if (code >= 0) {
                    take_category(to, known_.of_column(j), value, column, column.value(value), looking, weight);
                }
                continue;
            }
            const double x = numbers[i++];
            const bool missing = x != x;
            if (missing && from_.indicators)
                take_category(to, known_.of_missing(), j, column, missing_value, looking, weight);
            if (numbers_first) continue;
            SharedMentions& known = known_.of_column(j);
            if (const std::uint32_t feature = missing ? 0 : known.mention(to, 0, column.name, grow, learning)) {
                const Offset offset = column.numbers.indicator ? Offset::kept : Offset::removed;
                add_number(to, feature, x, offset, looking, weight, [&] { return std::string_view(column.name); });
            }
            met += is_feature(known[0]);
        }
        if (settled_ || met < numeric_.size() || !(grow || !learning)) return;
        settled_ = true;
        for (const std::size_t j : numeric_) numeric_features_.push_back(known_.of_column(j)[0]);
    }

  private:
    const Table& from_;
    TableMentions& known_;
    std::vector<std::size_t> numeric_;  // columns of numbers
    std::vector<std::uint32_t> numeric_features_;
    bool settled_ = false;  // all of them are known
    std::string name_;      // memory for names of features
    WordFeatures words_;

    void add_numbers(Preparation& to, double* numbers, Looking looking, double weight) {
        const std::size_t count = numeric_.size();
        for (std::size_t i = 0; to.raw() && i < count; ++i) to.mention(numeric_features_[i], numbers[i]);
        bool whole = true;
        for (std::size_t i = 0; i < count; ++i) whole &= numbers[i] == numbers[i];
        if (whole && to.centring() && looking == Looking::learning && weight > 0) {
            to.centre_to_learn().observe(numeric_features_.data(), numbers, count, weight);
            for (std::size_t i = 0; i < count; ++i) to.row().add(numeric_features_[i], numbers[i]);
            return;
        }
        for (std::size_t i = 0; i < count; ++i)
            if (const std::uint32_t feature = numeric_features_[i]; numbers[i] == numbers[i])
                to.row().add(feature, to.centred(feature, numbers[i], looking, weight));
    }

    // The feature `column=value`, of which it is known as the `at`-th.
    void take_category(Preparation& to, SharedMentions& known, std::size_t at, const TableColumn& column,
                       std::string_view value, Looking looking, double weight) {
        const auto name = [&] { return std::string_view(name_.assign(column.name).append(1, '=').append(value)); };
        std::uint32_t feature = known[at];
        if (feature == not_known) return;
        if (!is_feature(feature)) {
            const bool learning = looking == Looking::learning;
            feature = known.mention(to, at, name(), learning && weight > 0, learning);
        }
        if (feature) add_category(to, feature, looking, weight, name);
    }
};

// A table's columns, if they are numbers that lie side by side in rows.
inline std::optional<DenseInput> rows_of_numbers(const Table& table) {
    if (table.columns.empty()) return std::nullopt;
    const Column& first = table.columns[0].numbers;
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
        const Column& column = table.columns[j].numbers;
        if (table.columns[j].is_text() || column.type != Type::f64 || column.stride != first.stride ||
            column.data != first.data + j * sizeof(double))
            return std::nullopt;
    }
    return DenseInput{first.data, first.stride, Type::f64, nullptr, table.columns.size(), table.rows};
}

// A table's columns of numbers that have features, as dense rows. `find(column)` gives its feature's number, if it has
// one.
struct NamedColumns {
    std::vector<std::string> names;
    std::vector<Column> columns;

    template <class Find>
    NamedColumns(const Table& table, Find find) {
        for (const TableColumn& column : table.columns) {
            const std::optional<std::uint32_t> found = find(column);
            if (!found) continue;
            names.push_back(column.name);
            columns.push_back(column.numbers);
            columns.back().slot = *found;
            columns.back().name = column.name;
        }
    }

    // Columns that are slots 1, 2, 3, ... and lie side by side in rows are as good as an array. `settled`: which of
    // them are centred is known already.
    // `named`: interactions ask for the columns' names.
    DenseRows rows(std::size_t count, bool settled, bool named) const {
        const DenseInput one_by_one{nullptr, 0, Type::f64, columns.data(), columns.size(), count};
        if (named || columns.empty() || columns[0].type != Type::f64) return DenseRows(one_by_one, &names);
        const Column& first = columns[0];
        for (std::size_t j = 0; j < columns.size(); ++j) {
            const Column& column = columns[j];
            if (column.data != first.data + j * sizeof(double) || column.stride != first.stride ||
                column.type != Type::f64 || column.slot != 1 + j || (!settled && column.indicator != first.indicator))
                return DenseRows(one_by_one, &names);
        }
        return DenseRows({first.data, first.stride, Type::f64, nullptr, columns.size(), count, first.indicator},
                         &names);
    }
};

// Throws if the table's rows before `end`, from one on, hold what cannot be learned. Gives whether they have to be
// taken one by one, because of text or of values that are missing.
inline bool check_table(const Table& table, std::size_t first, std::size_t end, Preparation& preparation) {
    bool one_by_one = false;
    for (const TableColumn& column : table.columns) {
        preparation.check_name(column.name);
        one_by_one = one_by_one || column.is_text();
        for (std::size_t r = first; column.is_text() && r < end; ++r)
            if (column.codes[r] >= 0 && static_cast<std::size_t>(column.codes[r]) >= column.values)
                throw InputError("column '" + column.name + "' is malformed", Place{r});
    }
    if (!one_by_one && (!table.missing || table.whole)) return false;  // the rest is looked at on the way
    if (const auto input = rows_of_numbers(table)) {                   // in one go, as they lie
        const double largest = largest_of(DenseRows::Part(*input, first, end - first).input());
        if (!std::isnan(largest)) {
            preparation.check_magnitude(largest);
            return false;
        }
    }
    double largest = 0;
    for (const TableColumn& column : table.columns) {
        if (column.is_text()) continue;
        const DenseInput alone{nullptr, 0, Type::f64, &column.numbers, 1, table.rows};
        double most = largest_of(DenseRows::Part(alone, first, end - first).input());
        if (std::isnan(most)) {
            most = 0;
            for (std::size_t r = first; r < end; ++r) {
                const double x = value_at(alone, r, 0);
                if (is_usable(x)) {
                    most = std::max(most, std::fabs(x));
                } else if (table.missing && std::isnan(x)) {
                    one_by_one = true;
                } else {
                    throw_bad_value(x, Place{r, column.name});
                }
            }
        }
        largest = std::max(largest, most);
    }
    preparation.check_magnitude(largest);
    if (one_by_one && largest > 0x1p960 && preparation.hashed()) {  // as a sum, one slot may be infinite
        TableMentions known(table);
        TableRows rows(table, known);
        preparation.in_batches(rows, first, end, Looking::predicting, nullptr, [](std::size_t, std::size_t) {});
    }
    return one_by_one;
}

}  // namespace unitless
