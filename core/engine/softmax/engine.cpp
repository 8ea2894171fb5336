#include "engine/softmax/engine.hpp"

#include <algorithm>
#include <utility>

#include "base/workers.hpp"

namespace unitless {
namespace {
constexpr const char* announced = "softmax.classes";  // how many have been, where not all were met
}  // namespace

SoftmaxEngine::SoftmaxEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock)
    : LaneEngine(setup, kernel, clock, true), classes_(setup.classes) {
    make_memory();
}

// Scoring must not throw, so that there is room before it begins.
void SoftmaxEngine::make_memory() { speaking_.resize(speaking_doubles()); }

// ---------------------------------------------------------------------------------------------------- state

void SoftmaxEngine::add_classes(std::size_t count) {
    if (!setup_.open) return Engine::add_classes(count);
    classes_ += count;  // heads join when they are met
}

void SoftmaxEngine::save(std::size_t slots, EngineState& to) const {
    LaneEngine::save(slots, to);
    if (classes_ > lanes_.class_count()) to.shape.push_back({announced, {static_cast<double>(classes_)}});
}

void SoftmaxEngine::load(const EngineState& from) {
    std::size_t classes = checked_heads(from, setup_) - setup_.open;
    for (const NamedNumbers& one : from.shape) {
        if (one.name != announced) continue;
        if (!setup_.open || one.numbers.size() != 1 ||
            !(one.numbers[0] > static_cast<double>(classes) && one.numbers[0] < 0x1p31))
            throw InputError("the number of classes does not agree with those that were met");
        classes = static_cast<std::size_t>(one.numbers[0]);
    }
    LaneEngine::load(from);
    classes_ = classes;
    make_memory();
}

// ---------------------------------------------------------------------------------------------------- rows

// Rows are cut where a class is first met: it joins before its row is learned.
void SoftmaxEngine::learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) {
    const std::size_t sane = setup_.open ? sane_rows(labels, rows.rows, false) : 0;
    const auto is_new = [&](std::size_t r) {
        return weight_of(labels, r) > 0 && labels.y[r] >= static_cast<double>(lanes_.class_count());
    };
    for (std::size_t done = 0, next; done < rows.rows; done = next) {
        if (done < sane && is_new(done)) {
            finish();
            joined_ = static_cast<std::size_t>(labels.y[done]) + 1 - lanes_.class_count();
            selection_.add_classes(lanes_, joined_);
            make_memory();
        }
        for (next = done + 1; next < sane && !is_new(next);) ++next;
        if (next >= sane) next = rows.rows;
        LaneEngine::learn(part_of(rows, done, next), labels_from(labels, done), predictions + done * learn_width(),
                          row + done);
    }
}

std::size_t SoftmaxEngine::group(LaneBatch& batch, std::size_t longest, std::size_t /*threads*/) {
    batch.joined = std::exchange(joined_, 0);
    std::size_t coupling = 0;
    for (const Lanes::Block& block : lanes_.blocks()) coupling = std::max(coupling, Coupling::doubles(coupled(block)));
    batch.room_each = coupling + 24 * longest;
    aligned(batch.room, lanes_.blocks().size() * batch.room_each);
    for (Octet& octet : batch.octets) octet.loss = nullptr;  // losses are those of a rate
    return lanes_.blocks().size();
}

void SoftmaxEngine::run(LaneBatch& batch, std::size_t group) {
    const Lanes::Block& block = lanes_.blocks()[group];
    const bool counting = counts_losses();
    kernel_.softmax->run(setup_.options, &batch.octets[block.first_octet], coupled(block), batch.lane_labels,
                         batch.stage, batch.rows, counting ? batch.losses() + block.first_rate : nullptr,
                         aligned(batch.room, 0) + group * batch.room_each);
    look_at_octets(batch, block.first_octet, block.octets);
}

// The scores of all classes that were announced, by a lane of the first head and those of the others at the same rate.
// `first`: what the lane has said; `met`: of the heads, those that were met before the row.
void SoftmaxEngine::speak(const double* first, std::size_t lane, std::size_t met, double* scores,
                          double* memory) const {
    const std::size_t rates = lanes_.begin(1), last = lanes_.heads() - 1;
    const std::size_t stride = last ? lanes_.place(rates + lane) - lanes_.place(lane) : 0;
    double* const said = memory;
    kernel_.softmax->speak(first, stride, met, setup_.open ? first + last * stride : nullptr, said,
                           said + lanes_.heads());
    for (std::size_t c = 0; c < classes_; ++c) scores[c] = said[std::min(c, met)];
}

// Of a sweep: the class that a lane of the first head, and those of the others at the same rate, say.
std::size_t SoftmaxEngine::winner(const double* outputs, std::size_t lane, std::size_t met) const {
    const std::size_t rates = lanes_.begin(1);
    std::size_t best = 0;
    for (std::size_t c = 1; c < met; ++c)
        if (outputs[lanes_.place(c * rates + lane)] > outputs[lanes_.place(best * rates + lane)]) best = c;
    return best;
}

void SoftmaxEngine::score(LaneBatch& batch, std::size_t /*part*/) {
    const bool counting = counts_losses(), sweeping = setup_.selecting == Selecting::sweep;
    const std::size_t width = learn_width();
    const double *p = batch.predicted(), *losses = batch.losses();
    double t = batch.weight_before, *predictions = batch.predictions;
    for (std::size_t r = 0; r < batch.rows; ++r, p += batch.stride, losses += batch.stride, predictions += width) {
        const std::size_t met = lanes_.class_count() - (r == 0 ? batch.joined : 0);
        const double h = weight_of(batch.labels, r);
        for (std::size_t j = 0; sweeping && j < width; ++j) {
            predictions[j] = static_cast<double>(winner(p, j, met));
            if (counting && predictions[j] != batch.labels.y[r]) selection_.count_error(j, h);
        }
        if (!sweeping) {
            const std::size_t lane = selection_.leader(lanes_, 0);
            speak(p + lanes_.place(lane), lane, met, predictions, speaking_.data());
        }
        if (h == 0) continue;
        t += h;
        if (counting) selection_.observe_shared(lanes_, losses, h, h / t);
    }
    if (counting) selection_.share_losses(lanes_);
    note_in_play(batch, 0, lanes_.lanes().size());
}

// The lane of the first head that speaks, and with it all others at its rate.
std::size_t SoftmaxEngine::told_rate() const {
    return setup_.selecting == Selecting::sweep ? best_rate() : selection_.leader(lanes_, 0);
}

const Lanes::Block& SoftmaxEngine::block_of(std::size_t rate) const {
    const auto& blocks = lanes_.blocks();
    return *std::find_if(blocks.begin(), blocks.end(),
                         [&](const Lanes::Block& block) { return rate < block.first_rate + block.rates; });
}

void SoftmaxEngine::find_told(std::vector<std::size_t>& octets) const {
    const Lanes::Block& block = block_of(told_rate());
    octets.clear();
    for (std::size_t o = 0; o < block.octets; ++o) octets.push_back(block.first_octet + o);
}

void SoftmaxEngine::run_room(LaneRoom& room, std::size_t longest) const {
    LaneBatch& batch = room.batch;
    for (std::size_t i = 0; i < batch.octets.size();) {
        const auto& blocks = lanes_.blocks();
        const Lanes::Block& block = *std::find_if(blocks.begin(), blocks.end(), [&](const Lanes::Block& one) {
            return room.octets[i] < one.first_octet + one.octets;
        });
        kernel_.softmax->run(setup_.options, &batch.octets[i], coupled(block), batch.lane_labels, batch.stage,
                             batch.rows, nullptr,
                             aligned(batch.room, Coupling::doubles(coupled(block)) + 24 * longest));
        i += block.octets;
    }
}

void SoftmaxEngine::tell(LaneRoom& room, double* predictions) const {
    const std::size_t lane = told_rate();
    const double* p = room.said(lanes_.place(lane));
    room.speaking.resize(speaking_doubles());
    for (std::size_t r = 0; r < room.batch.rows; ++r, p += room.batch.stride, predictions += classes_)
        speak(p, lane, lanes_.class_count(), predictions, room.speaking.data());
}

// Every rate's loss on rows that are predicted and not learned. Of a class that was never met it is the spare head's.
void SoftmaxEngine::judge_batch(LaneRoom& room, const Labels& labels) {
    if (setup_.selecting != Selecting::follow) return;
    std::vector<double> loss(lanes_.begin(1)), memory;
    const double* outputs = room.batch.predicted();
    for (std::size_t r = 0; r < room.batch.rows; ++r, outputs += room.batch.stride) {
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
