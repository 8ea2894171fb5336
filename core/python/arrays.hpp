// Conversions between Python's arrays and the core's.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/errors.hpp"
#include "base/memory.hpp"
#include "learner/results.hpp"
#include "python/released.hpp"
#include "rows/dense.hpp"
#include "rows/labels.hpp"
#include "rows/sparse.hpp"
#include "rows/table.hpp"

namespace unitless {

namespace nb = nanobind;

using Matrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Slots = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Indices = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Integers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NewDoubles = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using NewSlots = nb::ndarray<nb::numpy, std::uint32_t, nb::ndim<1>>;
using NewIntegers = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using NewLetters = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Booleans = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array, class T>
Array hand_over(std::unique_ptr<T[]> data, std::size_t n) {
    T* raw = data.release();
    return Array(raw, {n}, nb::capsule(raw, [](void* p) noexcept { delete[] static_cast<T*>(p); }));
}

// Copies an array's numbers. Python may change the array while the interpreter's lock is released, so numbers that were
// checked must not be read from the array again.
template <class Array>
auto copy_of(const Array& array) {
    return std::vector<std::remove_const_t<typename Array::Scalar>>(array.data(), array.data() + array.size());
}

template <class Array, class T>
Array copied(const std::vector<T>& from) {
    auto data = std::make_unique<T[]>(from.size());
    std::copy(from.begin(), from.end(), data.get());
    return hand_over<Array>(std::move(data), from.size());
}

// numpy.empty, looked up when the module is created. An import under a static guard could deadlock: other threads wait
// for the guard while they hold the interpreter's lock.
inline PyObject* numpy_empty = nullptr;

// A short array that NumPy allocates, which costs half as much as passing memory of the core to NumPy.
class ShortArray {
  public:
    explicit ShortArray(std::size_t n) {
        array_ = nb::steal(PyObject_CallOneArg(numpy_empty, nb::int_(n).ptr()));
        if (!array_.is_valid()) throw nb::python_error();
        if (PyObject_GetBuffer(array_.ptr(), &view_, PyBUF_WRITABLE) != 0) throw nb::python_error();
    }
    ShortArray(const ShortArray&) = delete;
    ~ShortArray() { PyBuffer_Release(&view_); }

    double* data() const { return static_cast<double*>(view_.buf); }
    nb::object array() const { return array_; }

  private:
    nb::object array_;
    Py_buffer view_{};
};

inline void load_numpy() { numpy_empty = nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr(); }

inline Type type_of(const nb::dlpack::dtype& dtype) {
    const auto code = static_cast<nb::dlpack::dtype_code>(dtype.code);
    if (code == nb::dlpack::dtype_code::Float) {
        if (dtype.bits == 32) return Type::f32;
        if (dtype.bits == 64) return Type::f64;
    }
    if (code == nb::dlpack::dtype_code::Bool) return Type::u8;
    if (code == nb::dlpack::dtype_code::Int || code == nb::dlpack::dtype_code::UInt) {
        const bool positive = code == nb::dlpack::dtype_code::UInt;
        switch (dtype.bits) {
            case 8:
                return positive ? Type::u8 : Type::i8;
            case 16:
                return positive ? Type::u16 : Type::i16;
            case 32:
                return positive ? Type::u32 : Type::i32;
            case 64:
                return positive ? Type::u64 : Type::i64;
        }
    }
    throw InputError("arrays must hold booleans, integers, float32 or float64");
}

inline bool holds_booleans(const nb::dlpack::dtype& dtype) {
    return static_cast<nb::dlpack::dtype_code>(dtype.code) == nb::dlpack::dtype_code::Bool;
}

inline Column column_of(const Vector& array) {
    const auto size = static_cast<std::ptrdiff_t>(array.itemsize());
    return {static_cast<const char*>(array.data()), array.stride(0) * size, type_of(array.dtype()), 0,
            holds_booleans(array.dtype())};
}

// An array as the kernel reads it. Columns that are not contiguous are listed one by one.
inline DenseRows dense_rows(const Matrix& x, std::vector<Column>& columns) {
    const auto size = static_cast<std::ptrdiff_t>(x.itemsize());
    const auto* data = static_cast<const char*>(x.data());
    const Type type = type_of(x.dtype());
    const bool indicators = holds_booleans(x.dtype());
    DenseRows input{data, x.stride(0) * size, type, nullptr, x.shape(1), x.shape(0), indicators};
    if (x.stride(1) != 1 && x.shape(1) > 1) {
        for (std::size_t j = 0; j < x.shape(1); ++j)
            columns.push_back({data + static_cast<std::ptrdiff_t>(j) * x.stride(1) * size,
                               x.stride(0) * size,
                               type,
                               static_cast<std::uint32_t>(1 + j),
                               indicators,
                               {},
                               static_cast<std::int64_t>(j)});
        input.columns = columns.data();
    }
    return input;
}

// A table's columns: arrays of numbers, or a tuple of one such array if the column is never centered; or (codes,
// offsets, bytes) for text. A column whose words are features is a tuple of such a text and False; one whose n-grams
// are features, of the text and True. Keeps the arrays alive.
class TableArrays {
  public:
    TableArrays(const std::vector<std::string>& names, const nb::list& listed, std::size_t rows, bool missing,
                bool indicators, bool whole = false) {
        const nb::tuple columns(listed);  // reading an array may run Python code that changes the list
        table.rows = rows;
        table.missing = missing;
        table.indicators = missing && indicators;
        table.whole = whole;
        if (names.size() != columns.size()) throw InputError("a table must have as many names as columns");
        for (std::size_t j = 0; j < names.size(); ++j) {
            nb::handle column = columns[j];
            TableColumn& to = table.columns.emplace_back();
            to.name = names[j];
            if (nb::isinstance<nb::tuple>(column) && nb::len(column) == 2 && nb::isinstance<nb::tuple>(column[0])) {
                to.parts = nb::cast<bool>(column[1]) ? TextParts::ngrams : TextParts::words;
                column = nb::borrow<nb::tuple>(column)[0];
            }
            const bool alone = !nb::isinstance<nb::tuple>(column);
            const nb::tuple parts = alone ? nb::make_tuple(column) : nb::cast<nb::tuple>(column);
            if (to.is_split() && parts.size() != 3) throw InputError("column '" + to.name + "' is malformed");
            if (parts.size() == 3) {
                const auto text = nb::cast<Bytes>(parts[2]);
                const Text& own = texts_.emplace_back(
                    Text{copy_of(nb::cast<Codes>(parts[0])), copy_of(nb::cast<Integers>(parts[1])), text});
                check_length(own.codes.size(), j);
                to.codes = own.codes.data();
                to.ends = own.ends.data();
                to.text = reinterpret_cast<const char*>(text.data());
                to.values = own.ends.empty() ? 0 : own.ends.size() - 1;
                for (std::size_t k = 0; k < to.values; ++k)
                    if (to.ends[k] < 0 || to.ends[k] > to.ends[k + 1] ||
                        to.ends[k + 1] > static_cast<std::int64_t>(text.shape(0)))
                        throw InputError("column '" + to.name + "' is malformed");
            } else {
                const auto numbers = nb::cast<Vector>(parts[0]);
                check_length(numbers.shape(0), j);
                to.numbers = column_of(numbers);
                to.numbers.indicator = to.numbers.indicator || !alone;
                numbers_.push_back(numbers);
            }
        }
    }
    TableArrays(const TableArrays&) = delete;

    Table table;

  private:
    using Codes = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    struct Text {
        std::vector<std::int32_t> codes;
        std::vector<std::int64_t> ends;
        Bytes text;
    };
    std::deque<Text> texts_;
    std::vector<Vector> numbers_;

    void check_length(std::size_t length, std::size_t j) const {
        if (length != table.rows)
            throw InputError("column '" + table.columns[j].name + "' has " + std::to_string(length) +
                             " rows, but there are " + std::to_string(table.rows));
    }
};

// Row starts and column numbers are read once, and then checked: see SparseSource.
inline SparseRows sparse_rows(const Doubles& values, const Indices& indices, const Indices& row_starts,
                              std::size_t columns) {
    const Type type = type_of(indices.dtype());
    if ((type != Type::i32 && type != Type::i64) || type_of(row_starts.dtype()) != type)
        throw InputError("the sparse matrix is malformed: its indices must be int32, or int64, as its row starts");
    if (indices.size() != values.size() || row_starts.size() == 0)
        throw InputError("the sparse matrix is malformed: its data, indices and indptr do not fit together");
    return {values.data(),         indices.data(), row_starts.data(), type == Type::i64,
            row_starts.size() - 1, columns,        values.size()};
}

inline void check_length(const char* name, std::size_t length, std::size_t rows) {
    if (length != rows)
        throw InputError(std::string(name) + " has " + std::to_string(length) + " values, but there are " +
                         std::to_string(rows) + " rows");
}

// A copied number for each row; or nothing.
class ByRow {
  public:
    ByRow(const char* name, const std::optional<Doubles>& numbers, std::size_t rows) : given_(numbers) {
        if (!numbers) return;
        check_length(name, numbers->size(), rows);
        numbers_ = copy_of(*numbers);
    }
    const double* data() const { return given_ ? numbers_.data() : nullptr; }

  private:
    bool given_;
    std::vector<double> numbers_;
};

// The labels of some rows, with their weights and offsets.
class GivenLabels {
  public:
    GivenLabels(std::size_t rows, const Doubles& y, const std::optional<Doubles>& weight, std::size_t new_classes,
                const std::optional<Doubles>& offset)
        : y_("y", y, rows),
          weight_("weight", weight, rows),
          offset_("offset", offset, rows),
          new_classes_(new_classes) {
        if (new_classes > most_classes) throw InputError("there are too many new classes");
    }
    operator Labels() const { return {y_.data(), weight_.data(), nullptr, new_classes_, offset_.data()}; }

  private:
    static constexpr std::size_t most_classes = std::size_t{1} << 31;
    ByRow y_, weight_, offset_;
    std::size_t new_classes_;
};

// Runs without the interpreter's lock, so that other threads can run Python while this one learns.
template <class Action>
NewDoubles unlocked(std::size_t count, Action action) {
    auto predictions = std::make_unique_for_overwrite<double[]>(count);
    {
        const Released release;
        action(predictions.get());
    }
    return hand_over<NewDoubles>(std::move(predictions), count);
}

// Results of a call that determines their size.
class NewResults final : public Results {
  public:
    double* allocate(std::size_t rows, std::size_t width) override {
        if (width && rows > std::numeric_limits<std::size_t>::max() / sizeof(double) / width) throw std::bad_alloc();
        count_ = rows * width;
        data_ = std::make_unique_for_overwrite<double[]>(count_);
        ask_for_huge_pages(data_.get(), count_ * sizeof(double));
        return data_.get();
    }
    NewDoubles array() { return hand_over<NewDoubles>(std::move(data_), count_); }

  private:
    std::unique_ptr<double[]> data_;
    std::size_t count_ = 0;
};

template <class Action>
NewDoubles unlocked(Action action) {
    NewResults results;
    {
        const Released release;
        action(results);
    }
    return results.array();
}

// Runs without the interpreter's lock. A thread that waits for the learner must not hold it.
template <class Action>
auto unlocked_get(Action action) {
    const Released release;
    return action();
}

}  // namespace unitless
