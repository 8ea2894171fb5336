// Batches of rows on their way through the lanes, several at a time: staged by the learner's own thread, run through
// groups of octets by whoever is free, then scored, in parts.
//
// A group takes the batches one after the other, and so does a part of the scoring, once the groups that it reads have
// had the batch: whatever thread does what, everything happens in the order that one thread would give it. What is
// ready is known under one lock, which is taken once a task and held for a moment.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "base/task_record.hpp"
#include "base/workers.hpp"
#include "engine/lanes/lane_batch.hpp"

namespace unitless {

class LanePipeline final : public Workers::Job {
  public:
    static constexpr std::size_t depth = 8;  // batches at a time, where there are threads for them

    // A part of the scoring reads what tracks [first, end) have made: groups are numbered first, then parts.
    struct Part {
        std::size_t first, end;
    };

    // What is done with a batch: none must throw. `leave` is called by the learner's own thread, batch after batch, and
    // gives the row at which a head's last rate diverged.
    std::function<void(LaneBatch&, std::size_t group)> run;
    std::function<void(LaneBatch&, std::size_t part)> score;
    std::function<std::size_t(const LaneBatch&)> leave;

    LanePipeline() { dead_.fill(Octet::never); }
    LanePipeline(const LanePipeline&) = delete;
    ~LanePipeline() {
        drain();
        let_go();
    }

    // Where the next batch is to be staged. Without threads that could work on several, two places serve all batches:
    // they stay in the cache.
    LaneBatch& next(bool several) {
        const std::size_t wanted = several ? depth : 2;
        if (places_ != wanted && (wanted > places_ || empty())) {
            wait(0);
            places_ = wanted;
        }
        return batches_[pushed_ % places_];
    }
    bool empty() const { return left_ == pushed_; }

    // The next batch is staged. `helpers` may be null. Groups and parts change only when all has left.
    void push(std::size_t groups, const std::vector<Part>& parts, Workers* helpers) {
        if (empty()) begin_tracks(groups, parts);
        {
            const Guard guard(lock_, helpers_);
            ++pushed_;
        }
        if (helpers && !helpers_) {
            known_helpers_ = helpers;
            if (helpers->lend(*this)) helpers_ = helpers;
        }
        if (helpers_) helpers_->call(groups);
    }

    // Works until there is a place for one batch more; gives what `leave` said of the batch that must have left by
    // then with any number of places, so that timing makes no difference.
    std::size_t wait_for_place() {
        wait(places_ - 2);
        return dead_[(pushed_ + 1) % depth];
    }

    // Works until all batches have left; gives the first row that any of them was lost at. The other threads stay.
    std::size_t drain() {
        wait(0);
        if (TaskRecord* record = TaskRecord::current()) record->note({TaskRecord::Kind::drain, 0, pushed_});
        std::size_t dead = Octet::never;
        for (std::size_t& row : dead_) dead = std::min(dead, std::exchange(row, Octet::never));
        return dead;
    }

    // After `drain`: the other threads are free for other work. One that has just been called may not run before the
    // system lets it, so that this is not for every now and then.
    void let_go() {
        if (helpers_) helpers_->take_back();
        helpers_ = nullptr;
    }

    // What the other threads do until they find nothing more.
    bool work() noexcept override {
        Task task;
        {
            const Guard guard(lock_, true);
            task = claim();
        }
        if (task.track == nothing) return false;
        while (task.track != nothing) {
            carry_out(task, known_helpers_);
            bool asleep;
            {
                const Guard guard(lock_, true);
                finish(task);
                asleep = asleep_;
                task = claim();
            }
            if (asleep) news_.notify_one();
        }
        return true;
    }

    std::size_t bytes() const {
        std::size_t total = 0;
        for (const LaneBatch& batch : batches_) total += batch.bytes();
        return total;
    }

  private:
    // What takes the batches one after the other: groups first, then parts.
    struct Track {
        std::size_t done = 0;  // batches that went through
        bool busy = false;
    };
    static constexpr std::size_t nothing = ~std::size_t{0};
    struct Task {
        std::size_t track = nothing;
        std::size_t batch = 0;
        std::size_t others = 0;  // that are ready as well
    };

    LaneBatch batches_[depth];
    std::size_t places_ = 2;
    Workers* helpers_ = nullptr;             // while they are lent; the learner's own thread looks at it
    Workers* known_helpers_ = nullptr;       // for these themselves
    std::size_t left_ = 0;                   // batches that have left
    std::array<std::size_t, depth> dead_{};  // by the number of a batch: what `leave` said
    std::size_t groups_ = 0;
    std::vector<Part> parts_;

    std::mutex lock_;  // of what follows; only the learner's own thread changes pushed_
    std::size_t pushed_ = 0;
    std::vector<Track> tracks_;
    std::size_t finished_ = 0;  // tasks
    bool asleep_ = false;       // the learner's own thread
    std::condition_variable news_;

    // It is held so shortly that nobody should fall asleep over it.
    class Guard {
      public:
        Guard(std::mutex& lock, bool needed) : lock_(needed ? &lock : nullptr) {
            for (int i = 0; lock_ && !lock_->try_lock(); ++i) Workers::rest(i);
        }
        Guard(const Guard&) = delete;
        ~Guard() {
            if (lock_) lock_->unlock();
        }

      private:
        std::mutex* lock_;
    };

    void begin_tracks(std::size_t groups, const std::vector<Part>& parts) {
        std::vector<Part> own = parts;  // first: if memory runs out, nothing has changed
        std::vector<Track> tracks(groups + parts.size(), Track{pushed_, false});
        const Guard guard(lock_, helpers_);
        groups_ = groups;
        parts_.swap(own);
        tracks_.swap(tracks);
    }

    // The learner's own thread works until only so many batches are left.
    void wait(std::size_t most) {
        TaskRecord* const record = TaskRecord::current();
        if (record) record->end_preparing(pushed_);
        Task task;
        for (int i = 0;; ++i) {
            std::size_t complete = pushed_, finished;
            {
                const Guard guard(lock_, helpers_);
                finish(task);
                finished = finished_;
                for (const Track& track : tracks_) complete = std::min(complete, track.done);
                task = pushed_ - complete > most ? claim() : Task{};
            }
            for (; left_ < complete; ++left_) dead_[left_ % depth] = leave(batches_[left_ % places_]);
            if (pushed_ - left_ <= most) break;
            if (task.track == nothing && i < Workers::patience) {
                Workers::rest(i);
            } else if (task.track == nothing) {
                sleep(finished);
            } else {
                carry_out(task, helpers_);
                i = 0;
            }
        }
        if (record) record->begin_preparing();
    }

    // Until more than so many tasks are finished. A thread that is to finish one, and that waits for a core, gets this
    // one's.
    void sleep(std::size_t finished) {
        std::unique_lock<std::mutex> guard(lock_);
        asleep_ = true;
        news_.wait(guard, [&] { return finished_ != finished; });
        asleep_ = false;
    }

    // How many batches a track may have had by now.
    std::size_t ready(std::size_t track) const {
        if (track < groups_) return pushed_;
        const Part& part = parts_[track - groups_];
        std::size_t least = pushed_;
        for (std::size_t i = part.first; i < part.end; ++i) least = std::min(least, tracks_[i].done);
        return least;
    }
    bool is_ready(std::size_t track) const { return !tracks_[track].busy && tracks_[track].done < ready(track); }

    // The track that the calling thread was at last: its state is in that thread's cache.
    static std::size_t& favourite() {
        static thread_local std::size_t track = 0;
        return track;
    }

    // What was just run is scored while it is in the cache, unless there are threads enough to go on with the same
    // lanes at once; then whatever is furthest behind.
    Task claim() {
        Task task;
        const std::size_t last = favourite();
        const bool enough = known_helpers_ && groups_ < known_helpers_->count();
        std::size_t least = nothing;
        for (std::size_t track = 0; track < tracks_.size(); ++track) {
            if (!is_ready(track)) continue;
            ++task.others;
            std::size_t rank = 2 + 2 * tracks_[track].done + (track < groups_);
            if (track == last && track < groups_) rank = 1;
            if (track >= groups_ && !enough) {
                const Part& part = parts_[track - groups_];
                if (part.first <= last && last < part.end) rank = 0;
            }
            if (rank < least) {
                least = rank;
                task.track = track;
            }
        }
        if (task.track == nothing) return task;
        --task.others;
        task.batch = tracks_[task.track].done;
        tracks_[task.track].busy = true;
        if (task.track < groups_) favourite() = task.track;
        return task;
    }

    void finish(const Task& task) {
        if (task.track == nothing) return;
        ++tracks_[task.track].done;
        tracks_[task.track].busy = false;
        ++finished_;
    }

    void carry_out(const Task& task, Workers* helpers) {
        if (helpers && task.others) helpers->call(task.others);
        TaskRecord* const record = TaskRecord::current();
        const TaskRecord::Time began = record ? TaskRecord::now() : TaskRecord::Time{};
        LaneBatch& batch = batches_[task.batch % places_];
        if (task.track < groups_) {
            run(batch, task.track);
        } else {
            score(batch, task.track - groups_);
        }
        if (record) record->note(described(task), began);
    }

    TaskRecord::Task described(const Task& task) const {
        if (task.track < groups_) return {TaskRecord::Kind::run, task.track, task.batch};
        const Part& part = parts_[task.track - groups_];
        return {TaskRecord::Kind::score, task.track, task.batch, 0, part.first, part.end};
    }
};

}  // namespace unitless
