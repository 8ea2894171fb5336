// Numbers as Python gives them: floats, integers, booleans, NumPy's scalars, and whatever else can become one.

#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/errors.hpp"

namespace unitless {

namespace nb = nanobind;

inline std::string shown(nb::handle object) { return nb::cast<std::string>(nb::str(nb::repr(object))); }

// NumPy's scalars. Their number stands right behind the head of the object, as it does in Python's own floats, so that
// it can be read without a call. Each type is tried once, when the module is loaded; one that is otherwise is left to
// Python.
class NumpyScalars {
  public:
    enum class Layout : unsigned char { none, f64, f32, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

    static void load() {
        constexpr std::pair<const char*, Layout> known[] = {
            {"float64", Layout::f64}, {"float32", Layout::f32}, {"int64", Layout::i64}, {"bool_", Layout::boolean},
            {"int32", Layout::i32},   {"int16", Layout::i16},   {"int8", Layout::i8},   {"uint64", Layout::u64},
            {"uint32", Layout::u32},  {"uint16", Layout::u16},  {"uint8", Layout::u8},
        };
        static_assert(std::size(known) <= most);
        try {
            const nb::module_ numpy = nb::module_::import_("numpy");
            std::size_t count = 0;
            for (const auto& [name, layout] : known) {
                const nb::object type = numpy.attr(name), one = type(1);
                if (Py_TYPE(one.ptr()) == reinterpret_cast<PyTypeObject*>(type.ptr()) && number(one.ptr(), layout) == 1)
                    types_[count++] = {reinterpret_cast<PyTypeObject*>(nb::object(type).release().ptr()), layout};
            }
        } catch (const nb::python_error&) {  // without NumPy nobody has its scalars
        }
    }

    static Layout layout_of(const PyTypeObject* type) {
        for (const auto& [known, layout] : types_)
            if (known == type) return layout;
        return Layout::none;
    }

    static double number(PyObject* scalar, Layout layout) {
        switch (layout) {
            case Layout::f64:
                return read<double>(scalar);
            case Layout::f32:
                return read<float>(scalar);
            case Layout::i64:
                return static_cast<double>(read<std::int64_t>(scalar));
            case Layout::i32:
                return read<std::int32_t>(scalar);
            case Layout::i16:
                return read<std::int16_t>(scalar);
            case Layout::i8:
                return read<std::int8_t>(scalar);
            case Layout::u64:
                return static_cast<double>(read<std::uint64_t>(scalar));
            case Layout::u32:
                return read<std::uint32_t>(scalar);
            case Layout::u16:
                return read<std::uint16_t>(scalar);
            case Layout::u8:
                return read<std::uint8_t>(scalar);
            case Layout::boolean:
                return read<std::uint8_t>(scalar) != 0 ? 1.0 : 0.0;
            case Layout::none:
                break;
        }
        return 0;
    }

  private:
    static constexpr std::size_t most = 11;
    struct Known {
        const PyTypeObject* type;
        Layout layout;
    };
    inline static std::array<Known, most> types_{};

    template <class T>
    static T read(PyObject* scalar) {
        T value;
        std::memcpy(&value, reinterpret_cast<const char*>(scalar) + sizeof(PyObject), sizeof(T));
        return value;
    }
};

// Reads numbers whose reading runs no code of the caller's and cannot fail; the numbers of a row are mostly of one
// type, which is recognised once.
class PlainNumbers {
  public:
    bool read(PyObject* object, double& value) {
        if (PyFloat_CheckExact(object)) {
            value = PyFloat_AS_DOUBLE(object);
            return true;
        }
        return read_other(object, value);
    }

  private:
    const PyTypeObject* type_ = nullptr;
    NumpyScalars::Layout layout_ = NumpyScalars::Layout::none;

    bool read_other(PyObject* object, double& value) {
        if (Py_TYPE(object) == type_) {
            value = NumpyScalars::number(object, layout_);
            return true;
        }
        if (PyBool_Check(object)) {
            value = object == Py_True ? 1.0 : 0.0;
            return true;
        }
        if (PyLong_CheckExact(object)) {
            value = PyLong_AsDouble(object);
            if (!(value == -1.0 && PyErr_Occurred())) return true;
            PyErr_Clear();  // too large: said where it is read again
            return false;
        }
        if (const auto layout = NumpyScalars::layout_of(Py_TYPE(object)); layout != NumpyScalars::Layout::none) {
            type_ = Py_TYPE(object);
            layout_ = layout;
            value = NumpyScalars::number(object, layout);
            return true;
        }
        if (!PyFloat_Check(object)) return false;
        value = PyFloat_AS_DOUBLE(object);
        return true;
    }
};

inline bool plain_number(PyObject* object, double& value) { return PlainNumbers().read(object, value); }

template <class What>
double number_of(nb::handle object, const What& what) {
    double value = 0;
    if (plain_number(object.ptr(), value)) return value;
    if (!PyUnicode_Check(object.ptr()) && !PyBytes_Check(object.ptr())) {
        value = PyFloat_AsDouble(object.ptr());
        if (!(value == -1.0 && PyErr_Occurred())) return value;
        const bool no_number = PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError) ||
                               PyErr_ExceptionMatches(PyExc_OverflowError);
        if (!no_number) throw nb::python_error();
        PyErr_Clear();
    }
    throw InputError(what() + " is " + shown(object) + ", not a number");
}

}  // namespace unitless
