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
#include <mutex>
#include <thread>
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

    // Announces new pieces of the job, and wakes threads for them if the job may have more threads and too few are
    // awake: those have just worked, and their caches have what the job needs.
    void call(std::size_t pieces) {
        ++generation_;
        const std::size_t active = active_, sleeping = sleeping_, awake = threads_.size() - sleeping;
        // A thread that falls asleep now checks the generation once more.
        if (sleeping == 0 || active >= most_ || awake >= pieces) return;
        {
            const std::lock_guard guard(lock_);  // after this lock, every thread that saw no work is waiting
        }
        for (std::size_t i = 0; i < std::min({pieces - awake, sleeping, most_ - active}); ++i) wake_.notify_one();
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

}  // namespace unitless
