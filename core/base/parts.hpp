// Work in parts, for the threads of a pool.
//
// A part can again have pieces (`in_parts` within a part), many times in a row. Threads for which no part is left help
// with them if the work says so: they wait without sleeping, because to wake them would take longer than such a piece.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "base/workers.hpp"

namespace unitless {

// Numbers 0 ... count - 1, each of which one thread claims.
class Claims {
  public:
    static constexpr std::size_t most = 64, none = ~std::size_t{0};

    void open(std::size_t count) {
        count_.store(count, std::memory_order_relaxed);
        left_.store(count ? ~std::uint64_t{0} >> (most - count) : 0, std::memory_order_release);
    }
    // Claims the number that is wanted, or one of those that are left.
    std::size_t claim(std::size_t wanted) {
        std::uint64_t left = left_.load(std::memory_order_acquire);
        while (left) {
            const std::uint64_t from = left & ~std::uint64_t{0} << (wanted % count_.load(std::memory_order_relaxed));
            const int number = std::countr_zero(from ? from : left);
            const std::uint64_t others = left & ~(std::uint64_t{1} << number);
            if (left_.compare_exchange_weak(left, others, std::memory_order_acq_rel, std::memory_order_acquire))
                return static_cast<std::size_t>(number);
        }
        return none;
    }

  private:
    std::atomic<std::uint64_t> left_{0};
    std::atomic<std::size_t> count_{1};
};

// The seat of the calling thread: it keeps it from one work to the next if it can, and takes the parts and pieces of
// its seat first, because what belongs to them is in its cache. The thread that shares the work has none.
inline std::size_t& seat_of_thread() {
    static thread_local std::size_t seat = 0;
    return seat;
}

// The pieces of a part. The thread of the part shares them, works on them too, and continues when all are done.
class alignas(64) Round {
  public:
    // Lets other threads begin action(0) ... action(count - 1); the action must exist until `join`.
    template <class Action>
    void start(std::size_t count, const Action& action) {
        call_ = [](const void* what, std::size_t i) { (*static_cast<const Action*>(what))(i); };
        action_ = &action;
        wanted_ = count;
        done_ = 0;
        claims_.open(count);
    }
    void join() {
        while (work()) {
        }
        for (int i = 0; done_.load(std::memory_order_acquire) < wanted_; ++i) Workers::rest(i);
        wanted_ = 0;
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }

    // Does one piece, if one is left. A claimed piece keeps the round from ending, so what it needs stays.
    bool work();

  private:
    using Call = void (*)(const void*, std::size_t);
    Claims claims_;
    std::atomic<std::size_t> done_{0};
    std::size_t wanted_ = 0;
    Call call_ = nullptr;
    const void* action_ = nullptr;
    std::mutex lock_;
    std::exception_ptr error_;
};

// action(0) ... action(count - 1), which are begun in this order, in several threads.
class Parts final : public Workers::Job {
  public:
    Parts() = default;
    Parts(const Parts&) = delete;
    ~Parts() { settle(); }

    // Lets up to `most` other threads begin. `helping`: they stay until all parts are done, and help with pieces of
    // parts. Returns whether there are other threads; otherwise nothing happens before `wait`.
    bool start(Workers& workers, std::size_t count, std::size_t most, bool helping,
               std::function<void(std::size_t)> action) {
        count_ = count;
        helping_ = helping;
        action_ = std::move(action);
        next_ = 0;
        ended_ = 0;
        failed_ = count;
        error_ = nullptr;
        running_ = true;
        owner_ = std::this_thread::get_id();
        if (helping) seats_.open(std::min(most, Claims::most));
        start_ = ++starts();
        if (!workers.lend(*this, most)) return false;
        helpers_ = &workers;
        workers.call(most);
        return true;
    }

    // Works on the parts that no thread has begun, and waits for the others. Then rethrows the exception of the first
    // part that threw; later parts may not have run.
    void wait() {
        settle();
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }
    // The same, without the exception.
    void settle() noexcept {
        if (!running_) return;
        while (work()) {
        }
        if (helpers_) std::exchange(helpers_, nullptr)->take_back();
        running_ = false;
    }

    bool work() noexcept override {
        if (helping_) sit_down();
        const std::size_t i = next_++;
        if (i < failed_) attempt(i);
        if (i < count_) ended_.fetch_add(1, std::memory_order_release);
        if (i + 1 < count_) return true;
        if (helping_) help();
        return false;
    }

    // The round of the part that the calling thread runs, if there are threads to help with its pieces.
    static Round* round() {
        const Place& own = here();
        return own.parts && own.parts->idle_ > 0 ? &own.parts->rounds_[own.part] : nullptr;
    }

  private:
    // The part that a thread runs; none while it runs a piece.
    struct Place {
        Parts* parts = nullptr;
        std::size_t part = 0;
    };
    static Place& here() {
        static thread_local Place place;
        return place;
    }
    friend class Round;

    std::size_t count_ = 0;
    bool helping_ = false;
    std::function<void(std::size_t)> action_;
    std::atomic<std::size_t> next_{0}, ended_{0}, failed_{0};  // failed_: the first part that threw, or `count`
    std::atomic<std::size_t> idle_{0};                         // threads that help
    Claims seats_;
    std::uint64_t start_ = 0;  // a number of its own for each call of `start`
    std::thread::id owner_;    // the thread that shares the work
    std::mutex lock_;
    std::exception_ptr error_;  // the exception of part `failed_`
    Workers* helpers_ = nullptr;
    bool running_ = false;
    std::array<Round, 8> rounds_;  // of the first parts

    static std::atomic<std::uint64_t>& starts() {
        static std::atomic<std::uint64_t> count{0};
        return count;
    }

    // A thread of the pool takes a seat when it begins. Those whose seats have no part let the others choose first.
    void sit_down() {
        static thread_local std::uint64_t sitting = 0;
        if (sharing() || std::exchange(sitting, start_) == start_) return;
        std::size_t& seat = seat_of_thread();
        if (const std::size_t own = seats_.claim(seat); own != Claims::none) seat = own;
        for (int i = 0; seat >= count_ && next_ < count_ && i < 256; ++i) Workers::rest(i);
    }
    bool sharing() const { return std::this_thread::get_id() == owner_; }

    void attempt(std::size_t i) {
        const Place before = std::exchange(here(), helping_ && i < rounds_.size() ? Place{this, i} : Place{});
        try {
            action_(i);
        } catch (...) {
            const std::lock_guard guard(lock_);
            if (i < failed_) {
                failed_ = i;
                error_ = std::current_exception();
            }
        }
        here() = before;
    }

    void help() {
        ++idle_;
        for (int i = 0; ended_.load(std::memory_order_acquire) < count_; ++i) {
            for (Round& round : rounds_)
                while (round.work()) i = 0;
            Workers::rest(i);
        }
        --idle_;
    }
};

inline bool Round::work() {
    const std::size_t i = claims_.claim(seat_of_thread());
    if (i == Claims::none) return false;
    const Parts::Place before = std::exchange(Parts::here(), Parts::Place{});
    try {
        call_(action_, i);
    } catch (...) {
        const std::lock_guard guard(lock_);
        error_ = std::current_exception();
    }
    Parts::here() = before;
    done_.fetch_add(1, std::memory_order_release);
    return true;
}

// Runs action(0) ... action(count - 1) in up to `count` threads, the caller's among them. After all have ended,
// rethrows the exception of the first part that threw; later parts may not have run.
template <class Action>
void in_parts(Workers& workers, std::size_t count, const Action& action) {
    Round* const round = count > 1 && count <= Claims::most ? Parts::round() : nullptr;
    if (round) {
        round->start(count, action);
        return round->join();
    }
    Parts parts;
    parts.start(workers, count, count > 1 ? count - 1 : 0, false, std::cref(action));
    parts.wait();
}

}  // namespace unitless
