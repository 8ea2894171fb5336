// Rows of named features from Python: mappings from names (text) to numbers.
#pragma once

#include <nanobind/nanobind.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.hpp"
#include "base/memory.hpp"
#include "encoding/encoder.hpp"
#include "encoding/named_row.hpp"
#include "python/name_cache.hpp"
#include "python/numbers.hpp"

namespace unitless {

namespace nb = nanobind;

// The entries of mappings, row by row.
struct MappingEntries {
    std::vector<PyObject*, Unset<PyObject*>> names;  // borrowed from the mappings, until `hold`
    std::vector<double, Unset<double>> values;
    std::vector<std::uint32_t, Unset<std::uint32_t>> features;  // 0 if the cache did not know them
    std::vector<std::size_t> row_ends;
    bool in_use = false;

    void resize(std::size_t count) {
        names.resize(count);
        values.resize(count);
        features.resize(count);
    }
};

// Mappings are read and checked when they are added, and encoded while the interpreter's lock is held. The memory
// belongs to the learner, so that a stream of rows allocates nothing. A source that is created while another one uses
// this memory gets its own.
class MappingSource final : public RowSource {
  public:
    MappingSource(MappingEntries& shared, NameCache& cache)
        : own_(shared.in_use ? std::make_unique<MappingEntries>() : nullptr),
          entries_(own_ ? *own_ : shared),
          cache_(cache) {
        entries_.in_use = true;
        entries_.resize(0);
        entries_.row_ends.clear();
    }
    ~MappingSource() {
        for (std::size_t k = 0; k < held_; ++k) Py_DECREF(entries_.names[k]);
        entries_.in_use = false;
    }

    // Throws InputError if a name or a value is invalid.
    void add(nb::handle x) {
        if (!PyDict_Check(x.ptr()) || !add_plain(x.ptr())) add_any(x);
        entries_.row_ends.push_back(entries_.names.size());
    }

    // Must be called before other code can run, because it may change the mappings and the cache.
    void hold() {
        for (; held_ < entries_.names.size(); ++held_) {
            Py_INCREF(entries_.names[held_]);
            entries_.features[held_] = 0;
        }
        ready_ = false;
    }

    std::size_t rows() const override { return entries_.row_ends.size(); }
    std::size_t features_per_row() const override {
        return std::max<std::size_t>(1, entries_.names.size() / std::max<std::size_t>(1, rows()));
    }
    DataKind kind() const override { return {.has_columns = true, .columns = rows() ? entries_.row_ends[0] : 0}; }
    void check_features(const Encoder& encoder) const override { encoder.check_named(); }
    void check_values(const Encoder& encoder, std::size_t, std::size_t) override {
        encoder.check_magnitude(std::bit_cast<double>(largest_), entries_.names.size());
    }
    void begin_learning(Encoder& encoder, bool counts) override {
        if (counts) encoder.use_names();
    }
    std::size_t encode(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                       const double* weight) override {
        return to.add_rows(first, most, purpose, weight, [&](std::size_t row, std::size_t, const RowUse& use) {
            const std::size_t begin = row_begin(row), count = entries_.row_ends[row] - begin;
            const double* const values = entries_.values.data() + begin;
            const auto find = [&](std::size_t i) {
                const std::uint32_t known = entries_.features[begin + i];
                return known ? known : look_up(to, entries_.names[begin + i], use.learns());
            };
            const auto name = [&](std::size_t i) { return text_of(entries_.names[begin + i]); };
            add_named_row(to, count, values, use, find, name);
        });
    }
    bool as_batch(std::size_t first, std::size_t most, Batch& to) const override {
        if (!ready_) return false;
        to = {.rows = std::min(most, rows() - first),
              .slots = entries_.features.data(),
              .values = entries_.values.data(),
              .row_ends = entries_.row_ends.data() + first,
              .first = row_begin(first)};
        return true;
    }
    void forget_features() override {
        std::fill(entries_.features.begin(), entries_.features.end(), 0);
        ready_ = false;
        cache_.forget();
    }

    static std::string_view text_of(PyObject* name) {
        Py_ssize_t size = 0;
        const char* text = PyUnicode_AsUTF8AndSize(name, &size);
        if (!text) throw nb::python_error();
        return {text, static_cast<std::size_t>(size)};
    }

  private:
    std::unique_ptr<MappingEntries> own_;
    MappingEntries& entries_;
    NameCache& cache_;
    std::uint64_t largest_ = 0;      // the bits of the largest magnitude, which have the same order as the values
    std::vector<nb::object> items_;  // own the names and values of mappings that are not dicts
    bool ready_ = true;              // in all rows, features are known and increase, and no value is zero
    std::size_t held_ = 0;           // the number of names to which this object has a reference

    std::size_t row_begin(std::size_t row) const { return row ? entries_.row_ends[row - 1] : 0; }

    std::uint32_t look_up(Encoder& encoder, PyObject* name, bool grow) {
        if (const std::uint32_t known = cache_.find(name)) return known;
        const auto feature = encoder.feature(text_of(name), grow);
        if (feature) cache_.add(name, *feature);
        return feature.value_or(0);
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
    static std::uint64_t magnitude(double value) { return std::bit_cast<std::uint64_t>(value) << 1 >> 1; }
    // Throws if one of the entries from `begin` on is not a valid number.
    void check_values_from(std::size_t begin) const {
        if (largest_ <= magnitude(largest_value)) return;  // invalid numbers and NaN have larger bits
        for (std::size_t k = begin; k < entries_.names.size(); ++k) {
            const double value = entries_.values[k];
            if (is_usable(value)) continue;
            throw InputError("the value of feature " + shown(entries_.names[k]) + " is " + shown(nb::float_(value)),
                             std::isfinite(value) ? "numbers must stay below 1e300: use larger units"
                                                  : "leave such features out (absent counts as 0)");
        }
    }

    // Adds a dict of plain numbers, whose reading runs no code of the caller. Returns false if it contains something
    // else.
    bool add_plain(PyObject* x) {
        const std::size_t begin = entries_.names.size(), count = static_cast<std::size_t>(PyDict_GET_SIZE(x));
        entries_.resize(begin + count);
        PyObject *name = nullptr, *object = nullptr;
        Py_ssize_t position = 0;
        NameCache::InOrder known(cache_);
        PyObject** const names = entries_.names.data();
        double* const values = entries_.values.data();
        std::uint32_t* const features = entries_.features.data();
        std::uint32_t last = 0;
        std::uint64_t largest = largest_;
        bool ready = ready_;
        for (std::size_t k = begin; PyDict_Next(x, &position, &name, &object); ++k) {
            double value = 0;
            if (!read_plain_number(object, value)) {
                entries_.resize(begin);
                return false;
            }
            const std::uint32_t feature = known.find(name);
            if (!feature) check_name(name);
            names[k] = name;
            values[k] = value;
            features[k] = feature;
            const std::uint64_t size = magnitude(value);
            ready &= (feature > last) & (size != 0);
            last = feature;
            largest = std::max(largest, size);
        }
        largest_ = largest;
        ready_ = ready;
        check_values_from(begin);
        return true;
    }

    // Adds any mapping, from a private list of its items.
    void add_any(nb::handle x) {
        if (!nb::hasattr(x, "items")) throw InputError("x is " + shown(x) + ", not a mapping of names to numbers");
        const nb::list items(x.attr("items")());
        items_.push_back(items);
        for (nb::handle item : items) {
            if (!PyTuple_Check(item.ptr()) || PyTuple_GET_SIZE(item.ptr()) != 2)
                throw InputError("x is " + shown(x) + ", not a mapping of names to numbers");
            const nb::handle name = PyTuple_GET_ITEM(item.ptr(), 0), value = PyTuple_GET_ITEM(item.ptr(), 1);
            const double number = number_of(
                value, [&] { return "the value of feature " + shown(name); },
                "give a number, or leave the feature out; a category is its own feature, such as {'color=red': 1}");
            check_name(name.ptr());
            const std::size_t k = entries_.names.size();
            entries_.resize(k + 1);
            entries_.names[k] = name.ptr();
            entries_.values[k] = number;
            entries_.features[k] = 0;
            ready_ = false;
            largest_ = std::max(largest_, magnitude(number));
            check_values_from(k);
        }
    }
};

}  // namespace unitless
