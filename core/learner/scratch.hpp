// Scratch memory of threads that predict: each takes some while it does, and leaves it for the next.
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

// Scratch that is not in use. It belongs to an encoder and an engine, and has to be cleared with these.
class ScratchPool {
  public:
    ScratchPool() = default;
    ScratchPool(const ScratchPool&) = delete;
    ~ScratchPool() { clear(); }

    // Scratch, for as long as this lives.
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

    // While none is in use.
    void clear() {
        delete first_.exchange(nullptr);
        others_.clear();
    }

  private:
    std::atomic<Scratch*> first_{nullptr};  // nearly always one is enough, and rows may come one by one: no lock for it
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
            others_.reserve(others_.capacity() + 1);  // so that giving back cannot fail
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
