// Python strings that were met before, found again without reading them.

#pragma once

#include <Python.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace unitless {

// The hash of a string, which it knows if it was ever the key of a dictionary.
inline std::size_t hash_of(PyObject* text) {
    const Py_hash_t known = reinterpret_cast<PyASCIIObject*>(text)->hash;
    return static_cast<std::size_t>(known != -1 ? known : PyObject_Hash(text));
}

inline bool is_same_text(PyObject* a, PyObject* b) {
    if (PyUnicode_GET_LENGTH(a) != PyUnicode_GET_LENGTH(b)) return false;
    if (PyUnicode_IS_ASCII(a) && PyUnicode_IS_ASCII(b))
        return std::memcmp(PyUnicode_1BYTE_DATA(a), PyUnicode_1BYTE_DATA(b),
                           static_cast<std::size_t>(PyUnicode_GET_LENGTH(a))) == 0;
    return PyUnicode_Compare(a, b) == 0;
}

// Python strings that were looked up before. Their hashes are known (they are keys of a dictionary), so that finding
// one again costs a few nanoseconds, whether it is the same object or another with the same text. `column`: where the
// same text means something else in each column.
class KnownStrings {
  public:
    static constexpr std::uint32_t none = 0;
    std::uint32_t find(PyObject* name, std::uint32_t column = 0) const {
        const Entry& entry = entries_[place(name, column)];
        const bool known =
            entry.name && entry.column == column && (entry.name == name || is_same_text(entry.name, name));
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
    static std::size_t place(PyObject* name, std::uint32_t column) { return (hash_of(name) + 97 * column) % 4096; }
};

}  // namespace unitless
