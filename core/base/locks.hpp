// The lock of a learner: any number of threads read at once, or one changes something; and such locks that a forked
// child finds free.
//
// A child process has only the thread that forked. A lock that another thread held at that moment would never be given
// back there, so that whoever forks takes all locks first: then no learner is in the midst of anything, and its copy in
// the child is whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/workers.hpp"

namespace unitless {

// Who wants to write goes before readers who come later, and when it has written, readers who were waiting go before
// the next: neither readers one after another nor writers one after another keep the others out.
//
// Named as the standard library names them, for its guards.
class Lock {
  public:
    Lock() = default;
    Lock(const Lock&) = delete;

    bool try_lock() {
        std::uint64_t now = state_.load(std::memory_order_relaxed);
        return !(now & (held | readers_turn | readers)) && take(now, now | held);
    }
    void lock() {
        if (try_lock()) return;
        std::uint64_t now = state_.fetch_add(one_waiting_writer, std::memory_order_relaxed) + one_waiting_writer;
        for (;; now = state_.load(std::memory_order_relaxed)) {
            if (now & (held | readers_turn | readers)) {
                state_.wait(now, std::memory_order_relaxed);
            } else if (take(now, (now - one_waiting_writer) | held)) {
                return;
            }
        }
    }
    void unlock() {
        ++changes_;
        std::uint64_t now = state_.load(std::memory_order_relaxed), after;
        do {
            after = (now & ~held) | (now & waiting_readers ? readers_turn : 0);
        } while (!state_.compare_exchange_weak(now, after, std::memory_order_release, std::memory_order_relaxed));
        if (now & (waiting_readers | waiting_writers)) state_.notify_all();
    }

    bool try_lock_shared() {
        std::uint64_t now = state_.load(std::memory_order_relaxed);
        while (!(now & (held | waiting_writers)))
            if (take(now, now + one_reader)) return true;
        return false;
    }
    void lock_shared() {
        if (try_lock_shared()) return;
        std::uint64_t now = state_.fetch_add(one_waiting_reader, std::memory_order_relaxed) + one_waiting_reader;
        for (;; now = state_.load(std::memory_order_relaxed)) {
            if (now & held || (now & waiting_writers && !(now & readers_turn))) {
                state_.wait(now, std::memory_order_relaxed);
                continue;
            }
            std::uint64_t inside = now - one_waiting_reader + one_reader;
            if (!(inside & waiting_readers)) inside &= ~readers_turn;
            if (take(now, inside)) return;
        }
    }
    void unlock_shared() {
        const std::uint64_t before = state_.fetch_sub(one_reader, std::memory_order_release);
        if ((before & readers) == one_reader && before & waiting_writers) state_.notify_all();
    }

    // How often somebody has written; for those who hold the lock.
    std::uint64_t changes() const { return changes_; }

    // Free, whoever held it or waited for it: they are not in this process.
    void abandon() { state_.store(0); }

  private:
    // Three counts of threads, and two flags.
    static constexpr std::uint64_t one_reader = 1, one_waiting_reader = one_reader << 20,
                                   one_waiting_writer = one_waiting_reader << 20, readers = one_waiting_reader - 1,
                                   waiting_readers = readers << 20, waiting_writers = waiting_readers << 20,
                                   readers_turn = one_waiting_writer << 20, held = readers_turn << 1;
    std::atomic<std::uint64_t> state_{0};
    std::uint64_t changes_ = 0;

    bool take(std::uint64_t& now, std::uint64_t after) {
        return state_.compare_exchange_strong(now, after, std::memory_order_acquire, std::memory_order_relaxed);
    }
};

class ForkLocks {
  public:
    static std::shared_ptr<Lock> make() {
        auto lock = std::make_shared<Lock>();
        ForkLocks& all = instance();
        const std::lock_guard guard(all.lock_);
        if (all.known_.size() == all.known_.capacity())
            std::erase_if(all.known_, [](const auto& known) { return known.expired(); });
        all.known_.push_back(lock);
        return lock;
    }

    // Before a fork. `wait` locks a lock that is busy; meanwhile others may be made.
    template <class Wait>
    static void hold(Wait wait) {
        ForkLocks& all = instance();
        std::set<Lock*> mine;
        for (bool waited = true; waited;) {
            waited = false;
            for (auto& lock : all.alive()) {
                if (!mine.insert(lock.get()).second) continue;
                if (!lock->try_lock()) {
                    wait(*lock);
                    waited = true;
                }
                all.held_.push_back(std::move(lock));
            }
        }
        all.process_ = this_process();
    }
    // After it, in both processes. In the child nobody waits for a lock, whatever it says.
    static void release() {
        ForkLocks& all = instance();
        const bool parent = all.process_ == this_process();
        for (const auto& lock : all.held_) parent ? lock->unlock() : lock->abandon();
        all.held_.clear();
    }

  private:
    std::mutex lock_;  // never held while anything is waited for
    std::vector<std::weak_ptr<Lock>> known_;
    std::vector<std::shared_ptr<Lock>> held_;  // by the thread that is forking
    long process_ = 0;

    static ForkLocks& instance() {
        static ForkLocks* const all = new ForkLocks;  // learners may live until the very end
        return *all;
    }
    std::vector<std::shared_ptr<Lock>> alive() {
        const std::lock_guard guard(lock_);
        std::vector<std::shared_ptr<Lock>> found;
        for (const auto& known : known_)
            if (auto lock = known.lock()) found.push_back(std::move(lock));
        return found;
    }
};

}  // namespace unitless
