#include "engine/single/engine.hpp"

#include <algorithm>
#include <cstring>

#include "rows/dense_input.hpp"
#include "rows/sparse_rows.hpp"

namespace unitless {
namespace {

// The slots as what they are.
template <class Action>
void with_slots(const Options& options, char* slots, Action action) {
    if (options.precision == Precision::float32) {
        action(reinterpret_cast<Slot32*>(slots));
    } else {
        action(reinterpret_cast<Slot64*>(slots));
    }
}

std::size_t chunks_for(std::size_t features) { return features < 8 ? 1 : (features + 7) / 8; }

constexpr std::size_t rows_at_once = 128;  // of rows that are put side by side before they are learned

// Rows of doubles that lie side by side.
DenseInput tile(const std::vector<double>& wide, std::size_t features, std::size_t rows) {
    return {reinterpret_cast<const char*>(wide.data()),
            static_cast<std::ptrdiff_t>(features * sizeof(double)),
            Type::f64,
            nullptr,
            features,
            rows};
}

// Some of the rows; `columns` holds theirs.
DenseInput rows_of(const DenseInput& input, std::size_t first, std::size_t count, std::vector<Column>& columns) {
    DenseInput part = input;
    part.rows = count;
    if (first == 0) return part;
    if (!input.columns) {
        part.data += static_cast<std::ptrdiff_t>(first) * input.row_stride;
        return part;
    }
    columns.assign(input.columns, input.columns + input.column_count);
    for (Column& column : columns) column.data += static_cast<std::ptrdiff_t>(first) * column.stride;
    part.columns = columns.data();
    return part;
}

}  // namespace

// ---------------------------------------------------------------------------------------------------- state

std::size_t SingleEngine::slot_bytes() const {
    return options_.precision == Precision::float32 ? sizeof(Slot32) : sizeof(Slot64);
}

void SingleEngine::reserve(std::size_t slots, bool growing) {
    in_use_ = slots;
    if (slots <= capacity_) return;
    const std::size_t capacity = growing ? std::max(slots, 2 * capacity_) : slots;
    Zeros memory(capacity * slot_bytes());
    if (capacity_) std::memcpy(memory.get(), slots_.get(), capacity_ * slot_bytes());
    if (averages()) {
        Zeros average(capacity * sizeof(Average));
        if (capacity_) std::memcpy(average.get(), average_.get(), capacity_ * sizeof(Average));
        average_ = std::move(average);
    }
    slots_ = std::move(memory);
    capacity_ = capacity;
}

double SingleEngine::scale(std::uint32_t slot) const {
    double found = 0;
    with_slots(options_, slots_.get(), [&](const auto* slots) { found = slot < capacity_ ? slots[slot].scale : 0.0; });
    return found;
}

void SingleEngine::lower_scale(std::uint32_t slot, double scale) {
    with_slots(options_, slots_.get(), [&](auto* slots) {
        if (averages()) average()[slot].scale = scale * (average()[slot].scale / slots[slot].scale);
        slots[slot].scale = scale;
    });
}

void SingleEngine::save(std::size_t slots, EngineState& to) const {
    save_common(to);
    to.lanes = {{0, 0}};
    with_slots(options_, slots_.get(), [&](const auto* from) {
        for (std::size_t j = 0; j < std::min(capacity_, slots); ++j) {
            if (from[j].scale == 0) continue;
            to.slots.push_back(static_cast<std::uint32_t>(j));
            to.scale.push_back(from[j].scale);
            to.v.push_back(from[j].v);
            to.H.push_back(from[j].H);
            if (!averages()) continue;
            to.average.push_back(average()[j].v);
            to.average_scale.push_back(average()[j].scale);
        }
    });
}

void SingleEngine::load(const EngineState& from) {
    if (from.lanes.size() != 1 || from.lanes[0].head != 0 || from.lanes[0].rate != 0)
        throw InputError("the state of several lanes cannot be given to a model with one");
    if (from.scale.size() != from.slots.size() || from.v.size() != from.slots.size() || from.H.size() != from.v.size())
        throw InputError("the model's arrays differ in length");
    check_average(from);
    with_slots(options_, slots_.get(), [&](auto* to) {
        using Stored = decltype(to->v);
        for (std::size_t k = 0; k < from.slots.size(); ++k)
            to[from.slots[k]] = {from.scale[k], static_cast<Stored>(from.v[k]), static_cast<Stored>(from.H[k])};
    });
    for (std::size_t k = 0; k < from.average.size(); ++k)
        average()[from.slots[k]] = {from.average[k], from.average_scale[k]};
    load_common(from);
}

void SingleEngine::read(const std::uint32_t* slots, std::size_t count, const std::vector<std::uint32_t>&,
                        SlotBlock& to) const {
    const Averaging::Step step = averaging_.step(clock_.t);
    with_slots(options_, slots_.get(), [&](const auto* from) {
        for (std::size_t k = 0; k < count; ++k) {
            const std::uint32_t slot = slots[k];
            if (slot >= capacity_ || from[slot].scale == 0) {
                to.clear(k);
                continue;
            }
            to.scale[k] = from[slot].scale;
            to.H[k] = from[slot].H;
            to.values[k * to.width] = from[slot].v;
            if (!averages()) continue;
            to.values[k * to.width + 1] =
                averaging_.started() ? averaged(slot, from[slot].scale, step) : double{from[slot].v};
        }
    });
}

void SingleEngine::write(std::size_t first, std::size_t count, const SlotBlock& from) {
    const double unit = averaging_.unit_at_look(clock_.t);
    with_slots(options_, slots_.get(), [&](auto* to) {
        using Stored = decltype(to->v);
        for (std::size_t k = 0; k < count; ++k) {
            if (from.scale[k] == 0) continue;  // memory that is never touched costs nothing
            const double* values = &from.values[k * from.width];
            to[first + k] = {from.scale[k], static_cast<Stored>(values[0]), static_cast<Stored>(from.H[k])};
            if (averages()) average()[first + k] = {averaging_.started() ? values[1] : 0.0, from.scale[k] * unit};
        }
    });
}

std::size_t SingleEngine::bytes() const {
    return sizeof(*this) + capacity_ * (slot_bytes() + (averages() ? sizeof(Average) : 0)) +
           (own_.pack.capacity() + own_.block.capacity() + wide_.capacity()) * sizeof(double);
}

Pack SingleEngine::WorkingMemory::make_pack(std::size_t chunks) {
    const std::size_t length = chunks * 8;
    double* base = aligned(pack, 7 * length);
    if (indices.size() < 2 * length) indices.assign(2 * length, 0);
    const auto part = [&](std::size_t i) { return base + i * length; };
    return {&bias,   part(0), part(1), part(2),        part(3),
            part(4), part(5), part(6), indices.data(), indices.data() + length};
}

void SingleEngine::mirror(const Pack& pack, std::size_t features) const {
    with_slots(options_, slots_.get(), [&](const auto* from) {
        *pack.bias = {from[0].scale, from[0].v, from[0].H};
        for (std::size_t j = 0; j < features; ++j) {
            pack.scale[j] = from[j + 1].scale;
            pack.v[j] = from[j + 1].v;
            pack.H[j] = from[j + 1].H;
        }
    });
    const std::size_t padded = chunks_for(features) * 8;
    for (std::size_t j = features; j < padded; ++j) pack.scale[j] = pack.v[j] = pack.H[j] = 0;
    for (std::size_t j = 0; j < padded; ++j) pack.slot[j] = static_cast<std::uint32_t>(j + 1);
}

void SingleEngine::put_back(const Pack& pack, std::size_t features) {
    with_slots(options_, slots_.get(), [&](auto* to) {
        using Stored = decltype(to->v);
        to[0] = {pack.bias->scale, static_cast<Stored>(pack.bias->v), static_cast<Stored>(pack.bias->H)};
        for (std::size_t j = 0; j < features; ++j)
            to[j + 1] = {pack.scale[j], static_cast<Stored>(pack.v[j]), static_cast<Stored>(pack.H[j])};
    });
}

// ---------------------------------------------------------------------------------------------------- the average

void SingleEngine::look() {
    const Averaging::Step step = averaging_.step(clock_.t);
    std::size_t features = 0;
    with_slots(options_, slots_.get(), [&](const auto* slots) {
        for (std::size_t j = 0; j < in_use_; ++j) {
            if (!(slots[j].scale > 0)) continue;
            look(j, slots[j].v, slots[j].scale, step);
            ++features;
        }
    });
    averaging_.look(clock_.t, features);
}

// The same while the pack has the slots.
void SingleEngine::look(const Pack& pack, std::size_t features, double t) {
    const Averaging::Step step = averaging_.step(t);
    std::size_t scaled = pack.bias->scale > 0;
    look(0, pack.bias->v, pack.bias->scale, step);
    for (std::size_t j = 0; j < features; ++j) {
        look(j + 1, pack.v[j], pack.scale[j], step);
        scaled += pack.scale[j] > 0;
    }
    averaging_.look(t, scaled);
}

void SingleEngine::show_average(const Pack& pack, std::size_t features) const {
    const Averaging::Step step = averaging_.step(clock_.t);
    pack.bias->v = averaged(0, pack.bias->scale, step);
    for (std::size_t j = 0; j < features; ++j) pack.v[j] = averaged(j + 1, pack.scale[j], step);
}

// ---------------------------------------------------------------------------------------------------- sparse rows

void SingleEngine::learn(const SparseInput& rows, const Labels& labels, double* predictions, std::size_t row) {
    for (std::size_t done = 0, next; done < rows.rows; done = next) {
        next = done + averaging_.until_look(clock_.examples, rows.rows - done);
        learn_until_look(part_of(rows, done, next), labels_from(labels, done), predictions + done, row + done);
        if (averaging_.due(clock_.examples)) look();
    }
}

void SingleEngine::learn_until_look(const SparseInput& rows, const Labels& labels, double* predictions,
                                    std::size_t row) {
    if (!rows.in_sequence && !rows.lanes && spreads(in_use_, rows.rows, entries_of(rows))) {
        const auto fill = [&](std::size_t r, double* to) {
            for (std::size_t k = begin_of(rows, r); k < end_of(rows, r); ++k)
                to[position(slot_at(rows, k))] = rows.values[k];
        };
        return learn_spread(in_use_, rows.rows, fill, labels, predictions, row);
    }
    const std::size_t chunks = pack_chunks(rows);
    const Outcome outcome = kernel_.single->learn_sparse(options_, clock_, own_.make_pack(chunks), chunks, slots_.get(),
                                                         rows, labels, predictions);
    if (outcome.status == Status::diverged) throw_diverged(row + outcome.row);
}

void SingleEngine::predict(const SparseInput& rows, const Asking& asked, double* predictions, Room& room) const {
    auto& memory = static_cast<WorkingMemory&>(room);
    const Asking asking{asked.extrapolate || options_.order == Order::vw, asked.offset};
    if (predicts_with_average()) return predict_averaged(rows, asking, predictions, memory);
    const std::size_t chunks = pack_chunks(rows);
    kernel_.single->predict_sparse(options_, clock_, memory.make_pack(chunks), chunks, slots_.get(), rows, asking,
                                   predictions);
}

// One learner has nothing to choose from.
void SingleEngine::judge(const SparseInput& rows, const Asking& asking, const Labels&, double* predictions) {
    predict(rows, asking, predictions, own_);
}

// The rows' own slots side by side, a copy for every time that one is mentioned, with the average for v. Each keeps the
// lane that it has in the pack.
void SingleEngine::predict_averaged(const SparseInput& rows, const Asking& asking, double* predictions,
                                    WorkingMemory& working) const {
    constexpr std::size_t at_once = 1024;
    std::vector<std::uint32_t> numbers;
    std::vector<std::uint8_t> lanes;
    Options options = options_;
    options.precision = Precision::float64;
    const Averaging::Step step = averaging_.step(clock_.t);
    for (std::size_t first = 0, end; first < rows.rows; first = end) {
        end = std::min(rows.rows, first + at_once);
        SparseInput part = part_of(rows, first, end);
        const std::size_t count = entries_of(part), chunks = pack_chunks(part);
        Zeros memory((count + 1) * sizeof(Slot64));
        auto* const copies = reinterpret_cast<Slot64*>(memory.get());
        numbers.resize(count);
        lanes.resize(count);
        with_slots(options_, slots_.get(), [&](const auto* from) {
            copies[0] = {from[0].scale, averaged(0, from[0].scale, step), 0};
            for (std::size_t k = 0; k < count; ++k) {
                const std::uint32_t slot = slot_at(part, part.first + k);
                copies[k + 1] = {from[slot].scale, averaged(slot, from[slot].scale, step), 0};
                numbers[k] = static_cast<std::uint32_t>(k + 1);
                lanes[k] = static_cast<std::uint8_t>(lane_of(part, slot));
            }
        });
        std::vector<std::size_t> row_ends(part.row_ends, part.row_ends + part.rows);
        for (std::size_t& row_end : row_ends) row_end -= part.first;
        const SparseInput copied{.slots = numbers.data(),
                                 .values = part.values + part.first,
                                 .row_ends = row_ends.data(),
                                 .rows = part.rows,
                                 .in_sequence = part.in_sequence,
                                 .lanes = lanes.data(),
                                 .lanes_from = 1};
        kernel_.single->predict_sparse(options, clock_, working.make_pack(chunks), chunks, copies, copied,
                                       asking_from(asking, first), predictions + first);
    }
}

// Is it quicker to spread the rows over all slots? The dense way keeps the state in registers' order from row to row;
// the sparse way must collect and put back each feature's.
bool SingleEngine::spreads(std::size_t slots, std::size_t rows, std::size_t entries) const {
    const std::size_t features = slots - 1;
    return options_.order == Order::paper && rows >= 16 && features >= 8 && features <= 4 * (entries / rows) + 32;
}

void SingleEngine::learn_spread(std::size_t slots, std::size_t rows, const Fill& fill, const Labels& labels,
                                double* predictions, std::size_t row) {
    const std::size_t features = slots - 1, chunks = chunks_for(features);
    const Pack pack = own_.make_pack(chunks);
    double* block = aligned(own_.block, block_doubles(chunks));
    wide_.resize(rows_at_once * features);
    mirror(pack, features);
    for (std::size_t first = 0, count; first < rows; first += count) {
        count = averaging_.until_look(clock_.examples, std::min(rows_at_once, rows - first));
        std::fill_n(wide_.begin(), count * features, 0.0);
        for (std::size_t r = 0; r < count; ++r) fill(first + r, wide_.data() + r * features);
        Clock clock = clock_;
        const auto run = [&](std::size_t so_many) {
            return kernel_.single->learn_dense(options_, clock, pack, chunks, block, tile(wide_, features, so_many),
                                               labels_from(labels, first), predictions + first);
        };
        const Outcome outcome = run(count);
        if (outcome.status == Status::diverged) {  // once more up to there, which gives the same bits
            clock = clock_;
            mirror(pack, features);
            run(outcome.row);
        }
        put_back(pack, features);
        clock_ = clock;
        if (outcome.status == Status::diverged) throw_diverged(row + first + outcome.row);
        if (averaging_.due(clock_.examples)) look();
    }
}

// ---------------------------------------------------------------------------------------------------- dense rows

// Is it worth mirroring all slots in a pack for one call? The kernel's dense way also wants the paper's order.
bool SingleEngine::reads_dense(std::size_t slots, std::size_t columns) const {
    return options_.order == Order::paper && slots <= 4 * columns + 64;
}

Outcome SingleEngine::learn_dense(const DenseInput& input, std::size_t slots, const Labels& labels,
                                  double* predictions) {
    const std::size_t features = slots - 1, chunks = chunks_for(features);
    const Pack pack = own_.make_pack(chunks);
    double* block = aligned(own_.block, block_doubles(chunks));
    const Averaging averaging_before = averaging_;
    if (averages()) average_before_.assign(average(), average() + slots);
    const bool wide = input.columns && features >= 8;
    Clock clock;
    const auto begin = [&] {
        clock = clock_;
        averaging_ = averaging_before;
        if (averages()) std::copy(average_before_.begin(), average_before_.end(), average());
    };
    const auto learn = [&](const DenseInput& part, std::size_t first) {
        return kernel_.single->learn_dense(options_, clock, pack, chunks, block, part, labels_from(labels, first),
                                           predictions + first);
    };
    const auto run = [&](std::size_t rows) -> Outcome {
        begin();
        mirror(pack, features);
        if (wide) wide_.assign(rows_at_once * features, 0.0);
        for (std::size_t first = 0, count; first < rows; first += count) {
            // Columns of their own are put side by side first, some rows at a time: the kernel is quickest with those.
            count = averaging_.until_look(clock.examples, wide ? std::min(rows_at_once, rows - first) : rows - first);
            if (wide) kernel_.rows->widen(input, first, count, wide_.data(), features);
            const Outcome outcome =
                learn(wide ? tile(wide_, features, count) : rows_of(input, first, count, columns_), first);
            if (outcome.status != Status::ok)
                return {outcome.status, first + outcome.row, wide ? column_of(input, outcome.column) : outcome.column};
            if (averaging_.due(clock.examples)) look(pack, features, clock.t);
        }
        return {};
    };
    const Outcome outcome = run(input.rows);
    if (outcome.status == Status::bad_value) begin();  // as if it had not been met
    if (outcome.status == Status::bad_value) return outcome;
    if (outcome.status == Status::diverged) run(outcome.row);  // once more up to there, which gives the same bits
    put_back(pack, features);
    clock_ = clock;
    if (outcome.status == Status::diverged) throw_diverged(outcome.row);
    return outcome;
}

Outcome SingleEngine::predict_dense(const DenseInput& input, std::size_t slots, const Asking& asking,
                                    double* predictions, Room& room) const {
    auto& memory = static_cast<WorkingMemory&>(room);
    const std::size_t features = slots - 1, chunks = chunks_for(features);
    const Pack pack = memory.make_pack(chunks);
    double* block = aligned(memory.block, block_doubles(chunks));
    mirror(pack, features);
    if (predicts_with_average()) show_average(pack, features);
    return kernel_.single->predict_dense(options_, clock_, pack, chunks, block, input, asking, predictions);
}

// ---------------------------------------------------------------------------------------------------- placed rows

void SingleEngine::mirror(Placement& row, bool average) const {
    const Placement::Mirrored now{clock_.examples, average};
    if (row.mirrored == now) return;
    kernel_.placed->load(options_, slots_.get(), row.row());
    if (average) {
        const PlacedRow& at = row.row();
        const Averaging::Step step = averaging_.step(clock_.t);
        at.pack.bias->v = averaged(0, at.pack.bias->scale, step);
        for (std::size_t i = 0; i < at.count; ++i) {
            const std::size_t k = at.place[i];
            at.pack.v[k] = averaged(at.pack.slot[k], at.pack.scale[k], step);
        }
    }
    row.mirrored = now;
}

void SingleEngine::learn_placed(Placement& row, const Labels& labels, double& prediction) {
    mirror(row, false);
    row.mirrored = {};
    const Status status =
        kernel_.placed->learn(options_, clock_, slots_.get(), row.row(), labels.y[0], weight_of(labels, 0),
                              options_.learning_rate * labels.pace[0], offset_of(labels, 0), prediction);
    if (status == Status::diverged) throw_diverged(0);
    row.mirrored = {clock_.examples, false};
    if (averaging_.due(clock_.examples)) look();
}

double SingleEngine::predict_placed(Placement& row, const Asking& asking) const {
    mirror(row, predicts_with_average());
    return kernel_.placed->predict(options_, clock_, row.row(), asking.extrapolate, offset_of(asking, 0));
}

}  // namespace unitless
