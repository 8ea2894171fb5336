// Scratch of predicting threads. A thread takes one while it predicts, and returns it for reuse.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "encoding/encoder.hpp"
#include "engine/engine.hpp"

namespace unitless {

struct Scratch {
    Encoder encoder;
    std::unique_ptr<EngineScratch> engine;

    Scratch(const Encoder& known, const Engine& predicting)
        : encoder(known.reader()), engine(predicting.make_scratch()) {}
};

// Scratch that is not in use. It belongs to an encoder and an engine, and must be cleared when these change.
class ScratchPool {
  public:
    ScratchPool() = default;
    ScratchPool(const ScratchPool&) = delete;
    ~ScratchPool() { clear(); }

    // Owns scratch for its lifetime.
    class Taken {
      public:
        Taken(ScratchPool& from, const Encoder& known, const Engine& predicting)
            : from_(from), scratch_(from.take(known, predicting)) {}
        Taken(const Taken&) = delete;
        ~Taken() { from_.give_back(std::move(scratch_)); }
        Scratch& operator*() const { return *scratch_; }
        Scratch* operator->() const { return scratch_.get(); }

      private:
        ScratchPool& from_;
        std::unique_ptr<Scratch> scratch_;
    };

    // Must not be called while any scratch is in use.
    void clear() {
        delete first_.exchange(nullptr);
        others_.clear();
    }

  private:
    // One is nearly always enough, and rows may arrive one by one, so this one needs no lock.
    std::atomic<Scratch*> first_{nullptr};
    std::mutex lock_;
    std::vector<std::unique_ptr<Scratch>> others_;

    std::unique_ptr<Scratch> take(const Encoder& known, const Engine& predicting) {
        if (Scratch* const first = first_.exchange(nullptr, std::memory_order_acquire))
            return std::unique_ptr<Scratch>(first);
        {
            const std::lock_guard guard(lock_);
            if (!others_.empty()) {
                std::unique_ptr<Scratch> scratch = std::move(others_.back());
                others_.pop_back();
                return scratch;
            }
            others_.reserve(others_.capacity() + 1);  // so that give_back cannot fail
        }
        return std::make_unique<Scratch>(known, predicting);
    }
    void give_back(std::unique_ptr<Scratch> scratch) {
        Scratch* none = nullptr;
        if (first_.compare_exchange_strong(none, scratch.get(), std::memory_order_release)) {
            static_cast<void>(scratch.release());
            return;
        }
        const std::lock_guard guard(lock_);
        others_.push_back(std::move(scratch));
    }
};

}  // namespace unitless
