// The part of a learner that runs several lanes. While batches of rows run through them, the next one is staged: scales
// do not depend on what is learned.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <utility>

#include "dense_values.hpp"
#include "errors.hpp"
#include "learner.hpp"

namespace unitless {
namespace {

// A forked child gets threads of its own. The lock is only ever held under a learner's, which whoever forks waits for.
Workers& workers() {
    static std::mutex making;
    static Workers* all = nullptr;
    const std::lock_guard guard(making);
    if (all && all->is_here()) return *all;
    const char* setting = std::getenv("UNITLESS_THREADS");
    const long asked = setting ? std::strtol(setting, nullptr, 10) : 0;
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    all = new Workers(asked > 0 ? static_cast<unsigned>(std::min(asked, 256L)) : cores);
    return *all;
}

}  // namespace

// With lanes, all threads look for it: nothing else can begin before.
double Learner::largest_magnitude(const DenseInput& input) const {
    constexpr std::size_t rows_each = 4096;
    const std::size_t parts = input.columns ? input.column_count : (input.rows + rows_each - 1) / rows_each;
    if (!lanes_ || parts < 2) return largest_of(input);
    std::vector<double> found(parts);
    in_parts(workers(), parts, [&](std::size_t i) {
        DenseInput part = input;
        if (input.columns) {
            part.columns += i;
            part.column_count = 1;
        } else {
            part.data += static_cast<std::ptrdiff_t>(i * rows_each) * input.row_stride;
            part.rows = std::min(rows_each, input.rows - i * rows_each);
        }
        found[i] = largest_of(part);
    });
    double largest = 0;
    for (const double x : found) largest = std::isnan(x) || x > largest ? x : largest;
    return largest;
}

// How many rows there are before one with a label or weight whose square is no number.
std::size_t Learner::sane(const Labels& labels, std::size_t rows) const {
    const bool numbers = !lanes_->classes();
    for (std::size_t r = 0; r < rows; ++r) {
        const double h = labels.weight_of(r);
        if (h > 0x1p490 || (h > 0 && numbers && std::fabs(labels.y[r]) > 0x1p490)) return r;
    }
    return rows;
}

void Learner::make_pipeline() {
    pipeline_.run = [this](LaneBatch& batch, std::size_t group) {
        const std::size_t first = group * group_size_, octets = std::min(group_size_, batch.octets.size() - first);
        const bool four = octets == 1 && lanes_->lanes().size() <= first * 8 + 4;
        const auto run = four ? kernel_->lanes->run_four : kernel_->lanes->run;
        run(setup_.options, &batch.octets[first], static_cast<int>(octets), batch.lane_labels, batch.stage, batch.rows,
            aligned(batch.room, 0) + first * batch.room_each);
    };
    pipeline_.score = [this](LaneBatch& batch) {
        if (batch.learning) score(batch);
    };
}

// All lanes over a batch's staged rows.
void Learner::start(LaneBatch& batch, bool learning) {
    const std::size_t count = lanes_->octet_count(), size = batch.rows * count * 8;
    const bool losses = learning && setup_.selecting != Selecting::none;
    batch.learning = learning;
    batch.stride = count * 8;
    double* results = aligned(batch.results, 2 * size);
    batch.diverged_at.assign(batch.stride, Octet::never);
    std::size_t longest = 0;
    for (std::size_t r = 0; r < batch.rows; ++r)
        longest = std::max(longest, batch.staged[r].end - batch.staged[r].begin);
    batch.octets.clear();
    for (std::size_t o = 0; o < count; ++o)
        batch.octets.push_back({lanes_->octet(o), lanes_->rate_of(o), lanes_->label_of(o), results + o * 8,
                                losses ? results + size + o * 8 : nullptr, batch.diverged_at.data() + o * 8});
    batch.room_each = 8 * longest + 8;
    aligned(batch.room, count * batch.room_each);
    batch.lane_labels = {batch.labels.y, batch.labels.pace, lanes_->classes(),
                         setup_.options.loss == LossKind::poisson ? 0.0 : -1.0, batch.stride};
    Workers* helpers = batch.rows * count < 64 ? nullptr : &workers();  // less is not worth another thread's attention
    if (pipeline_.empty())  // two at once fill each other's gaps, if all threads have something to do
        group_size_ = count >= 2 * (helpers ? helpers->count() : 1) ? 2 : 1;
    pipeline_.push((count + group_size_ - 1) / group_size_, helpers);
}

void Learner::learn_lanes(const SparseInput& input, const Labels& labels, double* predictions, std::size_t row) {
    LaneBatch& batch = pipeline_.next();
    batch.make_stage(input);
    batch.weight_before = clock_.t;
    const std::uint64_t examples = clock_.examples;
    batch.rows = kernel_->lanes->stage_learn(setup_.options, clock_, lanes_->scale(),
                                             input.part(0, sane(labels, input.rows)), labels, batch.stage);
    batch.row = row;
    batch.labels = labels;
    batch.again = again_.of(labels);
    batch.predictions = predictions;
    std::size_t dead = Octet::never;
    if (look_at_) {
        dead = settle_lanes();
    } else {
        pipeline_.wait(LanePipeline::depth - 2);
        dead = pipeline_.left_last().dead;  // of that one and no later one, so that timing makes no difference
    }
    start(batch, true);
    if (setup_.selecting == Selecting::follow && clock_.examples == Selection::next_look(examples))
        look_at_ = clock_.examples;
    if (dead != Octet::never) throw_diverged(std::min(dead, settle_lanes()), row + batch.rows);
    if (batch.rows < input.rows) {
        finish_lanes();
        throw_diverged(row + batch.rows);
    }
}

// Waits for what is running; gives the row at which a head's last rate diverged.
std::size_t Learner::settle_lanes() {
    pipeline_.drain();
    std::size_t dead = Octet::never;
    for (LaneBatch& batch : pipeline_.all()) dead = std::min(dead, std::exchange(batch.dead, Octet::never));
    if (const std::uint64_t examples = std::exchange(look_at_, 0)) selection_.look(*lanes_, examples);
    return dead;
}

void Learner::finish_lanes() {
    const std::size_t rows_end = pipeline_.last().row + pipeline_.last().rows;
    const std::size_t dead = settle_lanes();
    if (dead != Octet::never) throw_diverged(dead, rows_end);
}

// Lets the losses of a batch's rates be counted.
void Learner::score(LaneBatch& batch) {
    const std::size_t classes = lanes_->class_count(), width = learn_width();
    const bool several = setup_.selecting != Selecting::none;
    for (const Octet& octet : batch.octets)
        if (several) kernel_->lanes->losses(setup_.options, octet, batch.lane_labels, batch.stage, batch.rows);
    const bool scores = setup_.options.loss == LossKind::logistic || setup_.options.loss == LossKind::hinge;
    const double *p = batch.predicted(), *losses = batch.losses();
    double t = batch.weight_before, *predictions = batch.predictions;
    for (std::size_t r = 0; r < batch.rows; ++r, p += batch.stride, losses += batch.stride, predictions += width) {
        const double h = batch.labels.weight_of(r), y = batch.labels.y[r];
        const bool again = batch.again && batch.again[r];
        if (again) {  // judged by the prediction that did not know its weight
            if (several) losses_of(batch, r - 1, r);
            p -= batch.stride;
        }
        if (setup_.selecting == Selecting::sweep) {
            for (std::size_t j = 0; j < width; ++j) {
                const std::size_t winner = classes ? Selection::winner(p + j, classes, width) : 0;
                predictions[j] = classes ? static_cast<double>(winner) : p[j];
                const bool wrong = classes ? static_cast<double>(winner) != y : scores && (p[j] > 0) != (y > 0);
                if (wrong) selection_.count_error(j, h);
            }
        } else {
            for (std::size_t head = 0; head < width; ++head)
                predictions[head] = p[several ? selection_.leader(*lanes_, head) : head];
        }
        if (again) p += batch.stride;
        if (h == 0) continue;
        t += h;
        if (several) selection_.observe(*lanes_, losses, h, h / t);
    }
    batch.dead = diverged(batch);
}

// The losses of row `to`, which was learned, become those of the predictions of row `from`.
void Learner::losses_of(LaneBatch& batch, std::size_t from, std::size_t to) const {
    const double *p = batch.predicted() + from * batch.stride, y = batch.labels.y[to];
    double* losses = aligned(batch.results, 0) + (batch.losses() - batch.predicted()) + to * batch.stride;
    for (std::size_t k = 0; k < lanes_->lanes().size(); ++k) {
        if (!(losses[k] <= __DBL_MAX__)) continue;  // it diverged
        const LaneLabels& labels = batch.lane_labels;
        const double own = !labels.classes ? y : lanes_->label_of(k / 8)[k % 8] == y ? 1.0 : labels.negative;
        kernel_->loss(setup_.options, 0, p + k, &own, nullptr, 1, losses + k);
    }
}

// A rate that diverges has lost, and matters no more; unless it was the last one of its head.
std::size_t Learner::diverged(const LaneBatch& batch) const {
    for (std::size_t head = 0; head < lanes_->heads(); ++head) {
        std::size_t running = 0, last = 0;
        for (std::size_t k = lanes_->begin(head); k < lanes_->begin(head + 1); ++k) {
            const bool alone = setup_.selecting == Selecting::none, sound = batch.diverged_at[k] == Octet::never;
            running += alone ? sound : selection_.scores()[k].loss <= __DBL_MAX__;
            if (!sound) last = std::max(last, batch.diverged_at[k]);
        }
        if (running == 0) return batch.row + last;
    }
    return Octet::never;
}

void Learner::predict_lanes(const SparseInput& input, bool extrapolate, double* predictions) {
    LaneBatch& batch = pipeline_.next();
    batch.make_stage(input);
    batch.rows = input.rows;
    batch.labels = {};
    batch.again = nullptr;
    kernel_->lanes->stage_predict(setup_.options, clock_, lanes_->scale(), input, extrapolate, batch.stage);
    start(batch, false);
    pipeline_.drain();
    const std::size_t width = predict_width(), best = setup_.selecting == Selecting::sweep ? best_rate() : 0;
    for (std::size_t head = 0; head < width; ++head) {
        const std::size_t lane =
            setup_.selecting == Selecting::follow ? selection_.leader(*lanes_, head) : lanes_->begin(head) + best;
        const double* p = batch.predicted() + lane;
        for (std::size_t r = 0; r < input.rows; ++r) predictions[r * width + head] = p[r * batch.stride];
    }
}

// Of a sweep: the rate whose losses add up to least.
std::size_t Learner::best_rate() const {
    const std::size_t rates = lanes_->rates().size();
    std::vector<double> total(rates, 0.0);
    for (std::size_t head = 0; head < std::max<std::size_t>(1, lanes_->class_count()); ++head)
        for (std::size_t j = 0; j < rates; ++j) total[j] += selection_.scores()[lanes_->begin(head) + j].loss;
    return static_cast<std::size_t>(std::min_element(total.begin(), total.end()) - total.begin());
}

void Learner::add_classes(std::size_t count) {
    if (!count) return;
    if (!lanes_ || !lanes_->open()) throw InputError("the classes of this model are settled");
    selection_.add_classes(*lanes_, count);
}

void Learner::restore_lanes(const Snapshot& from) {
    const std::size_t heads = from.lanes.empty() ? 0 : from.lanes.back().head + 1;
    bool sound = heads >= lanes_->heads() && (heads == lanes_->heads() || setup_.open);
    for (std::size_t k = 0; sound && k < from.lanes.size(); ++k) {
        const auto [head, rate] = from.lanes[k];
        const Lane last = k ? from.lanes[k - 1] : Lane{0, 0};
        const bool follows = k == 0 ? head == 0 : head == last.head ? rate > last.rate : head == last.head + 1;
        sound = follows && rate < setup_.rates.size();
    }
    if (setup_.selecting != Selecting::follow) sound = sound && from.lanes.size() == heads * setup_.rates.size();
    if (!sound || from.scores.size() != from.lanes.size() || from.followed.size() != heads ||
        from.errors.size() != selection_.errors().size())
        throw InputError("lanes that are not the model's");
    lanes_.emplace(setup_.rates, from.lanes, heads, lanes_->classes(), setup_.open);
    selection_.restore(from.scores, from.followed, from.errors);
}

}  // namespace unitless
