// Python's door to the core: types in, types out, errors translated. With python_rows.hpp the only file that knows of
// Python.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "csv_rows.hpp"
#include "csv_table.hpp"
#include "learner.hpp"
#include "libsvm_text.hpp"
#include "locks.hpp"
#include "python_rows.hpp"
#include "vw_text.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace unitless {
namespace {

using Matrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Slots = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NewDoubles = nb::ndarray<nb::numpy, double, nb::ndim<1>>;
using NewSlots = nb::ndarray<nb::numpy, std::uint32_t, nb::ndim<1>>;
using NewIntegers = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sums = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Mask = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array, class T>
Array hand_over(std::unique_ptr<T[]> data, std::size_t n) {
    T* raw = data.release();
    return Array(raw, {n}, nb::capsule(raw, [](void* p) noexcept { delete[] static_cast<T*>(p); }));
}

template <class Array, class T>
Array copied(const std::vector<T>& from) {
    auto data = std::make_unique<T[]>(from.size());
    std::copy(from.begin(), from.end(), data.get());
    return hand_over<Array>(std::move(data), from.size());
}

// numpy.empty, looked up when the module is made. Under a static guard, which other threads wait for while they hold
// the interpreter's lock, an import could stand still for ever.
PyObject* numpy_empty = nullptr;

// A short array of NumPy's own making, which costs half of what handing over our memory does.
class ShortArray {
  public:
    explicit ShortArray(std::size_t n) {
        array_ = nb::steal(PyObject_CallOneArg(numpy_empty, nb::int_(n).ptr()));
        if (!array_.is_valid() || PyObject_GetBuffer(array_.ptr(), &view_, PyBUF_WRITABLE) != 0)
            throw nb::python_error();
    }
    ShortArray(const ShortArray&) = delete;
    ~ShortArray() { PyBuffer_Release(&view_); }

    double* data() const { return static_cast<double*>(view_.buf); }
    nb::object array() const { return array_; }

  private:
    nb::object array_;
    Py_buffer view_{};
};

// ------------------------------------------------------------------------------------------- options by name

template <class Kind, std::size_t n>
Kind by_name(const std::array<std::pair<const char*, Kind>, n>& table, const std::string& name) {
    for (const auto& [text, kind] : table)
        if (name == text) return kind;
    throw InputError("unknown option '" + name + "'");
}

constexpr std::array<std::pair<const char*, RuleKind>, 5> rules{{{"gd", RuleKind::gd},
                                                                 {"ag", RuleKind::ag},
                                                                 {"ng", RuleKind::ng},
                                                                 {"nag", RuleKind::nag},
                                                                 {"snag", RuleKind::snag}}};
constexpr std::array<std::pair<const char*, LossKind>, 5> losses{{{"squared", LossKind::squared},
                                                                  {"logistic", LossKind::logistic},
                                                                  {"hinge", LossKind::hinge},
                                                                  {"quantile", LossKind::quantile},
                                                                  {"poisson", LossKind::poisson}}};
constexpr std::array<std::pair<const char*, Schedule>, 2> schedules{
    {{"sqrt", Schedule::root}, {"constant", Schedule::constant}}};
constexpr std::array<std::pair<const char*, Order>, 2> orders{{{"paper", Order::paper}, {"vw", Order::vw}}};
constexpr std::array<std::pair<const char*, Clip>, 3> clips{
    {{"none", Clip::none}, {"labels", Clip::labels}, {"vw", Clip::vw}}};
constexpr std::array<std::pair<const char*, Precision>, 2> precisions{
    {{"float32", Precision::float32}, {"float64", Precision::float64}}};

constexpr std::array<std::pair<const char*, Selecting>, 3> selections{
    {{"none", Selecting::none}, {"sweep", Selecting::sweep}, {"follow", Selecting::follow}}};
constexpr std::array<std::pair<const char*, Pairs>, 4> pairings{
    {{"none", Pairs::none}, {"all", Pairs::all}, {"ordered", Pairs::ordered}, {"listed", Pairs::listed}}};

// Interactions as Python writes them: two lists of (name, is it a prefix, column or -1) each.
using ListedSide = std::vector<std::tuple<std::string, bool, std::int64_t>>;
using Listed = std::vector<std::pair<ListedSide, ListedSide>>;

std::vector<Interaction> interactions(const Listed& listed) {
    const auto side = [](const ListedSide& from) {
        std::vector<Selector> to;
        for (const auto& [name, prefix, column] : from) to.push_back({name, prefix, column});
        return to;
    };
    std::vector<Interaction> all;
    for (const auto& [left, right] : listed) all.push_back({side(left), side(right)});
    return all;
}

const std::vector<const Kernel*>& kernels() {
    static const std::vector<const Kernel*> all = [] {
        std::vector<const Kernel*> found{&kernel_baseline};
#if defined(UNITLESS_X86_KERNELS)
        for (const Kernel* kernel : {&kernel_avx2, &kernel_avx512})
            if (kernel->supported()) found.push_back(kernel);
#endif
        return found;
    }();
    return all;
}

std::vector<std::string> kernel_names() {
    std::vector<std::string> names;
    for (const Kernel* kernel : kernels()) names.emplace_back(kernel->name);
    return names;
}

const Kernel& kernel_by_name(const std::string& name) {
    for (const Kernel* kernel : kernels())
        if (name == kernel->name) return *kernel;
    throw InputError("this machine has no kernel '" + name + "'");
}

// ------------------------------------------------------------------------------------------- arrays

Type type_of(const nb::dlpack::dtype& dtype) {
    const auto code = static_cast<nb::dlpack::dtype_code>(dtype.code);
    if (code == nb::dlpack::dtype_code::Float) {
        if (dtype.bits == 32) return Type::f32;
        if (dtype.bits == 64) return Type::f64;
    }
    if (code == nb::dlpack::dtype_code::Bool) return Type::u8;
    if (code == nb::dlpack::dtype_code::Int || code == nb::dlpack::dtype_code::UInt) {
        const bool positive = code == nb::dlpack::dtype_code::UInt;
        switch (dtype.bits) {
            case 8:
                return positive ? Type::u8 : Type::i8;
            case 16:
                return positive ? Type::u16 : Type::i16;
            case 32:
                return positive ? Type::u32 : Type::i32;
            case 64:
                return positive ? Type::u64 : Type::i64;
        }
    }
    throw InputError("arrays must hold booleans, integers, float32 or float64");
}

bool holds_booleans(const nb::dlpack::dtype& dtype) {
    return static_cast<nb::dlpack::dtype_code>(dtype.code) == nb::dlpack::dtype_code::Bool;
}

Column column_of(const Vector& array) {
    const auto size = static_cast<std::ptrdiff_t>(array.itemsize());
    return {static_cast<const char*>(array.data()), array.stride(0) * size, type_of(array.dtype()), 0,
            holds_booleans(array.dtype())};
}

// An array as the kernel reads it; columns that do not lie side by side are listed one by one.
DenseInput dense_input(const Matrix& x, std::vector<Column>& columns) {
    const auto size = static_cast<std::ptrdiff_t>(x.itemsize());
    const auto* data = static_cast<const char*>(x.data());
    const Type type = type_of(x.dtype());
    const bool indicators = holds_booleans(x.dtype());
    DenseInput input{data, x.stride(0) * size, type, nullptr, x.shape(1), x.shape(0), indicators};
    if (x.stride(1) != 1 && x.shape(1) > 1) {
        for (std::size_t j = 0; j < x.shape(1); ++j)
            columns.push_back({data + static_cast<std::ptrdiff_t>(j) * x.stride(1) * size,
                               x.stride(0) * size,
                               type,
                               static_cast<std::uint32_t>(1 + j),
                               indicators,
                               {},
                               static_cast<std::int64_t>(j)});
        input.columns = columns.data();
    }
    return input;
}

// A table's columns: arrays of numbers, alone or, if they are never to be centred, in a tuple of one; or (codes,
// offsets, bytes) of text. Keeps the arrays alive.
class TableArrays {
  public:
    TableArrays(const std::vector<std::string>& names, const nb::list& columns, std::size_t rows, bool missing,
                bool whole = false) {
        table.rows = rows;
        table.missing = missing;
        table.whole = whole;
        if (names.size() != columns.size()) throw InputError("a table must have as many names as columns");
        for (std::size_t j = 0; j < names.size(); ++j) {
            const nb::handle column = columns[j];
            TableColumn& to = table.columns.emplace_back();
            to.name = names[j];
            const bool alone = !nb::isinstance<nb::tuple>(column);
            const nb::tuple parts = alone ? nb::make_tuple(column) : nb::cast<nb::tuple>(column);
            if (parts.size() == 3) {
                const auto codes = nb::cast<Codes>(parts[0]);
                const auto offsets = nb::cast<Offsets>(parts[1]);
                const auto text = nb::cast<Bytes>(parts[2]);
                check_length(codes.shape(0), j);
                to.codes = codes.data();
                to.ends = offsets.data();
                to.text = reinterpret_cast<const char*>(text.data());
                to.values = offsets.shape(0) ? offsets.shape(0) - 1 : 0;
                for (std::size_t k = 0; k < to.values; ++k)
                    if (to.ends[k] < 0 || to.ends[k] > to.ends[k + 1] ||
                        to.ends[k + 1] > static_cast<std::int64_t>(text.shape(0)))
                        throw InputError("column '" + to.name + "' is malformed");
                kept_.emplace_back(codes, offsets, text);
            } else {
                const auto numbers = nb::cast<Vector>(parts[0]);
                check_length(numbers.shape(0), j);
                to.numbers = column_of(numbers);
                to.numbers.indicator = to.numbers.indicator || !alone;
                numbers_.push_back(numbers);
            }
        }
    }
    TableArrays(const TableArrays&) = delete;

    Table table;

  private:
    using Codes = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Offsets = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    std::vector<std::tuple<Codes, Offsets, Bytes>> kept_;
    std::vector<Vector> numbers_;

    void check_length(std::size_t length, std::size_t j) const {
        if (length != table.rows)
            throw InputError("column '" + table.columns[j].name + "' has " + std::to_string(length) +
                             " rows, but there are " + std::to_string(table.rows));
    }
};

CompressedRows compressed_rows(const Doubles& values, const Vector& indices, const Vector& row_starts,
                               std::size_t columns) {
    return {values.data(),           indices.data(), row_starts.data(), indices.dtype().bits == 64,
            row_starts.shape(0) - 1, columns,        values.shape(0)};
}

Labels labels(const Doubles& y, const std::optional<Doubles>& weight, std::size_t new_classes) {
    return {y.data(), weight ? weight->data() : nullptr, nullptr, new_classes};
}

// Runs without the interpreter's lock: other threads go on while this one learns.
template <class Action>
NewDoubles unlocked(std::size_t count, Action action) {
    auto predictions = std::make_unique_for_overwrite<double[]>(count);
    {
        const nb::gil_scoped_release release;
        action(predictions.get());
    }
    return hand_over<NewDoubles>(std::move(predictions), count);
}

// Results of a call that sizes them itself.
class NewResults final : public Results {
  public:
    double* allocate(std::size_t rows, std::size_t width) override {
        count_ = rows * width;
        data_ = std::make_unique_for_overwrite<double[]>(count_);
        return data_.get();
    }
    NewDoubles array() { return hand_over<NewDoubles>(std::move(data_), count_); }

  private:
    std::unique_ptr<double[]> data_;
    std::size_t count_ = 0;
};

template <class Action>
NewDoubles unlocked(Action action) {
    NewResults results;
    {
        const nb::gil_scoped_release release;
        action(results);
    }
    return results.array();
}

// Whoever waits for the learner must not hold the interpreter's lock meanwhile.
template <class Action>
auto unlocked_get(Action action) {
    const nb::gil_scoped_release release;
    return action();
}

// ------------------------------------------------------------------------------------------- the learner

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
        std::copy_n(count_ <= few ? few_ : many_.data(), count_, made.data());
        return made.array();
    }

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
        if (!single_) throw InputError("this model gives several numbers per row; use the methods of its own class");
    }
    KnownStrings known_;
    LastNames last_;
    RowMemory spare_;

    // A thread never waits for the learner while it holds the interpreter's lock.
    template <class... Rows>
    std::unique_lock<std::mutex> lock(Rows&... rows) {
        std::unique_lock<std::mutex> guard(learner.lock(), std::try_to_lock);
        if (!guard) {
            (rows.hold(), ...);
            const nb::gil_scoped_release release;
            guard.lock();
        }
        return guard;
    }

    // Does it, if the row is like the last one and nobody else is using the learner.
    template <class Action>
    bool placed(nb::handle x, Action action) {
        const std::unique_lock<std::mutex> guard(learner.lock(), std::try_to_lock);
        if (!guard || !last_.read_placed(x.ptr())) return false;
        action(last_.placement());
        return true;
    }

    // Names that were given up are not to be remembered.
    template <class Action>
    void remembering(Action action) {
        try {
            action();
        } catch (...) {
            known_.forget();
            last_.clear();
            throw;
        }
    }

    // What a row that has been learned is called, for the next.
    void remember(const NamedRow& row) {
        last_.clear();
        if (learner.notes()) return;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const auto feature = known_.find(row.name(i));
            if (feature == KnownStrings::none) return last_.clear();
            last_.add(row.name(i), feature);
        }
    }

    struct Resolver {
        PyLearner& self;
        const NamedRow& row;

        std::uint32_t operator()(std::size_t i, bool grow) const {
            if (row.repeats()) return self.last_.feature(i);
            PyObject* name = row.name(i);
            if (const auto slot = self.known_.find(name); slot != KnownStrings::none) return slot;
            const auto feature = self.learner.feature(text_of(name), grow);
            if (feature) self.known_.remember(name, *feature);
            return feature.value_or(0);
        }
        void note(std::size_t i, std::uint32_t feature) const { self.learner.note(feature, text_of(row.name(i))); }

        static std::string_view text_of(PyObject* name) {
            Py_ssize_t size = 0;
            const char* text = PyUnicode_AsUTF8AndSize(name, &size);
            if (!text) throw nb::python_error();
            return {text, static_cast<std::size_t>(size)};
        }
    };
    Resolver resolver(const NamedRow& row) { return {*this, row}; }

  public:
    PyLearner(const Setup& setup, const Kernel& kernel)
        : single_(!setup.classes && !setup.open && setup.selecting != Selecting::sweep), learner(setup, kernel) {}

    Learner learner;

    // `RowResult`: OneResult or WideResult.
    template <class RowResult>
    void learn_row(nb::handle x, nb::handle y, nb::handle weight, std::size_t new_classes, RowResult& result) {
        const double label = number_of(y, [] { return std::string("label"); });
        const double h = number_of(weight, [] { return std::string("weight"); });
        if (!(h >= 0 && std::isfinite(h)))
            throw InputError("weight is " + shown(weight) + "; weights must be finite and not negative");
        const auto learn = [&](Placement& row) {
            remembering([&] { learner.learn_placed(row, label, h, result.to_learn(learner, 0)); });
        };
        if (h > 0 && new_classes == 0 && placed(x, learn)) return;
        NamedRow row(x, spare_, last_);
        const auto guard = lock(row);
        learner.check_sum(row.size(), row.values(), 0);
        double* const predictions = result.to_learn(learner, new_classes);
        remembering(
            [&] { learner.learn_named(row.size(), row.values(), label, h, resolver(row), predictions, new_classes); });
        if (!row.repeats()) {
            remember(row);
        } else if (h > 0) {
            last_.place(learner);
        }
    }
    template <class RowResult>
    void predict_row(nb::handle x, bool extrapolate, RowResult& result) {
        const auto predict = [&](Placement& row) {
            learner.predict_placed(row, extrapolate, result.to_predict(learner));
        };
        if (placed(x, predict)) return;
        NamedRow row(x, spare_, last_);
        const auto guard = lock(row);
        learner.check_sum(row.size(), row.values(), 0);
        learner.predict_named(row.size(), row.values(), extrapolate, resolver(row), result.to_predict(learner));
    }

    // One number, or one per class or rate.
    double learn_one(nb::handle x, nb::handle y, nb::handle weight) {
        check_single();
        OneResult prediction;
        learn_row(x, y, weight, 0, prediction);
        return prediction.value;
    }
    double predict_one(nb::handle x, bool extrapolate) {
        check_single();
        OneResult prediction;
        predict_row(x, extrapolate, prediction);
        return prediction.value;
    }
    nb::object learn_one_wide(nb::handle x, nb::handle y, nb::handle weight, std::size_t new_classes) {
        WideResult predictions;
        learn_row(x, y, weight, new_classes, predictions);
        return predictions.array();
    }
    nb::object predict_one_wide(nb::handle x, bool extrapolate) {
        WideResult predictions;
        predict_row(x, extrapolate, predictions);
        return predictions.array();
    }

    // All rows are read and checked before the first is learned.
    NewDoubles learn_named(const nb::list& rows, const Doubles& y, const std::optional<Doubles>& weight,
                           std::size_t new_classes) {
        std::vector<std::unique_ptr<NamedRow>> ready;
        for (nb::handle x : rows) {
            try {
                ready.push_back(std::make_unique<NamedRow>(x));
            } catch (const InputError& error) {
                throw InputError("row " + std::to_string(ready.size()) + ": " + error.what());
            }
            ready.back()->hold();
        }
        const auto guard = lock();
        learner.check(labels(y, weight, new_classes), ready.size());
        for (std::size_t r = 0; r < ready.size(); ++r) learner.check_sum(ready[r]->size(), ready[r]->values(), r);
        const std::size_t width = learner.learn_width() + new_classes;
        auto predictions = std::make_unique<double[]>(ready.size() * width);
        remembering([&] {
            for (std::size_t r = 0; r < ready.size(); ++r)
                learner.learn_named(ready[r]->size(), ready[r]->values(), y.data()[r], weight ? weight->data()[r] : 1.0,
                                    resolver(*ready[r]), predictions.get() + r * width, r ? 0 : new_classes, r);
        });
        return hand_over<NewDoubles>(std::move(predictions), ready.size() * width);
    }
};

// ------------------------------------------------------------------------------------------- snapshots

nb::dict snapshot(const PyLearner& self) {
    const Snapshot from = [&] {
        const nb::gil_scoped_release release;
        return self.learner.snapshot();
    }();
    nb::dict to;
    to["t"] = from.clock.t;
    to["T"] = from.clock.T;
    to["N"] = from.clock.N;
    to["examples"] = from.clock.examples;
    to["label_min"] = from.clock.label_min;
    to["label_max"] = from.clock.label_max;
    to["negative"] = static_cast<int>(from.negative);
    to["columns"] = from.space == Space::columns ? nb::cast(from.columns) : nb::none();
    to["names"] = from.space == Space::names ? nb::cast(from.names) : nb::none();
    to["slots"] = copied<NewSlots>(from.slots);
    to["scale"] = copied<NewDoubles>(from.scale);
    to["v"] = copied<NewDoubles>(from.v);
    to["H"] = copied<NewDoubles>(from.H);
    std::vector<std::uint32_t> heads, rates;
    for (const auto& lane : from.lanes) {
        heads.push_back(lane.head);
        rates.push_back(lane.rate);
    }
    to["lane_heads"] = copied<NewSlots>(heads);
    to["lane_rates"] = copied<NewSlots>(rates);
    std::vector<double> scores;
    for (const auto& lane : from.scores)
        for (const double x : {lane.loss, lane.recent, lane.gap, lane.square, lane.total_gap, lane.total_square})
            scores.push_back(x);
    to["scores"] = copied<NewDoubles>(scores);
    to["followed"] = copied<NewDoubles>(from.followed);
    to["errors"] = copied<NewDoubles>(from.errors);
    to["target"] = copied<NewDoubles>(std::vector<double>{from.target.started ? 1.0 : 0.0, from.target.centre,
                                                          from.target.weight, from.target.sum, from.target.square});
    std::vector<std::uint32_t> products, kinds;
    for (const auto& product : from.products)
        for (const std::uint32_t x : {product.left, product.right, product.slot}) products.push_back(x);
    to["products"] = copied<NewSlots>(products);
    std::vector<double> means;
    for (const auto& column : from.centre) {
        kinds.push_back(column.offset == Offset::removed);
        means.push_back(column.mean);
        means.push_back(column.weight);
    }
    to["centre_features"] = copied<NewSlots>(from.centre_features);
    to["centre_kinds"] = copied<NewSlots>(kinds);
    to["centre_means"] = copied<NewDoubles>(means);
    return to;
}

void restore(PyLearner& self, const nb::dict& from) {
    Snapshot to;
    to.clock.t = nb::cast<double>(from["t"]);
    to.clock.T = nb::cast<double>(from["T"]);
    to.clock.N = nb::cast<double>(from["N"]);
    to.clock.examples = nb::cast<std::uint64_t>(from["examples"]);
    to.clock.label_min = nb::cast<double>(from["label_min"]);
    to.clock.label_max = nb::cast<double>(from["label_max"]);
    to.negative = static_cast<NegativeLabel>(nb::cast<int>(from["negative"]));
    if (!from["columns"].is_none()) {
        to.space = Space::columns;
        to.columns = nb::cast<std::size_t>(from["columns"]);
    }
    if (!from["names"].is_none()) {
        to.space = Space::names;
        to.names = nb::cast<std::vector<std::string>>(from["names"]);
    }
    const auto numbers = [&](const char* key) {
        const auto array = nb::cast<Doubles>(from[key]);
        return std::vector<double>(array.data(), array.data() + array.size());
    };
    const auto slots = [&](const char* key) {
        const auto array = nb::cast<Slots>(from[key]);
        return std::vector<std::uint32_t>(array.data(), array.data() + array.size());
    };
    to.slots = slots("slots");
    to.scale = numbers("scale");
    to.v = numbers("v");
    to.H = numbers("H");
    to.followed = numbers("followed");
    to.errors = numbers("errors");
    const auto heads = slots("lane_heads"), rates = slots("lane_rates");
    const auto scores = numbers("scores"), target = numbers("target"), means = numbers("centre_means");
    const auto products = slots("products"), kinds = slots("centre_kinds");
    to.centre_features = slots("centre_features");
    if (heads.size() != rates.size() || scores.size() % 6 != 0 || target.size() != 5 || products.size() % 3 != 0 ||
        kinds.size() != to.centre_features.size() || means.size() != 2 * kinds.size())
        throw InputError("the model's arrays differ in length");
    for (std::size_t i = 0; i < heads.size(); ++i) to.lanes.push_back({heads[i], rates[i]});
    for (std::size_t i = 0; i < scores.size(); i += 6)
        to.scores.push_back({scores[i], scores[i + 1], scores[i + 2], scores[i + 3], scores[i + 4], scores[i + 5]});
    to.target = {false, true, target[0] != 0, target[1], target[2], target[3], target[4]};
    for (std::size_t i = 0; i < products.size(); i += 3)
        to.products.push_back({products[i], products[i + 1], products[i + 2]});
    for (std::size_t i = 0; i < kinds.size(); ++i)
        to.centre.push_back({means[2 * i], means[2 * i + 1], kinds[i] ? Offset::removed : Offset::kept});
    const nb::gil_scoped_release release;
    self.learner.restore(to);
}

// ------------------------------------------------------------------------------------------- rows of text

// A reader that threads may share; the interpreter's lock is not held while it reads.
template <class Reader>
struct PyReader {
    explicit PyReader(auto... options) : reader(options...) {}
    Reader reader;
    std::shared_ptr<std::mutex> own_lock = ForkLocks::make();
    std::mutex& lock = *own_lock;

    TextRows read(const Bytes& data, bool last) {
        const nb::gil_scoped_release release;
        const std::lock_guard guard(lock);
        return reader.read(reinterpret_cast<const char*>(data.data()), data.size(), last);
    }
};

NewIntegers copied_sizes(const std::vector<std::size_t>& from) {
    return copied<NewIntegers>(std::vector<std::int64_t>(from.begin(), from.end()));
}

nb::str text_of(std::string_view text) { return nb::str(text.data(), text.size()); }

nb::list text_names(const TextRows& rows) {
    nb::list names;
    for (std::size_t i = 0; i < rows.features.names(); ++i) names.append(text_of(rows.features.name(i)));
    return names;
}

std::optional<nb::list> text_tags(const TextRows& rows) {
    if (rows.tag_ends.empty()) return std::nullopt;
    nb::list tags;
    for (std::size_t row = 0; row < rows.rows(); ++row) tags.append(text_of(rows.tag(row)));
    return tags;
}

nb::list bad_lines(const TextRows& rows) {
    nb::list bad;
    for (const auto& [line, problem] : rows.bad) bad.append(nb::make_tuple(line, text_of(problem)));
    return bad;
}

TextRows selected(const TextRows& rows, const Mask& mask) {
    if (mask.size() != rows.rows())
        throw InputError("the mask has " + std::to_string(mask.size()) + " values for " + std::to_string(rows.rows()) +
                         " rows");
    const nb::gil_scoped_release release;
    return rows.select([&](std::size_t row) { return mask.data()[row]; });
}

// Memory of a vector as an array, without copying.
template <class Array, class T>
Array array_of(std::vector<T>&& from, std::initializer_list<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(from));
    return Array(kept->data(), shape,
                 nb::capsule(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); }));
}

// (numbers [row][column], how many of each column are missing, numbers apart, text as (codes, offsets, bytes)), or
// None.
nb::object csv_table(CsvReader& reader, const Bytes& data) {
    std::optional<CsvTable> table =
        unlocked_get([&] { return reader.read(reinterpret_cast<const char*>(data.data()), data.size()); });
    if (!table) return nb::none();
    using Numbers = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
    using Codes = nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>;
    using Letters = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
    const std::size_t rows = table->rows;
    nb::list apart, texts;
    for (auto& column : table->apart) apart.append(array_of<NewDoubles>(std::move(column), {rows}));
    for (auto& column : table->texts) {
        const std::size_t values = column.offsets.size(), letters = column.text.size();
        std::vector<std::uint8_t> bytes(column.text.begin(), column.text.end());
        texts.append(nb::make_tuple(array_of<Codes>(std::move(column.codes), {rows}),
                                    array_of<NewIntegers>(std::move(column.offsets), {values}),
                                    array_of<Letters>(std::move(bytes), {letters})));
    }
    double* numbers = table->numbers.release();
    const nb::capsule owner(numbers, [](void* p) noexcept { CsvTable::Free()(static_cast<double*>(p)); });
    return nb::make_tuple(Numbers(numbers, {rows, table->number_count}, owner), copied<NewIntegers>(table->absent),
                          apart, texts);
}

void define_text(nb::module_& m) {
    nb::class_<CsvReader>(m, "CsvReader")
        .def(
            "__init__",
            [](CsvReader* self, const std::vector<int>& kinds, char delimiter) {
                std::vector<CsvKind> known;
                for (const int kind : kinds) known.push_back(static_cast<CsvKind>(kind));
                new (self) CsvReader(std::move(known), delimiter);
            },
            "kinds"_a, "delimiter"_a)
        .def("read", &csv_table, "data"_a, "Whole rows as arrays, or None if they are not plain.");
    constexpr auto arrays = nb::rv_policy::automatic;  // they are new, and not a part of the rows
    nb::class_<TextRows>(m, "TextRows")
        .def_prop_ro("rows", &TextRows::rows)
        .def_ro("lines", &TextRows::lines)
        .def_ro("bytes_used", &TextRows::bytes_used)
        .def_ro("bad_count", &TextRows::bad_count)
        .def_prop_ro("bad", &bad_lines)
        .def_prop_ro(
            "label", [](const TextRows& rows) { return copied<NewDoubles>(rows.label); }, arrays)
        .def_prop_ro(
            "weight", [](const TextRows& rows) { return copied<NewDoubles>(rows.weight); }, arrays)
        .def_prop_ro(
            "line", [](const TextRows& rows) { return copied_sizes(rows.line); }, arrays)
        .def_prop_ro("weighted",
                     [](const TextRows& rows) {
                         return std::any_of(rows.weight.begin(), rows.weight.end(), [](double h) { return h != 1; });
                     })
        .def_prop_ro("tags", &text_tags)
        .def_prop_ro("entries", [](const TextRows& rows) { return rows.features.ids.size(); })
        .def_prop_ro("names", &text_names)
        .def_prop_ro(
            "ids", [](const TextRows& rows) { return copied<NewSlots>(rows.features.ids); }, arrays)
        .def_prop_ro(
            "values", [](const TextRows& rows) { return copied<NewDoubles>(rows.features.values); }, arrays)
        .def_prop_ro(
            "row_ends", [](const TextRows& rows) { return copied_sizes(rows.features.row_ends); }, arrays)
        .def("select", &selected, "mask"_a, "The rows where the mask is true; names keep their numbers.");
    nb::class_<PyReader<VwReader>>(m, "VwReader")
        .def(nb::init<>())
        .def("read", &PyReader<VwReader>::read, "data"_a, "last"_a, "The complete lines of a chunk.");
    nb::class_<PyReader<LibsvmReader>>(m, "LibsvmReader")
        .def(nb::init<bool>(), "zero_based"_a)
        .def("read", &PyReader<LibsvmReader>::read, "data"_a, "last"_a, "The complete lines of a chunk.");
}

void keep_memory() {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

void raise(const char* name, const char* message) {
    const nb::object type = nb::module_::import_("unitless.errors").attr(name);
    PyErr_SetString(type.ptr(), message);
}

}  // namespace
}  // namespace unitless

NB_MODULE(_core, m) {
    using namespace unitless;

    numpy_empty = nb::object(nb::module_::import_("numpy").attr("empty")).release().ptr();
    nb::set_leak_warnings(false);  // a model that lives until the program ends is no leak

    nb::register_exception_translator(
        [](const std::exception_ptr& error, void*) {
            try {
                std::rethrow_exception(error);
            } catch (const InputError& e) {
                raise("InputError", e.what());
            } catch (const DivergedError& e) {
                raise("DivergedError", e.what());
            }
        },
        nullptr);

    m.def(
        "_before_fork",
        [] {
            ForkLocks::hold([](std::mutex& lock) {
                const nb::gil_scoped_release release;  // who holds it may need the interpreter to go on
                lock.lock();
            });
        },
        "Wait until no thread is inside a learner, and keep others out.");
    m.def("_after_fork", &ForkLocks::release, "Let threads into the learners again.");
    const nb::module_ system = nb::module_::import_("os");
    if (nb::hasattr(system, "register_at_fork"))  // Windows has no fork
        system.attr("register_at_fork")("before"_a = m.attr("_before_fork"),
                                        "after_in_parent"_a = m.attr("_after_fork"),
                                        "after_in_child"_a = m.attr("_after_fork"));

    m.def("kernels", &kernel_names, "The instruction sets that this machine can run, slowest first.");

    m.def(
        "keep_memory", &keep_memory,
        "From now on this process keeps freed memory for itself, instead of having it cleared by the system each time "
        "that it is used again.");
    define_text(m);
    m.def(
        "row_end",
        [](const nb::bytes& data, char delimiter, bool first) {
            return unlocked_get([&] { return row_end(data.c_str(), data.size(), delimiter, first); });
        },
        "data"_a, "delimiter"_a, "first"_a, "Where the last whole row of CSV ends, or the first; or 0.");

    nb::class_<PyLearner>(m, "Learner")
        .def(
            "__init__",
            [](PyLearner* self, const std::string& rule, const std::string& loss, const std::vector<double>& rates,
               std::size_t first_rate, std::size_t last_rate, const std::string& selecting, std::size_t classes,
               bool open, bool importance_aware, bool bias, double quantile, const std::string& schedule,
               const std::string& order, const std::string& clip, const std::string& precision, bool target,
               bool centre, const std::string& pairs, const Listed& listed, std::optional<unsigned> bits,
               const std::string& kernel) {
                const Options options{by_name(rules, rule),
                                      by_name(losses, loss),
                                      rates.at(0),
                                      quantile,
                                      importance_aware,
                                      bias,
                                      by_name(schedules, schedule),
                                      by_name(orders, order),
                                      by_name(clips, clip),
                                      by_name(precisions, precision)};
                const Setup setup{options,
                                  bits,
                                  rates,
                                  first_rate,
                                  last_rate,
                                  by_name(selections, selecting),
                                  classes,
                                  open,
                                  target,
                                  centre,
                                  by_name(pairings, pairs),
                                  interactions(listed)};
                new (self) PyLearner(setup, kernel_by_name(kernel));
            },
            nb::kw_only(), "rule"_a, "loss"_a, "rates"_a, "first_rate"_a, "last_rate"_a, "selecting"_a, "classes"_a,
            "open"_a, "importance_aware"_a, "bias"_a, "quantile"_a, "schedule"_a, "order"_a, "clip"_a, "precision"_a,
            "target"_a, "centre"_a, "pairs"_a, "listed"_a, "bits"_a.none(), "kernel"_a)
        .def("learn_one", &PyLearner::learn_one, "x"_a.none(), "y"_a.none(), "weight"_a.none() = 1.0,
             "Learn from one mapping of names to numbers; gives the prediction made before the update.")
        .def("predict_one", &PyLearner::predict_one, "x"_a.none(), nb::kw_only(), "extrapolate"_a = false,
             "The prediction for one mapping of names to numbers; changes nothing.")
        .def("_learn_one_wide", &PyLearner::learn_one_wide, "x"_a.none(), "y"_a.none(), "weight"_a.none(),
             "new_classes"_a = 0)
        .def("_predict_one_wide", &PyLearner::predict_one_wide, "x"_a.none(), "extrapolate"_a)
        .def("_learn_named", &PyLearner::learn_named, "rows"_a, "y"_a, "weight"_a.none(), "new_classes"_a = 0)
        .def(
            "_learn_dense",
            [](PyLearner& self, const Matrix& x, const Doubles& y, const std::optional<Doubles>& weight,
               std::size_t new_classes) {
                std::vector<Column> columns;
                const DenseInput input = dense_input(x, columns);
                return unlocked(
                    [&](Results& p) { self.learner.learn_dense(input, labels(y, weight, new_classes), p); });
            },
            "x"_a, "y"_a, "weight"_a.none(), "new_classes"_a = 0)
        .def(
            "_predict_dense",
            [](PyLearner& self, const Matrix& x, bool extrapolate) {
                std::vector<Column> columns;
                const DenseInput input = dense_input(x, columns);
                return unlocked([&](Results& p) { self.learner.predict_dense(input, extrapolate, p); });
            },
            "x"_a, "extrapolate"_a)
        .def(
            "_learn_compressed",
            [](PyLearner& self, const Doubles& values, const Vector& indices, const Vector& row_starts,
               std::size_t columns, const Doubles& y, const std::optional<Doubles>& weight, std::size_t new_classes) {
                const CompressedRows input = compressed_rows(values, indices, row_starts, columns);
                return unlocked(
                    [&](Results& p) { self.learner.learn_compressed(input, labels(y, weight, new_classes), p); });
            },
            "values"_a, "indices"_a, "row_starts"_a, "columns"_a, "y"_a, "weight"_a.none(), "new_classes"_a = 0)
        .def(
            "_predict_compressed",
            [](PyLearner& self, const Doubles& values, const Vector& indices, const Vector& row_starts,
               std::size_t columns, bool extrapolate) {
                const CompressedRows input = compressed_rows(values, indices, row_starts, columns);
                return unlocked([&](Results& p) { self.learner.predict_compressed(input, extrapolate, p); });
            },
            "values"_a, "indices"_a, "row_starts"_a, "columns"_a, "extrapolate"_a)
        .def(
            "_learn_table",
            [](PyLearner& self, const std::vector<std::string>& names, const nb::list& columns, bool missing,
               bool whole, const Doubles& y, const std::optional<Doubles>& weight, std::size_t new_classes) {
                const TableArrays arrays(names, columns, y.shape(0), missing, whole);
                return unlocked(
                    [&](Results& p) { self.learner.learn_table(arrays.table, labels(y, weight, new_classes), p); });
            },
            "names"_a, "columns"_a, "missing"_a, "whole"_a, "y"_a, "weight"_a.none(), "new_classes"_a = 0)
        .def(
            "_predict_table",
            [](PyLearner& self, const std::vector<std::string>& names, const nb::list& columns, bool missing,
               std::size_t rows, bool extrapolate) {
                const TableArrays arrays(names, columns, rows, missing);
                return unlocked([&](Results& p) { self.learner.predict_table(arrays.table, extrapolate, p); });
            },
            "names"_a, "columns"_a, "missing"_a, "rows"_a, "extrapolate"_a)
        .def(
            "_learn_rows",
            [](PyLearner& self, const TextRows& rows, const Doubles& y, const std::optional<Doubles>& weight,
               std::size_t new_classes) {
                return unlocked(
                    [&](Results& p) { self.learner.learn_rows(rows.features, labels(y, weight, new_classes), p); });
            },
            "rows"_a, "y"_a, "weight"_a.none(), "new_classes"_a = 0)
        .def(
            "_predict_rows",
            [](PyLearner& self, const TextRows& rows, bool extrapolate) {
                return unlocked([&](Results& p) { self.learner.predict_rows(rows.features, extrapolate, p); });
            },
            "rows"_a, "extrapolate"_a)
        .def(
            "_loss",
            [](const PyLearner& self, int which, const Doubles& p, const Doubles& y, const Doubles& tau) {
                return unlocked(p.shape(0), [&](double* out) {
                    self.learner.loss(which, p.data(), y.data(), tau.data(), p.shape(0), out);
                });
            },
            "which"_a, "p"_a, "y"_a, "tau"_a)
        .def(
            "_score",
            [](const PyLearner& self, const Doubles& p, const Mask& positive, const std::optional<Doubles>& weight,
               const Sums& sums, const Sums& bins) {
                if (positive.size() != p.size() || (weight && weight->size() != p.size()) ||
                    sums.size() != TwoClassSums::count || bins.size() != TwoClassSums::bins)
                    throw InputError("scores, labels, weights and sums do not fit together");
                const nb::gil_scoped_release release;
                self.learner.score(p.data(), positive.data(), weight ? weight->data() : nullptr, p.size(),
                                   {sums.data(), bins.data()});
            },
            "p"_a, "positive"_a, "weight"_a.none(), "sums"_a, "bins"_a,
            "Adds up what logistic predictions come to, row after row: loss, errors, Brier score, weight, its square; "
            "and how often which score came.")
        .def("_snapshot", &snapshot)
        .def("_restore", &restore, "snapshot"_a)
        .def_prop_ro("nbytes", [](const PyLearner& self) { return unlocked_get([&] { return self.learner.bytes(); }); })
        .def_prop_ro("total_weight",
                     [](const PyLearner& self) { return unlocked_get([&] { return self.learner.clock().t; }); })
        .def_prop_ro("examples",
                     [](const PyLearner& self) { return unlocked_get([&] { return self.learner.clock().examples; }); });
}
