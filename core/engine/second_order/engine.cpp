#include "engine/second_order/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "algorithm/dispatch.hpp"
#include "algorithm/scale.hpp"
#include "base/workers.hpp"
#include "engine/lanes/lane_batch.hpp"
#include "engine/shapes/numbers.hpp"

namespace unitless {
namespace {

constexpr std::size_t never = ~std::size_t{0};

// Lanes are told apart as learning rates are.
EngineSetup with_walks(EngineSetup setup) {
    setup.rates.clear();
    for (const Walk& walk : walks_of(setup.walking)) setup.rates.push_back(walk.prior);
    setup.first_rate = 0;
    setup.last_rate = setup.rates.size() - 1;
    setup.selecting = Selecting::follow;
    return setup;
}

SecondOrderLanes first_walks(Walking walking, std::size_t heads) {
    std::vector<Walk> walks = walks_of(walking);
    std::vector<Lane> lanes;
    for (std::uint32_t rate = 0; rate < walks.size(); ++rate) lanes.push_back({0, rate});
    return {std::move(walks), std::move(lanes), heads};
}

SecondOrderLoss loss_of(const EngineSetup& setup) {
    const Mixing mixing = facts_of(setup.options.loss).mixing;
    if (mixing == Mixing::odds) return setup.has_classes() ? SecondOrderLoss::classes : SecondOrderLoss::logistic;
    if (mixing == Mixing::numbers && !setup.has_classes()) return SecondOrderLoss::squared;
    throw InputError("rule='newton' is for squared and logistic loss");
}

}  // namespace

SecondOrderEngine::SecondOrderEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock)
    : Engine(with_walks(setup), clock),
      setup_(with_walks(setup)),
      kernel_(kernel),
      loss_(loss_of(setup)),
      classes_(setup.classes),
      met_(setup.classes),
      lanes_(first_walks(setup.walking, heads())),
      selection_(Selecting::follow, lanes_.size(), 1, lanes_.size()) {}

void SecondOrderEngine::add_classes(std::size_t count) {
    if (!setup_.open) return Engine::add_classes(count);
    classes_ += count;  // each gets its head when it is met
}

void SecondOrderEngine::reserve(std::size_t slots, bool growing) {
    if (slots > slots_) slots_ = growing ? std::max(slots, 2 * slots_) : slots;
    places_.reserve(slots_);
}

// ---------------------------------------------------------------------------------------------------- rows

void SecondOrderEngine::check_features(const SparseInput& rows, const Labels& labels, std::size_t row,
                                       std::vector<std::uint32_t>& met) const {
    for (std::size_t r = 0; r < rows.rows; ++r) {
        if (!(weight_of(labels, r) > 0)) continue;
        for (std::size_t k = begin_of(rows, r); k < end_of(rows, r); ++k) {
            const std::uint32_t slot = slot_at(rows, k);
            if (places_.of(slot) != Places::none || std::find(met.begin(), met.end(), slot) != met.end()) continue;
            met.push_back(slot);
            if (places_.count() + met.size() > most_features)
                throw InputError(
                    "rule='newton' takes at most " + std::to_string(most_features) + " features, and here is one more",
                    Place{row + r}, "leave some out, or use rule='nag', which takes any number");
        }
    }
}

// How many rows come before the first of a class that has no head yet.
std::size_t SecondOrderEngine::rows_until_class(const Labels& labels, std::size_t rows) const {
    for (std::size_t r = 0; setup_.open && r < rows; ++r)
        if (weight_of(labels, r) > 0 && labels.y[r] >= static_cast<double>(met_)) return r;
    return rows;
}

void SecondOrderEngine::begin_rows(WorkingMemory& memory, std::size_t count, std::size_t lanes, bool plain) const {
    const std::size_t features = std::min(most_features, std::max(places_.count(), slots_));
    const std::size_t stride = std::max<std::size_t>(8, (features + 7) / 8 * 8);
    memory.staged.resize(most_rows);
    memory.z.assign(count * stride, 0.0);
    memory.said.resize(lanes * most_rows * said_width());
    memory.scratch.resize(lanes * run_doubles(loss_, heads()));
    memory.odds.resize(heads());
    memory.growths.clear();
    memory.rows = {memory.staged.data(), count, memory.z.data(), stride, memory.growths.data(),
                   setup_.options.bias,  plain};
}

// The same for all lanes.
void SecondOrderEngine::begin_rows(std::size_t count) {
    const std::size_t features = std::min(most_features, std::max(places_.count(), slots_)), lanes = lanes_.size();
    own_.growths.reserve(count * features);
    begin_rows(own_, count, lanes, false);
    loss_of_.resize(lanes * most_rows * 2);
    row_loss_.resize(lanes);
    failed_.assign(lanes, never);
}

void SecondOrderEngine::look_at(WorkingMemory& memory, const SparseInput& rows, std::size_t r, bool extrapolate) const {
    double* const z = memory.z.data() + r * memory.rows.stride;
    for (std::size_t k = begin_of(rows, r); k < end_of(rows, r); ++k) {
        const std::uint32_t place = places_.of(slot_at(rows, k));
        if (place == Places::none) continue;
        const double s = places_.scale(place), x = rows.values[k];
        z[place] = extrapolate ? HoldingMaxScale::linear(s, x) : HoldingMaxScale::peek(s, x);
    }
}

// Scales, places and the clock move on.
void SecondOrderEngine::stage_learn(const SparseInput& rows, const Labels& labels) {
    std::vector<Growth>& growths = own_.growths;
    for (std::size_t r = 0; r < rows.rows; ++r) {
        SecondOrderRow& row = own_.staged[r];
        const double h = weight_of(labels, r);
        row = {h,           places_.count(),     growths.size(), growths.size(), clock_.label_min, clock_.label_max,
               labels.y[r], offset_of(labels, r)};
        if (!(h > 0)) {
            look_at(own_, rows, r, false);
            continue;
        }
        double* const z = own_.z.data() + r * own_.rows.stride;
        double zz = setup_.options.bias ? 1.0 : 0.0;
        if (setup_.options.bias) bias_scale_ = 1;
        for (std::size_t k = begin_of(rows, r); k < end_of(rows, r); ++k) {
            const std::uint32_t slot = slot_at(rows, k);
            std::uint32_t place = places_.of(slot);
            const bool fresh = place == Places::none;
            if (fresh && places_.full()) continue;
            if (fresh) place = places_.add(slot);
            const Observed seen = MaxScale::observe(places_.scale(place), rows.values[k], h);
            z[place] = seen.z;
            zz += seen.z * seen.z;
            if (fresh || seen.rho != 1) growths.push_back({place, fresh ? 0.0 : seen.rho});
        }
        row.features = places_.count();
        row.end_growth = growths.size();
        clock_.t += h;
        clock_.T += h;
        clock_.N += h * zz;
        clock_.examples += 1;
        if (setup_.options.clip == Clip::labels) {
            clock_.label_min = std::min(clock_.label_min, labels.y[r]);
            clock_.label_max = std::max(clock_.label_max, labels.y[r]);
        }
    }
}

// Of a class that has no head yet, what is said is the last one's.
void SecondOrderEngine::stage_predict(WorkingMemory& memory, const SparseInput& rows, const Labels* labels,
                                      const Asking& asking) const {
    const double infinite = std::numeric_limits<double>::infinity(), last = static_cast<double>(heads() - 1);
    for (std::size_t r = 0; r < rows.rows; ++r) {
        double y = labels ? labels->y[r] : 0.0;
        if (loss_ == SecondOrderLoss::classes) y = std::min(y, last);
        memory.staged[r] = {0,
                            places_.count(),
                            0,
                            0,
                            asking.extrapolate ? infinite : clock_.label_min,
                            asking.extrapolate ? -infinite : clock_.label_max,
                            y,
                            offset_of(asking, r)};
        look_at(memory, rows, r, asking.extrapolate);
    }
}

// The staged rows through all lanes.
void SecondOrderEngine::run() {
    const auto run_lane = [this](std::size_t k) { run_one(k); };
    if (own_.rows.count < 16) {
        for (std::size_t k = 0; k < lanes_.size(); ++k) run_lane(k);
    } else {
        in_parts(workers(), lanes_.size(), run_lane);
    }
}

void SecondOrderEngine::run_one(std::size_t lane) {
    const std::size_t sound =
        kernel_.second_order->run(loss_, lanes_.lane(lane), own_.rows, said(own_, lane, 0), scratch(own_, lane));
    if (sound < own_.rows.count) failed_[lane] = sound;
}

void SecondOrderEngine::find_losses() {
    for (std::size_t k = 0; k < lanes_.size(); ++k)
        kernel_.second_order->losses(loss_, own_.rows, heads(), said(own_, k, 0), &loss_of_[k * most_rows * 2]);
}

// ---------------------------------------------------------------------------------------------------- choosing

// Of squared loss: is it the mean that speaks for a lane, or is it shrunk?
std::size_t SecondOrderEngine::speaker(std::size_t lane) const {
    const double* const recent = lanes_.state(lane).recent;
    return recent[1] < recent[0] ? 1 : 0;
}

void SecondOrderEngine::tell(WorkingMemory& memory, std::size_t lane, std::size_t speaking, std::size_t row,
                             double* prediction) const {
    const double* const from = said(memory, lane, row);
    std::vector<double>& odds = memory.odds;
    if (loss_ != SecondOrderLoss::classes) {
        *prediction = from[speaking];
        return;
    }
    kernel_.second_order->odds(from, heads(), odds.data());
    const double of_spare = odds.back();
    // Classes are told from those that were met; the spare one stands for the others only where there is no other.
    if (setup_.open && met_ > 1) kernel_.second_order->odds(from, met_, odds.data());
    for (std::size_t c = 0; c < classes_; ++c) prediction[c] = c < met_ ? odds[c] : of_spare;
}

// A row's losses are counted, `share` being h over the total weight.
void SecondOrderEngine::count_losses(std::size_t row, double h, double share) {
    const std::size_t each = loss_ == SecondOrderLoss::squared ? 2 : 1;
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
        const double* const losses = &loss_of_[k * most_rows * 2 + row * each];
        const bool failed = failed_[k] == row;
        row_loss_[k] = failed ? HUGE_VAL : losses[each == 2 ? speaker(k) : 0];
        double* const recent = lanes_.state(k).recent;
        for (std::size_t i = 0; each == 2 && i < 2; ++i) recent[i] = recent[i] * (1.0 - share) + h * losses[i];
    }
    selection_.observe(lanes_, row_loss_.data(), h, share);
}

// Is there no lane left to speak? While no other can take the leader's place, it is the leader that counts.
bool SecondOrderEngine::dead() const {
    if (!chooses_rates()) return failed_[selection_.leader(lanes_, 0)] != never;
    return std::none_of(selection_.scores().begin(), selection_.scores().end(),
                        [](const LaneScores& one) { return one.loss <= __DBL_MAX__; });
}

// Of the batch, the row at which the last lane failed.
std::size_t SecondOrderEngine::last_failure() const {
    std::size_t last = 0;
    for (const std::size_t row : failed_)
        if (row != never) last = std::max(last, row);
    return last;
}

void SecondOrderEngine::sift_rates() { selection_.sift(lanes_, true); }

double SecondOrderEngine::scale(std::uint32_t slot) const {
    const std::uint32_t place = places_.of(slot);
    return slot == 0 ? bias_scale_ : place == Places::none ? 0.0 : places_.scale(place);
}

// v and P stay, as if all that was learned had been in the new unit.
void SecondOrderEngine::lower_scale(std::uint32_t slot, double scale) {
    if (const std::uint32_t place = places_.of(slot); place != Places::none) places_.scale(place) = scale;
}

// ---------------------------------------------------------------------------------------------------- learning

void SecondOrderEngine::learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) {
    const std::size_t sane = sane_rows(labels, rows.rows, !setup_.has_classes());
    if (may_have_enough(slots_, false)) {
        std::vector<std::uint32_t> met;
        check_features(part_of(rows, 0, sane), labels, row, met);
    }
    for (std::size_t done = 0, next; done < sane; done = next) {
        std::uint64_t some = std::min(most_rows, sane - done);
        const std::uint64_t examples = clock_.examples, look = Selection::next_look(examples);
        if (follows()) some = std::min(some, look - examples);
        const Labels own = labels_from(labels, done);
        const std::size_t before_class = rows_until_class(own, some);
        next = done + std::max<std::size_t>(1, before_class);
        const SparseInput part = part_of(rows, done, next);
        double* const to = predictions + done * predict_width();
        before_class ? learn_some(part, own, to) : meet_class(part, own, to);
        if (follows() && clock_.examples == look) selection_.look(lanes_, look);
        if (dead()) throw_diverged(row + done + last_failure(), row + next);
    }
    if (sane < rows.rows) throw_diverged(row + sane);
}

void SecondOrderEngine::learn_some(const SparseInput& rows, const Labels& labels, double* predictions) {
    double t = clock_.t;
    begin_rows(rows.rows);
    stage_learn(rows, labels);
    run();
    if (chooses_rates()) find_losses();
    for (std::size_t r = 0; r < rows.rows; ++r) {
        const std::size_t leader = selection_.leader(lanes_, 0);
        tell(own_, leader, speaker(leader), r, predictions + r * predict_width());
        const double h = own_.staged[r].weight;
        if (!(h > 0)) continue;
        t += h;
        if (chooses_rates()) count_losses(r, h, h / t);
    }
}

// A row of a class that has no head yet: only when it is known what is said of it, the class gets one.
void SecondOrderEngine::meet_class(const SparseInput& row, const Labels& labels, double* predictions) {
    begin_rows(1);
    stage_predict(own_, row, &labels, {false});
    run();
    const std::size_t leader = selection_.leader(lanes_, 0);
    tell(own_, leader, 0, 0, predictions);
    if (chooses_rates()) {
        find_losses();
        const double h = weight_of(labels, 0);
        count_losses(0, h, h / (clock_.t + h));
    }
    const std::size_t met = static_cast<std::size_t>(labels.y[0]) + 1;
    lanes_.add_heads(met - met_);
    met_ = met;
    begin_rows(1);
    stage_learn(row, labels);
    run();
}

// ---------------------------------------------------------------------------------------------------- predicting

void SecondOrderEngine::predict(const SparseInput& rows, const Asking& asking, double* predictions, Room& room) const {
    auto& memory = static_cast<WorkingMemory&>(room);
    const std::size_t leader = selection_.leader(lanes_, 0), speaking = speaker(leader);
    for (std::size_t done = 0, next; done < rows.rows; done = next) {
        next = std::min(rows.rows, done + most_rows);
        begin_rows(memory, next - done, 1, asking.extrapolate);
        stage_predict(memory, part_of(rows, done, next), nullptr, asking_from(asking, done));
        kernel_.second_order->run(loss_, lanes_.lane(leader), memory.rows, said(memory, 0, 0), scratch(memory, 0));
        for (std::size_t r = done; r < next; ++r)
            tell(memory, 0, speaking, r - done, predictions + r * predict_width());
    }
}

void SecondOrderEngine::judge(const SparseInput& rows, const Asking& asking, const Labels& labels,
                              double* predictions) {
    const std::size_t leader = selection_.leader(lanes_, 0), speaking = speaker(leader);
    for (std::size_t done = 0, next; done < rows.rows; done = next) {
        next = std::min(rows.rows, done + most_rows);
        const Labels own = labels_from(labels, done);
        begin_rows(next - done);
        own_.rows.plain = asking.extrapolate;
        stage_predict(own_, part_of(rows, done, next), &own, asking_from(asking, done));
        run();
        for (std::size_t r = done; r < next; ++r)
            tell(own_, leader, speaking, r - done, predictions + r * predict_width());
        find_losses();
        for (std::size_t r = 0; r < next - done; ++r)
            if (const double h = weight_of(own, r); h > 0) count_losses(r, h, 0.0);
    }
}

// ---------------------------------------------------------------------------------------------------- state

// Lanes are written for each head, as if each had its own, by their places among all walks; H is the diagonal of P.
void SecondOrderEngine::save(std::size_t slots, EngineState& to) const {
    save_common(to);
    const std::size_t count = lanes_.size(), written = setup_.has_classes() ? classes_ + setup_.open : 1;
    EngineState own;
    selection_.save(own);
    for (std::size_t head = 0; head < written; ++head) {
        for (const Lane& lane : lanes_.lanes())
            to.lanes.push_back({static_cast<std::uint32_t>(head), lane.rate + first_walk(setup_.walking)});
        to.scores.insert(to.scores.end(), own.scores.begin(), own.scores.end());
        to.followed.push_back(own.followed[0]);
    }
    const auto put = [&](std::uint32_t slot, double scale, auto v, auto variance) {
        to.slots.push_back(slot);
        to.scale.push_back(scale);
        for (std::size_t head = 0; head < written; ++head)
            for (std::size_t k = 0; k < count; ++k) {
                to.v.push_back(v(lanes_.state(k), std::min(head, heads() - 1)));
                to.H.push_back(variance(lanes_.state(k)));
            }
    };
    using State = SecondOrderLanes::State;
    if (slots > 0 && bias_scale_ > 0)
        put(
            0, bias_scale_, [](const State& state, std::size_t head) { return state.bias_v[head]; },
            [](const State& state) { return state.corner; });
    std::vector<std::uint32_t> sorted;
    for (const std::uint32_t slot : places_.slots())
        if (slot < slots) sorted.push_back(slot);
    std::sort(sorted.begin(), sorted.end());
    for (const std::uint32_t slot : sorted) {
        const std::size_t place = places_.of(slot);
        put(
            slot, places_.scale(place),
            [&](const State& state, std::size_t head) { return state.v.data()[head * most_places + place]; },
            [&](const State& state) { return state.half.data()[half_entry(place, place)]; });
    }
    if (averages()) {  // there is none: what is last is the mean of all that was learned, and stands for it
        to.average = to.v;
        to.average_scale = to.scale;
        to.next_look = clock_.examples + 1;
    }
    std::vector<double> order, covariance, recent;
    for (const std::uint32_t slot : places_.slots()) order.push_back(slot);
    for (std::size_t k = 0; k < count; ++k) {
        const State& state = lanes_.state(k);
        recent.insert(recent.end(), state.recent, state.recent + 2);
        for (std::size_t i = 0; i < places_.count(); ++i) {
            covariance.push_back(state.border.data()[i]);
            for (std::size_t j = 0; j < i; ++j) covariance.push_back(state.half.data()[half_entry(i, j)]);
        }
    }
    to.shape.push_back({"newton.order", std::move(order)});
    to.shape.push_back({"newton.P", std::move(covariance)});
    to.shape.push_back({"newton.recent", std::move(recent)});
    if (setup_.open) to.shape.push_back({"newton.met", {static_cast<double>(met_)}});
}

void SecondOrderEngine::load(const EngineState& saved) {
    const auto require = [](bool sound) {
        if (!sound) throw InputError("the numbers of rule='newton' are not such as learning gives");
    };
    EngineState from = saved;
    for (Lane& lane : from.lanes) {
        require(lane.rate >= first_walk(setup_.walking));
        lane.rate -= first_walk(setup_.walking);
    }
    const std::size_t written = checked_heads(from, setup_), count = from.lanes.size() / written;
    const auto& order = numbers_named(from.shape, "newton.order");
    const auto& covariance = numbers_named(from.shape, "newton.P");
    const auto& recent = numbers_named(from.shape, "newton.recent");
    check_average(from);
    for (std::size_t i = 0; i < from.lanes.size(); ++i)
        require(from.lanes[i].head == i / count && from.lanes[i].rate == from.lanes[i % count].rate);
    std::size_t met = written - setup_.open;
    if (setup_.open) {
        const auto& said = numbers_named(from.shape, "newton.met");
        require(said.size() == 1 && is_count(said[0], written));
        met = static_cast<std::size_t>(said[0]);
    }
    const bool biased = !from.slots.empty() && from.slots[0] == 0;
    const std::size_t features = from.slots.size() - biased;
    require(features <= most_features && order.size() == features && recent.size() == 2 * count);
    require(covariance.size() == count * (features * (features + 1) / 2));
    require(biased == (setup_.options.bias && from.clock.examples > 0));
    Places places;
    places.reserve(slots_);
    for (const double slot : order) {
        require(is_count(slot, slots_) && slot > 0 && places.of(static_cast<std::uint32_t>(slot)) == Places::none);
        places.add(static_cast<std::uint32_t>(slot));
    }
    SecondOrderLanes lanes(walks_of(setup_.walking),
                           {from.lanes.begin(), from.lanes.begin() + static_cast<std::ptrdiff_t>(count)},
                           setup_.has_classes() ? met + setup_.open : 1);
    for (std::size_t i = 0; i < from.slots.size(); ++i) {
        const bool bias = biased && i == 0;
        require(i == 0 || from.slots[i] > from.slots[i - 1]);
        const std::uint32_t place = bias ? 0 : places.of(from.slots[i]);
        require(place != Places::none);
        if (!bias) places.scale(place) = from.scale[i];
        for (std::size_t k = 0; k < from.lanes.size(); ++k) {
            const double v = from.v[i * from.lanes.size() + k], variance = from.H[i * from.lanes.size() + k];
            require(std::isfinite(v) && std::isfinite(variance));  // rounding may leave a variance below 0
            require(variance == from.H[i * from.lanes.size() + k % count]);
            SecondOrderLanes::State& state = lanes.state(k % count);
            const std::size_t head = std::min(k / count, state.bias_v.size() - 1);
            (bias ? state.bias_v[head] : state.v.data()[head * most_places + place]) = v;
            (bias ? state.corner : state.half.data()[half_entry(place, place)]) = variance;
        }
    }
    auto next = covariance.begin();
    for (std::size_t k = 0; k < count; ++k) {
        SecondOrderLanes::State& state = lanes.state(k);
        require(recent[2 * k] >= 0 && recent[2 * k + 1] >= 0);
        std::copy_n(&recent[2 * k], 2, state.recent);
        for (std::size_t i = 0; i < features; ++i) {
            for (std::size_t j = 0; j <= i; ++j) require(std::isfinite(next[static_cast<std::ptrdiff_t>(j)]));
            state.border.data()[i] = *next++;
            for (std::size_t j = 0; j < i; ++j) set_entry(state.half.data(), i, j, *next++);
        }
    }
    places_ = std::move(places);
    lanes_ = std::move(lanes);
    bias_scale_ = biased ? from.scale[0] : 0;
    met_ = met;
    if (setup_.has_classes()) classes_ = written - setup_.open;
    EngineState chosen;
    chosen.scores.assign(from.scores.begin(), from.scores.begin() + static_cast<std::ptrdiff_t>(count));
    chosen.followed = {from.followed[0]};
    selection_.load(chosen);
    load_common(from);
}

std::size_t SecondOrderEngine::bytes() const {
    return sizeof(*this) + lanes_.bytes() + places_.bytes() +
           (own_.z.capacity() + own_.said.capacity() + loss_of_.capacity()) * sizeof(double) +
           own_.staged.capacity() * sizeof(SecondOrderRow) + own_.growths.capacity() * sizeof(Growth);
}

}  // namespace unitless
