#include "engine/lanes/engine.hpp"

#include <algorithm>
#include <utility>

#include "algorithm/dispatch.hpp"

namespace unitless {
namespace {

// Small enough that batches stay in the cache, large enough that taking them costs the threads little time.
constexpr std::size_t rows_at_once = 128;

// The amount of work (entries of rows, times octets) that justifies another thread: about ten microseconds.
constexpr std::size_t work_of_thread = 2048;

// Adds v of eight lanes to their average.
void update_average(const double* octet, double* average, const std::vector<double>& scales,
                    const Averaging::Step& step) {
    for (const double scale : scales) {
        if (scale > 0) {
            const double growth = step.growth(average[8], scale);
            for (std::size_t i = 0; i < 8; ++i) average[i] = step.with(average[i] * growth, octet[i]);
            average[8] = scale;
        }
        octet += octet_doubles;
        average += octet_doubles;
    }
}

}  // namespace

LaneEngine::LaneEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock, Placing placing)
    : Engine(setup, clock),
      setup_(setup),
      kernel_(kernel),
      lanes_(setup.rates, first_lanes(setup), first_heads(setup), setup.has_classes(), setup.open, setup.average,
             setup.penalties, placing),
      selection_(setup.selecting, lanes_.lanes().size(), first_heads(setup), setup.rates.size(), setup.across),
      labels_are_signs_(facts_of(setup.options.loss).labels == LabelKind::sign),
      negative_(facts_of(setup.options.loss).negative),
      places_(setup.options.proximal && setup.slots > 0),
      pipeline_(*this) {
    set_widths();
}

// Learning with a sweep returns one number per rate (with classes, the number of the predicted class). Otherwise it
// returns one number, or one per class.
void LaneEngine::set_widths() {
    widths_.classes = lanes_.class_count();
    widths_.predict = lanes_.classes() ? widths_.classes : 1;
    widths_.learn = sweeps() ? lanes_.rates().size() : widths_.predict;
}

// ---------------------------------------------------------------------------------------------------- state

void LaneEngine::reserve(std::size_t slots, bool growing) {
    in_use_ = slots;
    if (places_.on()) places_.reserve(slots);
    make_space(places_.on() ? places_.count() : slots, growing);
}

void LaneEngine::make_space(std::size_t slots, bool growing) {
    if (slots <= lanes_.capacity()) return;
    finish();
    lanes_.reserve(growing ? std::max(slots, 2 * lanes_.capacity()) : slots);
}

void LaneEngine::add_classes(std::size_t count) {
    if (!lanes_.open()) return Engine::add_classes(count);
    selection_.add_classes(lanes_, count);
    set_widths();
}

void LaneEngine::save(std::size_t slots, EngineState& to) const {
    save_common(to);
    lanes_.save(slots, to, places_);
    selection_.save(to);
}

void LaneEngine::load(const EngineState& from) {
    const std::size_t heads = checked_heads(from, setup_), capacity = lanes_.capacity();
    check_average(from);
    for (const std::uint32_t slot : from.slots) places_.allot(slot);
    lanes_ = Lanes(setup_.rates, from.lanes, heads, lanes_.classes(), setup_.open, setup_.average, setup_.penalties,
                   lanes_.placing());
    lanes_.reserve(places_.on() ? places_.count() : capacity);
    lanes_.load(from, places_);
    selection_.load(from);
    load_common(from);
    set_widths();
}

void LaneEngine::read(const std::uint32_t* slots, std::size_t count, const std::vector<std::uint32_t>& lanes,
                      SlotBlock& to) const {
    const Averaging::Step step = averaging_.step(clock_.t);
    for (std::size_t k = 0; k < count; ++k) {
        const std::uint32_t slot = places_.find(slots[k]);
        if (slot >= lanes_.capacity() || lanes_.scale()[slot] == 0) {
            to.clear(k);
            continue;
        }
        const double scale = to.scale[k] = lanes_.scale()[slot];
        double *H = &to.H[k * to.lanes], *values = &to.values[k * to.width];
        for (std::size_t i = 0; i < lanes.size(); ++i) {
            values[i] = lanes_.v(slot, lanes[i]);
            H[i] = lanes_.H(slot, lanes[i]);
        }
        if (!averages()) continue;
        const double growth = averaging_.started() ? step.growth(lanes_.average_scale(slot), scale) : 1.0;
        for (std::size_t i = 0; i < lanes.size(); ++i)
            values[lanes.size() + i] = averaging_.started() ? lanes_.average(slot, lanes[i]) * growth : values[i];
    }
}

void LaneEngine::write(std::size_t first, std::size_t count, const SlotBlock& from) {
    const double unit = averaging_.unit_at_update(clock_.t);
    std::unique_lock guard(writing_, std::defer_lock);
    if (places_.on()) {
        guard.lock();
        for (std::size_t k = 0; k < count; ++k)
            if (from.scale[k] != 0) places_.allot(static_cast<std::uint32_t>(first + k));
        make_space(places_.count(), true);
    }
    for (std::size_t k = 0; k < count; ++k) {
        if (from.scale[k] == 0) continue;  // slots that are never written take no memory
        const std::size_t slot = places_.find(static_cast<std::uint32_t>(first + k));
        lanes_.scale()[slot] = from.scale[k];
        const double *H = &from.H[k * from.lanes], *values = &from.values[k * from.width];
        for (std::size_t i = 0; i < from.lanes; ++i) {
            lanes_.v(slot, i) = values[i];
            lanes_.H(slot, i) = H[i];
            if (averages() && averaging_.started()) lanes_.average(slot, i) = values[from.lanes + i];
        }
        if (averages()) lanes_.set_average_scale(slot, from.scale[k] * unit);
    }
}

Engine::Description LaneEngine::describe(std::size_t features) const {
    const std::size_t octets = std::min(lanes_.octet_count(), std::max<std::size_t>(1, widths_.predict));
    return {.bytes = sizeof(*this) + lanes_.bytes() + places_.bytes(), .effort = 4 * features * octets + 64};
}

// ---------------------------------------------------------------------------------------------------- learning

void LaneEngine::learn(const Batch& batch, double* predictions) {
    for (std::size_t done = 0, next; done < batch.rows; done = next) {
        next = done + averaging_.rows_until_update(clock_.examples, std::min(batch.rows - done, rows_at_once));
        if (follows()) {  // rates are updated at certain numbers of examples
            const std::uint64_t left = Selection::next_update(clock_.examples) - clock_.examples;
            if (left < next - done) next = done + left;
        }
        learn_part(part_of(batch, done, next), predictions + done * widths_.learn);
    }
}

// Replaces the slots of a batch by their positions in memory. Slots of rows that are learned get positions.
Batch LaneEngine::placed(const Batch& batch) {
    if (!places_.on()) return batch;
    if (row_places_.size() < entries_end(batch)) row_places_.resize(entries_end(batch));
    for (std::size_t r = 0; r < batch.rows; ++r) {
        const bool learned = weight_of(batch, r) > 0;
        for (std::size_t k = begin_of(batch, r); k < end_of(batch, r); ++k)
            row_places_[k] = learned ? places_.allot(batch.slots[k]) : places_.find(batch.slots[k]);
    }
    make_space(places_.count(), true);
    Batch here = batch;
    here.slots = row_places_.data();
    return here;
}

void LaneEngine::learn_part(const Batch& given, double* predictions) {
    const Batch rows = placed(given);
    const Workers* const helpers = helpers_for(entries_of(rows) + rows.rows);
    LaneBatch& batch = pipeline_.next(helpers && helpers->count() > 1);
    batch.weight_before = clock_.t;
    batch.averaging.reset();
    const std::uint64_t examples = clock_.examples;
    const Batch sane = part_of(rows, 0, sane_rows(rows, !lanes_.classes()));
    batch.rows = kernel_.lanes->stage_learn(setup_.options, clock_, lanes_.scale(), sane, batch.staged.make(rows));
    batch.row = rows.row;
    batch.labels = rows.labels;
    batch.predictions = predictions;
    // The threads that run the lanes update the average; scales may have grown by then.
    if (averaging_.due(clock_.examples)) {
        batch.averaging_scales.assign(lanes_.scale(), lanes_.scale() + in_use_);
        const auto unscaled = std::count(batch.averaging_scales.begin(), batch.averaging_scales.end(), 0.0);
        batch.averaging =
            averaging_.update(clock_.t, batch.averaging_scales.size() - static_cast<std::size_t>(unscaled));
    }
    const std::size_t diverged = update_rates_at_ ? wait_for_all() : pipeline_.wait_for_place();
    start(batch);
    if (follows() && clock_.examples == Selection::next_update(examples)) update_rates_at_ = clock_.examples;
    if (diverged != Octet::never) throw_diverged(std::min(diverged, wait_for_all()), rows.row + batch.rows);
    if (batch.rows < rows.rows) {
        const std::size_t row = rows.row + batch.rows;
        finish();
        throw_diverged(row);
    }
}

// A few rows do not justify another thread.
Workers* LaneEngine::helpers_for(std::size_t entries) const {
    return entries * lanes_.octet_count() < work_of_thread / 2 ? nullptr : &workers();
}

Octet LaneEngine::octet_of(std::size_t o, double* state, double* results, double* losses,
                           std::size_t* diverged_at) const {
    return {.state = state,
            .rate = lanes_.rate_of(o),
            .label = lanes_.label_of(o),
            .prediction = results,
            .loss = losses,
            .diverged_at = diverged_at,
            .penalty = lanes_.penalty_of(o),
            .lanes = lanes_.lanes_of(o)};
}

// Runs all lanes over the staged rows of a batch.
void LaneEngine::start(LaneBatch& batch) {
    const std::size_t count = lanes_.octet_count(), size = batch.rows * count * 8;
    batch.stride = count * 8;
    double* const results = aligned(batch.results, 2 * size);
    batch.diverged_at.assign(batch.stride, Octet::never);
    batch.octets.clear();
    for (std::size_t o = 0; o < count; ++o)
        batch.octets.push_back(octet_of(o, lanes_.octet(o), results + o * 8,
                                        counts_losses() ? results + size + o * 8 : nullptr,
                                        batch.diverged_at.data() + o * 8));
    batch.lane_labels = {batch.labels.y, batch.labels.label_scale, lanes_.classes(), negative_,
                         batch.stride,   batch.labels.offset};
    const StagedRow* const staged = batch.staged.stage().rows;
    Workers* const helpers = helpers_for(batch.rows ? staged[batch.rows - 1].end : 0);
    const std::size_t groups = divide_run(batch, batch.staged.longest_row(batch.rows), helpers ? helpers->count() : 1);
    batch.in_play.assign(lanes_.lanes().size(), true);
    rows_end_ = batch.row + batch.rows;
    if (pipeline_.empty()) parts_ = divide_scoring(groups);
    pipeline_.push(groups, parts_, helpers);
}

// Several groups per thread, so that no thread waits long for the others.
std::size_t LaneEngine::divide_run(LaneBatch& batch, std::size_t longest, std::size_t threads) {
    const std::size_t count = batch.octets.size();
    if (pipeline_.empty()) group_size_ = std::max<std::size_t>(1, threads == 1 ? count : count / (2 * threads));
    const std::size_t groups = (count + group_size_ - 1) / group_size_;
    batch.steps_each = steps_doubles(group_size_, longest) + 8;
    aligned(batch.steps, groups * batch.steps_each);
    return groups;
}

void LaneEngine::run(LaneBatch& batch, std::size_t group) noexcept {
    const std::size_t first = group * group_size_, end = std::min(first + group_size_, batch.octets.size());
    kernel_.lanes->run(setup_.options, &batch.octets[first], end - first, batch.lane_labels, batch.staged.stage(),
                       batch.rows, aligned(batch.steps, 0) + group * batch.steps_each);
    average_octets(batch, first, end - first);
}

void LaneEngine::average_octets(const LaneBatch& batch, std::size_t first, std::size_t octets) const {
    for (std::size_t o = first; batch.averaging && o < first + octets; ++o)
        update_average(lanes_.octet(o), lanes_.average(o), batch.averaging_scales, *batch.averaging);
}

// Returns the row at which the last rate of a head diverged.
std::size_t LaneEngine::wait_for_all() {
    const std::size_t diverged = pipeline_.drain();
    if (const std::uint64_t examples = std::exchange(update_rates_at_, 0)) selection_.update_rates(lanes_, examples);
    return diverged;
}

void LaneEngine::finish() {
    const std::size_t diverged = wait_for_all();
    pipeline_.release();
    if (diverged != Octet::never) throw_diverged(diverged, rows_end_);
}

void LaneEngine::prune_rates() {
    finish();
    if (setup_.selecting == Selecting::follow) selection_.prune_rates(lanes_, true);
}

void LaneEngine::keep_leaders() {
    finish();
    selection_.keep_leaders(lanes_);
}

// ---------------------------------------------------------------------------------------------------- scoring

// A part is a range of columns of the predictions: rates of a sweep, or heads. It has at least `lanes_each` lanes, if
// there are that many, so that it justifies a thread. The head of the spare class has no column, but its losses count.
std::vector<LanePipeline::Part> LaneEngine::divide_scoring(std::size_t /*groups*/) {
    constexpr std::size_t lanes_each = 16;
    const std::size_t columns = sweeps() ? lanes_.rates().size() : lanes_.heads(), size = 8 * group_size_;
    std::vector<LanePipeline::Part> parts;
    part_ends_.clear();
    for (std::size_t first = 0, end; first < columns; first = end) {
        if (sweeps()) {
            end = std::min(first + size, columns);
        } else {
            for (end = first + 1; end < columns && lanes_.begin(end) - lanes_.begin(first) < lanes_each;) ++end;
        }
        part_ends_.push_back(end);
        const std::size_t first_lane = sweeps() ? first : lanes_.begin(first);
        const std::size_t last_lane = sweeps() ? lanes_.lanes().size() - columns + end - 1 : lanes_.begin(end) - 1;
        parts.push_back({first_lane / size, last_lane / size + 1});
    }
    return parts;
}

void LaneEngine::score(LaneBatch& batch, std::size_t part) noexcept {
    const std::size_t first = part ? part_ends_[part - 1] : 0, end = part_ends_[part];
    if (!sweeps()) {
        score_heads(batch, first, end);
    } else if (lanes_.classes()) {
        score_class_sweep(batch, first, end);
    } else {
        for (std::size_t j = first; j < end; j += 8) score_sweep(batch, j, std::min(j + 8, end));
    }
}

// Handles up to eight rates at once. Unused positions of an octet may have any value.
void LaneEngine::score_sweep(LaneBatch& batch, std::size_t first, std::size_t end) {
    const std::size_t width = widths_.learn, count = end - first;
    const bool counting = counts_losses();
    const double *p = batch.predicted() + first, *lost = batch.losses() + first;
    double* to = batch.predictions + first;
    Selection::Sums sums = selection_.sums(first, end);
    for (std::size_t r = 0; r < batch.rows; ++r, p += batch.stride, lost += batch.stride, to += width) {
        std::copy_n(p, count, to);
        const double h = weight_of(batch.labels, r);
        if (!counting || h == 0) continue;
        if (labels_are_signs_) {
            const bool positive = batch.labels.y[r] > 0;
            for (std::size_t j = 0; j < 8; ++j) sums.errors[j] += (p[j] > 0) != positive ? h : 0.0;
        }
        for (std::size_t j = 0; j < 8; ++j) sums.loss[j] += h * lost[j];
    }
    if (counting) selection_.set_sums(first, end, sums);
    note_in_play(batch, first, end);
}

void LaneEngine::score_class_sweep(LaneBatch& batch, std::size_t first, std::size_t end) {
    const std::size_t classes = lanes_.class_count(), width = widths_.learn;
    const bool counting = counts_losses();
    const double *p = batch.predicted(), *losses = batch.losses();
    double* predictions = batch.predictions;
    for (std::size_t r = 0; r < batch.rows; ++r, p += batch.stride, losses += batch.stride, predictions += width) {
        const double h = weight_of(batch.labels, r), y = batch.labels.y[r];
        for (std::size_t j = first; j < end; ++j) {
            predictions[j] = static_cast<double>(Selection::winner(p + j, classes, width));
            if (counting && predictions[j] != y) selection_.count_error(j, h);
        }
        for (std::size_t head = 0; counting && h > 0 && head < lanes_.heads(); ++head)
            selection_.observe_rates(lanes_.begin(head) + first, lanes_.begin(head) + end, losses, h);
    }
    for (std::size_t head = 0; head < lanes_.heads(); ++head)
        note_in_play(batch, lanes_.begin(head) + first, lanes_.begin(head) + end);
}

void LaneEngine::score_heads(LaneBatch& batch, std::size_t first, std::size_t end) {
    const std::size_t width = widths_.learn, columns = std::min(end, width);
    const bool several = setup_.selecting != Selecting::none, counting = counts_losses();
    const double *p = batch.predicted(), *losses = batch.losses();
    double t = batch.weight_before, *predictions = batch.predictions;
    for (std::size_t r = 0; r < batch.rows; ++r, p += batch.stride, losses += batch.stride, predictions += width) {
        if (!several) {
            std::copy(p + first, p + columns, predictions + first);
            continue;
        }
        const double h = weight_of(batch.labels, r);
        t += h;
        const double share = h / t;
        for (std::size_t head = first; head < end; ++head) {
            const std::size_t leader = selection_.leader(lanes_, head);
            if (head < width) predictions[head] = p[leader];
            if (counting && h > 0) selection_.observe_head(lanes_, head, leader, losses, h, share);
        }
    }
    note_in_play(batch, lanes_.begin(first), lanes_.begin(end));
}

void LaneEngine::note_in_play(LaneBatch& batch, std::size_t first, std::size_t end) const {
    for (std::size_t k = first; k < end; ++k) batch.in_play[k] = selection_.scores()[k].loss <= __DBL_MAX__;
}

// A rate that diverges is out of the selection, and its divergence is an error only if it was the last rate of its
// head. While rates are not being chosen, no other rate can replace the leader, so a divergence of the leader is an
// error.
std::size_t LaneEngine::leave(const LaneBatch& batch) {
    const bool alone = setup_.selecting == Selecting::none, counting = chooses_rates();
    const bool settled = setup_.selecting == Selecting::follow && !counting;
    for (std::size_t head = 0; head < lanes_.heads(); ++head) {
        std::size_t running = 0, last = 0;
        for (std::size_t k = lanes_.begin(head); k < lanes_.begin(head + 1); ++k) {
            if (settled && k != selection_.leader(lanes_, head)) continue;
            const std::size_t at = batch.diverged_at[lanes_.place(k)];
            const bool sound = at == Octet::never;
            running += alone ? sound : batch.in_play[k] && (counting || sound);
            if (!sound) last = std::max(last, at);
        }
        if (running == 0) return batch.row + last;
    }
    return Octet::never;
}

// ---------------------------------------------------------------------------------------------------- predicting

const double* LaneEngine::Scratch::predictions_of(std::size_t place) {
    const auto at = std::lower_bound(octets.begin(), octets.end(), place / 8) - octets.begin();
    return batch.predicted() + static_cast<std::size_t>(at) * 8 + place % 8;
}

void LaneEngine::predict(const Batch& batch, const PredictOptions& options, double* predictions,
                         EngineScratch& given) const {
    auto& scratch = static_cast<Scratch&>(given);
    find_leading_octets(scratch.octets);
    predict_lanes(batch, options, scratch);
    take_predictions(scratch, predictions);
}

void LaneEngine::judge(const Batch& batch, const PredictOptions& options, double* predictions) {
    judging_.octets.clear();
    for (std::size_t o = 0; o < lanes_.octet_count(); ++o) judging_.octets.push_back(o);
    predict_lanes(batch, options, judging_);
    take_predictions(judging_, predictions);
    judge_lanes(judging_, batch.labels);
}

// Runs the scratch's octets over the batch, which is staged as for learning, but without changes of the state.
void LaneEngine::predict_lanes(const Batch& given, const PredictOptions& options, Scratch& scratch) const {
    Batch rows = given;
    if (places_.on()) {
        const std::size_t end = entries_end(rows);
        if (scratch.row_places.size() < end) scratch.row_places.resize(end);
        for (std::size_t k = rows.first; k < end; ++k) scratch.row_places[k] = places_.find(rows.slots[k]);
        rows.slots = scratch.row_places.data();
    }
    LaneBatch& batch = scratch.batch;
    const Stage& stage = batch.staged.make(rows);
    batch.rows = rows.rows;
    kernel_.lanes->stage_predict(setup_.options, clock_, lanes_.scale(), rows, options.extrapolate, stage);
    const bool average = uses_average(options);
    if (average) {  // the average is in units of earlier scales
        const Averaging::Step step = averaging_.step(clock_.t);
        const std::size_t end = rows.rows ? stage.rows[rows.rows - 1].end : 0;
        for (std::size_t k = 0; k < end; ++k)
            stage.z[k] *= step.growth(lanes_.average_scale(stage.slot[k]), lanes_.scale()[stage.slot[k]]);
    }
    const std::size_t count = scratch.octets.size();
    batch.stride = count * 8;
    double* const results = aligned(batch.results, batch.rows * batch.stride);
    batch.octets.clear();
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t o = scratch.octets[i];
        batch.octets.push_back(
            octet_of(o, average ? lanes_.average(o) : lanes_.octet(o), results + i * 8, nullptr, nullptr));
    }
    batch.lane_labels = {.classes = lanes_.classes(), .stride = batch.stride, .offset = rows.labels.offset};
    run_octets(scratch);
}

void LaneEngine::run_octets(Scratch& scratch) const {
    LaneBatch& batch = scratch.batch;
    double* const steps =
        aligned(batch.steps, steps_doubles(batch.octets.size(), batch.staged.longest_row(batch.rows)));
    kernel_.lanes->run(setup_.options, batch.octets.data(), batch.octets.size(), batch.lane_labels,
                       batch.staged.stage(), batch.rows, steps);
}

// `best`: the best rate of a sweep.
std::size_t LaneEngine::leading_lane(std::size_t head, std::size_t best) const {
    return setup_.selecting == Selecting::follow ? selection_.leader(lanes_, head) : lanes_.begin(head) + best;
}

void LaneEngine::find_leading_octets(std::vector<std::size_t>& octets) const {
    const std::size_t best = sweeps() ? best_rate() : 0;
    octets.clear();
    for (std::size_t head = 0; head < widths_.predict; ++head)
        if (const std::size_t o = lanes_.place(leading_lane(head, best)) / 8; octets.empty() || octets.back() != o)
            octets.push_back(o);
}

void LaneEngine::take_predictions(Scratch& scratch, double* predictions) const {
    const std::size_t width = widths_.predict, best = sweeps() ? best_rate() : 0;
    for (std::size_t head = 0; head < width; ++head) {
        const double* const p = scratch.predictions_of(lanes_.place(leading_lane(head, best)));
        for (std::size_t r = 0; r < scratch.batch.rows; ++r)
            predictions[r * width + head] = p[r * scratch.batch.stride];
    }
}

void LaneEngine::judge_lanes(Scratch& scratch, const Labels& labels) {
    LaneBatch& batch = scratch.batch;
    selection_.judge(lanes_, kernel_, setup_.options, labels, batch.predicted(), batch.rows, batch.stride);
}

// For a sweep: the rate with the smallest total loss.
std::size_t LaneEngine::best_rate() const {
    const std::size_t rates = lanes_.rates().size();
    std::vector<double> total(rates, 0.0);
    for (std::size_t head = 0; head < std::max<std::size_t>(1, lanes_.class_count()); ++head)
        for (std::size_t j = 0; j < rates; ++j) total[j] += selection_.scores()[lanes_.begin(head) + j].loss;
    return static_cast<std::size_t>(std::min_element(total.begin(), total.end()) - total.begin());
}

}  // namespace unitless
