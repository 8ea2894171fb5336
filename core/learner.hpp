// A learner: options, features, state. Validates what it is given, then lets a kernel do the work.
//
// Every public function locks the learner, so that threads can share one; none knows of Python.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "centre.hpp"
#include "collected_rows.hpp"
#include "errors.hpp"
#include "features.hpp"
#include "interactions.hpp"
#include "kernel.hpp"
#include "lane_pipeline.hpp"
#include "lanes.hpp"
#include "locks.hpp"
#include "memory.hpp"
#include "named_rows.hpp"
#include "placement.hpp"
#include "results.hpp"
#include "selection.hpp"
#include "sparse_rows.hpp"
#include "table.hpp"
#include "target.hpp"

namespace unitless {

// How a stream writes its negative class: settled by the first one met.
enum class NegativeLabel : int { unknown = 0, zero = 1, minus_one = 2 };

// What a learner is made of.
struct Setup {
    Options options;
    std::optional<unsigned> bits = std::nullopt;
    std::vector<double> rates = {};             // none: the one of the options
    std::size_t first_rate = 0, last_rate = 0;  // those that run from the beginning
    Selecting selecting = Selecting::none;
    std::size_t classes = 0;  // how many there are; 0 and not open: labels are numbers
    bool open = false;        // classes may join
    bool target = false, centre = false;
    Pairs pairs = Pairs::none;
    std::vector<Interaction> listed = {};
};

// Everything that a learner knows, for files and merging. Slots that were never other than zero are left out.
struct Snapshot {
    Clock clock;
    NegativeLabel negative = NegativeLabel::unknown;
    Space space = Space::unset;
    std::size_t columns = 0;
    std::vector<std::string> names;
    std::vector<std::uint32_t> slots;
    std::vector<double> scale, v, H;  // v and H: [slot][lane]
    std::vector<Lane> lanes;
    std::vector<Selection::Scores> scores;
    std::vector<double> followed, errors;
    Target target;
    std::vector<Interactions::Product> products;
    std::vector<std::uint32_t> centre_features;
    std::vector<Centre::Column> centre;
};

// A learner's slots as what they are.
template <class Action>
void with_slots(const Options& options, char* slots, Action action) {
    if (options.precision == Precision::float32) {
        action(reinterpret_cast<Slot32*>(slots));
    } else {
        action(reinterpret_cast<Slot64*>(slots));
    }
}

class Learner {
  public:
    Learner(const Setup& setup, const Kernel& kernel);

    using Names = std::vector<std::string>;

    // Results have `learn_width` or `predict_width` numbers per row: one, or one per class; a sweep's learning gives
    // one per rate (with classes, the number of the winning one). Classes may join at any time, so that only who holds
    // the lock can rely on them.
    std::size_t learn_width() const;
    std::size_t predict_width() const;

    void learn_dense(const DenseInput& input, const Labels& labels, Results& results);
    void predict_dense(const DenseInput& input, bool extrapolate, Results& results);
    void learn_compressed(const CompressedRows& input, const Labels& labels, Results& results);
    void predict_compressed(const CompressedRows& input, bool extrapolate, Results& results);
    void learn_table(const Table& table, const Labels& labels, Results& results);
    void predict_table(const Table& table, bool extrapolate, Results& results);
    void learn_rows(const NamedRows& rows, const Labels& labels, Results& results);
    void predict_rows(const NamedRows& rows, bool extrapolate, Results& results);

    // One row of named features. `resolve(i, grow)` gives the number of the i-th feature, or 0 (the bias's) for none;
    // `resolve.note(i, feature)` is called for each whose value is not zero, if `notes`. The caller holds the lock (see
    // `lock`), has checked that the values are finite, and passes them in any order.
    template <class Resolve>
    void learn_named(std::size_t count, const double* values, double y, double weight, Resolve resolve,
                     double* predictions, std::size_t new_classes = 0, std::size_t row = 0);
    template <class Resolve>
    void predict_named(std::size_t count, const double* values, bool extrapolate, Resolve resolve, double* predictions);

    // The same for a row of features that have been learned from before, all of them and in this order. `place` says
    // whether such rows can be taken so. The caller holds the lock and has put the values, none beyond `placed_most`,
    // in their places; the weight is not 0.
    static constexpr double placed_most = 0x1p500;
    bool place(const std::vector<std::uint32_t>& features, Placement& to) const;
    void learn_placed(Placement& row, double y, double weight, double* predictions);
    void predict_placed(Placement& row, bool extrapolate, double* predictions);

    // Throws if the labels or weights cannot be learned from. The caller holds the lock.
    void check(const Labels& labels, std::size_t rows) const;
    // Throws if the row's values, should they meet in one slot, add up to more than a number can be.
    void check_sum(std::size_t count, const double* values, std::size_t row) const;

    // The number of a name, if it has one; with `grow` it gets one.
    std::optional<std::uint32_t> feature(std::string_view name, bool grow);
    // Must `note` be told of every name of the row that is being built whose value is not zero?
    bool notes() const { return interactions_.notes(features_); }
    void note(std::uint32_t feature, std::string_view name) { interactions_.note(feature, name, -1); }

    // Values, slopes or importance-aware changes of the learner's loss.
    void loss(int which, const double* p, const double* y, const double* tau, std::size_t n, double* out) const;
    void score(const double* p, const bool* positive, const double* weight, std::size_t n,
               const TwoClassSums& to) const {
        kernel_->score(p, positive, weight, n, to);
    }

    Snapshot snapshot() const;
    void restore(const Snapshot& from);

    const Options& options() const { return setup_.options; }
    std::mutex& lock() const { return lock_; }
    std::size_t bytes() const;
    Clock clock() const;

  private:
    struct Encoded;        // labels as the loss wants them
    struct FinishOnExit;   // waits for the lanes
    struct MentionedRows;  // named rows or a table, and what is known of their features
    struct MentionedTable;
    struct AskedFirst;  // rows that are predicted before they are learned
    enum class Looking { learning, predicting, extrapolating };

    Setup setup_;
    Features features_;
    Interactions interactions_;
    const Kernel* kernel_;
    std::shared_ptr<std::mutex> own_lock_ = ForkLocks::make();
    std::mutex& lock_ = *own_lock_;
    Clock clock_;
    NegativeLabel negative_ = NegativeLabel::unknown;
    Target target_;
    Centre centre_;

    // One learner, or several.
    Zeros slots_;
    std::size_t capacity_ = 0;
    std::optional<Lanes> lanes_;
    Selection selection_;
    LanePipeline pipeline_;
    std::size_t group_size_ = 1;  // octets that one thread runs side by side
    std::uint64_t look_at_ = 0;   // rates are to be looked at when these examples are learned; 0: not now

    // Working memory, kept between calls.
    std::vector<double> pack_memory_, block_, wide_;
    std::vector<std::size_t> row_ends_;
    std::vector<std::uint32_t> pack_indices_, wide_features_;
    std::vector<Column> wide_columns_;
    struct Mark {
        Features::Mark features;
        std::size_t products;
    };
    std::vector<Mark> marks_;  // where features and products stood before each row of a batch
    std::vector<std::pair<std::uint32_t, Centre::Column>> journal_;  // of a row's centred features, to go back to
    // While a call goes on in which rows are predicted before they are learned: which of its rows, of these weights,
    // were predicted as the row before.
    struct Again {
        const double* weight = nullptr;
        std::vector<unsigned char> rows;

        const unsigned char* of(const Labels& labels) const {
            return weight ? rows.data() + (labels.weight - weight) : nullptr;
        }
    };
    Again again_;
    Slot64 bias_{};
    SparseRows rows_;
    CollectedRows collected_;  // instead of rows_, where it has rows

    std::size_t slot_bytes() const;
    void reserve(std::size_t slots);
    Pack make_pack(std::size_t chunks);
    void load(const Pack& pack, std::size_t features) const;
    void store(const Pack& pack, std::size_t features);

    double encode(double y, std::size_t row, NegativeLabel& negative, std::size_t new_classes = 0) const;
    template <class Action>
    void learn_label(double y, double weight, std::size_t row, std::size_t new_classes, double* predictions,
                     Action action);
    void mirror(Placement& row) const;
    Encoded encode(const Labels& labels, std::size_t rows) const;
    void add_offset(double* predictions, std::size_t count) const;
    void check_columns(std::size_t count) const;
    void check_named() const;
    template <class Has>
    void check_listed(Has has, const std::string& what) const;
    bool check_table(const Table& table);
    void check_rows(const NamedRows& rows);
    void check_finite(const DenseInput& input, const Names* names);
    bool taken_as_they_lie(const CompressedRows& input) const;
    void check(const CompressedRows& input);
    void check_listed_columns(std::size_t count) const;
    void check_products(double largest) const;
    void use_columns(std::size_t count);

    bool mirrors(const DenseInput& input) const;
    void learn_columns(const DenseInput& input, const Names* names, const Labels& labels, double* predictions);
    void predict_columns(const DenseInput& input, const Names* names, bool extrapolate, double* predictions);
    bool side_by_side(const DenseInput& input) const;
    void widen(const CompressedRows& input, std::size_t first, std::size_t rows);
    void widen(const DenseInput& input, std::size_t first, std::size_t rows);
    void add_row(const CompressedRows& input, std::size_t row, std::size_t at, Looking looking, double weight);
    void add_row(const DenseInput& input, std::size_t row, std::size_t at, Looking looking, double weight);
    double centred(std::uint32_t feature, double x, Looking looking, double weight);
    void centre_wide(std::size_t at, std::size_t columns, Looking looking, double weight);
    void end_row(std::size_t row, bool grow);
    template <class Input>
    bool collect(const Input&, std::size_t, std::size_t) {
        return false;
    }
    bool collect(const DenseInput& input, std::size_t first, std::size_t rows);
    void start_rows() {
        interactions_.forget_notes();
        rows_.clear();
        collected_.rows = 0;
    }
    double largest_magnitude(const DenseInput& input) const;
    void forget_row(const Features::Mark& features, std::size_t products);
    template <class Input, class Action>
    void in_batches(Input&& input, Looking looking, const double* weight, Action action, bool asking = false);
    bool asks_first(double weight) const;
    bool asks_first(const Labels& labels, std::size_t rows) const;
    template <class Resolve>
    void add_named(std::size_t count, const double* values, Looking looking, double weight, Resolve& resolve);
    template <class Input>
    void learn_batches(Input&& input, const Labels& labels, double* predictions);
    std::uint32_t mentioned(std::uint32_t& known, std::string_view name, bool grow, bool learning);
    void widen(const MentionedRows& input, std::size_t first, std::size_t rows);
    void widen(const MentionedTable& input, std::size_t first, std::size_t rows);
    void add_row(MentionedRows& input, std::size_t row, std::size_t at, Looking looking, double weight);
    void add_row(MentionedTable& input, std::size_t row, std::size_t at, Looking looking, double weight);
    // Rows are to be added once more, to means that may not know their columns.
    template <class Input>
    static void start_over(Input&) {}
    static void start_over(MentionedTable& input);
    bool spreads(std::size_t rows, std::size_t entries) const;
    void learn_spread(const SparseInput& input, const Labels& labels, double* predictions, std::size_t row);
    template <class Fill>
    void learn_tiles(std::size_t all_rows, Fill fill, const Labels& labels, double* predictions, std::size_t row);
    bool know(MentionedRows& input);
    void spread(const MentionedRows& input, std::size_t row, double* to);
    template <class Action>
    void in_place(const CompressedRows& input, Action action);
    SparseInput prepared() const;
    // Hashed features have no other kind of rows to agree with, and so no need of lanes that follow the slots.
    bool in_sequence() const { return features_.space() == Space::hashed; }
    std::uint32_t column_mask() const { return features_.space() == Space::hashed ? features_.mask() : ~0u; }
    void learn_sparse(const SparseInput& input, const Labels& labels, double* predictions, std::size_t row);
    void predict_sparse(const SparseInput& input, bool extrapolate, double* predictions);
    void learn_prepared(const Labels& labels, double* predictions, std::size_t row);
    void predict_prepared(bool extrapolate, double* predictions);
    template <class Action>
    void all_or_nothing(Action action);
    template <class Action>
    void learn_all(const Encoded& encoded, const Labels& labels, std::size_t rows, double* predictions, Action action);

    void restore_products(const Snapshot& from);
    void check_scales(const Snapshot& from) const;
    void restore_lanes(const Snapshot& from);
    std::size_t diverged(const LaneBatch& batch) const;
    std::size_t sane(const Labels& labels, std::size_t rows) const;
    std::size_t best_rate() const;
    void start(LaneBatch& batch, bool learning);
    void make_pipeline();
    void score(LaneBatch& batch);
    void losses_of(LaneBatch& batch, std::size_t from, std::size_t to) const;
    std::size_t settle_lanes();
    void finish_lanes();
    void learn_lanes(const SparseInput& input, const Labels& labels, double* predictions, std::size_t row);
    void predict_lanes(const SparseInput& input, bool extrapolate, double* predictions);
    void add_classes(std::size_t count);
};

// Bad input leaves the features as they were. What has been learned before something else went wrong (memory that ran
// out, say) stays learned, and its features with it.
template <class Action>
void Learner::all_or_nothing(Action action) {
    const Features::Mark mark = features_.mark();
    const std::size_t products = interactions_.mark();
    const std::uint64_t examples = clock_.examples;
    try {
        action();
    } catch (const DivergedError&) {  // the rows before are learned, and so are their features
        throw;
    } catch (...) {
        if (clock_.examples != examples) throw;
        interactions_.rewind(products);
        features_.rewind(mark);
        throw;
    }
}

inline double Learner::centred(std::uint32_t feature, double x, Looking looking, double weight) {
    if (!setup_.centre) return x;
    if (!centre_.removed(feature)) {
        if (looking == Looking::learning && weight > 0) centre_.settle(feature, Offset::kept);
        return x;
    }
    if (looking == Looking::extrapolating) return centre_.linear(feature, x);
    return looking == Looking::learning && weight > 0 ? centre_.observe(feature, x, weight) : centre_.peek(feature, x);
}

// A prediction must not know the weight of its own row, for a weight may tell the label. Running means and sNAG's
// scales do know it: there a row whose weight is not 1 is predicted first, just as `predict` does, and then learned.
// The step itself starts from the prediction with the means and scales that the row has moved, as a row that came so
// many times would.
inline bool Learner::asks_first(double weight) const {
    if (weight == 1 || weight == 0) [[likely]]
        return false;
    return setup_.centre || (setup_.options.rule == RuleKind::snag && setup_.options.order == Order::paper);
}

// One row: `action` learns it, given its label as the loss wants it.
template <class Action>
void Learner::learn_label(double y, double weight, std::size_t row, std::size_t new_classes, double* predictions,
                          Action action) {
    NegativeLabel negative = negative_;
    Target target = target_;
    double label = weight == 0 && lanes_ && lanes_->classes() ? 0.0 : encode(y, row, negative, new_classes), pace = 1;
    if (target.on) pace = target.observe(label, weight);
    action(Labels{&label, &weight, &pace});
    if (target_.started) {
        add_offset(predictions, learn_width());
    } else if (target_.on) {
        std::fill_n(predictions, learn_width(), 0.0);
    }
    if (weight == 0) return;
    negative_ = negative;
    target_ = target;
}

struct Learner::FinishOnExit {
    Learner& learner;
    ~FinishOnExit() {
        try {
            learner.again_.weight = nullptr;
            if (learner.lanes_) learner.settle_lanes();
        } catch (
            ...) {  // out of memory once more: what matters is that the other threads have stopped, which they have
        }
    }
};

template <class Resolve>
void Learner::add_named(std::size_t count, const double* values, Looking looking, double weight, Resolve& resolve) {
    const bool grow = looking == Looking::learning && weight > 0, noting = notes();
    rows_.begin_row();
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t feature = resolve(i, grow);
        if (feature == 0) continue;
        if (setup_.centre && grow) journal_.emplace_back(feature, centre_.column(feature));
        const double x = centred(feature, values[i], looking, weight);
        rows_.add(feature, x);
        if (noting && x != 0) resolve.note(i, feature);
    }
}

template <class Resolve>
void Learner::learn_named(std::size_t count, const double* values, double y, double weight, Resolve resolve,
                          double* predictions, std::size_t new_classes, std::size_t row) {
    learn_label(y, weight, row, new_classes, predictions, [&](const Labels& labels) {
        check_named();
        const bool grow = weight > 0;
        const Looking looking = grow ? Looking::learning : Looking::predicting;
        const Features::Mark mark = features_.mark();
        const std::size_t products = interactions_.mark();
        const std::uint64_t examples = clock_.examples;
        journal_.clear();
        try {
            if (grow) features_.use_names();
            start_rows();
            const bool asking = asks_first(weight);
            if (asking) {
                add_named(count, values, looking, 0.0, resolve);
                end_row(row, false);
            }
            add_named(count, values, looking, weight, resolve);
            end_row(row, grow);
            reserve(features_.slot_count());
            add_classes(new_classes);
            if (asking) {
                const double y[2] = {*labels.y, *labels.y}, h[2] = {0.0, weight};
                const double pace[2] = {*labels.pace, *labels.pace};
                std::vector<double> both(2 * learn_width());
                const FinishOnExit guard{*this};  // these are gone after this
                again_ = {h, {0, 1}};
                learn_prepared({y, h, pace}, both.data(), row - 1);  // so that the second one has its number
                if (lanes_) finish_lanes();
                std::copy_n(both.data(), learn_width(), predictions);
                return;
            }
            learn_prepared(labels, predictions, row);
            if (lanes_) finish_lanes();
        } catch (const DivergedError& error) {
            if (error.row > row) throw;  // lanes that had learned it before the last of a head ran away
            forget_row(mark, products);
            throw;
        } catch (...) {
            if (clock_.examples == examples) forget_row(mark, products);
            throw;
        }
    });
}

template <class Resolve>
void Learner::predict_named(std::size_t count, const double* values, bool extrapolate, Resolve resolve,
                            double* predictions) {
    check_named();
    start_rows();
    add_named(count, values, extrapolate ? Looking::extrapolating : Looking::predicting, 1.0, resolve);
    end_row(0, false);
    reserve(features_.slot_count());
    predict_prepared(extrapolate, predictions);
    add_offset(predictions, predict_width());
}

}  // namespace unitless
