// Saving and restoring a learner's state.

#include <mutex>
#include <shared_mutex>

#include "learner/learner.hpp"

namespace unitless {

Snapshot Learner::snapshot(bool slots) const {
    const std::shared_lock guard(lock_);
    Snapshot to{encoder_.save(), {}, labels_.state(), form_, keeps_average_, {}};
    engine_->save(slots ? encoder_.slot_count() : 0, to.engine);
    if (engine_->clock().examples == slopes_at_) to.slopes = slopes_;
    return to;
}

void Learner::load(const Snapshot& from, const Filling& fill) {
    if (from.engine.clock.examples >> 63) throw InputError("the number of examples is too large for a model");
    const Form form = form_of(from);
    Encoder encoder(encoder_setup(setup_, form), *kernel_.rows);
    encoder.load(from.encoder);
    check_slots(from.engine, encoder.slot_count());
    check_columns(from.engine, encoder.raw_count());
    std::unique_ptr<Engine> engine = make_engine(engine_setup(setup_, form), kernel_);
    if (from.keeps_average && !engine->averages())
        throw InputError("the average does not agree with the total weight of the examples");
    reserve(*engine, encoder);
    engine->load(from.engine);
    fill(*engine, encoder.slot_count());
    std::vector<double> slopes = from.slopes;
    labels_.load(from.labels);
    encoder_ = std::move(encoder);
    engine_ = std::move(engine);
    take_over();
    form_ = form;
    keeps_average_ = from.keeps_average;
    slopes_ = std::move(slopes);
    slopes_at_ = engine_->clock().examples;
    judging_.reset();
    holds_scales_ = false;
}

}  // namespace unitless
