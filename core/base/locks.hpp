// A lock for many readers or one writer, and a registry that frees all locks in a forked child process.
//
// A child process has only the thread that forked. If another thread held a lock at that moment, nothing would release
// it in the child. So the forking thread takes all locks first. Then no thread is in the middle of a change, and the
// child's copy of each learner is consistent.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "base/workers.hpp"

namespace unitless {

// A waiting writer goes before readers that arrive later. When a writer releases the lock, the waiting readers go
// before the next writer. So neither readers nor writers can starve the others.
//
// The member functions have the names that the standard library's guards require.
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

    // How many writers have released the lock. The caller must hold it.
    std::uint64_t changes() const { return changes_; }

    // Frees the lock in a child process, where the threads that hold it or wait for it do not exist.
    void abandon() { state_.store(0); }

  private:
    // The state consists of three counts of threads and two flags.
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

// The registry of all locks.
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

    // Takes all locks before a fork. `wait` blocks until it has taken a busy lock; other threads may create locks
    // meanwhile.
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
    // Releases all locks after a fork, in both processes.
    static void release() {
        ForkLocks& all = instance();
        const bool parent = all.process_ == this_process();
        for (const auto& lock : all.held_) parent ? lock->unlock() : lock->abandon();
        all.held_.clear();
    }

  private:
    std::mutex lock_;  // protects `known_`; a thread that holds it never blocks
    std::vector<std::weak_ptr<Lock>> known_;
    std::vector<std::shared_ptr<Lock>> held_;  // the locks that the forking thread holds
    long process_ = 0;

    static ForkLocks& instance() {
        static ForkLocks* const all = new ForkLocks;  // never deleted: learners may outlive static objects
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
