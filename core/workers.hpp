// A few threads that wait for work. Which thread does what never shows in a result.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace unitless {

class Workers {
  public:
    explicit Workers(unsigned threads) : process_(getpid()) {
        for (unsigned i = 1; i < threads; ++i) threads_.emplace_back([this] { wait_for_work(); });
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
            busy_ = threads_.size();
            ++generation_;
        }
        wake_.notify_all();
        take(task, count);
        std::unique_lock<std::mutex> guard(lock_);
        done_.wait(guard, [&] { return busy_ == 0; });
    }

  private:
    pid_t process_;
    std::vector<std::thread> threads_;
    std::mutex turn_, lock_;
    std::condition_variable wake_, done_;
    const std::function<void(std::size_t)>* task_ = nullptr;
    std::size_t count_ = 0, busy_ = 0;
    std::atomic<std::size_t> next_{0};
    std::uint64_t generation_ = 0;
    bool stopping_ = false;

    void take(const std::function<void(std::size_t)>& task, std::size_t count) {
        for (std::size_t i = next_++; i < count; i = next_++) task(i);
    }

    void wait_for_work() {
        std::uint64_t seen = 0;
        std::unique_lock<std::mutex> guard(lock_);
        for (;;) {
            wake_.wait(guard, [&] { return stopping_ || generation_ != seen; });
            if (stopping_) return;
            seen = generation_;
            const auto& task = *task_;
            const std::size_t count = count_;
            guard.unlock();
            take(task, count);
            guard.lock();
            if (--busy_ == 0) done_.notify_one();
        }
    }
};

}  // namespace unitless
