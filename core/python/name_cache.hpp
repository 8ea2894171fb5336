// A cache of feature numbers by Python string, which does not read the strings.
#pragma once

#include <Python.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace unitless {

// A string that was ever the key of a dictionary stores its hash, so finding it again takes a few nanoseconds, whether
// it is the same object or another one with the same text. Rows of a stream nearly always have their names in the same
// order; then not even the hash is needed. `column`: for text whose feature depends on the column.
class NameCache {
    struct Entry {
        PyObject* name;
        std::uint32_t feature, column;
    };
    static constexpr std::uint32_t nowhere = ~std::uint32_t{0};

  public:
    NameCache() = default;
    NameCache(const NameCache&) = delete;
    ~NameCache() { forget(); }

    // The feature's number, or 0.
    std::uint32_t find(PyObject* name, std::uint32_t column = 0) const {
        const std::uint32_t at = place_of(name, column);
        return at == nowhere ? 0 : entries_[at].feature;
    }
    // Finds the names of one row, one after another.
    class InOrder {
      public:
        explicit InOrder(const NameCache& cache)
            : cache_(cache), next_(cache.entries_.data()), end_(next_ + cache.entries_.size()) {}
        // The feature's number, or 0. The name may be any object.
        std::uint32_t find(PyObject* name) {
            if (next_ != end_ && next_->name == name) return (next_++)->feature;
            if (!PyUnicode_CheckExact(name)) return 0;
            if (next_ != end_ && is_same_text(next_->name, name)) return (next_++)->feature;
            const std::uint32_t at = cache_.place_of(name, 0);
            if (at == nowhere) return 0;
            next_ = cache_.entries_.data() + at;
            return (next_++)->feature;
        }

      private:
        const NameCache& cache_;
        const Entry *next_, *end_;
    };

    // Adds a name that is not in the cache.
    void add(PyObject* name, std::uint32_t feature, std::uint32_t column = 0) {
        if (entries_.size() == most) forget();
        if (4 * (entries_.size() + 1) > table_.size()) {
            table_.assign(std::max<std::size_t>(64, 4 * table_.size()), nowhere);
            for (std::uint32_t at = 0; at < entries_.size(); ++at) enter(at);
        }
        entries_.push_back({name, feature, column});
        Py_INCREF(name);
        enter(static_cast<std::uint32_t>(entries_.size() - 1));
    }
    void forget() {
        for (const Entry& entry : entries_) Py_DECREF(entry.name);
        entries_.clear();
        table_.clear();
    }

  private:
    static constexpr std::size_t most = 1 << 14;
    std::vector<Entry> entries_;        // in the order in which they were added
    std::vector<std::uint32_t> table_;  // from hashes to positions in `entries_`; its size is a power of two

    std::uint32_t place_of(PyObject* name, std::uint32_t column) const {
        const std::size_t mask = table_.size() - 1;
        for (std::size_t k = hash_of(name, column); !table_.empty(); ++k) {
            const std::uint32_t at = table_[k & mask];
            if (at == nowhere) break;
            const Entry& entry = entries_[at];
            if (entry.column == column && (entry.name == name || is_same_text(entry.name, name))) return at;
        }
        return nowhere;
    }
    void enter(std::uint32_t at) {
        const std::size_t mask = table_.size() - 1;
        std::size_t k = hash_of(entries_[at].name, entries_[at].column);
        while (table_[k & mask] != nowhere) ++k;
        table_[k & mask] = at;
    }
    static std::size_t hash_of(PyObject* name, std::uint32_t column) {
        const Py_hash_t known = reinterpret_cast<PyASCIIObject*>(name)->hash;
        return static_cast<std::size_t>(known != -1 ? known : PyObject_Hash(name)) + 97 * column;
    }
    static bool is_same_text(PyObject* a, PyObject* b) {
        if (PyUnicode_GET_LENGTH(a) != PyUnicode_GET_LENGTH(b) || hash_of(a, 0) != hash_of(b, 0)) return false;
        if (!PyUnicode_IS_ASCII(a) || !PyUnicode_IS_ASCII(b)) return PyUnicode_Compare(a, b) == 0;
        return std::equal(PyUnicode_1BYTE_DATA(a), PyUnicode_1BYTE_DATA(a) + PyUnicode_GET_LENGTH(a),
                          PyUnicode_1BYTE_DATA(b));
    }
};

}  // namespace unitless
