// The part of a learner that reads named features in bulk: tables, and rows of names.
//
// Names are interned when a row that counts first mentions them, in the order of mention: so the same data gives the
// same slots, and with them the same bits, whether it comes as a table, as text or as mappings, at once or in parts.

#include <cmath>

#include "dense_values.hpp"
#include "errors.hpp"
#include "learner.hpp"
#include "learner_batches.hpp"

namespace unitless {
namespace {

constexpr std::uint32_t not_met = 0, not_known = ~std::uint32_t{0};

// A table's columns, if they are numbers that lie side by side in rows.
std::optional<DenseInput> rows_of_numbers(const Table& table) {
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

// Columns that are slots 1, 2, 3, ... and lie side by side in rows are as good as an array. `settled`: which of them
// are centred is known already.
DenseInput as_input(const std::vector<Column>& columns, std::size_t rows, bool settled) {
    const DenseInput one_by_one{nullptr, 0, Type::f64, columns.data(), columns.size(), rows};
    if (columns.empty() || columns[0].type != Type::f64) return one_by_one;
    for (std::size_t j = 0; j < columns.size(); ++j) {
        const Column& column = columns[j];
        if (column.data != columns[0].data + j * sizeof(double) || column.stride != columns[0].stride ||
            column.type != Type::f64 || column.slot != 1 + j || (!settled && column.indicator != columns[0].indicator))
            return one_by_one;
    }
    return {columns[0].data, columns[0].stride, Type::f64, nullptr, columns.size(), rows, columns[0].indicator};
}

}  // namespace

// What was found out about the names so far: a feature's number, `not_met`, or `not_known` where nothing may be added.
struct Learner::MentionedRows {
    const NamedRows& from;
    std::vector<std::uint32_t> features;
    std::size_t rows;

    std::size_t width() const { return std::max<std::size_t>(1, from.ids.size() / std::max<std::size_t>(1, rows)); }
};

// Are all names known? What is known is noted.
bool Learner::know(MentionedRows& input) {
    for (std::size_t i = 0; i < input.features.size(); ++i) {
        const auto found = feature(input.from.name(i), false);
        if (!found) return false;
        input.features[i] = *found;
    }
    return true;
}

struct Learner::MentionedTable {
    const Table& from;
    std::vector<std::vector<std::uint32_t>> features;  // by column; by value of a column of text
    std::vector<std::size_t> numeric;                  // columns of numbers
    std::vector<std::uint32_t> numeric_features;
    bool settled = false;  // all of them are known
    std::size_t rows;
    std::string name;  // memory for names of features

    explicit MentionedTable(const Table& table) : from(table), features(table.columns.size()), rows(table.rows) {
        for (std::size_t j = 0; j < table.columns.size(); ++j) {
            const TableColumn& column = table.columns[j];
            features[j].assign(column.is_text() ? column.values : 1, not_met);
            if (!column.is_text()) numeric.push_back(j);
        }
    }
    std::size_t width() const { return std::max<std::size_t>(1, features.size()); }
    std::string_view name_of(const TableColumn& column, std::size_t value) {
        name.assign(column.name).append(1, '=').append(column.value(value));
        return name;
    }
};

// The number of a name that a row mentions, or 0. `learning`: what is not known now may be so later in the same call.
std::uint32_t Learner::mentioned(std::uint32_t& known, std::string_view name, bool grow, bool learning) {
    if (known != not_met) return known == not_known ? 0 : known;
    if (const auto found = feature(name, grow)) return known = *found;
    if (!learning) known = not_known;
    return 0;
}

// ---------------------------------------------------------------------------------------------------- named rows

void Learner::widen(const MentionedRows&, std::size_t, std::size_t) {}

void Learner::add_row(MentionedRows& input, std::size_t row, std::size_t, Looking looking, double weight) {
    const NamedRows& from = input.from;
    const bool learning = looking == Looking::learning, grow = learning && weight > 0, noting = notes();
    const std::size_t begin = row ? from.row_ends[row - 1] : 0, count = from.row_ends[row] - begin;
    const auto [slots, values] = rows_.extend(count);
    std::size_t written = 0, moves = 0;
    bool ordered = true;
    for (std::size_t k = begin; k < begin + count; ++k) {
        const std::uint32_t id = from.ids[k];
        std::uint32_t feature = input.features[id];
        if (feature - 1 >= not_known - 1) [[unlikely]] {
            feature = mentioned(input.features[id], from.name(id), grow, learning);
            if (!feature) continue;
        }
        const double x = setup_.centre ? centred(feature, from.values[k], looking, weight) : from.values[k];
        if (x == 0) continue;
        if (noting) note(feature, from.name(id));
        // Rows are nearly in order: what is not is moved to its place at once, unless that becomes too much.
        std::size_t at = written++;
        if (ordered && at > 0 && slots[at - 1] >= feature) {
            for (; at > 0 && slots[at - 1] > feature; --at, ++moves) {
                slots[at] = slots[at - 1];
                values[at] = values[at - 1];
            }
            ordered = (at == 0 || slots[at - 1] < feature) && moves <= 8 * count + 64;
        }
        slots[at] = feature;
        values[at] = x;
    }
    rows_.commit(count, written);
    if (!ordered) rows_.order_unknown();
}

// A row over all slots, its names being known. A feature that stands there twice is added up as elsewhere.
void Learner::spread(const MentionedRows& input, std::size_t row, double* to) {
    const NamedRows& from = input.from;
    const std::size_t begin = row ? from.row_ends[row - 1] : 0, end = from.row_ends[row];
    bool twice = false;
    for (std::size_t k = begin; k < end; ++k) {
        double& there = to[position(input.features[from.ids[k]])];
        twice |= there != 0;
        there = from.values[k] + 0.0;  // turns -0 into 0
    }
    if (!twice) return;
    rows_.clear();
    rows_.begin_row();
    for (std::size_t k = begin; k < end; ++k) {
        const std::uint32_t slot = input.features[from.ids[k]];
        to[position(slot)] = 0;
        rows_.add(slot, from.values[k]);
    }
    rows_.end_row();
    const SparseInput once = rows_.view();
    for (std::size_t k = once.begin(0); k < once.end(0); ++k) to[position(once.slots[k])] = once.values[k];
}

void Learner::check_rows(const NamedRows& rows) {
    for (std::size_t i = 0; i < rows.names(); ++i)
        if (rows.name(i) == "(bias)")
            throw InputError("a feature is named '(bias)', which is the bias's own name; rename it");
    const double largest =
        largest_of<double>(reinterpret_cast<const char*>(rows.values.data()), sizeof(double), rows.values.size());
    check_products(largest);
    if (largest < 0x1p960) return;
    for (std::size_t r = 0, begin = 0; r < rows.rows(); begin = rows.row_ends[r++])
        check_sum(rows.row_ends[r] - begin, rows.values.data() + begin, r);
}

void Learner::learn_rows(const NamedRows& rows, const Labels& labels, Results& results) {
    const std::lock_guard guard(lock_);
    double* const predictions = results.allocate(rows.rows(), learn_width() + labels.new_classes);
    check_named();
    const Encoded encoded = encode(labels, rows.rows());
    check_rows(rows);
    learn_all(encoded, labels, rows.rows(), predictions, [&] {
        if (any_weight(labels, rows.rows())) features_.use_names();
        MentionedRows input{rows, std::vector<std::uint32_t>(rows.names(), not_met), rows.rows()};
        if (!setup_.centre && !asks_first(labels, rows.rows()) && spreads(rows.rows(), rows.ids.size()) &&
            know(input)) {
            reserve(features_.slot_count());
            const auto fill = [&](std::size_t row, double* to) { spread(input, row, to); };
            return learn_tiles(rows.rows(), fill, encoded.with(labels), predictions, 0);
        }
        learn_batches(input, encoded.with(labels), predictions);
    });
}

void Learner::predict_rows(const NamedRows& rows, bool extrapolate, Results& results) {
    const std::lock_guard guard(lock_);
    double* const predictions = results.allocate(rows.rows(), predict_width());
    check_named();
    check_rows(rows);
    in_batches(
        MentionedRows{rows, std::vector<std::uint32_t>(rows.names(), not_met), rows.rows()},
        extrapolate ? Looking::extrapolating : Looking::predicting, nullptr,
        [&](std::size_t first, std::size_t) { predict_prepared(extrapolate, predictions + first * predict_width()); });
    add_offset(predictions, rows.rows() * predict_width());
}

// ---------------------------------------------------------------------------------------------------- tables

void Learner::start_over(MentionedTable& input) {
    input.settled = false;
    input.numeric_features.clear();
}

// The numbers as doubles, [row][column of numbers].
void Learner::widen(const MentionedTable& input, std::size_t first, std::size_t rows) {
    const std::size_t columns = input.numeric.size();
    wide_.resize(rows * columns);
    for (std::size_t j = 0; j < columns; ++j) {
        const Column& column = input.from.columns[input.numeric[j]].numbers;
        with_type(column.type,
                  [&](auto x) { widen_column<decltype(x)>(column, first, rows, wide_.data() + j, columns); });
    }
}

void Learner::add_row(MentionedTable& input, std::size_t row, std::size_t at, Looking looking, double weight) {
    const bool learning = looking == Looking::learning, grow = learning && weight > 0, noting = notes();
    const std::vector<TableColumn>& columns = input.from.columns;
    double* numbers = wide_.data() + at * input.numeric.size();
    if (input.settled && !noting) {
        bool whole = true;
        for (std::size_t i = 0; i < input.numeric.size(); ++i) whole &= numbers[i] == numbers[i];
        if (whole && setup_.centre && grow) {
            centre_.observe(input.numeric_features.data(), numbers, input.numeric.size(), weight);
            for (std::size_t i = 0; i < input.numeric.size(); ++i) rows_.add(input.numeric_features[i], numbers[i]);
        } else {
            for (std::size_t i = 0; i < input.numeric.size(); ++i)
                if (const std::uint32_t feature = input.numeric_features[i]; numbers[i] == numbers[i])
                    rows_.add(feature, centred(feature, numbers[i], looking, weight));
        }
    }
    std::size_t met = 0;
    for (std::size_t j = 0, i = 0; j < columns.size(); ++j) {
        const TableColumn& column = columns[j];
        if (!column.is_text()) {
            const double x = numbers[i++];
            if (input.settled && !noting) continue;
            const bool none = x != x;
            std::uint32_t& known = input.features[j][0];
            if (const std::uint32_t feature = none ? 0 : mentioned(known, column.name, grow, learning)) {
                if (setup_.centre && grow)
                    centre_.settle(feature, column.numbers.indicator ? Offset::kept : Offset::removed);
                const double value = centred(feature, x, looking, weight);
                if (noting && value != 0) note(feature, column.name);
                rows_.add(feature, value);
            }
            met += known != not_met && known != not_known;
            continue;
        }
        const std::int32_t code = column.codes[row];
        if (code < 0) continue;
        std::uint32_t& known = input.features[j][static_cast<std::size_t>(code)];
        std::uint32_t feature = known;
        if (feature - 1 >= not_known - 1 || noting) {
            const std::string_view name = input.name_of(column, static_cast<std::size_t>(code));
            feature = mentioned(known, name, grow, learning);
            if (!feature) continue;
        }
        const double value = setup_.centre ? centred(feature, 1.0, looking, weight) : 1.0;
        if (noting && value != 0) note(feature, input.name);
        rows_.add(feature, value);
    }
    if (input.settled || met < input.numeric.size() || !(grow || !learning)) return;
    input.settled = true;
    for (const std::size_t j : input.numeric) input.numeric_features.push_back(input.features[j][0]);
}

// Throws if the table holds what cannot be learned. Gives whether its rows have to be taken one by one, because of text
// or of values that are not there.
bool Learner::check_table(const Table& table) {
    bool one_by_one = false;
    for (const TableColumn& column : table.columns) {
        if (column.name == "(bias)")
            throw InputError("a column is named '(bias)', which is the bias's own name; rename it");
        one_by_one = one_by_one || column.is_text();
        for (std::size_t r = 0; column.is_text() && r < table.rows; ++r)
            if (column.codes[r] >= 0 && static_cast<std::size_t>(column.codes[r]) >= column.values)
                throw InputError("column '" + column.name + "' is malformed" + where(r));
    }
    if (!one_by_one && (!table.missing || table.whole)) return false;  // the rest is looked at on the way
    double largest = 0;
    if (const auto input = rows_of_numbers(table)) {  // in one go, as they lie
        largest = largest_of(*input);
        if (!std::isnan(largest)) {
            check_products(largest);
            return false;
        }
        largest = 0;
    }
    for (std::size_t j = 0; j < table.columns.size(); ++j) {
        const TableColumn& column = table.columns[j];
        if (column.is_text()) continue;
        const DenseInput alone{nullptr, 0, Type::f64, &column.numbers, 1, table.rows};
        double most = largest_of(alone);
        if (std::isnan(most)) {
            most = 0;
            for (std::size_t r = 0; r < table.rows; ++r) {
                const double x = value_at(alone, r, 0);
                if (std::isfinite(x)) {
                    most = std::max(most, std::fabs(x));
                } else if (table.missing && std::isnan(x)) {
                    one_by_one = true;
                } else {
                    throw_not_finite(x, where(r) + ", column '" + column.name + "'");
                }
            }
        }
        largest = std::max(largest, most);
    }
    check_products(largest);
    if (one_by_one && largest > 0x1p960 && features_.space() == Space::hashed)  // as a sum, one slot may be infinite
        in_batches(MentionedTable(table), Looking::predicting, nullptr, [](std::size_t, std::size_t) {});
    return one_by_one;
}

void Learner::learn_table(const Table& table, const Labels& labels, Results& results) {
    const std::lock_guard guard(lock_);
    double* const predictions = results.allocate(table.rows, learn_width() + labels.new_classes);
    check_named();
    check_listed(
        [&](const Selector& selector) {
            return selector.column < 0 &&
                   std::any_of(
                       table.columns.begin(), table.columns.end(),
                       [&](const TableColumn& column) { return column.may_have(selector.name, selector.prefix); });
        },
        std::to_string(table.columns.size()) + " named columns");
    const Encoded encoded = encode(labels, table.rows);
    if (check_table(table)) {
        learn_all(encoded, labels, table.rows, predictions, [&] {
            if (any_weight(labels, table.rows)) features_.use_names();
            reserve(features_.slot_count());
            learn_batches(MentionedTable(table), encoded.with(labels), predictions);
        });
        return;
    }
    learn_all(encoded, labels, table.rows, predictions, [&] {
        features_.use_names();
        Names names;
        std::vector<Column> columns;
        for (const TableColumn& column : table.columns) {
            names.push_back(column.name);
            columns.push_back(column.numbers);
            columns.back().slot = *feature(column.name, true);
            columns.back().name = column.name;
        }
        const bool settling = setup_.centre && table.missing && any_weight(labels, table.rows);
        for (const Column& column : columns)
            if (settling) centre_.settle(column.slot, column.indicator ? Offset::kept : Offset::removed);
        learn_columns(as_input(columns, table.rows, settling || !setup_.centre), &names, encoded.with(labels),
                      predictions);
    });
}

void Learner::predict_table(const Table& table, bool extrapolate, Results& results) {
    const std::lock_guard guard(lock_);
    double* const predictions = results.allocate(table.rows, predict_width());
    check_named();
    bool any = table.columns.empty() || features_.names().empty();
    if (check_table(table)) {
        MentionedTable input(table);
        in_batches(input, extrapolate ? Looking::extrapolating : Looking::predicting, nullptr,
                   [&](std::size_t first, std::size_t) {
                       predict_prepared(extrapolate, predictions + first * predict_width());
                   });
        add_offset(predictions, table.rows * predict_width());
        for (const auto& column : input.features)
            for (const std::uint32_t feature : column) any = any || (feature != not_known && feature != not_met);
    } else {
        Names names;
        std::vector<Column> columns;
        for (const TableColumn& column : table.columns) {
            const auto found = feature(column.name, false);
            if (!found) {
                const Names name{column.name};
                check_finite({nullptr, 0, Type::f64, &column.numbers, 1, table.rows}, &name);
                continue;
            }
            any = true;
            names.push_back(column.name);
            columns.push_back(column.numbers);
            columns.back().slot = *found;
            columns.back().name = column.name;
        }
        if (any) predict_columns(as_input(columns, table.rows, true), &names, extrapolate, predictions);
    }
    if (!any && table.rows && !table.missing)  // a value that is not there, or never was, is no wrong column
        throw InputError("the model knows none of the columns ('" + table.columns[0].name + "', ...); it knows '" +
                         features_.names()[0] + "', ...");
}

}  // namespace unitless
