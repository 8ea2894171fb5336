// A pool of threads. Results do not depend on which thread does which work.
#pragma once

#if !defined(_WIN32)
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace unitless {

// The process id, by which a forked child recognizes that it is one. Windows has no fork.
inline long this_process() {
#if defined(_WIN32)
    return 0;
#else
    return getpid();
#endif
}

class Workers {
  public:
    explicit Workers(unsigned threads) : process_(this_process()) {
        try {
            for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { wait_for_work(); });
        } catch (const std::exception&) {  // the system has no more threads or memory; the existing threads do the work
        }
    }
    Workers(const Workers&) = delete;
    ~Workers() {
        if (!is_here()) {  // the threads exist only in the parent process
            for (auto& thread : threads_) thread.detach();
            return;
        }
        {
            const std::lock_guard guard(lock_);
            stopping_ = true;
        }
        wake_.notify_all();
        for (auto& thread : threads_) thread.join();
    }

    // Work that threads share. `work` does one piece of it, and returns whether there was one.
    class Job {
      public:
        virtual bool work() noexcept = 0;

      protected:
        ~Job() = default;
    };

    // Whether this process created the threads.
    bool is_here() const { return process_ == this_process(); }

    // The number of threads, including the caller's. A forked child has only its own.
    unsigned count() const { return is_here() ? static_cast<unsigned>(threads_.size()) + 1 : 1; }

    // From now on up to `most` threads, in addition to the caller's, work on the job, until take_back(). Returns false
    // if the threads are busy with another job, or if there are none.
    bool lend(Job& job, std::size_t most) {
        if (count() == 1 || most == 0 || lent_.exchange(true)) return false;
        const std::lock_guard guard(lock_);
        job_ = &job;
        most_ = most;
        return true;
    }

    // Announces new pieces of the job, and wakes threads for them if the job may have more threads.
    void call(std::size_t pieces) {
        ++generation_;
        const std::size_t active = active_, sleeping = sleeping_;
        if (sleeping == 0 || active >= most_) return;  // a thread that falls asleep now checks the generation once more
        {
            const std::lock_guard guard(lock_);  // after this lock, every thread that saw no work is waiting
        }
        for (std::size_t i = 0; i < std::min({pieces, sleeping, most_ - active}); ++i) wake_.notify_one();
    }

    // Waits until no thread works on the job.
    void take_back() {
        {
            const std::lock_guard guard(lock_);
            job_ = nullptr;  // threads that wake up from now on find no job
        }
        // Wait for threads that are still finishing a piece. The long wait sleeps, so that they can use this thread's
        // core.
        for (int i = 0; i < patience && active_ > 0; ++i) rest(i);
        if (active_ > 0) {
            std::unique_lock<std::mutex> guard(lock_);
            awaited_ = true;
            left_.wait(guard, [&] { return active_ == 0; });
            awaited_ = false;
        }
        lent_ = false;
    }

    // The number of calls of `rest` before a thread sleeps: about fifty microseconds.
    static constexpr int patience = 2000;

    // A thread that waits for another one calls this; i counts the calls.
    static void rest(int i) {
        if (i > patience) return std::this_thread::yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

  private:
    long process_;
    std::vector<std::thread> threads_;
    std::atomic<bool> lent_{false};
    std::mutex lock_;
    std::condition_variable wake_, left_;
    Job* job_ = nullptr;
    std::size_t most_ = 0;  // threads that may work at the job
    std::atomic<std::size_t> active_{0}, sleeping_{0};
    std::atomic<std::uint64_t> generation_{0};
    std::atomic<bool> stopping_{false}, awaited_{false};

    // While a model learns, pieces follow each other quickly. A thread that has just worked spins for a moment, because
    // waking it would take much longer. The other threads sleep until they are woken, so that they use no processor
    // time.
    void wait_for_work() {
        bool worked = false;
        for (std::uint64_t seen = 0;;) {
            for (int i = 0; worked && i < patience && generation_ == seen && !stopping_; ++i) rest(i);
            Job* job = nullptr;
            {
                std::unique_lock<std::mutex> guard(lock_);
                ++sleeping_;
                wake_.wait(guard, [&] { return stopping_ || generation_ != seen; });
                --sleeping_;
                if (stopping_) return;
                seen = generation_;
                if (active_ < most_) job = job_;
                if (job) ++active_;
            }
            worked = job != nullptr;
            if (!job) continue;
            while (job->work()) {
            }
            if (--active_ == 0 && awaited_) {
                const std::lock_guard guard(lock_);
                left_.notify_all();
            }
        }
    }
};

// The number of threads: UNITLESS_THREADS, or the number of cores.
unsigned thread_count();

// The threads that all models share.
Workers& workers();

// Sets whether the calling thread uses only itself for its models from now on: for programs with one model per thread.
void work_alone(bool from_here_on);

// Parts of a piece of work: action(0) ... action(count - 1), which are begun in this order, in up to `count` threads.
class Parts final : public Workers::Job {
  public:
    Parts() = default;
    Parts(const Parts&) = delete;
    ~Parts() { settle(); }

    // Lets up to `most` other threads begin. Returns whether there are any; otherwise nothing happens before `wait`.
    bool start(Workers& workers, std::size_t count, std::size_t most, std::function<void(std::size_t)> action) {
        count_ = count;
        action_ = std::move(action);
        next_ = 0;
        failed_ = count;
        error_ = nullptr;
        running_ = true;
        if (!workers.lend(*this, most)) return false;
        helpers_ = &workers;
        workers.call(most);
        return true;
    }
    bool running() const { return running_; }

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
        const std::size_t i = next_++;
        if (i < failed_) attempt(i);
        return i + 1 < count_;
    }

  private:
    std::size_t count_ = 0;
    std::function<void(std::size_t)> action_;
    std::atomic<std::size_t> next_{0}, failed_{0};  // failed_: the first part that threw, or `count`
    std::mutex lock_;
    std::exception_ptr error_;  // the exception of part `failed_`
    Workers* helpers_ = nullptr;
    bool running_ = false;

    void attempt(std::size_t i) {
        try {
            action_(i);
        } catch (...) {
            const std::lock_guard guard(lock_);
            if (i >= failed_) return;
            failed_ = i;
            error_ = std::current_exception();
        }
    }
};

// Runs action(0) ... action(count - 1) in up to `count` threads, the caller's among them. After all have ended,
// rethrows the exception of the first part that threw; later parts may not have run.
template <class Action>
void in_parts(Workers& workers, std::size_t count, const Action& action) {
    Parts parts;
    parts.start(workers, count, count > 1 ? count - 1 : 0, std::cref(action));
    parts.wait();
}

}  // namespace unitless
