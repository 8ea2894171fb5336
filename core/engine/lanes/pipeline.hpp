// Batches on their way through the lanes, several at a time: staged by the learner's own thread, run through groups of
// octets by whichever thread is free, then scored, in parts.
//
// A group takes the batches one after the other, and so does a part of the scoring, once the groups that it reads have
// had the batch: whichever thread does what, everything happens in the order that one thread would give it. What is
// ready is known under one lock, which is taken once a task and held for a moment.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "base/workers.hpp"
#include "engine/averaging.hpp"
#include "engine/lanes/staged_batch.hpp"

namespace unitless {

// A batch, what is made of it, and what is to be done with that.
struct LaneBatch {
    StagedBatch staged;
    std::size_t rows = 0, row = 0;  // row: the number of the first, for messages
    Labels labels{};
    double* predictions = nullptr;
    double weight_before = 0;                  // the total weight before the batch
    std::size_t joined = 0;                    // heads that exist since the first row's class was met in it
    std::optional<Averaging::Step> averaging;  // the average is updated after the batch
    std::vector<double> averaging_scales;      // by slot, then

    std::vector<Octet> octets;
    LaneLabels lane_labels{};
    std::vector<double> results, steps;  // predictions [row][stride], losses [row][stride]; scratch of the octets
    std::size_t stride = 0, steps_each = 0;
    std::vector<std::size_t> diverged_at;  // by lane
    std::vector<char> in_play;             // by lane, after the batch: is the sum of its losses a number?

    const double* predicted() { return aligned(results, 0); }
    double* losses() { return aligned(results, 0) + rows * stride; }
};

class LanePipeline final : public Workers::Job {
  public:
    // What is done with a batch. `leave` is called by the learner's own thread, batch after batch, and gives the row at
    // which a head's last rate diverged, or Octet::never.
    class Work {
      public:
        virtual void run(LaneBatch& batch, std::size_t group) noexcept = 0;
        virtual void score(LaneBatch& batch, std::size_t part) noexcept = 0;
        virtual std::size_t leave(const LaneBatch& batch) = 0;

      protected:
        ~Work() = default;
    };

    // A part of the scoring reads what groups [first, end) have made.
    struct Part {
        std::size_t first, end;
    };

    explicit LanePipeline(Work& work) : work_(work) { dead_.fill(Octet::never); }
    LanePipeline(const LanePipeline&) = delete;
    ~LanePipeline() {
        drain();
        release();
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

    // The next batch is staged. Without helpers, and if no batch is on its way, all is done at once; helpers that are
    // still lent would see the batch. Groups and parts change only when all batches have left.
    void push(std::size_t groups, const std::vector<Part>& parts, Workers* helpers) {
        if (!helpers && !helpers_ && empty()) return do_all(groups, parts.size());
        if (empty()) begin_tracks(groups, parts);
        {
            const Guard guard(lock_, helpers_);
            ++pushed_;
        }
        if (helpers && !helpers_ && helpers->lend(*this, groups)) helpers_ = helpers;
        if (helpers_) helpers_->call(groups);
    }

    // Works until there is a place for one batch more; gives what `leave` gave for the batch that must have left by
    // then with any number of places, so that timing makes no difference.
    std::size_t wait_for_place() {
        wait(places_ - 2);
        return dead_[(pushed_ + 1) % depth];
    }

    // Works until all batches have left; gives the first row that any of them was lost at. The other threads stay.
    std::size_t drain() {
        wait(0);
        std::size_t dead = Octet::never;
        for (std::size_t& row : dead_) dead = std::min(dead, std::exchange(row, Octet::never));
        return dead;
    }

    // After `drain`: the other threads are free for other work. One that has just been called may not run before the
    // system lets it, so that this is not for every batch.
    void release() {
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
            carry_out(task);
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

  private:
    static constexpr std::size_t depth = 8;  // batches at a time, where there are threads for them
    static constexpr std::size_t nothing = ~std::size_t{0};

    // What takes the batches one after the other: groups first, then parts.
    struct Track {
        std::size_t done = 0;  // batches that went through
        bool busy = false;
    };
    struct Task {
        std::size_t track = nothing;
        std::size_t batch = 0;
    };

    Work& work_;
    LaneBatch batches_[depth];
    std::size_t places_ = 2;
    Workers* helpers_ = nullptr;             // while they are lent
    std::size_t left_ = 0;                   // batches that have left
    std::array<std::size_t, depth> dead_{};  // by the number of a batch: what `leave` gave
    std::size_t groups_ = 0;
    std::vector<Part> parts_;

    std::mutex lock_;  // of what follows; only the learner's own thread changes pushed_
    std::size_t pushed_ = 0;
    std::vector<Track> tracks_;
    std::size_t finished_ = 0;  // tasks
    bool asleep_ = false;       // the learner's own thread
    std::condition_variable news_;

    // The lock is held so shortly that no thread should sleep for it.
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

    void do_all(std::size_t groups, std::size_t parts) {
        LaneBatch& batch = batches_[pushed_ % places_];
        for (std::size_t i = 0; i < groups; ++i) work_.run(batch, i);
        for (std::size_t i = 0; i < parts; ++i) work_.score(batch, i);
        dead_[pushed_ % depth] = work_.leave(batch);
        ++pushed_;
        ++left_;
    }

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
        if (empty()) return;
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
            for (; left_ < complete; ++left_) dead_[left_ % depth] = work_.leave(batches_[left_ % places_]);
            if (pushed_ - left_ <= most) break;
            if (task.track == nothing && i < Workers::patience) {
                Workers::rest(i);
            } else if (task.track == nothing) {
                sleep(finished);
            } else {
                carry_out(task);
                i = 0;
            }
        }
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
    static std::size_t& last_track() {
        static thread_local std::size_t track = 0;
        return track;
    }

    // What was just run is scored while it is in the cache; then the same lanes go on; then whatever is furthest
    // behind.
    Task claim() {
        Task task;
        const std::size_t last = last_track();
        std::size_t least = nothing;
        for (std::size_t track = 0; track < tracks_.size(); ++track) {
            if (!is_ready(track)) continue;
            std::size_t rank = 2 + 2 * tracks_[track].done + (track < groups_);
            if (track == last && track < groups_) rank = 1;
            if (track >= groups_ && parts_[track - groups_].first <= last && last < parts_[track - groups_].end)
                rank = 0;
            if (rank < least) {
                least = rank;
                task.track = track;
            }
        }
        if (task.track == nothing) return task;
        task.batch = tracks_[task.track].done;
        tracks_[task.track].busy = true;
        if (task.track < groups_) last_track() = task.track;
        return task;
    }

    void finish(const Task& task) {
        if (task.track == nothing) return;
        ++tracks_[task.track].done;
        tracks_[task.track].busy = false;
        ++finished_;
    }

    void carry_out(const Task& task) {
        LaneBatch& batch = batches_[task.batch % places_];
        if (task.track < groups_) {
            work_.run(batch, task.track);
        } else {
            work_.score(batch, task.track - groups_);
        }
    }
};

}  // namespace unitless
