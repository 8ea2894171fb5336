// The names of the rows that came last, one row at a time, and where the values of such rows go.
//
// The rows of a stream nearly always have the same names: in the same order, in another one, some of them missing. They
// are held together here with their features. A row that has no other names is read straight into its places, and what
// is missing counts as 0 there.

#pragma once

#include <Python.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "learner/learner.hpp"
#include "python/known_strings.hpp"
#include "python/numbers.hpp"

namespace unitless {

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

class LastNames {
  public:
    static constexpr std::uint32_t unknown = ~std::uint32_t{0};

    // Which one a name is, or `unknown`. `expected`: the one that it probably is.
    std::uint32_t find(PyObject* name, std::size_t expected) const {
        if (expected < names_.size() && names_[expected] == name) return static_cast<std::uint32_t>(expected);
        return look_up(name);
    }
    std::size_t size() const { return names_.size(); }
    std::uint32_t feature(std::size_t i) const { return features_[i]; }

    // The values of a dict that has these names and no others, if they have places, to those places. False: it must be
    // read otherwise. Runs no code of the caller's.
    bool read_placed(PyObject* x) {
        if (!placed_ || !PyDict_Check(x) || !is_like(static_cast<std::size_t>(PyDict_GET_SIZE(x)))) return false;
        const std::uint64_t version = version_of(x);
        if (version != 0 && version == read_) return true;
        read_ = 0;
        const auto count = static_cast<std::size_t>(PyDict_GET_SIZE(x));
        const bool whole = count == names_.size();
        if (!whole && !placement_.may_miss()) return false;
        if (!whole) placement_.expect_some();
        double* const to = placement_.row().x;
        const std::uint32_t* const place = placement_.row().place;
        PyObject *name = nullptr, *object = nullptr;
        Py_ssize_t position = 0;
        PlainNumbers numbers;
        std::uint64_t largest = 0;  // bits without the sign rise with the number; not finite is beyond all
        bool zero = false;
        for (std::size_t expected = 0; PyDict_Next(x, &position, &name, &object); ++expected) {
            expected = find(name, expected);
            double value = 0;
            if (expected == unknown || !numbers.read(object, value)) return false;
            to[place[expected]] = value;
            if (!whole) placement_.meet(place[expected]);
            largest = std::max(largest, std::bit_cast<std::uint64_t>(value) << 1);
            zero |= value == 0;
        }
        // A zero is left out of a row, and in sequence the features after it then move up.
        if (zero && placement_.kind() == Placement::Kind::packed_in_sequence) return false;
        if (largest > std::bit_cast<std::uint64_t>(Learner::placed_most) << 1) return false;
        if (whole) {
            placement_.take_all();
        } else {
            placement_.take_met();
        }
        read_ = version;
        ++served_;
        return true;
    }
    Placement& placement() { return placement_; }

    // A row of these names has been learned in the general way.
    void place(const Learner& learner) {
        if (!std::exchange(tried_, true)) placed_ = learner.place(features_, placement_);
        served_ = 0;
    }
    // Have enough rows been read into their places for new ones to be worth working out at once?
    bool is_worth_placing() const { return served_ >= 4; }

    // Would a row of so many names take its places here, rather than be lost in them?
    bool is_like(std::size_t count) const { return count <= names_.size() && names_.size() <= 2 * count; }
    // Can so many names be added, for a row of so many?
    bool has_room(std::size_t added, std::size_t row) const { return names_.size() + added <= std::min(2 * row, most); }

    void clear() {
        unplace();
        served_ = 0;
        for (PyObject* name : names_) Py_DECREF(name);
        names_.clear();
        features_.clear();
        std::fill(table_.begin(), table_.end(), unknown);
    }
    void add(PyObject* name, std::uint32_t feature) {
        unplace();
        Py_INCREF(name);
        names_.push_back(name);
        features_.push_back(feature);
        if (table_.size() < 4 * names_.size()) {
            table_.assign(std::bit_ceil(8 * names_.size()), unknown);
            for (std::uint32_t i = 0; i < names_.size(); ++i) enter(i);
        } else {
            enter(static_cast<std::uint32_t>(names_.size() - 1));
        }
    }
    static constexpr std::size_t most = 4096;  // names
    LastNames() = default;
    LastNames(const LastNames&) = delete;
    ~LastNames() { clear(); }

  private:
    std::vector<PyObject*> names_;
    std::vector<std::uint32_t> features_;
    std::vector<std::uint32_t> table_;  // from the hashes of names to their numbers; its size is a power of two
    Placement placement_;
    bool placed_ = false, tried_ = false;
    std::uint64_t read_ = 0;    // the version of the dict whose values stand in their places, if it has one
    std::uint64_t served_ = 0;  // rows that were read into these places

    void unplace() {
        placed_ = tried_ = false;
        read_ = 0;
    }
    void enter(std::uint32_t i) {
        std::size_t at = hash_of(names_[i]);
        while (table_[at & (table_.size() - 1)] != unknown) ++at;
        table_[at & (table_.size() - 1)] = i;
    }
    std::uint32_t look_up(PyObject* name) const {
        if (names_.empty() || !PyUnicode_CheckExact(name)) return unknown;
        for (std::size_t at = hash_of(name);; ++at) {
            const std::uint32_t i = table_[at & (table_.size() - 1)];
            if (i == unknown || names_[i] == name || is_same_text(names_[i], name)) return i;
        }
    }
};

}  // namespace unitless
