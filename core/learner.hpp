// A learner: options, features, state. Validates what it is given, then lets a kernel do the work.
//
// Every public function locks the learner, so that threads can share one; none knows of Python.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "errors.hpp"
#include "features.hpp"
#include "kernel.hpp"
#include "sparse_rows.hpp"

namespace unitless {

// Compressed sparse rows as the caller has them. Indices are 32 or 64 bit.
struct CompressedRows {
    const double* values;
    const void* indices;
    const void* row_starts;
    bool wide_indices;
    std::size_t rows, columns, entries;
};

// How a stream writes its negative class: settled by the first one met.
enum class NegativeLabel : int { unknown = 0, zero = 1, minus_one = 2 };

// Everything that a learner knows, for files and merging. Slots that were never other than zero are left out.
struct Snapshot {
    Clock clock;
    NegativeLabel negative = NegativeLabel::unknown;
    Space space = Space::unset;
    std::size_t columns = 0;
    std::vector<std::string> names;
    std::vector<std::uint32_t> slots;
    std::vector<double> scale, v, H;
};

class Learner {
  public:
    Learner(const Options& options, std::optional<unsigned> bits, const Kernel& kernel);

    using Names = std::vector<std::string>;

    void learn_dense(const DenseInput& input, const Labels& labels, double* predictions);
    void predict_dense(const DenseInput& input, bool extrapolate, double* predictions);
    void learn_compressed(const CompressedRows& input, const Labels& labels, double* predictions);
    void predict_compressed(const CompressedRows& input, bool extrapolate, double* predictions);
    // Columns by name: slots are filled in here.
    void learn_frame(const Names& names, std::vector<Column>& columns, std::size_t rows, const Labels& labels,
                     double* predictions);
    void predict_frame(const Names& names, std::vector<Column>& columns, std::size_t rows, bool extrapolate,
                       double* predictions);

    // One row of named features. `Resolve(i, grow)` gives the slot of the i-th feature, or none. The caller holds the
    // lock (see `lock`), has checked that the values are finite, and passes them in any order.
    template <class Resolve>
    double learn_named(std::size_t count, const double* values, double y, double weight, Resolve resolve,
                       std::size_t row = 0);
    template <class Resolve>
    double predict_named(std::size_t count, const double* values, bool extrapolate, Resolve resolve);

    // Throws if the labels or weights cannot be learned from. The caller holds the lock.
    void check(const Labels& labels, std::size_t rows) const;
    // Throws if the row's values, should they meet in one slot, add up to more than a number can be.
    void check_sum(std::size_t count, const double* values, std::size_t row) const;

    // Values, slopes or importance-aware changes of the learner's loss.
    void loss(int which, const double* p, const double* y, const double* tau, std::size_t n, double* out) const;

    Snapshot snapshot() const;
    void restore(const Snapshot& from);

    const Options& options() const { return options_; }
    Features& features() { return features_; }
    const Features& features() const { return features_; }
    std::mutex& lock() const { return lock_; }
    std::size_t bytes() const;
    Clock clock() const;

  private:
    struct Encoded;  // labels as the loss wants them

    Options options_;
    Features features_;
    const Kernel* kernel_;
    mutable std::mutex lock_;
    Clock clock_;
    NegativeLabel negative_ = NegativeLabel::unknown;
    std::unique_ptr<char[], void (*)(void*)> slots_{nullptr, nullptr};
    std::size_t capacity_ = 0;

    // Working memory, kept between calls.
    std::vector<double> pack_memory_, block_;
    std::vector<std::uint32_t> pack_indices_;
    Slot64 bias_{};
    SparseRows rows_;

    std::size_t slot_bytes() const;
    void reserve(std::size_t slots);
    Pack make_pack(std::size_t chunks);
    void load(const Pack& pack, std::size_t features) const;
    void store(const Pack& pack, std::size_t features);

    double encode(double y, std::size_t row, NegativeLabel& negative) const;
    Encoded encode(const Labels& labels, std::size_t rows) const;
    void check_columns(std::size_t count) const;
    void check_named() const;
    void check_finite(const DenseInput& input, const Names* names);
    void check(const CompressedRows& input);

    bool mirrors(const DenseInput& input) const;
    void learn_columns(const DenseInput& input, const Names* names, const Labels& labels, double* predictions);
    void predict_columns(const DenseInput& input, const Names* names, bool extrapolate, double* predictions);
    void add_row(const CompressedRows& input, std::size_t row);
    void add_row(const DenseInput& input, std::size_t row);
    void end_row(std::size_t row);
    template <class Input, class Action>
    void in_batches(const Input& input, Action action);
    void learn_rows(const Labels& labels, std::size_t first, double* predictions, std::size_t offset = 0);
    void predict_rows(std::size_t first, bool extrapolate, double* predictions);
    template <class Action>
    void all_or_nothing(Action action);
    template <class Action>
    void learn_all(const Encoded& encoded, Action action);
};

// Bad input leaves the features as they were.
template <class Action>
void Learner::all_or_nothing(Action action) {
    const Features::Mark mark = features_.mark();
    try {
        action();
    } catch (const DivergedError&) {  // the rows before are learned, and so are their features
        throw;
    } catch (...) {
        features_.rewind(mark);
        throw;
    }
}

template <class Resolve>
double Learner::learn_named(std::size_t count, const double* values, double y, double weight, Resolve resolve,
                            std::size_t row) {
    NegativeLabel negative = negative_;
    const double label = encode(y, row, negative);
    check_named();
    if (weight == 0) return predict_named(count, values, false, resolve);
    all_or_nothing([&] {
        features_.use_names();
        rows_.clear();
        rows_.begin_row();
        for (std::size_t i = 0; i < count; ++i) rows_.add(*resolve(i, true), values[i]);
        end_row(row);
    });
    reserve(features_.slot_count());
    double prediction = 0;
    learn_rows({&label, &weight}, 0, &prediction, row);
    negative_ = negative;
    return prediction;
}

template <class Resolve>
double Learner::predict_named(std::size_t count, const double* values, bool extrapolate, Resolve resolve) {
    check_named();
    rows_.clear();
    rows_.begin_row();
    for (std::size_t i = 0; i < count; ++i)
        if (const auto slot = resolve(i, false)) rows_.add(*slot, values[i]);
    end_row(0);
    reserve(features_.slot_count());
    double prediction = 0;
    predict_rows(0, extrapolate, &prediction);
    return prediction;
}

}  // namespace unitless
