// Batches of rows on their way through the lanes, several at a time: staged by the learner's own thread, run through
// groups of octets by whoever is free, then scored.
//
// A group takes the batches one after the other, and so does scoring, which waits for all groups: whatever thread does
// what, everything happens in the order that one thread would give it. What is ready is known under one lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "base/workers.hpp"
#include "engine/lanes/lane_batch.hpp"

namespace unitless {

class LanePipeline final : public Workers::Job {
  public:
    static constexpr std::size_t depth = 4;  // batches at a time; the newest may still be staged

    // What is done with a batch: neither must throw.
    std::function<void(LaneBatch&, std::size_t group)> run;
    std::function<void(LaneBatch&)> score;

    LanePipeline() = default;
    LanePipeline(const LanePipeline&) = delete;
    ~LanePipeline() { drain(); }

    // Where the next batch is to be staged.
    LaneBatch& next() { return batches_[pushed_ % depth]; }
    const LaneBatch& last() const { return batches_[(pushed_ + depth - 1) % depth]; }
    // The one that has left when all but depth - 2 have.
    LaneBatch& left_last() { return batches_[(pushed_ + 1) % depth]; }
    std::span<LaneBatch, depth> all() { return batches_; }
    bool empty() const { return drained_ == pushed_; }

    // The next batch is staged. `helpers` may be null. Their number of groups changes only when all is drained.
    void push(std::size_t groups, Workers* helpers) {
        {
            const std::lock_guard guard(lock_);
            if (done_.size() != groups) done_.assign(groups, pushed_);
            busy_.resize(groups, false);
            ++pushed_;
        }
        if (helpers && !helpers_ && helpers->lend(*this)) helpers_ = helpers;
        if (helpers_) helpers_->call(groups);
    }

    // Works until only so many are left.
    void wait(std::size_t left) {
        for (int i = 0; !settled(left); ++i) {
            if (advance(true)) {
                i = 0;
            } else {
                Workers::rest(i);
            }
        }
    }

    void drain() {
        wait(0);
        drained_ = pushed_;
        if (helpers_) helpers_->take_back();
        helpers_ = nullptr;
    }

    bool work() override { return advance(false); }

    std::size_t bytes() const {
        std::size_t total = 0;
        for (const LaneBatch& batch : batches_) total += batch.bytes();
        return total;
    }

  private:
    static constexpr std::size_t nothing = ~std::size_t{0}, scoring = nothing - 1;
    struct Task {
        std::size_t what;  // a group, or one of the above
        std::size_t batch = 0;
    };
    LaneBatch batches_[depth];
    Workers* helpers_ = nullptr;
    std::size_t drained_ = 0;

    std::mutex lock_;  // of what follows; only the learner's own thread changes pushed_
    std::size_t pushed_ = 0, scored_ = 0;
    std::vector<std::size_t> done_;  // by group: batches that went through
    std::vector<char> busy_;
    bool busy_scoring_ = false;

    bool settled(std::size_t left) {
        const std::lock_guard guard(lock_);
        return pushed_ - scored_ <= left;
    }

    // Helpers begin with the first group, the learner's own thread with scoring and the last group, so that a group's
    // state mostly stays in one core's cache.
    Task claim(bool own) {
        const std::lock_guard guard(lock_);
        if (pushed_ == scored_) return {nothing};
        if (own && claim_scoring()) return {scoring, scored_};
        for (std::size_t i = 0; i < done_.size(); ++i) {
            const std::size_t group = own ? done_.size() - 1 - i : i;
            if (busy_[group] || done_[group] == pushed_) continue;
            busy_[group] = true;
            return {group, done_[group]};
        }
        if (!own && claim_scoring()) return {scoring, scored_};
        return {nothing};
    }

    bool claim_scoring() {
        if (busy_scoring_ || scored_ == *std::min_element(done_.begin(), done_.end())) return false;
        return busy_scoring_ = true;
    }

    bool advance(bool own) {
        const Task task = claim(own);
        if (task.what == nothing) return false;
        LaneBatch& batch = batches_[task.batch % depth];
        if (task.what == scoring) {
            score(batch);
        } else {
            run(batch, task.what);
        }
        {
            const std::lock_guard guard(lock_);
            if (task.what == scoring) {
                busy_scoring_ = false;
                ++scored_;
            } else {
                busy_[task.what] = false;
                ++done_[task.what];
            }
        }
        if (own && helpers_ && task.what != scoring) helpers_->call(1);
        return true;
    }
};

}  // namespace unitless
