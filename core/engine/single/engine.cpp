#include "engine/single/engine.hpp"

#include <algorithm>
#include <cstring>

#include "engine/single/sparse_pack.hpp"
#include "rows/dense_input.hpp"

namespace unitless {
namespace {

std::size_t chunks_for(std::size_t features) { return features < 8 ? 1 : (features + 7) / 8; }

constexpr std::size_t rows_at_once = 128;  // columns are made contiguous for this many rows at a time

// Contiguous rows of doubles.
DenseRows tile(const std::vector<double>& wide, std::size_t features, std::size_t rows) {
    return {reinterpret_cast<const char*>(wide.data()),
            static_cast<std::ptrdiff_t>(features * sizeof(double)),
            Type::f64,
            nullptr,
            features,
            rows};
}

}  // namespace

SingleEngine::SingleEngine(const EngineSetup& setup, const Kernel& kernel, const Clock& clock)
    : Engine(setup, clock),
      options_(setup.options),
      kernel_(*kernel.single),
      row_kernel_(*kernel.rows),
      positions_(setup.in_sequence ? Positions::in_sequence : Positions::by_slot) {}

// ---------------------------------------------------------------------------------------------------- state

void SingleEngine::reserve(std::size_t slots, bool growing) {
    in_use_ = slots;
    if (slots <= capacity_) return;
    const std::size_t capacity = growing ? std::max(slots, 2 * capacity_) : slots;
    Zeros memory(capacity * sizeof(Slot));
    if (capacity_) std::memcpy(memory.get(), slots_.get(), capacity_ * sizeof(Slot));
    if (averages()) {
        Zeros average(capacity * sizeof(Average));
        if (capacity_) std::memcpy(average.get(), average_.get(), capacity_ * sizeof(Average));
        average_ = std::move(average);
    }
    slots_ = std::move(memory);
    capacity_ = capacity;
}

void SingleEngine::lower_scale(std::uint32_t slot, double scale) {
    if (averages()) average()[slot].scale = scale * (average()[slot].scale / slots()[slot].scale);
    slots()[slot].scale = scale;
}

void SingleEngine::save(std::size_t count, EngineState& to) const {
    save_common(to);
    to.lanes = {{0, 0}};
    for (std::size_t j = 0; j < std::min(capacity_, count); ++j) {
        const Slot& from = slots()[j];
        if (from.scale == 0) continue;
        to.slots.push_back(static_cast<std::uint32_t>(j));
        to.scale.push_back(from.scale);
        to.v.push_back(from.v);
        to.H.push_back(from.H);
        if (!averages()) continue;
        to.average.push_back(average()[j].v);
        to.average_scale.push_back(average()[j].scale);
    }
}

void SingleEngine::load(const EngineState& from) {
    if (from.lanes.size() != 1 || from.lanes[0].head != 0 || from.lanes[0].rate != 0)
        throw InputError("the state of several lanes cannot be given to a model with one");
    if (from.scale.size() != from.slots.size() || from.v.size() != from.slots.size() || from.H.size() != from.v.size())
        throw InputError("the model's arrays differ in length");
    check_average(from);
    for (std::size_t k = 0; k < from.slots.size(); ++k) slots()[from.slots[k]] = {from.scale[k], from.v[k], from.H[k]};
    for (std::size_t k = 0; k < from.average.size(); ++k)
        average()[from.slots[k]] = {from.average[k], from.average_scale[k]};
    load_common(from);
}

void SingleEngine::read(const std::uint32_t* wanted, std::size_t count, const std::vector<std::uint32_t>&,
                        SlotBlock& to) const {
    const Averaging::Step step = averaging_.step(clock_.t);
    for (std::size_t k = 0; k < count; ++k) {
        const std::uint32_t slot = wanted[k];
        if (slot >= capacity_ || slots()[slot].scale == 0) {
            to.clear(k);
            continue;
        }
        const Slot& from = slots()[slot];
        to.scale[k] = from.scale;
        to.H[k] = from.H;
        to.values[k * to.width] = from.v;
        if (averages()) to.values[k * to.width + 1] = averaging_.started() ? averaged(slot, from.scale, step) : from.v;
    }
}

void SingleEngine::write(std::size_t first, std::size_t count, const SlotBlock& from) {
    const double unit = averaging_.unit_at_update(clock_.t);
    for (std::size_t k = 0; k < count; ++k) {
        if (from.scale[k] == 0) continue;  // slots that are never written take no memory
        const double* values = &from.values[k * from.width];
        slots()[first + k] = {from.scale[k], values[0], from.H[k]};
        if (averages()) average()[first + k] = {averaging_.started() ? values[1] : 0.0, from.scale[k] * unit};
    }
}

Engine::Description SingleEngine::describe(std::size_t features) const {
    return {.bytes = sizeof(*this) + capacity_ * (sizeof(Slot) + (averages() ? sizeof(Average) : 0)),
            .effort = 8 * features + 32};
}

Pack SingleEngine::Scratch::make_pack(std::size_t chunks) {
    const std::size_t length = chunks * 8;
    double* base = aligned(pack, 7 * length);
    if (indices.size() < 2 * length) indices.assign(2 * length, 0);
    const auto part = [&](std::size_t i) { return base + i * length; };
    return {part(0), part(1), part(2), part(3), part(4), part(5), part(6), indices.data(), indices.data() + length};
}

// Copies all slots into the pack, for dense rows. Returns the bias, which is not part of the pack.
Slot SingleEngine::mirror(const Pack& pack, std::size_t features) const {
    const Slot* from = slots() + 1;
    for (std::size_t j = 0; j < features; ++j) {
        pack.scale[j] = from[j].scale;
        pack.v[j] = from[j].v;
        pack.H[j] = from[j].H;
    }
    for (std::size_t j = features; j < chunks_for(features) * 8; ++j) pack.scale[j] = pack.v[j] = pack.H[j] = 0;
    return slots()[0];
}

void SingleEngine::put_back(const Slot& bias, const Pack& pack, std::size_t features) {
    slots()[0] = bias;
    for (std::size_t j = 0; j < features; ++j) slots()[j + 1] = {pack.scale[j], pack.v[j], pack.H[j]};
}

// ---------------------------------------------------------------------------------------------------- the average

void SingleEngine::average_now() {
    const Averaging::Step step = averaging_.step(clock_.t);
    std::size_t features = 0;
    for (std::size_t j = 0; j < in_use_; ++j) {
        if (!(slots()[j].scale > 0)) continue;
        average_now(j, slots()[j].v, slots()[j].scale, step);
        ++features;
    }
    averaging_.update(clock_.t, features);
}

// Updates the average while the pack has the slots.
void SingleEngine::average_now(const Slot& bias, const Pack& pack, std::size_t features, double t) {
    const Averaging::Step step = averaging_.step(t);
    std::size_t scaled = bias.scale > 0;
    average_now(0, bias.v, bias.scale, step);
    for (std::size_t j = 0; j < features; ++j) {
        average_now(j + 1, pack.v[j], pack.scale[j], step);
        scaled += pack.scale[j] > 0;
    }
    averaging_.update(t, scaled);
}

// ---------------------------------------------------------------------------------------------------- batches

void SingleEngine::learn(const Batch& batch, double* predictions) {
    for (std::size_t done = 0, next; done < batch.rows; done = next) {
        next = done + averaging_.rows_until_update(clock_.examples, batch.rows - done);
        const Batch part = part_of(batch, done, next);
        const std::size_t chunks = pack_chunks(part, positions_);
        const Outcome outcome = kernel_.learn(options_, clock_, slots(), positions_, own_.make_pack(chunks), chunks,
                                              part, predictions + done);
        if (outcome.status == Status::diverged) throw_diverged(part.row + outcome.row);
        if (averaging_.due(clock_.examples)) average_now();
    }
}

void SingleEngine::predict(const Batch& batch, const PredictOptions& options, double* predictions,
                           EngineScratch& given) const {
    auto& scratch = static_cast<Scratch&>(given);
    const bool extrapolate = options.extrapolate || options_.order == Order::vw;
    if (uses_average(options)) return predict_averaged(batch, extrapolate, predictions, scratch);
    const std::size_t chunks = pack_chunks(batch, positions_);
    kernel_.predict(options_, clock_, slots(), positions_, scratch.make_pack(chunks), chunks, batch, extrapolate,
                    predictions);
}

// A single learner has no rates to choose from, so it only predicts.
void SingleEngine::judge(const Batch& batch, const PredictOptions& options, double* predictions) {
    predict(batch, options, predictions, own_);
}

// Predicts with copies of the rows' slots, one per entry, that have the average instead of v. The copy of entry k is
// one of 8 k + 1, ..., so that it has the register position of its slot.
void SingleEngine::predict_averaged(const Batch& batch, bool extrapolate, double* predictions, Scratch& scratch) const {
    constexpr std::size_t at_once = 64;
    std::vector<std::uint32_t> copy_of;
    const Averaging::Step step = averaging_.step(clock_.t);
    const auto copied = [&](std::uint32_t slot) {
        const double scale = slots()[slot].scale;
        return Slot{scale, averaged(slot, scale, step), 0};
    };
    for (std::size_t first = 0, end; first < batch.rows; first = end) {
        end = std::min(batch.rows, first + at_once);
        Batch part = part_of(batch, first, end);
        copy_of.resize(entries_end(part));
        Zeros memory((8 * entries_of(part) + 9) * sizeof(Slot));
        auto* const copies = reinterpret_cast<Slot*>(memory.get());
        copies[0] = copied(0);
        for (std::size_t k = part.first; k < entries_end(part); ++k) {
            const std::uint32_t slot = part.slots[k];
            copy_of[k] = static_cast<std::uint32_t>(8 * (k - part.first) + 1 + (slot - 1) % 8);
            copies[copy_of[k]] = copied(slot);
        }
        part.slots = copy_of.data();
        const std::size_t chunks = pack_chunks(part, positions_);
        kernel_.predict(options_, clock_, copies, positions_, scratch.make_pack(chunks), chunks, part, extrapolate,
                        predictions + first);
    }
}

// ---------------------------------------------------------------------------------------------------- dense rows

// All slots are mirrored in a pack for one call, which is worth it if the rows use most of them. The kernel for dense
// rows supports only the paper's order.
bool SingleEngine::reads(std::size_t slots, std::size_t columns) const {
    return options_.order == Order::paper && positions_ == Positions::by_slot && slots <= 4 * columns + 64;
}

void SingleEngine::learn_dense(const DenseRows& input, std::size_t slots, const Labels& labels, double* predictions) {
    const std::size_t features = slots - 1, chunks = chunks_for(features);
    const Pack pack = own_.make_pack(chunks);
    double* block = aligned(own_.block, block_doubles(chunks));
    const Averaging averaging_before = averaging_;
    if (averages()) average_before_.assign(average(), average() + slots);
    const bool wide = input.columns && features >= 8;
    Clock clock;
    Slot bias;
    const auto begin = [&] {
        clock = clock_;
        averaging_ = averaging_before;
        if (averages()) std::copy(average_before_.begin(), average_before_.end(), average());
        bias = mirror(pack, features);
    };
    const auto run = [&](std::size_t rows) -> Outcome {
        begin();
        if (wide) wide_.assign(rows_at_once * features, 0.0);
        for (std::size_t first = 0, count; first < rows; first += count) {
            // Separate columns are first made contiguous, some rows at a time, because the kernel is fastest with
            // contiguous rows.
            count = averaging_.rows_until_update(clock.examples,
                                                 wide ? std::min(rows_at_once, rows - first) : rows - first);
            if (wide) row_kernel_.widen(input, first, count, wide_.data(), features);
            const Outcome outcome =
                kernel_.learn_dense(options_, clock, bias, pack, chunks, block,
                                    wide ? tile(wide_, features, count) : rows_of(input, first, count, columns_),
                                    labels_from(labels, first), predictions + first);
            if (outcome.status != Status::ok)
                return {outcome.status, first + outcome.row, wide ? column_of(input, outcome.column) : outcome.column};
            if (averaging_.due(clock.examples)) average_now(bias, pack, features, clock.t);
        }
        return {};
    };
    const Outcome outcome = run(input.rows);
    if (outcome.status == Status::bad_value) begin();  // restore the state before the rows
    if (outcome.status == Status::bad_value) throw BadValue{outcome.row, outcome.column};
    if (outcome.status == Status::diverged) run(outcome.row);  // repeat the rows before it, which gives the same bits
    put_back(bias, pack, features);
    clock_ = clock;
    if (outcome.status == Status::diverged) throw_diverged(outcome.row);
}

void SingleEngine::predict_dense(const DenseRows& input, std::size_t slots, const PredictOptions& options,
                                 const double* offset, double* predictions, EngineScratch& given) const {
    auto& scratch = static_cast<Scratch&>(given);
    const std::size_t features = slots - 1, chunks = chunks_for(features);
    const Pack pack = scratch.make_pack(chunks);
    double* block = aligned(scratch.block, block_doubles(chunks));
    Slot bias = mirror(pack, features);
    if (uses_average(options)) {
        const Averaging::Step step = averaging_.step(clock_.t);
        bias.v = averaged(0, bias.scale, step);
        for (std::size_t j = 0; j < features; ++j) pack.v[j] = averaged(j + 1, pack.scale[j], step);
    }
    const Outcome outcome = kernel_.predict_dense(options_, clock_, bias, pack, chunks, block, input,
                                                  options.extrapolate, offset, predictions);
    if (outcome.status == Status::bad_value) throw BadValue{outcome.row, outcome.column};
}

}  // namespace unitless
