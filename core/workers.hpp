// A few threads that wait for work. Which thread does what never shows in a result.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace unitless {

class Workers {
  public:
    explicit Workers(unsigned threads) : process_(getpid()) {
        try {
            for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { wait_for_work(); });
        } catch (const std::system_error&) {  // the system gives no more: so many it is
        }
    }
    Workers(const Workers&) = delete;
    ~Workers() {
        if (process_ != getpid()) {  // the threads stayed behind in the parent process
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

    std::size_t size() const { return threads_.size() + 1; }

    // Calls task(0) ... task(count - 1), this thread taking its share. Done when it returns. Whoever finds the others
    // busy works alone, as does a forked child, which has no other threads. Tasks must not throw.
    void run(std::size_t count, const std::function<void(std::size_t)>& task) {
        std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
        if (count < 2 || threads_.empty() || !turn || process_ != getpid()) {
            for (std::size_t i = 0; i < count; ++i) task(i);
            return;
        }
        {
            const std::lock_guard guard(lock_);
            task_ = &task;
            count_ = count;
            next_ = 0;
            ++generation_;
        }
        for (std::size_t i = 1; i < count && i <= sleeping_; ++i) wake_.notify_one();
        take(task, count);
        {
            const std::lock_guard guard(lock_);
            task_ = nullptr;  // whoever comes now comes too late
        }
        for (int i = 0; active_ > 0; ++i) rest(i);  // others are at their last task
    }

  private:
    pid_t process_;
    std::vector<std::thread> threads_;
    std::mutex turn_, lock_;
    std::condition_variable wake_;
    const std::function<void(std::size_t)>* task_ = nullptr;
    std::size_t count_ = 0;
    std::atomic<std::size_t> next_{0}, active_{0}, sleeping_{0};
    std::atomic<std::uint64_t> generation_{0};
    std::atomic<bool> stopping_{false};

    static void rest(int i) {
        if (i > 2000) return std::this_thread::yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    void take(const std::function<void(std::size_t)>& task, std::size_t count) {
        for (std::size_t i = next_++; i < count; i = next_++) task(i);
    }

    // Work comes in quick succession while a model learns: looking out for it for a moment is much faster than being
    // woken up.
    void wait_for_work() {
        for (std::uint64_t seen = 0;;) {
            for (int i = 0; i < 2000 && generation_ == seen && !stopping_; ++i) rest(i);
            const std::function<void(std::size_t)>* task;
            std::size_t count;
            {
                std::unique_lock<std::mutex> guard(lock_);
                ++sleeping_;
                wake_.wait(guard, [&] { return stopping_ || generation_ != seen; });
                --sleeping_;
                if (stopping_) return;
                seen = generation_;
                task = task_;
                count = count_;
                if (task) ++active_;
            }
            if (!task) continue;
            take(*task, count);
            --active_;
        }
    }
};

}  // namespace unitless
