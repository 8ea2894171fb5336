#include "engine/softmax/engine.hpp"

#include <algorithm>
#include <utility>

namespace unitless {
SoftmaxEngine::SoftmaxEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock)
    : LaneEngine(setup, kernel, clock, Placing::in_blocks) {
    set_classes(setup.classes);
}

// Allocates the memory of scoring here, because scoring must not throw.
void SoftmaxEngine::set_classes(std::size_t classes) {
    classes_ = widths_.classes = widths_.predict = classes;
    log_odds_.resize(log_odds_doubles());
    if (!sweeps()) widths_.learn = classes;
}

// ---------------------------------------------------------------------------------------------------- state

void SoftmaxEngine::add_classes(std::size_t count) {
    if (!setup_.open) return Engine::add_classes(count);
    set_classes(classes_ + count);  // a head joins with the first row of its class
}

void SoftmaxEngine::save(std::size_t slots, EngineState& to) const {
    LaneEngine::save(slots, to);
    if (classes_ > lanes_.class_count()) to.announced_classes = classes_;
}

void SoftmaxEngine::load(const EngineState& from) {
    std::size_t classes = checked_heads(from, setup_) - setup_.open;
    if (from.announced_classes) {
        if (!setup_.open || *from.announced_classes <= classes || *from.announced_classes >> 31)
            throw InputError("the number of announced classes does not agree with the classes of the model");
        classes = *from.announced_classes;
    }
    LaneEngine::load(from);
    set_classes(classes);
}

// ---------------------------------------------------------------------------------------------------- learning

// Divides the rows where a class first occurs: the class joins before its row is learned.
void SoftmaxEngine::learn(const Batch& batch, double* predictions) {
    const std::size_t sane = setup_.open ? sane_rows(batch, false) : 0;
    const auto is_new = [&](std::size_t r) {
        return weight_of(batch, r) > 0 && batch.labels.y[r] >= static_cast<double>(lanes_.class_count());
    };
    for (std::size_t done = 0, next; done < batch.rows; done = next) {
        if (done < sane && is_new(done)) {
            finish();
            joined_ = static_cast<std::size_t>(batch.labels.y[done]) + 1 - lanes_.class_count();
            selection_.add_classes(lanes_, joined_);
            set_classes(classes_);
        }
        for (next = done + 1; next < sane && !is_new(next);) ++next;
        if (next >= sane) next = batch.rows;
        LaneEngine::learn(part_of(batch, done, next), predictions + done * widths_.learn);
    }
}

std::size_t SoftmaxEngine::divide_run(LaneBatch& batch, std::size_t longest, std::size_t /*threads*/) {
    batch.joined = std::exchange(joined_, 0);
    std::size_t coupling = 0;
    for (const Lanes::Block& block : lanes_.blocks()) coupling = std::max(coupling, Coupling::doubles(coupled(block)));
    batch.steps_each = coupling + 8 * longest;
    aligned(batch.steps, lanes_.blocks().size() * batch.steps_each);
    for (Octet& octet : batch.octets) octet.loss = nullptr;  // a loss belongs to a rate, not to a lane
    return lanes_.blocks().size();
}

void SoftmaxEngine::run(LaneBatch& batch, std::size_t group) noexcept {
    const Lanes::Block& block = lanes_.blocks()[group];
    kernel_.softmax->run(setup_.options, &batch.octets[block.first_octet], coupled(block), batch.lane_labels,
                         batch.staged.stage(), batch.rows,
                         counts_losses() ? batch.losses() + block.first_rate : nullptr,
                         aligned(batch.steps, 0) + group * batch.steps_each);
    average_octets(batch, block.first_octet, block.octets);
}

// Computes the scores of all announced classes, from a lane of the first head and the lanes of the other heads at its
// rate. `first`: the lane's prediction; `met`: the number of heads that existed before the row.
void SoftmaxEngine::put_log_odds(const double* first, std::size_t lane, std::size_t met, double* scores,
                                 double* memory) const {
    const std::size_t rates = lanes_.begin(1), last = lanes_.heads() - 1;
    const std::size_t stride = last ? lanes_.place(rates + lane) - lanes_.place(lane) : 0;
    double* const by_head = memory;
    kernel_.softmax->log_odds(first, stride, met, setup_.open ? first + last * stride : nullptr, by_head,
                              by_head + classes_ + 1);
    for (std::size_t c = 0; c < classes_; ++c) scores[c] = by_head[std::min(c, met)];
}

// For a sweep: the class with the largest output among a lane of the first head and the lanes of the other heads at its
// rate.
std::size_t SoftmaxEngine::winner(const double* outputs, std::size_t lane, std::size_t met) const {
    const std::size_t rates = lanes_.begin(1);
    std::size_t best = 0;
    for (std::size_t c = 1; c < met; ++c)
        if (outputs[lanes_.place(c * rates + lane)] > outputs[lanes_.place(best * rates + lane)]) best = c;
    return best;
}

void SoftmaxEngine::score(LaneBatch& batch, std::size_t /*part*/) noexcept {
    const bool counting = counts_losses();
    const std::size_t width = widths_.learn;
    const double *p = batch.predicted(), *losses = batch.losses();
    double t = batch.weight_before, *predictions = batch.predictions;
    for (std::size_t r = 0; r < batch.rows; ++r, p += batch.stride, losses += batch.stride, predictions += width) {
        const std::size_t met = lanes_.class_count() - (r == 0 ? batch.joined : 0);
        const double h = weight_of(batch.labels, r);
        for (std::size_t j = 0; sweeps() && j < width; ++j) {
            predictions[j] = static_cast<double>(winner(p, j, met));
            if (counting && predictions[j] != batch.labels.y[r]) selection_.count_error(j, h);
        }
        if (!sweeps()) {
            const std::size_t lane = selection_.leader(lanes_, 0);
            put_log_odds(p + lanes_.place(lane), lane, met, predictions, log_odds_.data());
        }
        if (h == 0) continue;
        t += h;
        if (counting) selection_.observe_shared(lanes_, losses, h, h / t);
    }
    if (counting) selection_.share_losses(lanes_);
    note_in_play(batch, 0, lanes_.lanes().size());
}

// ---------------------------------------------------------------------------------------------------- predicting

// The leading lane of the first head. The lanes of the other heads at its rate lead too.
std::size_t SoftmaxEngine::leading_rate() const { return sweeps() ? best_rate() : selection_.leader(lanes_, 0); }

const Lanes::Block& SoftmaxEngine::block_of(std::size_t octet) const {
    const auto& blocks = lanes_.blocks();
    return *std::find_if(blocks.begin(), blocks.end(),
                         [&](const Lanes::Block& block) { return octet < block.first_octet + block.octets; });
}

void SoftmaxEngine::find_leading_octets(std::vector<std::size_t>& octets) const {
    const Lanes::Block& block = block_of(lanes_.place(leading_rate()) / 8);
    octets.clear();
    for (std::size_t o = 0; o < block.octets; ++o) octets.push_back(block.first_octet + o);
}

void SoftmaxEngine::run_octets(Scratch& scratch) const {
    LaneBatch& batch = scratch.batch;
    const std::size_t longest = batch.staged.longest_row(batch.rows);
    for (std::size_t i = 0; i < batch.octets.size();) {
        const Lanes::Block& block = block_of(scratch.octets[i]);
        kernel_.softmax->run(setup_.options, &batch.octets[i], coupled(block), batch.lane_labels, batch.staged.stage(),
                             batch.rows, nullptr,
                             aligned(batch.steps, Coupling::doubles(coupled(block)) + 8 * longest));
        i += block.octets;
    }
}

void SoftmaxEngine::take_predictions(Scratch& scratch, double* predictions) const {
    const std::size_t lane = leading_rate();
    const double* p = scratch.predictions_of(lanes_.place(lane));
    scratch.log_odds.resize(log_odds_doubles());
    for (std::size_t r = 0; r < scratch.batch.rows; ++r, p += scratch.batch.stride, predictions += classes_)
        put_log_odds(p, lane, lanes_.class_count(), predictions, scratch.log_odds.data());
}

// The loss of a class without a head is that of the spare head.
void SoftmaxEngine::judge_lanes(Scratch& scratch, const Labels& labels) {
    if (setup_.selecting != Selecting::follow) return;
    std::vector<double> loss(lanes_.begin(1)), memory;
    const double* outputs = scratch.batch.predicted();
    for (std::size_t r = 0; r < scratch.batch.rows; ++r, outputs += scratch.batch.stride) {
        const double h = weight_of(labels, r);
        if (!(h > 0)) continue;
        const std::size_t y = std::min(static_cast<std::size_t>(labels.y[r]), lanes_.heads() - 1);
        for (const Lanes::Block& block : lanes_.blocks())
            kernel_.softmax->losses(outputs + block.first_octet * 8, coupled(block), y, &loss[block.first_rate],
                                    aligned(memory, Coupling::doubles(coupled(block))));
        selection_.observe_shared(lanes_, loss.data(), h, 0.0);
    }
    selection_.share_losses(lanes_);
}

}  // namespace unitless
