// Working memory of those who predict: each has a room of its own while it does, and leaves it for the next.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/engine.hpp"
#include "preparation/preparation.hpp"
#include "preparation/word_features.hpp"

namespace unitless {

struct Room {
    Preparation preparation;
    std::unique_ptr<Engine::Room> engine;
    WordFeatures words;

    Room(const Preparation& knows, const Engine& predicts)
        : preparation(knows.reader()), engine(predicts.make_room()) {}
};

// Those that nobody is in. They belong to a preparation and an engine, and have to be cleared with these.
class Rooms {
  public:
    Rooms() = default;
    Rooms(const Rooms&) = delete;
    ~Rooms() { clear(); }

    // A room, for as long as this lives.
    class Taken {
      public:
        Taken(Rooms& from, const Preparation& knows, const Engine& predicts)
            : from_(from), room_(from.take(knows, predicts)) {}
        Taken(const Taken&) = delete;
        ~Taken() { from_.give_back(std::move(room_)); }
        Room& operator*() const { return *room_; }
        Room* operator->() const { return room_.get(); }

      private:
        Rooms& from_;
        std::unique_ptr<Room> room_;
    };

    // While everybody is out.
    void clear() {
        delete first_.exchange(nullptr);
        others_.clear();
    }

  private:
    std::atomic<Room*> first_{nullptr};  // apart, because nearly always one is enough, and rows may come one by one
    std::mutex lock_;
    std::vector<std::unique_ptr<Room>> others_;

    std::unique_ptr<Room> take(const Preparation& knows, const Engine& predicts) {
        if (Room* const first = first_.exchange(nullptr, std::memory_order_acquire))
            return std::unique_ptr<Room>(first);
        {
            const std::lock_guard guard(lock_);
            if (!others_.empty()) {
                std::unique_ptr<Room> room = std::move(others_.back());
                others_.pop_back();
                return room;
            }
            others_.reserve(others_.capacity() + 1);  // so that giving back cannot fail
        }
        return std::make_unique<Room>(knows, predicts);
    }
    void give_back(std::unique_ptr<Room> room) {
        Room* nobody = nullptr;
        if (first_.compare_exchange_strong(nobody, room.get(), std::memory_order_release)) {
            static_cast<void>(room.release());
            return;
        }
        const std::lock_guard guard(lock_);
        others_.push_back(std::move(room));
    }
};

}  // namespace unitless
