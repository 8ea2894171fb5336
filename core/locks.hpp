// Locks that a forked child finds free.
//
// A child process has only the thread that forked. A lock that another thread held at that moment would never be given
// back there, so that whoever forks takes all locks first: then no learner is in the midst of anything, and its copy in
// the child is whole.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace unitless {

class ForkLocks {
  public:
    static std::shared_ptr<std::mutex> make() {
        auto lock = std::make_shared<std::mutex>();
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
        std::set<std::mutex*> mine;
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
    }
    // After it, in both processes.
    static void release() {
        for (const auto& lock : instance().held_) lock->unlock();
        instance().held_.clear();
    }

  private:
    std::mutex lock_;  // never held while anything is waited for
    std::vector<std::weak_ptr<std::mutex>> known_;
    std::vector<std::shared_ptr<std::mutex>> held_;  // by the thread that is forking

    static ForkLocks& instance() {
        static ForkLocks* const all = new ForkLocks;  // learners may live until the very end
        return *all;
    }
    std::vector<std::shared_ptr<std::mutex>> alive() {
        const std::lock_guard guard(lock_);
        std::vector<std::shared_ptr<std::mutex>> found;
        for (const auto& known : known_)
            if (auto lock = known.lock()) found.push_back(std::move(lock));
        return found;
    }
};

}  // namespace unitless
