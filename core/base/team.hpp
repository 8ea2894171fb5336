// A team of threads that share short pieces of work, many times in a row: one thread leads, the others assist.
//
// The leader shares some pieces, works on them too, and goes on when all are done. Between two such rounds the others
// wait without sleeping, because to wake them would take longer than a round.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/workers.hpp"

namespace unitless {

class Team {
  public:
    // Must not be called while any thread assists.
    void open() { closed_ = false; }
    // Those that assist leave, and none stays from now on. The leader can still share pieces, and does them alone.
    void close() { closed_ = true; }

    // Runs action(0) ... action(count - 1), which must not throw, in the leader's thread and those that assist.
    template <class Action>
    void share(std::size_t count, const Action& action) {
        if (count < 2 || inside_ == 0) {
            for (std::size_t i = 0; i < count; ++i) action(i);
            return;
        }
        call_ = [](const void* what, std::size_t i) { (*static_cast<const Action*>(what))(i); };
        action_ = &action;
        done_ = 0;
        next_.store(++round_ << 32 | count << 16, std::memory_order_release);
        while (work()) {
        }
        for (int i = 0; done_.load(std::memory_order_acquire) < count; ++i) Workers::rest(i);
    }

    // Works on what the leader shares, until the team is closed.
    void assist() {
        ++inside_;
        for (int i = 0; !closed_.load(std::memory_order_relaxed); ++i) {
            if (work()) i = 0;
            Workers::rest(i);
        }
        --inside_;
    }

  private:
    static constexpr std::uint64_t part = 0xffff;
    using Call = void (*)(const void*, std::size_t);
    std::atomic<bool> closed_{true};
    std::atomic<std::size_t> inside_{0}, done_{0};
    std::atomic<std::uint64_t> next_{0};  // the round, its number of pieces, and the next piece
    std::uint64_t round_ = 0;
    Call call_ = nullptr;
    const void* action_ = nullptr;

    // Does one piece, if there is one. A round does not end before its claimed pieces are done, so whoever has claimed
    // a piece can read what the leader shares.
    bool work() {
        std::uint64_t seen = next_.load(std::memory_order_acquire);
        do {
            if ((seen & part) >= (seen >> 16 & part)) return false;
        } while (!next_.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire));
        call_(action_, seen & part);
        done_.fetch_add(1, std::memory_order_release);
        return true;
    }
};

}  // namespace unitless
