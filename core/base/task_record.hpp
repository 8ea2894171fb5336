// What the tasks of a call took, one by one, for whoever asks how long it would take on more cores (benchmarks/).
//
// While a thread records, its calls get the tasks that so many threads would share, and do all of them alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace unitless {

struct TaskRecord {
    enum class Kind {
        prepare,  // a batch, by the learner's own thread, in the order of the batches
        run,      // a batch through some lanes
        score,    // what lanes have predicted of a batch
        drain,    // nothing is prepared before all batches are scored
        piece,    // of other work that all threads do together while nothing else is done; `batch`: the number of it
    };
    struct Task {
        Kind kind;
        std::size_t track;  // takes the batches one after the other
        std::size_t batch;  // a number that rises
        double seconds = 0;
        std::size_t first = 0, end = 0;  // of scoring: the tracks that must have had the batch before
    };
    using Time = std::chrono::steady_clock::time_point;

    unsigned threads = 1;
    std::vector<Task> tasks;

    static Time now() { return std::chrono::steady_clock::now(); }
    void note(Task task) { tasks.push_back(task); }
    void note(Task task, Time began) {
        task.seconds = std::chrono::duration<double>(now() - began).count();
        tasks.push_back(task);
    }

    // Between calls of these the learner's own thread works on other tasks.
    void begin_preparing() { preparing_since_ = now(); }
    void end_preparing(std::size_t batch) {
        if (preparing_since_ != Time{}) note({Kind::prepare, 0, batch}, preparing_since_);
    }

    template <class Action>
    void note_pieces(std::size_t count, const Action& action) {
        for (std::size_t i = 0; i < count; ++i) {
            const Time began = now();
            action(i);
            note({Kind::piece, i, shared_}, began);
        }
        ++shared_;
        begin_preparing();
    }

    // The calling thread's; null while it does not record.
    static TaskRecord*& current() {
        static thread_local TaskRecord* record = nullptr;
        return record;
    }

  private:
    Time preparing_since_{};
    std::size_t shared_ = 0;
};

}  // namespace unitless
