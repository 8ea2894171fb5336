// One row of named features, as Python gives it: a mapping, whose names are text and whose values are numbers. Names
// that were met before are found again without looking at their text. Used only by python/learner.hpp.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "learner/learner.hpp"

namespace unitless {

namespace nb = nanobind;

inline std::string shown(nb::handle object) { return nb::cast<std::string>(nb::str(nb::repr(object))); }

template <class What>
double number_of(nb::handle object, const What& what) {
    if (PyFloat_CheckExact(object.ptr())) return PyFloat_AS_DOUBLE(object.ptr());
    if (!PyUnicode_Check(object.ptr()) && !PyBytes_Check(object.ptr())) {
        const double value = PyFloat_AsDouble(object.ptr());
        if (!(value == -1.0 && PyErr_Occurred())) return value;
        const bool no_number = PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
                               PyErr_ExceptionMatches(PyExc_OverflowError);
        if (!no_number) throw nb::python_error();
        PyErr_Clear();
    }
    throw InputError(what() + " is " + shown(object) + ", not a number");
}

// A number whose reading runs no code of the caller's and cannot fail.
inline bool plain_number(PyObject* object, double& value) {
    if (PyFloat_Check(object)) {
        value = PyFloat_AS_DOUBLE(object);
        return true;
    }
    if (!PyLong_CheckExact(object) && !PyBool_Check(object)) return false;
    value = PyLong_AsDouble(object);
    if (!(value == -1.0 && PyErr_Occurred())) return true;
    PyErr_Clear();  // too large: said where it is read again
    return false;
}

// A number that no other dict has had, nor this one before it was last changed (PEP 509); 0 where Python has none. What
// stands in the dict are numbers that cannot change, so that the row that was predicted need not be read again to be
// learned from.
inline std::uint64_t version_of([[maybe_unused]] PyObject* dict) {
#if PY_VERSION_HEX < 0x030c0000
    return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
    return 0;
#endif
}

// Python strings that were looked up before. Their hashes are known (they are keys of a dictionary), so that finding
// one again costs a few nanoseconds, whether it is the same object or another with the same text. `column`: where the
// same text means something else in each column.
class KnownStrings {
  public:
    static constexpr std::uint32_t none = 0;
    std::uint32_t find(PyObject* name, std::uint32_t column = 0) const {
        const Entry& entry = entries_[place(name, column)];
        const bool known = entry.name && entry.column == column && (entry.name == name || same(entry.name, name));
        return known ? entry.slot : none;
    }
    void remember(PyObject* name, std::uint32_t slot, std::uint32_t column = 0) {
        Entry& entry = entries_[place(name, column)];
        Py_INCREF(name);
        Py_XDECREF(entry.name);
        entry = {name, slot, column};
    }
    void forget() {
        for (auto& entry : entries_) Py_XDECREF(std::exchange(entry.name, nullptr));
    }
    KnownStrings() = default;
    KnownStrings(const KnownStrings&) = delete;
    ~KnownStrings() { forget(); }

  private:
    struct Entry {
        PyObject* name = nullptr;
        std::uint32_t slot = none, column = 0;
    };
    std::array<Entry, 4096> entries_{};
    static std::size_t place(PyObject* name, std::uint32_t column) {
        const Py_hash_t known = reinterpret_cast<PyASCIIObject*>(name)->hash;
        return (static_cast<std::size_t>(known != -1 ? known : PyObject_Hash(name)) + 97 * column) % 4096;
    }
    static bool same(PyObject* a, PyObject* b) {
        if (PyUnicode_GET_LENGTH(a) != PyUnicode_GET_LENGTH(b)) return false;
        if (PyUnicode_IS_ASCII(a) && PyUnicode_IS_ASCII(b))
            return std::memcmp(PyUnicode_1BYTE_DATA(a), PyUnicode_1BYTE_DATA(b),
                               static_cast<std::size_t>(PyUnicode_GET_LENGTH(a))) == 0;
        return PyUnicode_Compare(a, b) == 0;
    }
};

// The names of the last row, in its order, and their features. A row whose names are the same objects, as in a stream
// they nearly always are, needs neither to check nor to look up any; and where its values go is known.
class LastNames {
  public:
    bool is(std::size_t i, PyObject* name) const { return i < names_.size() && names_[i] == name; }
    std::size_t size() const { return names_.size(); }
    std::uint32_t feature(std::size_t i) const { return features_[i]; }

    // The values of a dict with these names, if they have places, to those places. False: it must be read otherwise.
    // Runs no code of the caller's.
    bool read_placed(PyObject* x) {
        if (!placed_ || !PyDict_Check(x) || static_cast<std::size_t>(PyDict_GET_SIZE(x)) != names_.size()) return false;
        const std::uint64_t version = version_of(x);
        if (version != 0 && version == read_) return true;
        read_ = 0;
        PyObject* const* expected = names_.data();
        double* const to = placement_.row().x;
        const std::uint32_t* const place = placement_.row().place;
        PyObject *name = nullptr, *object = nullptr;
        Py_ssize_t position = 0;
        std::uint64_t largest = 0;  // bits without the sign rise with the number; not finite is beyond all
        bool zero = false;
        for (std::size_t i = 0; PyDict_Next(x, &position, &name, &object); ++i) {
            if (name != expected[i]) return false;
            double value = 0;
            if (PyFloat_CheckExact(object)) {
                value = PyFloat_AS_DOUBLE(object);
            } else if (!plain_number(object, value)) {
                return false;
            }
            to[place[i]] = value;
            largest = std::max(largest, std::bit_cast<std::uint64_t>(value) << 1);
            zero |= value == 0;
        }
        // A zero is left out of a row, and in sequence the features after it then move up.
        if (zero && placement_.kind() == Placement::Kind::packed_in_sequence) return false;
        if (largest > std::bit_cast<std::uint64_t>(Learner::placed_most) << 1) return false;
        read_ = version;
        return true;
    }
    Placement& placement() { return placement_; }
    // When rows are seen to have the same names again.
    void place(const Learner& learner) {
        if (!std::exchange(tried_, true)) placed_ = learner.place(features_, placement_);
    }

    void clear() {
        placed_ = tried_ = false;
        read_ = 0;
        for (PyObject* name : names_) Py_DECREF(name);
        names_.clear();
        features_.clear();
    }
    void add(PyObject* name, std::uint32_t feature) {
        Py_INCREF(name);
        names_.push_back(name);
        features_.push_back(feature);
    }
    LastNames() = default;
    LastNames(const LastNames&) = delete;
    ~LastNames() { clear(); }

  private:
    std::vector<PyObject*> names_;
    std::vector<std::uint32_t> features_;
    Placement placement_;
    bool placed_ = false, tried_ = false;
    std::uint64_t read_ = 0;  // the version of the dict whose values stand in their places, if it has one
};

struct RowMemory {
    std::vector<PyObject*> names;
    std::vector<double> values;
};

// A mapping, read and checked. Its memory is borrowed from the learner's spare, so that a stream of rows allocates
// nothing; a row that is read while another is being read finds the spare empty and gets its own.
class NamedRow {
  public:
    explicit NamedRow(nb::handle x) { read(x, LastNames()); }
    NamedRow(nb::handle x, RowMemory& spare, const LastNames& last) : spare_(&spare) {
        memory_ = std::move(spare);
        read(x, last);
    }
    NamedRow(const NamedRow&) = delete;
    ~NamedRow() {
        if (held_)
            for (PyObject* name : memory_.names) Py_DECREF(name);
        if (spare_) *spare_ = std::move(memory_);
    }

    // The names are borrowed from the mapping. Before other code can run and change it, they become ours; and another
    // row may then be the last.
    void hold() {
        for (PyObject* name : memory_.names) Py_INCREF(name);
        held_ = true;
        repeats_ = false;
    }

    std::size_t size() const { return memory_.values.size(); }
    const double* values() const { return memory_.values.data(); }
    PyObject* name(std::size_t i) const { return memory_.names[i]; }
    // Are the names those of the last row?
    bool repeats() const { return repeats_; }

  private:
    RowMemory* spare_ = nullptr;
    RowMemory memory_;
    nb::object items_;
    bool held_ = false, repeats_ = false;

    void read(nb::handle x, const LastNames& last) {
        if (!PyDict_Check(x.ptr()) || !read_plain(x.ptr(), last)) read_any(x);
    }

    static void check_name(PyObject* name) {
        if (!PyUnicode_CheckExact(name)) throw InputError("feature names must be text, not " + shown(name));
        if (PyUnicode_GET_LENGTH(name) == 6 && PyUnicode_CompareWithASCIIString(name, "(bias)") == 0)
            throw InputError("a feature is named '(bias)', which is the bias's own name", "rename it");
        if (!PyUnicode_IS_ASCII(name) && !PyUnicode_AsUTF8(name)) {
            PyErr_Clear();
            throw InputError("feature name " + shown(name) + " is not valid Unicode");
        }
    }
    static void check_value(PyObject* name, double value) {
        if (!std::isfinite(value))
            throw InputError("the value of feature " + shown(name) + " is " + shown(nb::float_(value)),
                             "leave such features out (absent counts as 0)");
    }

    // A dict of plain floats and integers, whose reading runs no code of the caller's. False: something else is in it.
    bool read_plain(PyObject* x, const LastNames& last) {
        const auto count = static_cast<std::size_t>(PyDict_GET_SIZE(x));
        memory_.names.resize(count);
        memory_.values.resize(count);
        PyObject *name = nullptr, *object = nullptr;
        Py_ssize_t position = 0;
        bool repeats = count == last.size();
        for (std::size_t i = 0; PyDict_Next(x, &position, &name, &object); ++i) {
            double value = 0;
            if (!plain_number(object, value)) return false;
            if (!last.is(i, name)) {
                repeats = false;
                check_name(name);
            }
            check_value(name, value);
            memory_.names[i] = name;
            memory_.values[i] = value;
        }
        repeats_ = repeats;
        return true;
    }

    // Any mapping, from a list of its items that is ours alone.
    void read_any(nb::handle x) {
        memory_.names.clear();
        memory_.values.clear();
        if (!nb::hasattr(x, "items")) throw InputError("x is " + shown(x) + ", not a mapping of names to numbers");
        items_ = nb::list(x.attr("items")());
        for (nb::handle item : nb::cast<nb::list>(items_)) {
            if (!PyTuple_Check(item.ptr()) || PyTuple_GET_SIZE(item.ptr()) != 2)
                throw InputError("x is " + shown(x) + ", not a mapping of names to numbers");
            const nb::handle name = PyTuple_GET_ITEM(item.ptr(), 0), value = PyTuple_GET_ITEM(item.ptr(), 1);
            const double number = number_of(value, [&] { return "the value of feature " + shown(name); });
            check_name(name.ptr());
            check_value(name.ptr(), number);
            memory_.names.push_back(name.ptr());
            memory_.values.push_back(number);
        }
    }
};

}  // namespace unitless
