// One row that comes alone, through all lanes: what a batch of one row would do, without the ways that threads share a
// batch. Which lanes run, and what is counted of them, is the same, and so are all bits.

#include <algorithm>

#include "engine/lanes/engine.hpp"

namespace unitless {

void LaneEngine::learn_one(const SparseInput& given, const Labels& labels, double* predictions, std::size_t number) {
    const bool simple = setup_.selecting != Selecting::sweep && !averages() && !places_.on() && !helpers_for(1);
    if (!simple || !pipeline_.empty() || look_at_ || sane_rows(labels, 1, !lanes_.classes()) == 0)
        return Engine::learn_one(given, labels, predictions, number);
    LaneBatch& batch = alone_;
    batch.make_stage(given);
    batch.weight_before = clock_.t;
    const std::uint64_t examples = clock_.examples;
    if (kernel_.lanes->stage_learn(setup_.options, clock_, lanes_.scale(), given, labels, batch.stage) == 0)
        return Engine::learn_one(given, labels, predictions, number);  // which says what is wrong
    batch.rows = 1;
    batch.row = number;
    const bool counting = counts_losses();
    run_alone(labels, counting);
    score_alone(labels, counting, predictions);
    batch.in_play.resize(lanes_.lanes().size());
    note_in_play(batch, 0, lanes_.lanes().size());
    const std::size_t dead = diverged(batch);
    if (follows() && clock_.examples == Selection::next_look(examples)) selection_.look(lanes_, clock_.examples);
    if (dead != Octet::never) throw_diverged(dead, number + 1);
}

// Two octets at a time fill each other's gaps.
void LaneEngine::run_alone(const Labels& labels, bool counting) {
    LaneBatch& batch = alone_;
    const std::size_t count = lanes_.octet_count();
    batch.stride = count * 8;
    double* const results = aligned(batch.results, 2 * batch.stride);
    batch.diverged_at.assign(batch.stride, Octet::never);
    double* const room = aligned(batch.room, 16 * (batch.staged[0].end + 1));
    const LaneLabels lane_labels{labels.y, labels.pace, lanes_.classes(), negative_, batch.stride, labels.offset};
    for (std::size_t first = 0, some; first < count; first += some) {
        some = std::min<std::size_t>(2, count - first);
        Octet octets[2];
        for (std::size_t i = 0; i < some; ++i) {
            const std::size_t o = first + i;
            octets[i] = {lanes_.octet(o),
                         lanes_.rate_of(o),
                         lanes_.label_of(o),
                         results + o * 8,
                         counting ? results + batch.stride + o * 8 : nullptr,
                         batch.diverged_at.data() + o * 8,
                         lanes_.penalty_of(o)};
        }
        const bool four = some == 1 && lanes_.lanes().size() <= first * 8 + 4;
        const auto run = four ? kernel_.lanes->run_four : kernel_.lanes->run;
        run(setup_.options, octets, static_cast<int>(some), lane_labels, batch.stage, 1, room);
        for (std::size_t i = 0; counting && i < some; ++i)
            kernel_.lanes->losses(setup_.options, octets[i], lane_labels, batch.stage, 1);
    }
}

void LaneEngine::score_alone(const Labels& labels, bool counting, double* predictions) {
    const double* const p = alone_.predicted();
    const double h = weight_of(labels, 0), share = h / (alone_.weight_before + h);
    const std::size_t width = predict_width(), lanes = lanes_.lanes().size();
    if (setup_.selecting == Selecting::none) {
        std::copy_n(p, width, predictions);
        return;
    }
    for (std::size_t head = 0; head < lanes_.heads(); ++head) {
        const std::size_t leader = selection_.leader(lanes_, head);
        if (head < width) predictions[head] = p[leader];
        if (counting && h > 0) selection_.observe_head(lanes_, head, leader, alone_.losses(), h, share);
    }
    alone_.in_play.resize(lanes);
    note_in_play(alone_, 0, lanes);
}

// One octet, or one number, is all that is asked for.
bool LaneEngine::tells_simply() const {
    return setup_.selecting != Selecting::sweep && !lanes_.in_blocks() && !places_.on() && !setup_.options.proximal &&
           !predicts_with_average() && predict_width() > 0 && (lanes_.octet_count() == 1 || predict_width() == 1);
}

void LaneEngine::predict_one(const SparseInput& row, const Asking& asking, double* predictions, LaneRoom& room) const {
    LaneBatch& batch = room.batch;
    batch.make_stage(row);
    kernel_.lanes->stage_predict(setup_.options, clock_, lanes_.scale(), row, asking.extrapolate, batch.stage);
    const std::size_t width = predict_width(), first = lanes_.place(told_lane(0, 0)), o = first / 8;
    alignas(64) double said[8];
    const Octet octet{lanes_.octet(o), lanes_.rate_of(o), lanes_.label_of(o),  said,
                      nullptr,         nullptr,           lanes_.penalty_of(o)};
    const auto run = lanes_.lanes().size() <= o * 8 + 4 ? kernel_.lanes->run_four : kernel_.lanes->run;
    run(setup_.options, &octet, 1, {nullptr, nullptr, lanes_.classes(), negative_, 8, asking.offset}, batch.stage, 1,
        nullptr);
    predictions[0] = said[first % 8];
    for (std::size_t head = 1; head < width; ++head) predictions[head] = said[lanes_.place(told_lane(head, 0)) % 8];
}

}  // namespace unitless
