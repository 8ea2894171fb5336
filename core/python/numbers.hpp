// Numbers from Python: floats, integers, booleans, NumPy's scalars, and objects that can be converted.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>
#include <string>

#include "base/errors.hpp"

namespace unitless {

namespace nb = nanobind;

inline std::string shown(nb::handle object) { return nb::cast<std::string>(nb::str(nb::repr(object))); }

// NumPy's scalar types, whose conversion to a number runs no code of the caller.
class NumpyScalars {
  public:
    // Called when the module is created.
    static void load() {
        try {
            const nb::module_ numpy = nb::module_::import_("numpy");
            std::size_t count = 0;
            for (const char* name : names_)
                types_[count++] = reinterpret_cast<PyTypeObject*>(nb::object(numpy.attr(name)).release().ptr());
        } catch (const nb::python_error&) {  // without NumPy there are no such scalars
        }
    }
    static bool contain(const PyTypeObject* type) {
        for (const PyTypeObject* known : types_)
            if (known == type) return true;
        return false;
    }
    static bool is_boolean(PyObject* object) { return Py_TYPE(object) == types_[0]; }

  private:
    static constexpr std::array names_ = {"bool_", "float32", "float64", "int64",  "int32", "int16",
                                          "int8",  "uint64",  "uint32",  "uint16", "uint8"};
    inline static std::array<const PyTypeObject*, names_.size()> types_{};
};

// Reads a number if this runs no code of the caller. Returns false if it is something else.
inline bool read_plain_number(PyObject* object, double& value) {
    if (PyFloat_Check(object)) {
        value = PyFloat_AS_DOUBLE(object);
        return true;
    }
    if (PyBool_Check(object)) {
        value = object == Py_True ? 1.0 : 0.0;
        return true;
    }
    if (PyLong_CheckExact(object)) {
        value = PyLong_AsDouble(object);
    } else if (NumpyScalars::contain(Py_TYPE(object))) {
        value = PyFloat_AsDouble(object);
    } else {
        return false;
    }
    if (!(value == -1.0 && PyErr_Occurred())) return true;
    PyErr_Clear();  // too large: the general conversion reports this
    return false;
}

template <class What>
double number_of(nb::handle object, const What& what, const char* advice = "") {
    double value = 0;
    if (read_plain_number(object.ptr(), value)) return value;
    if (!PyUnicode_Check(object.ptr()) && !PyBytes_Check(object.ptr())) {
        value = PyFloat_AsDouble(object.ptr());
        if (!(value == -1.0 && PyErr_Occurred())) return value;
        const bool no_number = PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
                               PyErr_ExceptionMatches(PyExc_OverflowError);
        if (!no_number) throw nb::python_error();
        PyErr_Clear();
    }
    throw InputError(what() + " is " + shown(object) + ", not a number", advice);
}

}  // namespace unitless
