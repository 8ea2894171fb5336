// The kernel: streams of rows, dense or sparse, through scale, prediction, loss and rule.
// Compiled once per instruction set, with UNITLESS_ISA naming it.

#include "engine/single/kernel.hpp"

#include <type_traits>

#include "algorithm/dispatch.hpp"
#include "algorithm/row.hpp"
#include "engine/single/dense_block.hpp"
#include "engine/single/sparse_pack.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

template <class Action>
auto with_row(const Options& options, Action action) {
    return with_rule(options.rule, [&](auto rule) {
        return with_loss(options.loss, [&](auto loss) {
            using Rule = typename decltype(rule)::type;
            using Loss = typename decltype(loss)::type;
            return options.importance_aware ? action(rule, Row<Rule, Loss, true>(options))
                                            : action(rule, Row<Rule, Loss, false>(options));
        });
    });
}

double rate_of(const Options& options, const Labels& labels, std::size_t r) {
    return labels.pace ? options.learning_rate * labels.pace[r] : options.learning_rate;
}

Outcome learn_dense(const Options& options, Clock& clock, const Pack& pack, std::size_t chunks, double* memory,
                    const DenseInput& input, const Labels& labels, double* predictions) {
    return with_row(options, [&](auto rule, const auto& row) -> Outcome {
        using Rule = typename decltype(rule)::type;
        DenseBlock<typename Rule::Scale> block(input, pack, chunks, memory);
        Pack current = pack;
        for (std::size_t first = 0, rows; first < input.rows; first += rows) {
            rows = smaller(block_rows(chunks), input.rows - first);
            const double* weight = labels.weight ? labels.weight + first : nullptr;
            block.begin(first, rows);
            Outcome seen = block.observe(0, weight ? weight[0] : 1.0);
            for (std::size_t r = 0; r < rows; ++r) {
                if (seen.status != Status::ok) return seen;
                if (r + 1 < rows) seen = block.observe(r + 1, weight ? weight[r + 1] : 1.0);
                current.x = block.z(r);
                current.rho = block.rho(r);
                current.active = block.active(r);
                block.prefetch(first + rows + r);
                const std::size_t active = block.active_count(r);
                double& prediction = predictions[first + r];
                if (block.kind(r) == RowKind::weightless) {
                    prediction = limit(options, clock,
                                       with_offset(predict<Rule>(options, clock, current, active, false),
                                                   offset_of(labels, first + r)));
                } else if (row.learn(current, active, block.kind(r) == RowKind::grown, labels.y[first + r],
                                     weight ? weight[r] : 1.0, rate_of(options, labels, first + r),
                                     offset_of(labels, first + r), clock, prediction) == Learned::diverged) {
                    return {Status::diverged, first + r, 0};
                }
            }
        }
        return {};
    });
}

Outcome predict_dense(const Options& options, const Clock& clock, const Pack& pack, std::size_t chunks, double* memory,
                      const DenseInput& input, const Asking& asking, double* predictions) {
    const bool extrapolate = asking.extrapolate;
    return with_rule(options.rule, [&](auto rule) -> Outcome {
        using Rule = typename decltype(rule)::type;
        DenseBlock<typename Rule::Scale> block(input, pack, chunks, memory);
        Pack current = pack;
        const double bias = bias_part<Rule>(options, pack, extrapolate),
                     spread = spread_asked<Rule>(clock, extrapolate);
        for (std::size_t first = 0, rows; first < input.rows; first += rows) {
            rows = smaller(block_rows(chunks), input.rows - first);
            block.begin(first, rows);
            for (std::size_t r = 0; r < rows; ++r) {
                double dotted;
                block.prefetch(first + rows + r);
                if (!block.dot(r, bias, dotted)) {
                    const Outcome seen = block.peek(r, extrapolate);
                    if (seen.status != Status::ok) return seen;
                    current.x = block.z(r);
                    current.active = block.active(r);
                    dotted = unitless::dot(current, block.active_count(r), bias);
                }
                predictions[first + r] = limit_asked(
                    options, clock, with_offset(spread * dotted, offset_of(asking, first + r)), extrapolate);
            }
        }
        return {};
    });
}

template <class Rule, class Slot>
double predict_row(const Options& options, const Clock& clock, const Pack& pack, SparsePack<Slot>& features,
                   std::size_t r, bool extrapolate, double offset) {
    const std::size_t chunks = features.template look<typename Rule::Scale>(r, extrapolate);
    const double score = with_offset(predict<Rule>(options, clock, pack, chunks, extrapolate), offset);
    return limit_asked(options, clock, score, extrapolate);
}

template <class Slot>
Outcome learn_sparse_into(const Options& options, Clock& clock, const Pack& pack, std::size_t pack_chunks, Slot* slots,
                          const SparseInput& input, const Labels& labels, double* predictions) {
    using Stored = decltype(Slot::v);
    return with_row(options, [&](auto rule, const auto& row) -> Outcome {
        using Rule = typename decltype(rule)::type;
        SparsePack<Slot> features(input, slots, pack, pack_chunks);
        *pack.bias = {slots[0].scale, slots[0].v, slots[0].H};
        for (std::size_t r = 0; r < input.rows; ++r) {
            const double h = labels.weight ? labels.weight[r] : 1.0;
            if (h == 0) {
                predictions[r] = predict_row<Rule>(options, clock, pack, features, r, options.order == Order::vw,
                                                   offset_of(labels, r));
                continue;
            }
            const auto seen = features.template observe<typename Rule::Scale>(r, h, seen_weight(options, h));
            const Learned learned = row.learn(pack, seen.chunks, seen.grown, labels.y[r], h,
                                              rate_of(options, labels, r), offset_of(labels, r), clock, predictions[r]);
            if (learned == Learned::diverged) return {Status::diverged, r, 0};
            if (learned == Learned::skipped) continue;
            features.put_back(seen.chunks, slots);
            slots[0] = {pack.bias->scale, static_cast<Stored>(pack.bias->v), static_cast<Stored>(pack.bias->H)};
        }
        return {};
    });
}

Outcome learn_sparse(const Options& options, Clock& clock, const Pack& pack, std::size_t chunks, void* slots,
                     const SparseInput& input, const Labels& labels, double* predictions) {
    if (options.precision == Precision::float32)
        return learn_sparse_into(options, clock, pack, chunks, static_cast<Slot32*>(slots), input, labels, predictions);
    return learn_sparse_into(options, clock, pack, chunks, static_cast<Slot64*>(slots), input, labels, predictions);
}

void predict_sparse(const Options& options, const Clock& clock, const Pack& pack, std::size_t pack_chunks,
                    const void* slots, const SparseInput& input, const Asking& asking, double* predictions) {
    with_rule(options.rule, [&](auto rule) {
        using Rule = typename decltype(rule)::type;
        const auto each = [&](const auto* stored) {
            SparsePack features(input, stored, pack, pack_chunks);
            *pack.bias = {stored[0].scale, stored[0].v, stored[0].H};
            for (std::size_t r = 0; r < input.rows; ++r)
                predictions[r] =
                    predict_row<Rule>(options, clock, pack, features, r, asking.extrapolate, offset_of(asking, r));
        };
        if (options.precision == Precision::float32) {
            each(static_cast<const Slot32*>(slots));
        } else {
            each(static_cast<const Slot64*>(slots));
        }
    });
}

}  // namespace
}  // namespace UNITLESS_ISA

const SingleKernel UNITLESS_OF_ISA(single_kernel_) = {learn_dense, predict_dense, learn_sparse, predict_sparse};

}  // namespace unitless
