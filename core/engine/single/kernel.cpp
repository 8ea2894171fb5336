// The kernel of one learner: scale, prediction, loss and update of each row.

#include "engine/single/kernel.hpp"

#include "algorithm/dispatch.hpp"
#include "engine/single/dense_block.hpp"
#include "engine/single/row.hpp"
#include "engine/single/sparse_pack.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

Example example_of(const Options& options, const Labels& labels, std::size_t r) {
    return {labels.y[r], weight_of(labels, r), options.learning_rate * label_scale_of(labels, r), offset_of(labels, r)};
}

Outcome learn_dense(const Options& options, Clock& clock, Slot& bias, const Pack& pack, std::size_t chunks,
                    double* memory, const DenseRows& input, const Labels& labels, double* predictions) {
    return with_rule(options.rule, [&](auto rule) -> Outcome {
        using Rule = typename decltype(rule)::type;
        const SingleRow<Rule> single(options);
        DenseBlock<typename Rule::Scale> block(input, pack, chunks, memory);
        for (std::size_t first = 0, rows; first < input.rows; first += rows) {
            rows = smaller(block_rows(chunks), input.rows - first);
            block.begin(first, rows);
            Outcome seen = block.observe(0, weight_of(labels, first));
            for (std::size_t r = 0; r < rows; ++r) {
                if (seen.status != Status::ok) return seen;
                if (r + 1 < rows) seen = block.observe(r + 1, weight_of(labels, first + r + 1));
                block.prefetch(first + rows + r);
                double& prediction = predictions[first + r];
                if (block.kind(r) == RowKind::weightless) {
                    const double score = predict<Rule>(options, clock, block.terms(r), bias, false);
                    prediction = limit(options, clock, with_offset(score, offset_of(labels, first + r)));
                } else if (single.learn(block.terms(r), bias, block.kind(r) == RowKind::grown,
                                        example_of(options, labels, first + r), clock,
                                        prediction) == Learned::diverged) {
                    return {Status::diverged, first + r, 0};
                }
            }
        }
        return {};
    });
}

Outcome predict_dense(const Options& options, const Clock& clock, const Slot& bias_slot, const Pack& pack,
                      std::size_t chunks, double* memory, const DenseRows& input, bool extrapolate,
                      const double* offset, double* predictions) {
    return with_rule(options.rule, [&](auto rule) -> Outcome {
        using Rule = typename decltype(rule)::type;
        DenseBlock<typename Rule::Scale> block(input, pack, chunks, memory);
        constexpr std::size_t some = decltype(block)::rows_at_once;
        const double bias = bias_term<Rule>(options, bias_slot, extrapolate),
                     gain = gain_without_learning<Rule>(clock, extrapolate);
        for (std::size_t first = 0, rows; first < input.rows; first += rows) {
            rows = smaller(block_rows(chunks), input.rows - first);
            block.begin(first, rows);
            double together[some];
            std::size_t known_until = 0;  // the end of the rows whose sums are in `together`
            for (std::size_t r = 0; r < rows; ++r) {
                block.prefetch(first + rows + r);
                if (r % some == 0 && r + some <= rows && block.dots(r, bias, together)) known_until = r + some;
                double sum = together[r % some];
                if (r >= known_until) {
                    const Outcome seen = block.peek(r, extrapolate);
                    if (seen.status != Status::ok) return seen;
                    sum = dot(block.terms(r), Vec8::first(bias));
                }
                const double score = with_offset(gain * sum, offset ? offset[first + r] : 0.0);
                predictions[first + r] = limit(options, clock, score, extrapolate);
            }
        }
        return {};
    });
}

template <class Rule>
double predict_row(const Options& options, const Clock& clock, const Slot& bias, SparsePack& pack, std::size_t r,
                   bool extrapolate, double offset) {
    const FeatureTerms terms = pack.peek<typename Rule::Scale>(r, extrapolate);
    const double score = with_offset(predict<Rule>(options, clock, terms, bias, extrapolate), offset);
    return limit(options, clock, score, extrapolate);
}

Outcome learn(const Options& options, Clock& clock, Slot* slots, Positions positions, const Pack& memory,
              std::size_t chunks, const Batch& batch, double* predictions) {
    return with_rule(options.rule, [&](auto rule) -> Outcome {
        using Rule = typename decltype(rule)::type;
        const SingleRow<Rule> single(options);
        SparsePack pack(batch, slots, positions, memory, chunks);
        Slot bias = slots[0];
        for (std::size_t r = 0; r < batch.rows; ++r) {
            const double h = weight_of(batch, r);
            if (h == 0) {
                const bool plain = options.order == Order::vw;
                predictions[r] = predict_row<Rule>(options, clock, bias, pack, r, plain, offset_of(batch, r));
                continue;
            }
            const auto [terms, grown] = pack.observe<typename Rule::Scale>(r, h, seen_weight(options, h));
            const Learned learned =
                single.learn(terms, bias, grown, example_of(options, batch.labels, r), clock, predictions[r]);
            if (learned == Learned::diverged) return {Status::diverged, r, 0};
            if (learned == Learned::skipped) continue;
            pack.put_back(terms.count, slots);
            slots[0] = bias;
        }
        return {};
    });
}

void predict_batch(const Options& options, const Clock& clock, const Slot* slots, Positions positions,
                   const Pack& memory, std::size_t chunks, const Batch& batch, bool extrapolate, double* predictions) {
    with_rule(options.rule, [&](auto rule) {
        using Rule = typename decltype(rule)::type;
        SparsePack pack(batch, slots, positions, memory, chunks);
        for (std::size_t r = 0; r < batch.rows; ++r)
            predictions[r] = predict_row<Rule>(options, clock, slots[0], pack, r, extrapolate, offset_of(batch, r));
    });
}

}  // namespace
}  // namespace UNITLESS_ISA

const SingleKernel UNITLESS_OF_ISA(single_kernel_) = {learn_dense, predict_dense, learn, predict_batch};

}  // namespace unitless
