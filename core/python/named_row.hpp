// One row of named features, as Python gives it: a mapping, whose names are text and whose values are numbers. Names
// that were met before are found again without looking at their text. Used only by python/learner.hpp.

#pragma once

#include <nanobind/nanobind.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "python/last_names.hpp"
#include "python/numbers.hpp"

namespace unitless {

namespace nb = nanobind;

struct RowMemory {
    std::vector<PyObject*> names;
    std::vector<double> values;
    std::vector<std::uint32_t> last;  // which of the last rows' names each is
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
        if (held_) return;
        for (PyObject* name : memory_.names) Py_INCREF(name);
        held_ = true;
        among_last_ = false;
    }

    std::size_t size() const { return memory_.values.size(); }
    const double* values() const { return memory_.values.data(); }
    PyObject* name(std::size_t i) const { return memory_.names[i]; }
    // Are all names among those of the last rows, and which of them are they?
    bool is_among_last() const { return among_last_; }
    std::uint32_t among_last(std::size_t i) const { return memory_.last[i]; }

  private:
    RowMemory* spare_ = nullptr;
    RowMemory memory_;
    nb::object items_;
    bool held_ = false, among_last_ = false;

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
        if (!is_usable(value))
            throw InputError("the value of feature " + shown(name) + " is " + shown(nb::float_(value)),
                             std::isfinite(value) ? "numbers must stay below 1e300: use larger units"
                                                  : "leave such features out (absent counts as 0)");
    }

    // A dict of plain floats and integers, whose reading runs no code of the caller's. False: something else is in it.
    bool read_plain(PyObject* x, const LastNames& last) {
        const auto count = static_cast<std::size_t>(PyDict_GET_SIZE(x));
        memory_.names.resize(count);
        memory_.values.resize(count);
        memory_.last.resize(count);
        PyObject *name = nullptr, *object = nullptr;
        Py_ssize_t position = 0;
        PlainNumbers numbers;
        bool known = true;
        std::size_t expected = 0;
        for (std::size_t i = 0; PyDict_Next(x, &position, &name, &object); ++i) {
            double value = 0;
            if (!numbers.read(object, value)) return false;
            const std::uint32_t at = last.find(name, expected);
            if (at == LastNames::unknown) {
                known = false;
                check_name(name);
            } else {
                expected = std::size_t{at} + 1;
            }
            check_value(name, value);
            memory_.names[i] = name;
            memory_.values[i] = value;
            memory_.last[i] = at;
        }
        among_last_ = known;
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
