// The part of a learner that runs several lanes. While one batch of rows runs through them, the next one is staged:
// scales do not depend on what is learned.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "errors.hpp"
#include "learner.hpp"

namespace unitless {
namespace {

Workers& workers() {
    static Workers* const all = [] {
        const char* setting = std::getenv("UNITLESS_THREADS");
        const long asked = setting ? std::strtol(setting, nullptr, 10) : 0;
        const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
        return new Workers(asked > 0 ? static_cast<unsigned>(std::min(asked, 256L)) : cores);
    }();
    return *all;
}

}  // namespace

// How many rows there are before one with a label or weight whose square is no number.
std::size_t Learner::sane(const Labels& labels, std::size_t rows) const {
    const bool numbers = !lanes_->classes();
    for (std::size_t r = 0; r < rows; ++r) {
        const double h = labels.weight_of(r);
        if (h > 0x1p490 || (h > 0 && numbers && std::fabs(labels.y[r]) > 0x1p490)) return r;
    }
    return rows;
}

// All lanes over a batch's staged rows.
void Learner::start(LaneBatch& batch, bool learning) {
    const std::size_t count = lanes_->octet_count(), size = batch.rows * count * 8;
    const bool losses = learning && setup_.selecting != Selecting::none;
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
    static constexpr std::size_t each = 2;  // at once, because they fill each other's gaps
    const std::size_t room = 16 * longest + 16;
    double* memory = aligned(batch.room, (count + 1) * room);
    const LaneLabels labels{batch.labels.y, batch.labels.pace, lanes_->classes(),
                            setup_.options.loss == LossKind::poisson ? 0.0 : -1.0, batch.stride};
    batch.running = true;
    batch.job.start(batch.rows * count < 64 ? nullptr : &workers(),  // less is not worth another thread's attention
                    (count + each - 1) / each, [this, &batch, labels, memory, room, count](std::size_t i) {
                        const std::size_t first = i * each, octets = std::min(each, count - first);
                        kernel_->lanes->run(setup_.options, &batch.octets[first], static_cast<int>(octets), labels,
                                            batch.stage, batch.rows, memory + i * room);
                    });
}

void Learner::learn_lanes(const SparseInput& input, const Labels& labels, double* predictions, std::size_t row) {
    LaneBatch& batch = batches_[turn_];
    batch.make_stage(input);
    batch.weight_before = clock_.t;
    batch.examples_before = clock_.examples;
    batch.rows = kernel_->lanes->stage_learn(setup_.options, clock_, lanes_->scale(),
                                             input.part(0, sane(labels, input.rows)), labels, batch.stage);
    batch.examples_after = clock_.examples;
    batch.row = row;
    batch.labels = labels;
    batch.predictions = predictions;
    const std::size_t dead = finish(batches_[1 - turn_]);  // the one before
    start(batch, true);
    turn_ = 1 - turn_;
    if (dead != Octet::never) {
        finish(batch);
        throw_diverged(dead, row + batch.rows);
    }
    if (batch.rows < input.rows) {
        finish_lanes();
        throw_diverged(row + batch.rows);
    }
}

// Waits for what is running.
void Learner::finish_lanes() {
    LaneBatch& batch = batches_[1 - turn_];
    const std::size_t dead = finish(batch);
    if (dead != Octet::never) throw_diverged(dead, batch.row + batch.rows);
}

// Waits for a batch, then lets the rates' losses be counted. Gives the row at which a head's last rate diverged.
std::size_t Learner::finish(LaneBatch& batch) {
    if (!batch.running) return Octet::never;
    batch.job.finish();
    batch.running = false;
    const std::size_t classes = lanes_->class_count(), width = learn_width();
    const bool several = setup_.selecting != Selecting::none;
    const bool scores = setup_.options.loss == LossKind::logistic || setup_.options.loss == LossKind::hinge;
    const double *p = batch.predicted(), *losses = batch.losses();
    double t = batch.weight_before, *predictions = batch.predictions;
    for (std::size_t r = 0; r < batch.rows; ++r, p += batch.stride, losses += batch.stride, predictions += width) {
        const double h = batch.labels.weight_of(r), y = batch.labels.y[r];
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
        if (h == 0) continue;
        t += h;
        if (several) selection_.observe(*lanes_, losses, h, h / t);
    }
    const std::size_t dead = diverged(batch);
    if (setup_.selecting == Selecting::follow && batch.examples_after == Selection::next_look(batch.examples_before))
        selection_.look(*lanes_, batch.examples_after);
    return dead;
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
    LaneBatch& batch = batches_[turn_];
    batch.make_stage(input);
    batch.rows = input.rows;
    batch.labels = {};
    kernel_->lanes->stage_predict(setup_.options, clock_, lanes_->scale(), input, extrapolate, batch.stage);
    start(batch, false);
    batch.job.finish();
    batch.running = false;
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
