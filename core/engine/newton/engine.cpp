#include "engine/newton/engine.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "algorithm/dispatch.hpp"
#include "algorithm/prediction.hpp"
#include "algorithm/scale.hpp"
#include "base/parts.hpp"
#include "base/workers.hpp"
#include "engine/lanes/staged_batch.hpp"

namespace unitless {
namespace {

constexpr std::size_t never = ~std::size_t{0};

NewtonLoss loss_of(const EngineSetup& setup) {
    const Mixing mixing = facts_of(setup.options.loss).mixing;
    if (mixing == Mixing::odds) return setup.has_classes() ? NewtonLoss::classes : NewtonLoss::logistic;
    if (mixing == Mixing::numbers && !setup.has_classes()) return NewtonLoss::squared;
    throw InputError("rule='newton' is for squared and logistic loss");
}

// The rates of the setup are the lanes' positions among the candidates.
EngineSetup with_candidates(EngineSetup setup) {
    setup.rates.clear();
    for (const Forgets& candidate : candidates_of(setup.forgetting, loss_of(setup)))
        setup.rates.push_back(candidate.prior);
    setup.first_rate = 0;
    setup.last_rate = setup.rates.size() - 1;
    setup.selecting = Selecting::follow;
    return setup;
}

NewtonLanes fresh_lanes(Forgetting forgetting, NewtonLoss loss, std::size_t heads) {
    std::vector<Forgets> candidates = candidates_of(forgetting, loss);
    std::vector<Lane> lanes;
    for (std::uint32_t rate = 0; rate < candidates.size(); ++rate) lanes.push_back({0, rate});
    return {std::move(candidates), std::move(lanes), heads};
}

}  // namespace

NewtonEngine::NewtonEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock)
    : Engine(with_candidates(setup), clock),
      setup_(with_candidates(setup)),
      kernel_(kernel),
      loss_(loss_of(setup)),
      met_(setup.classes),
      lanes_(fresh_lanes(setup.forgetting, loss_, heads())),
      selection_(Selecting::follow, lanes_.size(), 1, lanes_.size()) {
    set_classes(setup.classes);
}

void NewtonEngine::set_classes(std::size_t count) {
    widths_.classes = count;
    widths_.learn = widths_.predict = setup_.has_classes() ? count : 1;
}

void NewtonEngine::add_classes(std::size_t count) {
    if (!setup_.open) return Engine::add_classes(count);
    set_classes(widths_.classes + count);  // each class gets its head with its first row
}

void NewtonEngine::reserve(std::size_t slots, bool growing) {
    if (slots > slots_) slots_ = growing ? std::max(slots, 2 * slots_) : slots;
    places_.reserve(slots_);
}

// ---------------------------------------------------------------------------------------------------- rows

void NewtonEngine::check_features(const Batch& batch, std::vector<std::uint32_t>& met) const {
    for (std::size_t r = 0; r < batch.rows; ++r) {
        if (!(weight_of(batch, r) > 0)) continue;
        for (std::size_t k = begin_of(batch, r); k < end_of(batch, r); ++k) {
            const std::uint32_t slot = batch.slots[k];
            if (places_.of(slot) != Places::none || std::find(met.begin(), met.end(), slot) != met.end()) continue;
            met.push_back(slot);
            if (places_.count() + met.size() > most_features)
                throw InputError("rule='newton' takes at most " + std::to_string(most_features) +
                                     " features, and this row has another one",
                                 Place{batch.row + r}, "leave some out, or use rule='nag', which takes any number");
        }
    }
}

// The number of rows before the first row of a class without a head.
std::size_t NewtonEngine::rows_before_new_class(const Batch& batch) const {
    for (std::size_t r = 0; setup_.open && r < batch.rows; ++r)
        if (weight_of(batch, r) > 0 && batch.labels.y[r] >= static_cast<double>(met_)) return r;
    return batch.rows;
}

void NewtonEngine::begin_rows(Scratch& scratch, std::size_t count, std::size_t lanes, bool extrapolate) const {
    const std::size_t features = std::min(most_features, std::max(places_.count(), slots_));
    const std::size_t stride = std::max<std::size_t>(8, (features + 7) / 8 * 8);
    scratch.staged.resize(most_rows);
    scratch.z.assign(count * stride, 0.0);
    scratch.predictions.resize(lanes * most_rows * lane_width());
    scratch.memory.resize(lanes * run_doubles(loss_, heads()));
    scratch.odds.resize(heads());
    scratch.growths.clear();
    scratch.rows = {scratch.staged.data(), count,      scratch.z.data(), stride, scratch.growths.data(),
                    setup_.options.bias,   extrapolate};
}

// Prepares all lanes for learning or judging.
void NewtonEngine::begin_rows(std::size_t count) {
    const std::size_t features = std::min(most_features, std::max(places_.count(), slots_)), lanes = lanes_.size();
    own_.growths.reserve(count * features);
    begin_rows(own_, count, lanes, false);
    lane_losses_.resize(lanes * most_rows * 2);
    row_losses_.resize(lanes);
    failed_.assign(lanes, never);
}

// Computes z of a row that is not learned.
void NewtonEngine::peek(Scratch& scratch, const Batch& batch, std::size_t r, bool extrapolate) const {
    double* const z = scratch.z.data() + r * scratch.rows.stride;
    for (std::size_t k = begin_of(batch, r); k < end_of(batch, r); ++k) {
        const std::uint32_t place = places_.of(batch.slots[k]);
        if (place == Places::none) continue;
        const double s = places_.scale(place), x = batch.values[k];
        z[place] = extrapolate ? HoldingMaxScale::linear(s, x) : HoldingMaxScale::peek(s, x);
    }
}

// Updates the scales, the positions and the clock.
void NewtonEngine::stage_learn(const Batch& batch) {
    std::vector<Growth>& growths = own_.growths;
    for (std::size_t r = 0; r < batch.rows; ++r) {
        const double h = weight_of(batch, r), y = batch.labels.y[r];
        NewtonRow& row = own_.staged[r];
        row = {h, places_.count(),    growths.size(), growths.size(), clock_.label_min, clock_.label_max,
               y, offset_of(batch, r)};
        if (!(h > 0)) {
            peek(own_, batch, r, false);
            continue;
        }
        double* const z = own_.z.data() + r * own_.rows.stride;
        double zz = setup_.options.bias ? 1.0 : 0.0;
        if (setup_.options.bias) bias_scale_ = 1;
        for (std::size_t k = begin_of(batch, r); k < end_of(batch, r); ++k) {
            const std::uint32_t slot = batch.slots[k];
            std::uint32_t place = places_.of(slot);
            const bool fresh = place == Places::none;
            if (fresh && places_.full()) continue;
            if (fresh) place = places_.add(slot);
            const Observed seen = MaxScale::observe(places_.scale(place), batch.values[k], h);
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
        if (setup_.options.clip == Clip::labels) widen_label_range(setup_.options, clock_, y);
    }
}

// The prediction for a class without a head is that of the last head.
void NewtonEngine::stage_predict(Scratch& scratch, const Batch& batch, bool extrapolate) const {
    const double infinite = std::numeric_limits<double>::infinity(), last = static_cast<double>(heads() - 1);
    for (std::size_t r = 0; r < batch.rows; ++r) {
        double y = batch.labels.y ? batch.labels.y[r] : 0.0;
        if (loss_ == NewtonLoss::classes) y = std::min(y, last);
        scratch.staged[r] = {0,
                             places_.count(),
                             0,
                             0,
                             extrapolate ? infinite : clock_.label_min,
                             extrapolate ? -infinite : clock_.label_max,
                             y,
                             offset_of(batch, r)};
        peek(scratch, batch, r, extrapolate);
    }
}

// Runs all lanes over the staged rows.
void NewtonEngine::run() {
    const auto run_one = [this](std::size_t k) { run_lane(k); };
    if (own_.rows.count < 16) {
        for (std::size_t k = 0; k < lanes_.size(); ++k) run_one(k);
    } else {
        in_parts(workers(), lanes_.size(), run_one);
    }
}

void NewtonEngine::run_lane(std::size_t lane) {
    const std::size_t sound =
        kernel_.newton->run(loss_, lanes_.lane(lane), own_.rows, predictions_of(own_, lane, 0), memory_of(own_, lane));
    if (sound < own_.rows.count) failed_[lane] = sound;
}

void NewtonEngine::find_losses() {
    for (std::size_t k = 0; k < lanes_.size(); ++k)
        kernel_.newton->losses(loss_, own_.rows, heads(), predictions_of(own_, k, 0), &lane_losses_[k * most_rows * 2]);
}

// ---------------------------------------------------------------------------------------------------- choosing

std::size_t NewtonEngine::better_form(std::size_t lane) const {
    const double* const recent = lanes_.state(lane).recent;
    return recent[1] < recent[0] ? 1 : 0;
}

void NewtonEngine::take_prediction(Scratch& scratch, std::size_t lane, std::size_t form, std::size_t row,
                                   double* prediction) const {
    const double* const from = predictions_of(scratch, lane, row);
    if (loss_ != NewtonLoss::classes) {
        *prediction = from[form];
        return;
    }
    kernel_.newton->log_odds(from, heads(), setup_.open, scratch.odds.data());
    for (std::size_t c = 0; c < widths_.classes; ++c) prediction[c] = scratch.odds[std::min(c, heads() - 1)];
}

// Counts a row's losses. `share` is h divided by the total weight.
void NewtonEngine::count_losses(std::size_t row, double h, double share) {
    const std::size_t each = loss_ == NewtonLoss::squared ? 2 : 1;
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
        const double* const losses = &lane_losses_[k * most_rows * 2 + row * each];
        const bool failed = failed_[k] == row;
        row_losses_[k] = failed ? HUGE_VAL : losses[each == 2 ? better_form(k) : 0];
        double* const recent = lanes_.state(k).recent;
        for (std::size_t i = 0; each == 2 && i < 2; ++i) recent[i] = recent[i] * (1.0 - share) + h * losses[i];
    }
    selection_.observe(lanes_, row_losses_.data(), h, share);
}

// Whether no lane can lead any more. While rates are not being chosen, no other lane can replace the leader, so only
// the leader matters.
bool NewtonEngine::diverged() const {
    if (!chooses_rates()) return failed_[selection_.leader(lanes_, 0)] != never;
    return std::none_of(selection_.scores().begin(), selection_.scores().end(),
                        [](const LaneScores& one) { return one.loss <= __DBL_MAX__; });
}

// The row of the batch at which the last lane failed.
std::size_t NewtonEngine::last_failure() const {
    std::size_t last = 0;
    for (const std::size_t row : failed_)
        if (row != never) last = std::max(last, row);
    return last;
}

double NewtonEngine::scale(std::uint32_t slot) const {
    const std::uint32_t place = places_.of(slot);
    return slot == 0 ? bias_scale_ : place == Places::none ? 0.0 : places_.scale(place);
}

// v and P stay unchanged, as if everything had been learned in the new unit.
void NewtonEngine::lower_scale(std::uint32_t slot, double scale) {
    if (const std::uint32_t place = places_.of(slot); place != Places::none) places_.scale(place) = scale;
}

// ---------------------------------------------------------------------------------------------------- learning

void NewtonEngine::learn(const Batch& batch, double* predictions) {
    const std::size_t sane = sane_rows(batch, !setup_.has_classes());
    if (may_exceed(slots_, false)) {
        std::vector<std::uint32_t> met;
        check_features(part_of(batch, 0, sane), met);
    }
    for (std::size_t done = 0, next; done < sane; done = next) {
        std::uint64_t some = std::min(most_rows, sane - done);
        const std::uint64_t examples = clock_.examples, update = Selection::next_update(examples);
        if (follows()) some = std::min(some, update - examples);
        const std::size_t before_class = rows_before_new_class(part_of(batch, done, done + some));
        next = done + std::max<std::size_t>(1, before_class);
        const Batch part = part_of(batch, done, next);
        double* const to = predictions + done * widths_.learn;
        before_class ? learn_part(part, to) : meet_class(part, to);
        if (follows() && clock_.examples == update) selection_.update_rates(lanes_, update);
        if (diverged()) throw_diverged(part.row + last_failure(), batch.row + next);
    }
    if (sane < batch.rows) throw_diverged(batch.row + sane);
}

void NewtonEngine::learn_part(const Batch& batch, double* predictions) {
    double t = clock_.t;
    begin_rows(batch.rows);
    stage_learn(batch);
    run();
    if (chooses_rates()) find_losses();
    for (std::size_t r = 0; r < batch.rows; ++r) {
        const std::size_t leader = selection_.leader(lanes_, 0);
        take_prediction(own_, leader, better_form(leader), r, predictions + r * widths_.learn);
        const double h = own_.staged[r].weight;
        if (!(h > 0)) continue;
        t += h;
        if (chooses_rates()) count_losses(r, h, h / t);
    }
}

// Learns a row of a class without a head. The class gets its head after the prediction of the row.
void NewtonEngine::meet_class(const Batch& row, double* predictions) {
    begin_rows(1);
    stage_predict(own_, row, false);
    run();
    take_prediction(own_, selection_.leader(lanes_, 0), 0, 0, predictions);
    if (chooses_rates()) {
        find_losses();
        const double h = weight_of(row, 0);
        count_losses(0, h, h / (clock_.t + h));
    }
    const std::size_t met = static_cast<std::size_t>(row.labels.y[0]) + 1;
    lanes_.add_heads(met - met_);
    met_ = met;
    begin_rows(1);
    stage_learn(row);
    run();
}

// ---------------------------------------------------------------------------------------------------- predicting

void NewtonEngine::predict(const Batch& batch, const PredictOptions& options, double* predictions,
                           EngineScratch& given) const {
    auto& scratch = static_cast<Scratch&>(given);
    const std::size_t leader = selection_.leader(lanes_, 0), form = better_form(leader);
    for (std::size_t done = 0, next; done < batch.rows; done = next) {
        next = std::min(batch.rows, done + most_rows);
        begin_rows(scratch, next - done, 1, options.extrapolate);
        stage_predict(scratch, part_of(batch, done, next), options.extrapolate);
        kernel_.newton->run(loss_, lanes_.lane(leader), scratch.rows, predictions_of(scratch, 0, 0),
                            memory_of(scratch, 0));
        for (std::size_t r = done; r < next; ++r)
            take_prediction(scratch, 0, form, r - done, predictions + r * widths_.predict);
    }
}

void NewtonEngine::judge(const Batch& batch, const PredictOptions& options, double* predictions) {
    const std::size_t leader = selection_.leader(lanes_, 0), form = better_form(leader);
    for (std::size_t done = 0, next; done < batch.rows; done = next) {
        next = std::min(batch.rows, done + most_rows);
        begin_rows(next - done);
        own_.rows.extrapolate = options.extrapolate;
        stage_predict(own_, part_of(batch, done, next), options.extrapolate);
        run();
        for (std::size_t r = done; r < next; ++r)
            take_prediction(own_, leader, form, r - done, predictions + r * widths_.predict);
        find_losses();
        for (std::size_t r = done; r < next; ++r)
            if (const double h = weight_of(batch, r); h > 0) count_losses(r - done, h, 0.0);
    }
}

Engine::Description NewtonEngine::describe(std::size_t features) const {
    const std::size_t known = std::min(features, most_features);
    const std::size_t numbers = own_.z.capacity() + own_.predictions.capacity() + lane_losses_.capacity();
    return {.bytes = sizeof(*this) + lanes_.bytes() + places_.bytes() + numbers * sizeof(double) +
                     own_.staged.capacity() * sizeof(NewtonRow) + own_.growths.capacity() * sizeof(Growth),
            .effort = known * known + 8 * known * lane_width() + 64};
}

// ---------------------------------------------------------------------------------------------------- state

// Lanes are saved for each head, as if each head had its own, by their positions among all candidates. H is the
// diagonal of P.
void NewtonEngine::save(std::size_t slots, EngineState& to) const {
    save_common(to);
    const std::size_t count = lanes_.size(), written = setup_.has_classes() ? widths_.classes + setup_.open : 1;
    EngineState own;
    selection_.save(own);
    for (std::size_t head = 0; head < written; ++head) {
        for (const Lane& lane : lanes_.lanes())
            to.lanes.push_back({static_cast<std::uint32_t>(head), lane.rate + first_candidate(setup_.forgetting)});
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
    using State = NewtonLanes::State;
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
    // There is no separate average: v is already the mean of everything learned, and replaces it.
    if (averages()) {
        to.average = to.v;
        to.average_scale = to.scale;
        to.next_look = clock_.examples + 1;
    }
    NewtonState& newton = to.newton.emplace();
    newton.order = places_.slots();
    for (std::size_t k = 0; k < count; ++k) {
        const State& state = lanes_.state(k);
        newton.recent.insert(newton.recent.end(), state.recent, state.recent + 2);
        for (std::size_t i = 0; i < places_.count(); ++i) {
            newton.P.push_back(state.border.data()[i]);
            for (std::size_t j = 0; j < i; ++j) newton.P.push_back(state.half.data()[half_entry(i, j)]);
        }
    }
    if (setup_.open) newton.met = met_;
}

void NewtonEngine::load(const EngineState& saved) {
    const auto require = [](bool sound) {
        if (!sound) throw InputError("rule='newton' has a state that learning cannot produce");
    };
    EngineState from = saved;
    for (Lane& lane : from.lanes) {
        require(lane.rate >= first_candidate(setup_.forgetting));
        lane.rate -= first_candidate(setup_.forgetting);
    }
    const std::size_t written = checked_heads(from, setup_), count = from.lanes.size() / written;
    if (!from.newton) throw InputError("the model has no field 'newton.order'");
    const auto& [order, covariance, recent, met_classes] = *from.newton;
    check_average(from);
    for (std::size_t i = 0; i < from.lanes.size(); ++i)
        require(from.lanes[i].head == i / count && from.lanes[i].rate == from.lanes[i % count].rate);
    std::size_t met = written - setup_.open;
    if (setup_.open) {
        require(met_classes && *met_classes < written);
        met = *met_classes;
    }
    const bool biased = !from.slots.empty() && from.slots[0] == 0;
    const std::size_t features = from.slots.size() - biased;
    require(features <= most_features && order.size() == features && recent.size() == 2 * count);
    require(covariance.size() == count * (features * (features + 1) / 2));
    require(biased == (setup_.options.bias && from.clock.examples > 0));
    Places places;
    places.reserve(slots_);
    for (const std::uint32_t slot : order) {
        require(slot < slots_ && slot > 0 && places.of(slot) == Places::none);
        places.add(slot);
    }
    NewtonLanes lanes(candidates_of(setup_.forgetting, loss_),
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
            require(variance == from.H[i * from.lanes.size() + k % count]);
            NewtonLanes::State& state = lanes.state(k % count);
            const std::size_t head = std::min(k / count, state.bias_v.size() - 1);
            (bias ? state.bias_v[head] : state.v.data()[head * most_places + place]) = v;
            (bias ? state.corner : state.half.data()[half_entry(place, place)]) = variance;
        }
    }
    auto next = covariance.begin();
    for (std::size_t k = 0; k < count; ++k) {
        NewtonLanes::State& state = lanes.state(k);
        std::copy_n(&recent[2 * k], 2, state.recent);
        for (std::size_t i = 0; i < features; ++i) {
            state.border.data()[i] = *next++;
            for (std::size_t j = 0; j < i; ++j) set_entry(state.half.data(), i, j, *next++);
        }
    }
    places_ = std::move(places);
    lanes_ = std::move(lanes);
    bias_scale_ = biased ? from.scale[0] : 0;
    met_ = met;
    if (setup_.has_classes()) set_classes(written - setup_.open);
    EngineState chosen;
    chosen.scores.assign(from.scores.begin(), from.scores.begin() + static_cast<std::ptrdiff_t>(count));
    chosen.followed = {from.followed[0]};
    selection_.load(chosen);
    load_common(from);
}

}  // namespace unitless
