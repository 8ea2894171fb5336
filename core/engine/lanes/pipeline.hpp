// A pipeline that processes several batches at once: the learner's own thread stages them, any free thread runs them
// through groups of octets, and any free thread then scores them, in parts.
//
// A group processes batches in order. A part of the scoring does so too, once the groups that it reads have processed
// the batch. So everything happens in the order of a single thread, whichever threads do the work. One lock protects
// the state of the pipeline; it is taken once per task, for a moment.
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

// A batch, its results, and its pending work.
struct LaneBatch {
    StagedBatch staged;
    std::size_t rows = 0, row = 0;  // row: the number of the first row, for messages
    Labels labels{};
    double* predictions = nullptr;
    double weight_before = 0;                  // the total weight before the batch
    std::size_t joined = 0;                    // heads that joined at the first row of the batch
    std::optional<Averaging::Step> averaging;  // the average is updated after the batch
    std::vector<double> averaging_scales;      // by slot, at that time

    std::vector<Octet> octets;
    LaneLabels lane_labels{};
    std::vector<double> results, steps;  // predictions [row][stride], losses [row][stride]; scratch of the octets
    std::size_t stride = 0, steps_each = 0;
    std::vector<std::size_t> diverged_at;  // by lane
    std::vector<char> in_play;             // by lane, after the batch: whether the sum of its losses is finite

    const double* predicted() { return aligned(results, 0); }
    double* losses() { return aligned(results, 0) + rows * stride; }
};

class LanePipeline final : public Workers::Job {
  public:
    // The work on a batch. The learner's own thread calls `leave` for each batch in order. `leave` returns the row at
    // which the last rate of a head diverged, or Octet::never.
    class Work {
      public:
        virtual void run(LaneBatch& batch, std::size_t group) noexcept = 0;
        virtual void score(LaneBatch& batch, std::size_t part) noexcept = 0;
        virtual std::size_t leave(const LaneBatch& batch) = 0;

      protected:
        ~Work() = default;
    };

    // A part of the scoring, which reads the results of groups [first, end).
    struct Part {
        std::size_t first, end;
    };

    explicit LanePipeline(Work& work) : work_(work) { diverged_.fill(Octet::never); }
    LanePipeline(const LanePipeline&) = delete;
    ~LanePipeline() {
        drain();
        release();
    }

    // Returns memory for the next batch. If no threads can work on several batches, two are reused for all batches, so
    // that they stay in the cache.
    LaneBatch& next(bool several) {
        const std::size_t wanted = several ? depth : 2;
        if (places_ != wanted && (wanted > places_ || empty())) {
            wait(0);
            places_ = wanted;
        }
        return batches_[pushed_ % places_];
    }
    bool empty() const { return left_ == pushed_; }

    // Submits the batch that was staged. Without helpers, and if the pipeline is empty, all its work is done here;
    // threads that are still lent would see the batch. Groups and parts may change only when the pipeline is empty.
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

    // Works until there is space for one more batch. Returns the result of `leave` for the batch that has left by then
    // for any number of places, so that timing makes no difference.
    std::size_t wait_for_place() {
        wait(places_ - 2);
        return diverged_[(pushed_ + 1) % depth];
    }

    // Works until the pipeline is empty. Returns the first row at which any batch diverged. The other threads stay
    // lent.
    std::size_t drain() {
        wait(0);
        std::size_t diverged = Octet::never;
        for (std::size_t& row : diverged_) diverged = std::min(diverged, std::exchange(row, Octet::never));
        return diverged;
    }

    // Must be called after `drain`. Gives the other threads back. A thread that was just woken may take long to start,
    // so this is not called for every batch.
    void release() {
        if (helpers_) helpers_->take_back();
        helpers_ = nullptr;
    }

    // The work of the other threads, until nothing is left to do.
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
    static constexpr std::size_t depth = 8;  // batches at a time, with several threads
    static constexpr std::size_t nothing = ~std::size_t{0};

    // A group or a part, which processes batches in order. Groups come first, then parts.
    struct Track {
        std::size_t done = 0;  // the number of batches it has processed
        bool busy = false;
    };
    struct Task {
        std::size_t track = nothing;
        std::size_t batch = 0;
    };

    Work& work_;
    LaneBatch batches_[depth];
    std::size_t places_ = 2;
    Workers* helpers_ = nullptr;                 // not null while they are lent
    std::size_t left_ = 0;                       // the number of batches that have left
    std::array<std::size_t, depth> diverged_{};  // by batch number: the result of `leave`
    std::size_t groups_ = 0;
    std::vector<Part> parts_;

    std::mutex lock_;  // protects the members below; only the learner's own thread changes pushed_
    std::size_t pushed_ = 0;
    std::vector<Track> tracks_;
    std::size_t finished_ = 0;  // the number of finished tasks
    bool asleep_ = false;       // whether the learner's own thread sleeps
    std::condition_variable news_;

    // The lock is held for so short a time that threads spin for it instead of sleeping.
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
        diverged_[pushed_ % depth] = work_.leave(batch);
        ++pushed_;
        ++left_;
    }

    void begin_tracks(std::size_t groups, const std::vector<Part>& parts) {
        std::vector<Part> own = parts;  // before any change, because memory may run out
        std::vector<Track> tracks(groups + parts.size(), Track{pushed_, false});
        const Guard guard(lock_, helpers_);
        groups_ = groups;
        parts_.swap(own);
        tracks_.swap(tracks);
    }

    // The learner's own thread works until at most `most` batches are left.
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
            for (; left_ < complete; ++left_) diverged_[left_ % depth] = work_.leave(batches_[left_ % places_]);
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

    // Sleeps until more than `finished` tasks are finished. This frees a core for a thread that has to finish one.
    void sleep(std::size_t finished) {
        std::unique_lock<std::mutex> guard(lock_);
        asleep_ = true;
        news_.wait(guard, [&] { return finished_ != finished; });
        asleep_ = false;
    }

    // The number of batches that a track may have processed by now.
    std::size_t ready(std::size_t track) const {
        if (track < groups_) return pushed_;
        const Part& part = parts_[track - groups_];
        std::size_t least = pushed_;
        for (std::size_t i = part.first; i < part.end; ++i) least = std::min(least, tracks_[i].done);
        return least;
    }
    bool is_ready(std::size_t track) const { return !tracks_[track].busy && tracks_[track].done < ready(track); }

    // The last track of the calling thread, whose state is in that thread's cache.
    static std::size_t& last_track() {
        static thread_local std::size_t track = 0;
        return track;
    }

    // Prefers to score what was just run, while it is in the cache; then to continue with the same lanes; then the
    // track that is furthest behind.
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
