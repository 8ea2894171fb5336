// A few threads that wait for work. Which thread does what never shows in a result.
#pragma once

#if !defined(_WIN32)
#include <unistd.h>
#endif

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace unitless {

// Which process this is, so that a forked child knows that it is one. Windows has no fork.
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
        } catch (const std::system_error&) {  // the system gives no more: so many it is
        }
    }
    Workers(const Workers&) = delete;
    ~Workers() {
        if (process_ != this_process()) {  // the threads stayed behind in the parent process
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

    // Tasks 0 ... count - 1, taken by whoever is free from `start` on; `finish` helps with what is left and waits for
    // the rest. Whoever finds the threads busy with another job works alone, in `finish`, as does a forked child, which
    // has no other threads. Tasks must not throw.
    class Job {
      public:
        using Task = std::function<void(std::size_t)>;
        Job() = default;
        Job(const Job&) = delete;
        ~Job() { finish(); }

        void start(Workers* workers, std::size_t count, Task task) {
            task_ = std::move(task);
            count_ = count;
            next_ = 0;
            const bool helped = workers && !workers->threads_.empty() && workers->process_ == this_process();
            if (!helped || !workers->turn_.try_lock()) return;
            workers_ = workers;
            workers->post(this);
        }

        void finish() {
            take();
            if (!workers_) return;
            workers_->retract();
            workers_->turn_.unlock();
            workers_ = nullptr;
        }

      private:
        friend class Workers;
        Task task_;
        std::size_t count_ = 0;
        std::atomic<std::size_t> next_{0};
        Workers* workers_ = nullptr;

        void take() {
            for (std::size_t i = next_++; i < count_; i = next_++) task_(i);
        }
    };

  private:
    long process_;
    std::vector<std::thread> threads_;
    std::mutex turn_, lock_;
    std::condition_variable wake_;
    Job* job_ = nullptr;
    std::atomic<std::size_t> active_{0}, sleeping_{0};
    std::atomic<std::uint64_t> generation_{0};
    std::atomic<bool> stopping_{false};

    void post(Job* job) {
        {
            const std::lock_guard guard(lock_);
            job_ = job;
            ++generation_;
        }
        for (std::size_t i = 0; i < job->count_ && i < sleeping_; ++i) wake_.notify_one();
    }

    void retract() {
        {
            const std::lock_guard guard(lock_);
            job_ = nullptr;  // whoever comes now comes too late
        }
        for (int i = 0; active_ > 0; ++i) rest(i);  // others are at their last task
    }

    static void rest(int i) {
        if (i > 2000) return std::this_thread::yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    // Work comes in quick succession while a model learns: looking out for it for a moment is much faster than being
    // woken up.
    void wait_for_work() {
        for (std::uint64_t seen = 0;;) {
            for (int i = 0; i < 2000 && generation_ == seen && !stopping_; ++i) rest(i);
            Job* job;
            {
                std::unique_lock<std::mutex> guard(lock_);
                ++sleeping_;
                wake_.wait(guard, [&] { return stopping_ || generation_ != seen; });
                --sleeping_;
                if (stopping_) return;
                seen = generation_;
                job = job_;
                if (job) ++active_;
            }
            if (!job) continue;
            job->take();
            --active_;
        }
    }
};

}  // namespace unitless
