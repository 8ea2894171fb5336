// The core's learner with functions that only Python needs: single rows, as mappings or as rows of a table.
#pragma once

#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "learner/learner.hpp"
#include "python/arrays.hpp"
#include "python/mapping_source.hpp"
#include "python/table_row_source.hpp"
#include "python/waiting_errors.hpp"

namespace unitless {

// The results of one row. They become an array later, because creating an array runs Python code, which must not happen
// while the learner is locked.
class RowResult final : public Results {
  public:
    double* allocate(std::size_t rows, std::size_t width) override {
        count_ = rows * width;
        if (count_ > few) many_.resize(count_);
        return count_ > few ? many_.data() : few_;
    }
    std::size_t size() const { return count_; }
    const double* data() const { return count_ > few ? many_.data() : few_; }
    nb::object array() const {
        const ShortArray made(count_);
        std::copy_n(data(), count_, made.data());
        return made.array();
    }
    // The position of the largest result; the first one if there are several.
    std::size_t largest() const { return static_cast<std::size_t>(std::max_element(data(), data() + count_) - data()); }

  private:
    static constexpr std::size_t few = 64;
    std::size_t count_ = 0;
    double few_[few];
    std::vector<double> many_;
};

// The label of one row, with its weight and offset.
class RowLabel {
  public:
    RowLabel(nb::handle y, nb::handle h, double offset)
        : label_(number_of(y, [] { return std::string("label"); })),
          weight_(number_of(h, [] { return std::string("weight"); })),
          offset_(offset) {
        if (!(weight_ >= 0 && weight_ <= largest_weight))
            throw InputError("weight is " + shown(h), "weights must be between 0 and 1e15");
    }
    double label() const { return label_; }
    double weight() const { return weight_; }
    Labels given(std::size_t new_classes) const {
        return {&label_, &weight_, nullptr, new_classes, offset_ != 0 ? &offset_ : nullptr};
    }

  private:
    double label_, weight_, offset_;
};

class PyLearner {
  private:
    bool single_;  // whether results always have one number per row
    NameCache names_;
    MappingEntries entries_;
    std::uint64_t numbering_ = new_numbering();  // identifies the current numbers of names, which table columns cache
    // In a model that `train` made: the Python object that reads its rows and labels, and then calls the learner. The
    // object has the methods `learn(x, y, weight, offset)` and `predict(x, offset, extrapolate)`.
    nb::object row_access_;

    void check_single() const {
        if (!single_)
            throw InputError("this model predicts several numbers per row", "use the methods of its own class");
    }
    static std::uint64_t new_numbering() {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
    }

    // A thread never waits for the learner while it holds the interpreter's lock. `before_waiting` is called before
    // other threads can run Python.
    template <class Guard, class BeforeWaiting>
    Guard locked(BeforeWaiting before_waiting) {
        Guard guard(learner.lock(), std::try_to_lock);
        if (!guard) {
            before_waiting();
            const Released release;
            guard.lock();
        }
        return guard;
    }
    template <class BeforeWaiting>
    void learn_row(RowSource& row, const Labels& given, Results& results, BeforeWaiting before_waiting) {
        const auto guard = locked<std::unique_lock<Lock>>(before_waiting);
        learner.learn_locked(row, given, results);
    }
    // Predicts with a shared lock, unless the learner is judging. The name cache is safe, because the interpreter's
    // lock is held all the time.
    template <class BeforeWaiting>
    void predict_row(RowSource& row, bool extrapolate, const double* offset, Results& results,
                     BeforeWaiting before_waiting) {
        {
            const auto guard = locked<std::shared_lock<Lock>>(before_waiting);
            if (!learner.is_judging())
                return learner.predict_locked(row, {.extrapolate = extrapolate}, offset, results);
        }
        const auto guard = locked<std::unique_lock<Lock>>(before_waiting);
        learner.predict_locked(row, {.extrapolate = extrapolate}, offset, results);
    }

    static double offset_from(nb::handle offset) {
        const double o = number_of(offset, [] { return std::string("offset"); });
        if (!(std::fabs(o) <= largest_label))
            throw InputError("offset is " + shown(offset), "offsets must be finite, and not beyond 1e60");
        return o;
    }

    // The value of a label in a dict, or null. NumPy's booleans are looked up as Python's, which they equal.
    static PyObject* found_in(const nb::dict& dict, nb::handle label) {
        if (NumpyScalars::is_boolean(label.ptr())) label = PyObject_IsTrue(label.ptr()) == 1 ? Py_True : Py_False;
        PyObject* const found = PyDict_GetItemWithError(dict.ptr(), label.ptr());
        if (!found && PyErr_Occurred()) throw nb::python_error();
        return found;
    }

    // The number of a class by its label, or null if the class is unknown.
    static PyObject* number_of_class(const nb::dict& numbers, nb::handle y) {
        const bool plain = PyUnicode_CheckExact(y.ptr()) || PyLong_CheckExact(y.ptr()) || PyBool_Check(y.ptr());
        return plain ? found_in(numbers, y) : nullptr;
    }
    // Far below 0 it equals exp(score) to the last bit, and exp(-score) would overflow.
    static double logistic(double score) { return score > -700.0 ? 1.0 / (1.0 + std::exp(-score)) : std::exp(score); }

  public:
    PyLearner(const Setup& setup, const Kernel& kernel)
        : single_(!setup.engine.has_classes() && setup.engine.selecting != Selecting::sweep), learner(setup, kernel) {}

    Learner learner;

    void learn_mapping(nb::handle x, const RowLabel& label, std::size_t new_classes, Results& results) {
        MappingSource row(entries_, names_);
        row.add(x);
        learn_row(row, label.given(new_classes), results, [&] { row.hold(); });
    }
    void predict_mapping(nb::handle x, double offset, bool extrapolate, Results& results) {
        MappingSource row(entries_, names_);
        row.add(x);
        predict_row(row, extrapolate, offset != 0 ? &offset : nullptr, results, [&] { row.hold(); });
    }

    // Discards the cached names, which belong to an earlier state.
    void forget_names() {
        names_.forget();
        numbering_ = new_numbering();
    }

    void load(const Snapshot& from) {
        const auto guard = locked<std::unique_lock<Lock>>([] {});
        forget_names();
        const Released release;
        learner.load(from);
    }

    // Learns a row of a table. Returns false if the row needs a slower reader; nothing has changed then.
    bool learn_table_row(TableColumns& columns, nb::handle x, const RowLabel& label, std::size_t new_classes,
                         Results& results) {
        TableRowSource row(columns, numbering_);
        if (!row.read(x.ptr())) return false;
        const auto guard = locked<std::unique_lock<Lock>>([] {});
        if (!learner.has_learned()) return false;  // the first row decides more than this function can
        learner.learn_locked(row, label.given(new_classes), results);
        return true;
    }
    bool predict_table_row(TableColumns& columns, nb::handle x, bool extrapolate, double offset, Results& results) {
        TableRowSource row(columns, numbering_);
        if (!row.read(x.ptr())) return false;
        predict_row(row, extrapolate, offset != 0 ? &offset : nullptr, results, [] {});
        return true;
    }
    nb::object learn_row_of_table(TableColumns& columns, nb::handle x, nb::handle y, nb::handle weight,
                                  nb::handle offset) {
        check_single();
        RowResult prediction;
        const bool learned = learn_table_row(columns, x, RowLabel(y, weight, offset_from(offset)), 0, prediction);
        return learned ? nb::object(nb::float_(*prediction.data())) : nb::none();
    }
    nb::object learn_row_of_table_wide(TableColumns& columns, nb::handle x, nb::handle y, nb::handle weight,
                                       std::size_t new_classes) {
        RowResult predictions;
        const bool learned = learn_table_row(columns, x, RowLabel(y, weight, 0.0), new_classes, predictions);
        return learned ? predictions.array() : nb::none();
    }
    // The names of the words or n-grams of a text, known or not. A shared feature is listed for each of them.
    std::vector<std::string> word_features(const std::string& column, const std::string& text, bool ngrams) {
        const auto guard = locked<std::unique_lock<Lock>>([] {});
        return learner.word_names(column, text, ngrams ? TextParts::ngrams : TextParts::words);
    }
    // From now on `learn_one` and `predict_one` leave their rows to this object; None removes it. It must not refer to
    // the learner, which would then never be freed.
    void access_rows_with(const nb::object& access) { row_access_ = access.is_none() ? nb::object() : access; }

    nb::object learn_one(nb::handle x, nb::handle y, nb::handle weight, nb::handle offset) {
        check_single();
        if (row_access_.is_valid()) return row_access_.attr("learn")(x, y, weight, offset);
        return nb::float_(learn_features(x, y, weight, offset));
    }
    nb::object predict_one(nb::handle x, nb::handle offset, bool extrapolate) {
        check_single();
        if (row_access_.is_valid()) return row_access_.attr("predict")(x, offset, extrapolate);
        return nb::float_(predict_features(x, offset, extrapolate));
    }
    // Numbers by name, and a label as the core takes it. The results are one number, or one per class or rate.
    double learn_features(nb::handle x, nb::handle y, nb::handle weight, nb::handle offset) {
        check_single();
        RowResult prediction;
        learn_mapping(x, RowLabel(y, weight, offset_from(offset)), 0, prediction);
        return *prediction.data();
    }
    double predict_features(nb::handle x, nb::handle offset, bool extrapolate) {
        check_single();
        RowResult prediction;
        predict_mapping(x, offset_from(offset), extrapolate, prediction);
        return *prediction.data();
    }
    nb::object learn_one_wide(nb::handle x, nb::handle y, nb::handle weight, std::size_t new_classes,
                              nb::handle offset) {
        RowResult predictions;
        learn_mapping(x, RowLabel(y, weight, offset_from(offset)), new_classes, predictions);
        return predictions.array();
    }
    nb::object predict_one_wide(nb::handle x, bool extrapolate, nb::handle offset) {
        RowResult predictions;
        predict_mapping(x, offset_from(offset), extrapolate, predictions);
        return predictions.array();
    }
    // Learns a row and records its prediction. Returns true if there are now many recorded rows to take.
    bool learn_noting(nb::handle x, nb::handle y, nb::handle weight, WaitingErrors& errors) {
        check_single();
        return learn_and_note(x, RowLabel(y, weight, 0.0), errors);
    }
    // For one of two labels; `sides` has the sign of each. Throws KeyError for any other label.
    bool learn_side(nb::handle x, nb::handle y, nb::handle weight, const nb::dict& sides, WaitingErrors& errors) {
        PyObject* const side = found_in(sides, y);
        if (!side) throw nb::key_error();
        return learn_noting(x, side, weight, errors);
    }
    // The probabilities of two labels, by label.
    nb::dict predict_shares(nb::handle x, const nb::tuple& two) {
        const double p = logistic(predict_features(x, nb::float_(0.0), false));
        nb::dict shares;
        shares[two[0]] = nb::float_(1.0 - p);
        shares[two[1]] = nb::float_(p);
        return shares;
    }
    // Learns a row whose class has a number. Returns None if it has none, or if the label needs conversion.
    nb::object learn_class(nb::handle x, nb::handle y, nb::handle weight, const nb::dict& numbers) {
        PyObject* const number = number_of_class(numbers, y);
        return number ? learn_one_wide(x, number, weight, 0, nb::float_(0.0)) : nb::none();
    }
    // Learns such a row and records its prediction. Returns whether there are now many recorded rows to take.
    nb::object learn_class_noting(nb::handle x, nb::handle y, nb::handle weight, const nb::dict& numbers,
                                  WaitingErrors& errors) {
        PyObject* const number = number_of_class(numbers, y);
        return number ? nb::object(nb::bool_(learn_and_note(x, RowLabel(number, weight, 0.0), errors))) : nb::none();
    }
    // The probabilities of classes by label: one-vs-all probabilities, normalized to a sum of 1.
    nb::dict predict_class_shares(nb::handle x, const nb::list& labels) {
        RowResult scores;
        predict_mapping(x, 0.0, false, scores);
        const std::size_t count = std::min(scores.size(), nb::len(labels));
        double total = 0;
        const auto share = [&](std::size_t k) { return logistic(std::max(scores.data()[k], -700.0)); };
        for (std::size_t k = 0; k < count; ++k) total += share(k);
        nb::dict shares;
        for (std::size_t k = 0; k < count; ++k) shares[labels[k]] = nb::float_(share(k) / total);
        return shares;
    }

    // All rows are read and checked before the first is learned.
    NewDoubles learn_named(const nb::list& listed, const Doubles& y, const std::optional<Doubles>& weight,
                           std::size_t new_classes, const std::optional<Doubles>& offset) {
        MappingSource rows(entries_, names_);
        for (nb::handle x : nb::tuple(listed)) {  // reading a row may run Python code that changes the list
            try {
                rows.add(x);
            } catch (InputError& error) {
                error.place.row = rows.rows();
                throw;
            }
            rows.hold();
        }
        const GivenLabels given(rows.rows(), y, weight, new_classes, offset);
        NewResults results;
        learn_row(rows, given, results, [] {});
        return results.array();
    }

  private:
    bool learn_and_note(nb::handle x, const RowLabel& label, WaitingErrors& errors) {
        RowResult scores;
        learn_mapping(x, label, 0, scores);
        return errors.add(scores.data(), scores.size(), label.label(), label.weight());
    }
};

nb::dict snapshot(const PyLearner& self, bool slots);
Snapshot snapshot_of(const nb::dict& from);
void restore(PyLearner& self, const nb::dict& from);
void define_learner(nb::module_& m);
void define_text(nb::module_& m);
void define_dates(nb::module_& m);
void define_gather(nb::module_& m);
void define_remembered(nb::module_& m);
void define_mixture(nb::module_& m);
void define_calibration(nb::module_& m);
void define_bandit(nb::module_& m);
void define_merging(nb::module_& m, nb::class_<PyLearner>& learner);

}  // namespace unitless
