#include "engine/lanes/engine.hpp"

#include <algorithm>
#include <utility>

#include "algorithm/dispatch.hpp"
#include "base/workers.hpp"

namespace unitless {
namespace {

// Small enough for batches to stay in the cache, large enough for the threads not to be busy with taking them.
constexpr std::size_t rows_at_once = 128;

// v of eight lanes becomes a part of their average.
void look(const double* octet, double* average, const std::vector<double>& scales, const Averaging::Step& step) {
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

LaneEngine::LaneEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock)
    : LaneEngine(setup, kernel, clock, false) {}

LaneEngine::LaneEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock, bool in_blocks)
    : Engine(setup, clock),
      setup_(setup),
      kernel_(kernel),
      labels_are_signs_(facts_of(setup.options.loss).labels == LabelKind::sign),
      lanes_(setup.rates, first_lanes(setup), first_heads(setup), setup.has_classes(), setup.open, setup.average,
             setup.penalties, in_blocks),
      places_(setup.options.proximal && setup.slots > 0),
      selection_(setup.selecting, lanes_.lanes().size(), first_heads(setup), setup.rates.size(), setup.across),
      negative_(facts_of(setup.options.loss).negative) {
    pipeline_.run = [this](LaneBatch& batch, std::size_t group) { run(batch, group); };
    pipeline_.score = [this](LaneBatch& batch, std::size_t part) { score(batch, part); };
    pipeline_.leave = [this](const LaneBatch& batch) { return diverged(batch); };
}

std::size_t LaneEngine::learn_width() const {
    return setup_.selecting == Selecting::sweep ? lanes_.rates().size() : predict_width();
}

// ---------------------------------------------------------------------------------------------------- state

void LaneEngine::reserve(std::size_t slots, bool growing) {
    in_use_ = slots;
    if (places_.on()) places_.reserve(slots);
    make_room(places_.on() ? places_.count() : slots, growing);
}

void LaneEngine::make_room(std::size_t slots, bool growing) {
    if (slots <= lanes_.capacity()) return;
    finish();
    lanes_.reserve(growing ? std::max(slots, 2 * lanes_.capacity()) : slots);
}

// Rows by the places of their slots. Those that are learned get places.
SparseInput LaneEngine::placed(const SparseInput& rows, const Labels& labels) {
    if (!places_.on()) return rows;
    const std::size_t end = rows.rows ? end_of(rows, rows.rows - 1) : rows.first;
    if (row_places_.size() < end + row_margin) row_places_.resize(end + row_margin);
    for (std::size_t r = 0; r < rows.rows; ++r) {
        const bool learned = weight_of(labels, r) > 0;
        for (std::size_t k = begin_of(rows, r); k < end_of(rows, r); ++k)
            row_places_[k] = learned ? places_.allot(rows.slots[k]) : places_.find(rows.slots[k]);
    }
    make_room(places_.count(), true);
    SparseInput here = rows;
    here.slots = row_places_.data();
    return here;
}

void LaneEngine::add_classes(std::size_t count) {
    if (!lanes_.open()) return Engine::add_classes(count);
    selection_.add_classes(lanes_, count);
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
                   lanes_.in_blocks());
    lanes_.reserve(places_.on() ? places_.count() : capacity);
    lanes_.load(from, places_);
    selection_.load(from);
    load_common(from);
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
    const double unit = averaging_.unit_at_look(clock_.t);
    std::unique_lock guard(writing_, std::defer_lock);
    if (places_.on()) {
        guard.lock();
        for (std::size_t k = 0; k < count; ++k)
            if (from.scale[k] != 0) places_.allot(static_cast<std::uint32_t>(first + k));
        make_room(places_.count(), true);
    }
    for (std::size_t k = 0; k < count; ++k) {
        if (from.scale[k] == 0) continue;  // memory that is never touched costs nothing
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

std::size_t LaneEngine::bytes() const {
    return sizeof(*this) + lanes_.bytes() + places_.bytes() + pipeline_.bytes() + alone_.bytes();
}

// ---------------------------------------------------------------------------------------------------- learning

// All lanes over a batch's staged rows.
void LaneEngine::start(LaneBatch& batch) {
    const std::size_t count = lanes_.octet_count(), size = batch.rows * count * 8;
    const bool losses = counts_losses();
    batch.stride = count * 8;
    double* results = aligned(batch.results, 2 * size);
    batch.diverged_at.assign(batch.stride, Octet::never);
    std::size_t longest = 0;
    for (std::size_t r = 0; r < batch.rows; ++r)
        longest = std::max(longest, batch.staged[r].end - batch.staged[r].begin);
    batch.octets.clear();
    for (std::size_t o = 0; o < count; ++o)
        batch.octets.push_back({lanes_.octet(o), lanes_.rate_of(o), lanes_.label_of(o), results + o * 8,
                                losses ? results + size + o * 8 : nullptr, batch.diverged_at.data() + o * 8,
                                lanes_.penalty_of(o)});
    batch.lane_labels = {batch.labels.y, batch.labels.pace, lanes_.classes(),
                         negative_,      batch.stride,      batch.labels.offset};
    Workers* const helpers = helpers_for(batch.rows);
    const TaskRecord* const record = TaskRecord::current();
    const std::size_t threads = record ? record->threads : helpers ? helpers->count() : 1;
    const std::size_t groups = group(batch, longest, threads);
    batch.in_play.assign(lanes_.lanes().size(), true);
    rows_end_ = batch.row + batch.rows;
    if (pipeline_.empty()) divide_scoring(groups, threads);
    pipeline_.push(groups, parts_, helpers);
}

// Few rows are not worth another thread's attention. Who records its tasks does them alone.
Workers* LaneEngine::helpers_for(std::size_t rows) const {
    return rows * lanes_.octet_count() < 64 || TaskRecord::current() ? nullptr : &workers();
}

std::size_t LaneEngine::group(LaneBatch& batch, std::size_t longest, std::size_t threads) {
    const std::size_t count = batch.octets.size();
    batch.room_each = 8 * longest + 8;
    aligned(batch.room, count * batch.room_each);
    // Two at once fill each other's gaps, if all threads have something to do; one of these also prepares.
    if (pipeline_.empty()) group_size_ = count + 1 >= 2 * threads ? 2 : 1;
    return (count + group_size_ - 1) / group_size_;
}

void LaneEngine::run(LaneBatch& batch, std::size_t group) {
    const std::size_t first = group * group_size_, octets = std::min(group_size_, batch.octets.size() - first);
    const bool four = octets == 1 && lanes_.lanes().size() <= first * 8 + 4;
    const auto run = four ? kernel_.lanes->run_four : kernel_.lanes->run;
    run(setup_.options, &batch.octets[first], static_cast<int>(octets), batch.lane_labels, batch.stage, batch.rows,
        aligned(batch.room, 0) + first * batch.room_each);
    look_at_octets(batch, first, octets);
    if (!judges_) find_losses(batch, group);
}

void LaneEngine::look_at_octets(const LaneBatch& batch, std::size_t first, std::size_t octets) const {
    for (std::size_t o = first; batch.look && o < first + octets; ++o)
        look(lanes_.octet(o), lanes_.average(o), batch.look_scales, *batch.look);
}

void LaneEngine::learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) {
    for (std::size_t done = 0, next; done < rows.rows; done = next) {
        next = done + averaging_.until_look(clock_.examples, std::min(rows.rows - done, rows_at_once));
        if (follows()) {  // rates are looked at after certain numbers of examples
            const std::uint64_t left = Selection::next_look(clock_.examples) - clock_.examples;
            if (left < next - done) next = done + left;
        }
        learn_some(part_of(rows, done, next), labels_from(labels, done), predictions + done * learn_width(),
                   row + done);
    }
}

void LaneEngine::learn_some(const SparseInput& given, const Labels& labels, double* predictions, std::size_t row) {
    const SparseInput rows = placed(given, labels);
    const Workers* const helpers = helpers_for(rows.rows);
    LaneBatch& batch = pipeline_.next(helpers && helpers->count() > 1);
    batch.make_stage(rows);
    batch.weight_before = clock_.t;
    const std::uint64_t examples = clock_.examples;
    batch.look.reset();
    batch.rows = kernel_.lanes->stage_learn(setup_.options, clock_, lanes_.scale(),
                                            part_of(rows, 0, sane_rows(labels, rows.rows, !lanes_.classes())), labels,
                                            batch.stage);
    batch.row = row;
    batch.labels = labels;
    batch.predictions = predictions;
    if (averaging_.due(clock_.examples)) {  // those who run the lanes do it; scales may have grown by then
        batch.look_scales.assign(lanes_.scale(), lanes_.scale() + in_use_);
        const auto unscaled = std::count(batch.look_scales.begin(), batch.look_scales.end(), 0.0);
        batch.look = averaging_.look(clock_.t, batch.look_scales.size() - static_cast<std::size_t>(unscaled));
    }
    const std::size_t dead = look_at_ ? wait_for_all() : pipeline_.wait_for_place();
    start(batch);
    if (follows() && clock_.examples == Selection::next_look(examples)) look_at_ = clock_.examples;
    if (dead != Octet::never) throw_diverged(std::min(dead, wait_for_all()), row + batch.rows);
    if (batch.rows < rows.rows) {
        finish();
        throw_diverged(row + batch.rows);
    }
}

// Gives the row at which a head's last rate diverged.
std::size_t LaneEngine::wait_for_all() {
    const std::size_t dead = pipeline_.drain();
    if (const std::uint64_t examples = std::exchange(look_at_, 0)) selection_.look(lanes_, examples);
    return dead;
}

void LaneEngine::finish() {
    const std::size_t dead = wait_for_all();
    pipeline_.let_go();
    if (dead != Octet::never) throw_diverged(dead, rows_end_);
}

void LaneEngine::sift_rates() {
    finish();
    if (setup_.selecting == Selecting::follow) selection_.sift(lanes_, true);
}

void LaneEngine::settle() noexcept {
    try {
        wait_for_all();
    } catch (...) {  // out of memory once more: what matters is that the other threads have stopped, which they have
    }
    pipeline_.let_go();
}

// A part has at least so many lanes, if there are as many, so that it is worth a thread's attention. The head of
// classes to come has no column of its own, but losses like the others. Where there are more threads than groups, which
// then take longest, what can be done apart from these is.
void LaneEngine::divide_scoring(std::size_t groups, std::size_t threads) {
    constexpr std::size_t lanes_each = 16;
    const bool sweeping = setup_.selecting == Selecting::sweep;
    const std::size_t columns = sweeping ? lanes_.rates().size() : lanes_.heads(), size = 8 * group_size_;
    parts_.clear();
    part_ends_.clear();
    judges_ = threads > 1 && threads >= groups && counts_losses() ? groups : 0;
    for (std::size_t group = 0; group < judges_; ++group) parts_.push_back({group, group + 1});
    for (std::size_t first = 0, end; first < columns; first = end) {
        if (sweeping) {
            end = std::min(first + size, columns);
        } else {
            for (end = first + 1; end < columns && lanes_.begin(end) - lanes_.begin(first) < lanes_each;) ++end;
        }
        part_ends_.push_back(end);
        const std::size_t first_lane = sweeping ? first : lanes_.begin(first);
        const std::size_t last_lane = sweeping ? lanes_.lanes().size() - columns + end - 1 : lanes_.begin(end) - 1;
        parts_.push_back({judges_ + first_lane / size, judges_ + last_lane / size + 1});
    }
}

void LaneEngine::find_losses(LaneBatch& batch, std::size_t group) const {
    const std::size_t end = std::min((group + 1) * group_size_, batch.octets.size());
    for (std::size_t o = group * group_size_; o < end; ++o)
        if (batch.octets[o].loss)
            kernel_.lanes->losses(setup_.options, batch.octets[o], batch.lane_labels, batch.stage, batch.rows);
}

void LaneEngine::score(LaneBatch& batch, std::size_t part) {
    if (part < judges_) return find_losses(batch, part);
    part -= judges_;
    const std::size_t first = part ? part_ends_[part - 1] : 0, end = part_ends_[part];
    if (setup_.selecting != Selecting::sweep) {
        score_heads(batch, first, end);
    } else if (lanes_.classes()) {
        score_class_sweep(batch, first, end);
    } else {
        for (std::size_t j = first; j < end; j += 8) score_sweep(batch, j, std::min(j + 8, end));
    }
}

// Up to eight rates, which move together. An octet that is not full has numbers in all its places.
void LaneEngine::score_sweep(LaneBatch& batch, std::size_t first, std::size_t end) {
    const std::size_t width = learn_width(), count = end - first;
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
    const std::size_t classes = lanes_.class_count(), width = learn_width();
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
    const std::size_t width = learn_width(), columns = std::min(end, width);
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

// A rate that diverges has lost, and matters no more; unless it was the last one of its head. While no other can take
// its place, it is the leader that counts.
std::size_t LaneEngine::diverged(const LaneBatch& batch) const {
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

std::size_t LaneEngine::effort(std::size_t features) const {
    return 4 * features * std::min(lanes_.octet_count(), std::max<std::size_t>(1, predict_width())) + 64;
}

void LaneEngine::predict(const SparseInput& rows, const Asking& asking, double* predictions, Room& given) const {
    auto& room = static_cast<LaneRoom&>(given);
    if (rows.rows == 1 && tells_simply()) return predict_one(rows, asking, predictions, room);
    find_told(room.octets);
    foresee(rows, asking, room);
    tell(room, predictions);
}

void LaneEngine::judge(const SparseInput& rows, const Asking& asking, const Labels& labels, double* predictions) {
    judging_.octets.clear();
    for (std::size_t o = 0; o < lanes_.octet_count(); ++o) judging_.octets.push_back(o);
    foresee(rows, asking, judging_);
    tell(judging_, predictions);
    judge_batch(judging_, labels);
}

// The room's octets over rows, which are staged as learning stages them, but nothing moves on.
void LaneEngine::foresee(const SparseInput& given, const Asking& asking, LaneRoom& room) const {
    SparseInput rows = given;
    if (places_.on()) {
        const std::size_t end = rows.rows ? end_of(rows, rows.rows - 1) : rows.first;
        if (room.row_places.size() < end + row_margin) room.row_places.resize(end + row_margin);
        for (std::size_t k = rows.first; k < end; ++k) room.row_places[k] = places_.find(rows.slots[k]);
        rows.slots = room.row_places.data();
    }
    LaneBatch& batch = room.batch;
    batch.make_stage(rows);
    batch.rows = rows.rows;
    kernel_.lanes->stage_predict(setup_.options, clock_, lanes_.scale(), rows, asking.extrapolate, batch.stage);
    if (predicts_with_average()) {  // which is in units of earlier scales
        const Averaging::Step step = averaging_.step(clock_.t);
        const std::size_t end = rows.rows ? batch.staged[rows.rows - 1].end : 0;
        for (std::size_t k = 0; k < end; ++k) {
            const std::uint32_t slot = batch.stage.slot[k];
            batch.stage.z[k] *= step.growth(lanes_.average_scale(slot), lanes_.scale()[slot]);
        }
    }
    std::size_t longest = 0;
    for (std::size_t r = 0; r < batch.rows; ++r)
        longest = std::max(longest, batch.staged[r].end - batch.staged[r].begin);
    const std::size_t count = room.octets.size();
    batch.stride = count * 8;
    double* const results = aligned(batch.results, batch.rows * batch.stride);
    batch.diverged_at.assign(batch.stride, Octet::never);
    batch.octets.clear();
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t o = room.octets[i];
        batch.octets.push_back({predicts_with_average() ? lanes_.average(o) : lanes_.octet(o), lanes_.rate_of(o),
                                lanes_.label_of(o), results + i * 8, nullptr, batch.diverged_at.data() + i * 8,
                                lanes_.penalty_of(o)});
    }
    batch.lane_labels = {nullptr, nullptr, lanes_.classes(), negative_, batch.stride, asking.offset};
    run_room(room, longest);
}

void LaneEngine::run_room(LaneRoom& room, std::size_t longest) const {
    LaneBatch& batch = room.batch;
    double* const memory = aligned(batch.room, 16 * longest + 8);
    for (std::size_t i = 0; i < batch.octets.size(); i += 2) {
        const std::size_t count = std::min<std::size_t>(2, batch.octets.size() - i);
        const bool four = count == 1 && lanes_.lanes().size() <= room.octets[i] * 8 + 4;
        const auto run = four ? kernel_.lanes->run_four : kernel_.lanes->run;
        run(setup_.options, &batch.octets[i], static_cast<int>(count), batch.lane_labels, batch.stage, batch.rows,
            memory);
    }
}

// The lane that speaks for a head; `best`: the best rate of a sweep.
std::size_t LaneEngine::told_lane(std::size_t head, std::size_t best) const {
    return setup_.selecting == Selecting::follow ? selection_.leader(lanes_, head) : lanes_.begin(head) + best;
}

void LaneEngine::find_told(std::vector<std::size_t>& octets) const {
    const std::size_t best = setup_.selecting == Selecting::sweep ? best_rate() : 0;
    octets.clear();
    for (std::size_t head = 0; head < predict_width(); ++head)
        if (const std::size_t o = lanes_.place(told_lane(head, best)) / 8; octets.empty() || octets.back() != o)
            octets.push_back(o);
}

void LaneEngine::tell(LaneRoom& room, double* predictions) const {
    const std::size_t width = predict_width(), best = setup_.selecting == Selecting::sweep ? best_rate() : 0;
    for (std::size_t head = 0; head < width; ++head) {
        const double* const p = room.said(lanes_.place(told_lane(head, best)));
        for (std::size_t r = 0; r < room.batch.rows; ++r) predictions[r * width + head] = p[r * room.batch.stride];
    }
}

void LaneEngine::judge_batch(LaneRoom& room, const Labels& labels) {
    LaneBatch& batch = room.batch;
    selection_.judge(lanes_, kernel_, setup_.options, labels, batch.predicted(), batch.rows, batch.stride);
}

// Of a sweep: the rate whose losses add up to least.
std::size_t LaneEngine::best_rate() const {
    const std::size_t rates = lanes_.rates().size();
    std::vector<double> total(rates, 0.0);
    for (std::size_t head = 0; head < std::max<std::size_t>(1, lanes_.class_count()); ++head)
        for (std::size_t j = 0; j < rates; ++j) total[j] += selection_.scores()[lanes_.begin(head) + j].loss;
    return static_cast<std::size_t>(std::min_element(total.begin(), total.end()) - total.begin());
}

}  // namespace unitless
