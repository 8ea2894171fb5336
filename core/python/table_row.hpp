// One row of a table, as Python gives it: a dict of column names and values. What a value means, its column says: a
// number, a flag (a number that is 0 or 1), text (a feature `column=value`), words (a feature for each) or a boolean
// (`column=true`, `column=false`). Keys that are not columns do not matter, and columns without a key have no value.
// Used only by python/learner.hpp.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "python/named_row.hpp"
#include "rows/table.hpp"
#include "text/written_number.hpp"

namespace unitless {

class TableColumns {
  public:
    // `kinds`: "number", "flag", "text", "words" or "boolean". `missing`: what a missing value is: "error", "absent" or
    // "indicator", the feature `column=(missing)`. `marks`: text that stands for one. `trim`: text loses the blanks
    // around it.
    TableColumns(const std::vector<std::string>& names, const std::vector<std::string>& kinds,
                 const std::string& missing, const std::vector<std::string>& marks, bool trim)
        : may_miss_(missing != "error"), indicators_(missing == "indicator"), marks_(marks), trim_(trim) {
        if (names.size() != kinds.size()) throw InputError("columns and kinds do not fit together");
        for (std::size_t j = 0; j < names.size(); ++j) {
            PyObject* key = PyUnicode_FromStringAndSize(names[j].data(), static_cast<Py_ssize_t>(names[j].size()));
            if (!key) throw nb::python_error();
            PyUnicode_InternInPlace(&key);  // then it nearly always is the very key of the row
            columns_.push_back({nb::steal(key), names[j], kind_named(kinds[j]), {0, 0, 0}});
        }
    }

  private:
    friend class TableRow;
    enum class Kind : unsigned char { number, flag, text, words, boolean };
    static Kind kind_named(std::string_view kind) {
        if (kind == "number" || kind == "flag") return kind == "flag" ? Kind::flag : Kind::number;
        return kind == "text" ? Kind::text : kind == "words" ? Kind::words : Kind::boolean;
    }
    struct Column {
        nb::object key;
        std::string name;
        Kind kind;
        std::uint32_t features[3];  // as far as they are known, by what a value is
        bool is_number() const { return kind == Kind::number || kind == Kind::flag; }
    };
    enum What : unsigned char { number_or_false = 0, yes = 1, missing = 2 };
    struct Value {
        PyObject* text;  // ours; null for numbers, booleans and missing values
        double x;
        std::uint32_t column;
        What what;
    };
    std::vector<Column> columns_;
    bool may_miss_, indicators_;
    MissingMarks marks_;
    bool trim_;
    std::uint64_t names_ = 0;  // to which numbers of names the known ones belong
    KnownStrings known_;
    std::vector<Value> spare_;
};

// Its memory is borrowed from the columns' spare, so that a stream of rows allocates nothing.
class TableRow {
  public:
    explicit TableRow(TableColumns& table) : table_(table), values_(std::move(table.spare_)) { values_.clear(); }
    TableRow(const TableRow&) = delete;
    ~TableRow() {
        for (const auto& value : values_) Py_XDECREF(value.text);
        table_.spare_ = std::move(values_);
    }

    // False: something is in it that has to be looked at with more care; nothing is wrong with it yet.
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

    // To a SingleTableRow; the caller holds the learner's lock. `names`: a number that is another one for every
    // learner, and once names that have numbers have been forgotten.
    template <class To>
    void add_to(To to, std::uint64_t names) {
        if (table_.names_ != names) {
            table_.names_ = names;
            table_.known_.forget();
            for (auto& column : table_.columns_) std::fill_n(column.features, 3, 0);
        }
        for (const TableColumns::Value& value : values_) {
            TableColumns::Column& column = table_.columns_[value.column];
            if (value.text && column.kind == TableColumns::Kind::words) {
                to.add_words(column.name, letters_of(value.text));
                continue;
            }
            const std::uint32_t feature = find(to, value, column);
            if (!feature) continue;
            const auto name = [&] { return name_of(value); };
            if (column.is_number() && value.what != TableColumns::missing) {
                to.add_number(feature, value.x, column.kind == TableColumns::Kind::flag, name);
            } else {
                to.add_category(feature, name);
            }
        }
    }

  private:
    TableColumns& table_;
    std::vector<TableColumns::Value> values_;
    std::string name_;

    static std::string_view letters_of(PyObject* ascii) {
        return {static_cast<const char*>(PyUnicode_DATA(ascii)), static_cast<std::size_t>(PyUnicode_GET_LENGTH(ascii))};
    }

    template <class To>
    std::uint32_t find(To& to, const TableColumns::Value& value, TableColumns::Column& column) {
        if (!value.text) {
            std::uint32_t& feature = column.features[value.what];
            if (!feature) feature = to.feature(name_of(value));
            return feature;
        }
        KnownStrings& known = table_.known_;
        if (const auto feature = known.find(value.text, value.column); feature != KnownStrings::none) return feature;
        const std::uint32_t feature = to.feature(name_of(value));
        if (feature) known.remember(value.text, feature, value.column);
        return feature;
    }

    void add(std::uint32_t column, double x, PyObject* text, TableColumns::What what) {
        values_.push_back({text, x, column, what});
        Py_XINCREF(text);
    }

    bool take_missing(std::uint32_t column) {
        if (table_.indicators_) add(column, 1.0, nullptr, TableColumns::missing);
        return table_.may_miss_;
    }

    // Only what is certainly read as a table would read it, without running any code of the caller's.
    bool take(PyObject* object, TableColumns::Kind kind, std::uint32_t column) {
        using Kind = TableColumns::Kind;
        if (PyFloat_Check(object)) {
            const double x = PyFloat_AS_DOUBLE(object);
            if (x != x) return take_missing(column);
            if (!(kind == Kind::number || kind == Kind::flag) || std::fabs(x) > Learner::placed_most) return false;
            add(column, x, nullptr, TableColumns::number_or_false);
            return true;
        }
        if (kind == Kind::text) {
            if (!PyUnicode_CheckExact(object)) return false;
            Py_ssize_t size = 0;
            const char* const utf8 = PyUnicode_AsUTF8AndSize(object, &size);  // kept in the string
            if (!utf8) {
                PyErr_Clear();
                return false;
            }
            const std::string_view text(utf8, static_cast<std::size_t>(size));
            if (table_.marks_.contain(text)) return take_missing(column);
            if (table_.trim_ && written::trimmed(text).size() < text.size()) return false;
            add(column, 1.0, object, TableColumns::number_or_false);
            return true;
        }
        if (kind == Kind::words) {
            // Python knows which letters beyond ASCII make words.
            if (!PyUnicode_CheckExact(object) || !PyUnicode_IS_COMPACT_ASCII(object)) return false;
            const std::string_view text = written::trimmed(letters_of(object));
            if (text.empty()) return false;
            if (table_.marks_.contain(text)) return take_missing(column);
            add(column, 1.0, object, TableColumns::number_or_false);
            return true;
        }
        if (kind == Kind::boolean) {
            if (!PyBool_Check(object)) return false;
            add(column, 1.0, nullptr, object == Py_True ? TableColumns::yes : TableColumns::number_or_false);
            return true;
        }
        if (!PyLong_CheckExact(object)) return false;
        int beyond = 0;
        const long long x = PyLong_AsLongLongAndOverflow(object, &beyond);
        if (beyond) return false;
        add(column, static_cast<double>(x), nullptr, TableColumns::number_or_false);
        return true;
    }

    std::string_view name_of(const TableColumns::Value& value) {
        const TableColumns::Column& column = table_.columns_[value.column];
        const bool is_missing = value.what == TableColumns::missing;
        if (column.is_number() && !is_missing) return column.name;
        name_.assign(column.name).append(1, '=');
        if (is_missing) return name_.append(missing_value);
        if (value.text) {
            Py_ssize_t size = 0;
            const char* const text = PyUnicode_AsUTF8AndSize(value.text, &size);
            if (!text) throw nb::python_error();
            return name_.append(text, static_cast<std::size_t>(size));
        }
        return name_.append(value.what == TableColumns::yes ? "true" : "false");
    }
};

}  // namespace unitless
