// One row of a table from Python: a dict of column names and values. The kind of the column decides the meaning of a
// value: a number, a flag (a number that is 0 or 1), text (a feature `column=value`), words or n-grams (a feature for
// each) or a boolean (`column=true`, `column=false`). Keys that are not columns are ignored, and columns without a key
// have no value.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "encoding/table_values.hpp"
#include "python/mapping_source.hpp"
#include "rows/table.hpp"
#include "text/written_number.hpp"

namespace unitless {

class TableColumns {
  public:
    // `kinds`: "number", "flag", "text", "words", "ngrams" or "boolean". `missing`: how a missing value is treated:
    // "error", "absent" or "indicator", the feature `column=(missing)`. `marks`: texts that mean a missing value.
    // `trim`: remove the blanks around text.
    TableColumns(const std::vector<std::string>& names, const std::vector<std::string>& kinds,
                 const std::string& missing, const std::vector<std::string>& marks, bool trim)
        : may_miss_(missing != "error"), indicators_(missing == "indicator"), marks_(marks), trim_(trim) {
        if (names.size() != kinds.size()) throw InputError("columns and kinds differ in length");
        for (std::size_t j = 0; j < names.size(); ++j) {
            PyObject* key = PyUnicode_FromStringAndSize(names[j].data(), static_cast<Py_ssize_t>(names[j].size()));
            if (!key) throw nb::python_error();
            PyUnicode_InternInPlace(&key);  // then it is nearly always the same object as the row's key
            columns_.push_back({nb::steal(key), names[j], kind_named(kinds[j]), {0, 0, 0}});
        }
    }

  private:
    friend class TableRowSource;
    enum class Kind : unsigned char { number, flag, text, words, ngrams, boolean };
    static Kind kind_named(std::string_view kind) {
        if (kind == "number" || kind == "flag") return kind == "flag" ? Kind::flag : Kind::number;
        if (kind == "words" || kind == "ngrams") return kind == "words" ? Kind::words : Kind::ngrams;
        return kind == "text" ? Kind::text : Kind::boolean;
    }
    struct Column {
        nb::object key;
        std::string name;
        Kind kind;
        std::uint32_t features[3];  // cached features, by kind of value (What)
        bool is_number() const { return kind == Kind::number || kind == Kind::flag; }
        bool is_split() const { return kind == Kind::words || kind == Kind::ngrams; }
    };
    enum What : unsigned char { number_or_false = 0, yes = 1, missing = 2 };
    struct Value {
        PyObject* text;  // an owned reference; null for numbers, booleans and missing values
        double x;
        std::uint32_t column;
        What what;
    };
    std::vector<Column> columns_;
    bool may_miss_, indicators_;
    MissingMarks marks_;
    bool trim_;
    std::uint64_t numbering_ = 0;  // the numbering of the cached features: see TableRowSource
    NameCache cache_;              // of text, by column
    std::vector<Value> spare_;

    void forget_features() {
        cache_.forget();
        for (auto& column : columns_) std::fill_n(column.features, 3, 0);
    }
};

// It borrows its memory from the columns' spare, so that a stream of rows allocates nothing. `numbering`: a number that
// differs between learners, and that changes when numbered names are removed.
class TableRowSource final : public RowSource {
  public:
    TableRowSource(TableColumns& table, const std::uint64_t& numbering)
        : table_(table), numbering_(numbering), values_(std::move(table.spare_)) {
        values_.clear();
    }
    ~TableRowSource() {
        for (const auto& value : values_) Py_XDECREF(value.text);
        table_.spare_ = std::move(values_);
    }

    // Returns false if the row needs a slower reader; it may still be valid.
    bool read(PyObject* row) {
        if (!PyDict_CheckExact(row)) return false;
        for (std::uint32_t j = 0; j < table_.columns_.size(); ++j) {
            const TableColumns::Column& column = table_.columns_[j];
            PyObject* const object = PyDict_GetItemWithError(row, column.key.ptr());
            if (!object && PyErr_Occurred()) throw nb::python_error();
            if (!object || object == Py_None) {
                if (!take_missing(j)) return false;
                continue;
            }
            if (!take(object, column.kind, j)) return false;
        }
        return true;
    }

    std::size_t rows() const override { return 1; }
    std::size_t features_per_row() const override { return std::max<std::size_t>(1, table_.columns_.size()); }
    DataKind kind() const override { return {.has_columns = true, .columns = table_.columns_.size()}; }
    void check_features(const Encoder& encoder) const override { encoder.check_named(); }
    void check_values(const Encoder&, std::size_t, std::size_t) override {}  // `read` accepts only ordinary numbers
    void begin_learning(Encoder& encoder, bool counts) override {
        if (counts) encoder.use_names();
    }
    // The caller must hold the learner's lock and the interpreter's.
    std::size_t encode(Encoder& to, std::size_t first, std::size_t, Purpose purpose, const double* weight) override {
        if (table_.numbering_ != numbering_) {
            table_.numbering_ = numbering_;
            table_.forget_features();
        }
        return to.add_rows(first, 1, purpose, weight, [&](std::size_t, std::size_t, const RowUse& use) {
            for (const TableColumns::Value& value : values_) add(to, value, use);
        });
    }
    void forget_features() override { table_.forget_features(); }

  private:
    TableColumns& table_;
    const std::uint64_t& numbering_;
    std::vector<TableColumns::Value> values_;

    static std::string_view letters_of(PyObject* ascii) {
        return {static_cast<const char*>(PyUnicode_DATA(ascii)), static_cast<std::size_t>(PyUnicode_GET_LENGTH(ascii))};
    }

    void add(Encoder& to, const TableColumns::Value& value, const RowUse& use) {
        TableColumns::Column& column = table_.columns_[value.column];
        if (value.text && column.is_split()) {
            const bool words = column.kind == TableColumns::Kind::words;
            add_words(to, column.name, letters_of(value.text), words ? TextParts::words : TextParts::ngrams, use);
            return;
        }
        const std::uint32_t feature = find(to, value, column, use.learns());
        if (!feature) return;
        const auto name = [&] { return name_of(value, to.name); };
        if (column.is_number() && value.what != TableColumns::missing) {
            const bool flag = column.kind == TableColumns::Kind::flag;  // 0 or 1, which is not centered
            add_number(to, feature, value.x, flag ? Offset::kept : Offset::removed, use, name);
        } else {
            add_value(to, feature, 1.0, use, name);
        }
    }

    std::uint32_t find(Encoder& to, const TableColumns::Value& value, TableColumns::Column& column, bool grow) {
        if (!value.text) {
            std::uint32_t& feature = column.features[value.what];
            if (!feature) feature = to.feature(name_of(value, to.name), grow).value_or(0);
            return feature;
        }
        if (const std::uint32_t known = table_.cache_.find(value.text, value.column)) return known;
        const auto feature = to.feature(name_of(value, to.name), grow);
        if (feature) table_.cache_.add(value.text, *feature, value.column);
        return feature.value_or(0);
    }

    static constexpr double ordinary = 0x1p500;  // products of such numbers are finite

    // Keeps a reference to the text for the lifetime of the row.
    void keep(std::uint32_t column, double x, PyObject* text, TableColumns::What what) {
        values_.push_back({text, x, column, what});
        Py_XINCREF(text);
    }

    bool take_missing(std::uint32_t column) {
        if (table_.indicators_) keep(column, 1.0, nullptr, TableColumns::missing);
        return table_.may_miss_;
    }

    // Accepts only objects that a table certainly reads in the same way, without running code of the caller.
    bool take(PyObject* object, TableColumns::Kind kind, std::uint32_t column) {
        using Kind = TableColumns::Kind;
        if (PyFloat_Check(object)) {
            const double x = PyFloat_AS_DOUBLE(object);
            if (x != x) return take_missing(column);
            if (!(kind == Kind::number || kind == Kind::flag) || std::fabs(x) > ordinary) return false;
            keep(column, x, nullptr, TableColumns::number_or_false);
            return true;
        }
        if (kind == Kind::text) {
            if (!PyUnicode_CheckExact(object)) return false;
            Py_ssize_t size = 0;
            const char* const utf8 = PyUnicode_AsUTF8AndSize(object, &size);  // stored in the string
            if (!utf8) {
                PyErr_Clear();
                return false;
            }
            const std::string_view text(utf8, static_cast<std::size_t>(size));
            if (table_.marks_.contain(text)) return take_missing(column);
            if (table_.trim_ && written::trimmed(text).size() < text.size()) return false;
            keep(column, 1.0, object, TableColumns::number_or_false);
            return true;
        }
        if (kind == Kind::words || kind == Kind::ngrams) {
            // Only Python knows which letters beyond ASCII belong to words, and their lower case.
            if (!PyUnicode_CheckExact(object) || !PyUnicode_IS_COMPACT_ASCII(object)) return false;
            const std::string_view text = written::trimmed(letters_of(object));
            if (text.empty()) return false;
            if (table_.marks_.contain(text)) return take_missing(column);
            keep(column, 1.0, object, TableColumns::number_or_false);
            return true;
        }
        if (kind == Kind::boolean) {
            if (!PyBool_Check(object)) return false;
            keep(column, 1.0, nullptr, object == Py_True ? TableColumns::yes : TableColumns::number_or_false);
            return true;
        }
        if (!PyLong_CheckExact(object)) return false;
        int beyond = 0;
        const long long x = PyLong_AsLongLongAndOverflow(object, &beyond);
        if (beyond) return false;
        keep(column, static_cast<double>(x), nullptr, TableColumns::number_or_false);
        return true;
    }

    std::string_view name_of(const TableColumns::Value& value, std::string& memory) const {
        const TableColumns::Column& column = table_.columns_[value.column];
        const bool is_missing = value.what == TableColumns::missing;
        if (column.is_number() && !is_missing) return column.name;
        memory.assign(column.name).append(1, '=');
        if (is_missing) return memory.append(missing_value);
        if (value.text) return memory.append(MappingSource::text_of(value.text));
        return memory.append(value.what == TableColumns::yes ? "true" : "false");
    }
};

}  // namespace unitless
