// The core's learner with what only Python needs: rows of names as mappings, one at a time.
#pragma once

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "learner/learner.hpp"
#include "python/arrays.hpp"
#include "python/named_row.hpp"
#include "python/table_row.hpp"
#include "python/waiting_errors.hpp"

namespace unitless {

// The results of one row: a number, where the learner never gives more, or as many as it gives when its lock is held.
// The latter become an array afterwards, because making one runs Python, which must not happen under the lock.
struct OneResult {
    double value = 0;
    double* to_learn(const Learner&, std::size_t) { return &value; }
    double* to_predict(const Learner&) { return &value; }
};

class WideResult {
  public:
    double* to_learn(const Learner& learner, std::size_t new_classes) {
        return sized(learner.learn_width() + new_classes);
    }
    double* to_predict(const Learner& learner) { return sized(learner.predict_width()); }
    nb::object array() const {
        const ShortArray made(count_);
        std::copy_n(data(), count_, made.data());
        return made.array();
    }
    // The place of the largest, the first of several.
    std::size_t largest() const { return static_cast<std::size_t>(std::max_element(data(), data() + count_) - data()); }

    std::size_t size() const { return count_; }
    const double* data() const { return count_ <= few ? few_ : many_.data(); }

  private:
    static constexpr std::size_t few = 64;
    std::size_t count_ = 0;
    double few_[few];
    std::vector<double> many_;

    double* sized(std::size_t count) {
        count_ = count;
        std::fill_n(few_, count <= few ? count : 0, 0.0);
        if (count > few) many_.assign(count, 0.0);
        return count <= few ? few_ : many_.data();
    }
};

// The core's learner with what only Python needs.
class PyLearner {
  private:
    bool single_;  // one number per row, always
    void check_single() const {
        if (!single_) throw InputError("this model gives several numbers per row", "use the methods of its own class");
    }
    KnownStrings known_;
    LastNames last_;
    RowMemory spare_;
    std::uint64_t names_ = new_names();  // for columns of tables, which remember the numbers of names too
    nb::object reading_;  // what makes rows of numbers by name from the rows to predict, if there is something to do

    // A thread never waits for the learner while it holds the interpreter's lock.
    template <class... Rows>
    std::unique_lock<Lock> lock(Rows&... rows) {
        std::unique_lock<Lock> guard(learner.lock(), std::try_to_lock);
        if (!guard) {
            (rows.hold(), ...);
            const nb::gil_scoped_release release;
            guard.lock();
        }
        return guard;
    }

    // The same to predict: together with others who do, but for the rare case in which the learner must be alone. What
    // is remembered of names and rows here is safe, because the interpreter's lock is held all the time.
    class Reading {
      public:
        template <class... Rows>
        explicit Reading(PyLearner& self, Rows&... rows) {
            shared_ = std::shared_lock<Lock>(self.learner.lock(), std::try_to_lock);
            if (!shared_) {
                (rows.hold(), ...);
                const nb::gil_scoped_release release;
                shared_.lock();
            }
            if (self.learner.shares()) return;
            shared_.unlock();
            alone_ = self.lock(rows...);
        }

      private:
        std::shared_lock<Lock> shared_;
        std::unique_lock<Lock> alone_;
    };

    // Does it, if the row is like the last one and nobody else is in the way.
    template <template <class> class Guard, class Action>
    bool placed(nb::handle x, Action action) {
        const Guard<Lock> guard(learner.lock(), std::try_to_lock);
        constexpr bool reading = std::is_same_v<Guard<Lock>, std::shared_lock<Lock>>;
        if (!guard || (reading && !learner.shares()) || !last_.read_placed(x.ptr())) return false;
        action(last_.placement());
        return true;
    }

    template <class Action>
    void remembering(Action action) {
        try {
            action();
        } catch (...) {
            forget_names();
            throw;
        }
    }
    static std::uint64_t new_names() {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
    }

    // What a row that has been learned in the general way is called, for the next ones.
    void remember(const NamedRow& row) {
        if (learner.notes()) return last_.clear();
        const bool worth_placing = last_.is_worth_placing();
        if (row.is_among_last() && last_.is_like(row.size())) return last_.place(learner);
        std::size_t added = 0;
        for (std::size_t i = 0; i < row.size(); ++i) added += last_.find(row.name(i), i) == LastNames::unknown;
        if (!last_.has_room(added, row.size())) last_.clear();
        if (row.size() > LastNames::most) return;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (last_.find(row.name(i), i) != LastNames::unknown) continue;
            const std::uint32_t feature = resolver(row).by_name(row.name(i), false);
            if (feature == 0) return last_.clear();
            last_.add(row.name(i), feature);
        }
        if (worth_placing) last_.place(learner);
    }

    struct Resolver {
        PyLearner& self;
        const NamedRow& row;

        UNITLESS_INLINE std::uint32_t operator()(std::size_t i, bool grow) const {
            if (row.is_among_last()) return self.last_.feature(row.among_last(i));
            return by_name(row.name(i), grow);
        }
        UNITLESS_INLINE std::uint32_t by_name(PyObject* name, bool grow) const {
            if (const auto slot = self.known_.find(name); slot != KnownStrings::none) return slot;
            return look_up(name, grow);
        }
        UNITLESS_RARE std::uint32_t look_up(PyObject* name, bool grow) const {
            const auto feature = self.learner.feature(text_of(name), grow);
            if (feature) self.known_.remember(name, *feature);
            return feature.value_or(0);
        }
        std::string_view name(std::size_t i) const { return text_of(row.name(i)); }

        static std::string_view text_of(PyObject* name) {
            Py_ssize_t size = 0;
            const char* text = PyUnicode_AsUTF8AndSize(name, &size);
            if (!text) throw nb::python_error();
            return {text, static_cast<std::size_t>(size)};
        }
    };
    Resolver resolver(const NamedRow& row) { return {*this, row}; }

    static double offset_from(nb::handle offset) {
        const double o = number_of(offset, [] { return std::string("offset"); });
        if (!(std::fabs(o) <= largest_label))
            throw InputError("offset is " + shown(offset), "offsets must be finite, and not beyond 1e60");
        return o;
    }

    // What stands in a dict under a label, or null. NumPy's booleans are looked up as Python's, which they equal.
    static PyObject* found_in(const nb::dict& dict, nb::handle label) {
        const bool flag = NumpyScalars::layout_of(Py_TYPE(label.ptr())) == NumpyScalars::Layout::boolean;
        if (flag) label = NumpyScalars::number(label.ptr(), NumpyScalars::Layout::boolean) != 0 ? Py_True : Py_False;
        PyObject* const found = PyDict_GetItemWithError(dict.ptr(), label.ptr());
        if (!found && PyErr_Occurred()) throw nb::python_error();
        return found;
    }

    // The number of a class that is known by its label, or null.
    static PyObject* number_of_class(const nb::dict& numbers, nb::handle y) {
        const bool plain = PyUnicode_CheckExact(y.ptr()) || PyLong_CheckExact(y.ptr()) || PyBool_Check(y.ptr());
        return plain ? found_in(numbers, y) : nullptr;
    }
    // Far below 0 it is exp(score), to the last bit, and exp(-score) would not be a number.
    static double logistic(double score) { return score > -700.0 ? 1.0 / (1.0 + std::exp(-score)) : std::exp(score); }

    // The label of one row, with its weight and offset.
    struct OneLabel {
        double label, weight, offset;

        OneLabel(nb::handle y, nb::handle h, double o)
            : label(number_of(y, [] { return std::string("label"); })),
              weight(number_of(h, [] { return std::string("weight"); })),
              offset(o) {
            if (!(weight >= 0 && weight <= largest_weight))
                throw InputError("weight is " + shown(h), "weights must be between 0 and 1e15");
        }
        Labels given(std::size_t new_classes) const {
            return {&label, &weight, nullptr, new_classes, offset != 0 ? &offset : nullptr};
        }
    };

  public:
    PyLearner(const Setup& setup, const Kernel& kernel)
        : single_(!setup.engine.has_classes() && setup.engine.selecting != Selecting::sweep), learner(setup, kernel) {}

    Learner learner;

    // `RowResult`: OneResult or WideResult.
    template <class RowResult>
    void learn_row(nb::handle x, const OneLabel& one, std::size_t new_classes, RowResult& result) {
        const Labels given = one.given(new_classes);
        const auto learn = [&](Placement& row) {
            remembering([&] { learner.learn_placed(row, given, result.to_learn(learner, 0)); });
        };
        if (one.weight > 0 && new_classes == 0 && placed<std::unique_lock>(x, learn)) return;
        NamedRow row(x, spare_, last_);
        const auto guard = lock(row);
        learner.check_sum(row.size(), row.values(), 0);
        double* const predictions = result.to_learn(learner, new_classes);
        remembering([&] { learner.learn_named(row.size(), row.values(), given, resolver(row), predictions); });
        if (one.weight > 0) remember(row);
    }
    template <class RowResult>
    void predict_row(nb::handle x, double o, bool extrapolate, RowResult& result) {
        nb::object made;
        if (reading_.is_valid()) x = made = reading_(x);
        if (PyTuple_Check(x.ptr()) && made.is_valid()) {  // with the row's own offset; another one that is given counts
            if (o == 0) o = offset_from(nb::borrow(PyTuple_GetItem(made.ptr(), 1)));
            x = PyTuple_GetItem(made.ptr(), 0);
        }
        const Asking asking(extrapolate, o != 0 ? &o : nullptr);
        const auto predict = [&](Placement& row) { learner.predict_placed(row, asking, result.to_predict(learner)); };
        if (placed<std::shared_lock>(x, predict)) return;
        NamedRow row(x, spare_, last_);
        const Reading guard(*this, row);
        learner.predict_named(row.size(), row.values(), asking, resolver(row), result.to_predict(learner));
    }

    // Names that were given up are not to be remembered.
    void forget_names() {
        known_.forget();
        last_.clear();
        names_ = new_names();
    }

    void load(const Snapshot& from) {
        const auto guard = lock();
        forget_names();
        const nb::gil_scoped_release release;
        learner.load(from);
    }

    // A row of a table. False if it has to be read with more care; nothing has changed.
    template <class RowResult>
    bool learn_row_of_table(TableColumns& columns, nb::handle x, const OneLabel& label, std::size_t new_classes,
                            RowResult& result) {
        TableRow row(columns);
        if (!row.read(x.ptr())) return false;
        const auto guard = lock();
        if (!learner.has_learned()) return false;  // the first row of a table settles more than one row can
        double* const predictions = result.to_learn(learner, new_classes);
        const auto add = [&](const auto& to) { row.add_to(to, names_); };
        remembering([&] { learner.learn_added(label.given(new_classes), add, predictions); });
        return true;
    }
    template <class RowResult>
    bool predict_row_of_table(TableColumns& columns, nb::handle x, const Asking& asking, RowResult& result) {
        TableRow row(columns);
        if (!row.read(x.ptr())) return false;
        const Reading guard(*this);
        const auto add = [&](const auto& to) { row.add_to(to, names_); };
        learner.predict_added(asking, add, result.to_predict(learner));
        return true;
    }
    nb::object learn_table_row(TableColumns& columns, nb::handle x, nb::handle y, nb::handle weight,
                               nb::handle offset) {
        check_single();
        OneResult prediction;
        const bool learned = learn_row_of_table(columns, x, OneLabel(y, weight, offset_from(offset)), 0, prediction);
        return learned ? nb::object(nb::float_(prediction.value)) : nb::none();
    }
    nb::object learn_table_row_wide(TableColumns& columns, nb::handle x, nb::handle y, nb::handle weight,
                                    std::size_t new_classes) {
        WideResult predictions;
        const OneLabel label(y, weight, 0.0);
        return learn_row_of_table(columns, x, label, new_classes, predictions) ? predictions.array() : nb::none();
    }
    // The names of the features of a text of words, known or not; one that several words share is there for each.
    std::vector<std::string> word_features(const std::string& column, const std::string& text) {
        const auto guard = lock();
        return learner.word_names(column, text);
    }
    // From now on, what is given to be predicted goes through a function of Python's first; none if it is None. It must
    // not hold the learner, which would then never be freed.
    void read_with(const nb::object& function) { reading_ = function.is_none() ? nb::object() : function; }

    // One number, or one per class or rate.
    double learn_one(nb::handle x, nb::handle y, nb::handle weight, nb::handle offset) {
        check_single();
        OneResult prediction;
        learn_row(x, OneLabel(y, weight, offset_from(offset)), 0, prediction);
        return prediction.value;
    }
    double predict_one(nb::handle x, nb::handle offset, bool extrapolate) {
        check_single();
        OneResult prediction;
        predict_row(x, offset_from(offset), extrapolate, prediction);
        return prediction.value;
    }
    // Learns a row and notes what was predicted for it. True if there are many to be taken now.
    bool learn_noting(nb::handle x, nb::handle y, nb::handle weight, WaitingErrors& errors) {
        check_single();
        const OneLabel one(y, weight, 0.0);
        OneResult prediction;
        learn_row(x, one, 0, prediction);
        return errors.add(&prediction.value, 1, one.label, one.weight);
    }
    // The same for one of two labels; `sides` says which is the positive one. KeyError: it is neither.
    bool learn_side(nb::handle x, nb::handle y, nb::handle weight, const nb::dict& sides, WaitingErrors& errors) {
        PyObject* const side = found_in(sides, y);
        if (!side) throw nb::key_error();
        return learn_noting(x, side, weight, errors);
    }
    // The probabilities of two labels, by label.
    nb::dict predict_shares(nb::handle x, const nb::tuple& two) {
        check_single();
        OneResult prediction;
        predict_row(x, 0.0, false, prediction);
        const double p = logistic(prediction.value);
        nb::dict shares;
        shares[two[0]] = nb::float_(1.0 - p);
        shares[two[1]] = nb::float_(p);
        return shares;
    }
    // Learns a row whose class is among those that have numbers. None if it is not, or has to be looked at.
    nb::object learn_class(nb::handle x, nb::handle y, nb::handle weight, const nb::dict& numbers) {
        PyObject* const number = number_of_class(numbers, y);
        return number ? learn_one_wide(x, number, weight, 0, nb::float_(0.0)) : nb::none();
    }
    // The same, where what was predicted is noted; gives whether there is much to be taken now.
    nb::object learn_class_noting(nb::handle x, nb::handle y, nb::handle weight, const nb::dict& numbers,
                                  WaitingErrors& errors) {
        PyObject* const number = number_of_class(numbers, y);
        if (!number) return nb::none();
        const OneLabel one(number, weight, 0.0);
        WideResult scores;
        learn_row(x, one, 0, scores);
        return nb::bool_(errors.add(scores.data(), scores.size(), one.label, one.weight));
    }
    // The probabilities of classes by label: each against the rest, scaled to add up to 1.
    nb::dict predict_class_shares(nb::handle x, const nb::list& labels) {
        WideResult scores;
        predict_row(x, 0.0, false, scores);
        const std::size_t count = std::min(scores.size(), nb::len(labels));
        double total = 0;
        const auto share = [&](std::size_t k) { return logistic(std::max(scores.data()[k], -700.0)); };
        for (std::size_t k = 0; k < count; ++k) total += share(k);
        nb::dict shares;
        for (std::size_t k = 0; k < count; ++k) shares[labels[k]] = nb::float_(share(k) / total);
        return shares;
    }
    nb::object learn_one_wide(nb::handle x, nb::handle y, nb::handle weight, std::size_t new_classes,
                              nb::handle offset) {
        WideResult predictions;
        learn_row(x, OneLabel(y, weight, offset_from(offset)), new_classes, predictions);
        return predictions.array();
    }
    nb::object predict_one_wide(nb::handle x, bool extrapolate, nb::handle offset) {
        WideResult predictions;
        predict_row(x, offset_from(offset), extrapolate, predictions);
        return predictions.array();
    }

    // All rows are read and checked before the first is learned.
    NewDoubles learn_named(const nb::list& rows, const Doubles& y, const std::optional<Doubles>& weight,
                           std::size_t new_classes, const std::optional<Doubles>& offset) {
        std::vector<std::unique_ptr<NamedRow>> ready;
        for (nb::handle x : nb::tuple(rows)) {  // reading a row may run Python, which may change the list
            try {
                ready.push_back(std::make_unique<NamedRow>(x));
            } catch (InputError& error) {
                error.place.row = ready.size();
                throw;
            }
            ready.back()->hold();
        }
        const GivenLabels own(ready.size(), y, weight, new_classes, offset);
        const Labels given = own;
        const auto guard = lock();
        learner.check(given, ready.size());
        for (std::size_t r = 0; r < ready.size(); ++r) learner.check_sum(ready[r]->size(), ready[r]->values(), r);
        const std::size_t width = learner.learn_width() + new_classes;
        auto predictions = std::make_unique<double[]>(ready.size() * width);
        remembering([&] {
            const bool looked_up = learner.check_named_features(ready.size(), given, [&](std::size_t r, auto prepare) {
                prepare(ready[r]->size(), ready[r]->values(), resolver(*ready[r]));
            });
            if (looked_up) known_.forget();
            for (std::size_t r = 0; r < ready.size(); ++r)
                learner.learn_named(ready[r]->size(), ready[r]->values(), r ? labels_from(given, r) : given,
                                    resolver(*ready[r]), predictions.get() + r * width, r);
        });
        return hand_over<NewDoubles>(std::move(predictions), ready.size() * width);
    }
};

nb::dict snapshot(const PyLearner& self, bool slots);
Snapshot snapshot_of(const nb::dict& from);
void restore(PyLearner& self, const nb::dict& from);
void define_learner(nb::module_& m);
void define_text(nb::module_& m);
void define_dates(nb::module_& m);
void define_gather(nb::module_& m);
void define_mixture(nb::module_& m);
void define_calibration(nb::module_& m);
void define_merging(nb::module_& m, nb::class_<PyLearner>& learner);

}  // namespace unitless
