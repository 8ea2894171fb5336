// Threads that share work, when a part throws, when memory runs out, and when the system starts no more threads.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include "base/parts.hpp"
#include "base/workers.hpp"
#include "calls.hpp"
#include "kinds.hpp"
#include "learner/learner.hpp"
#include "supported_kernels.hpp"

// The number of allocations, in any thread, before memory runs out; negative: never.
namespace {
std::atomic<long> allocations_left{-1};
}

// Not inlined, because otherwise GCC warns about a mismatch of new and delete.
__attribute__((noinline)) void* operator new(std::size_t size) {
    if (allocations_left >= 0 && allocations_left-- <= 0) {
        allocations_left = 0;
        throw std::bad_alloc();
    }
    if (void* const memory = std::malloc(size ? size : 1)) return memory;
    throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

using namespace unitless;

namespace {

int checks = 0, failures = 0;

void check(bool condition, const std::string& what) {
    ++checks;
    if (condition) return;
    ++failures;
    std::printf("FAILED: %s\n", what.c_str());
}

// Limits memory to a number of allocations until the end of the block.
struct LittleMemory {
    explicit LittleMemory(long allocations) { allocations_left = allocations; }
    LittleMemory(const LittleMemory&) = delete;
    ~LittleMemory() { allocations_left = -1; }
};

// Whether all parts run, each once.
bool does_all(Workers& workers) {
    std::atomic<std::size_t> sum{0};
    in_parts(workers, 100, [&](std::size_t i) { sum += i; });
    return sum == 4950;
}

// Some parts throw: in_parts rethrows the first part's error after all parts have ended.
void parts_throw() {
    Workers workers(4);
    check(workers.count() == 4, "there are threads");
    for (std::size_t round = 0; round < 500; ++round) {
        const std::size_t first = round % 64;
        std::atomic<int> running{0};
        std::vector<int> done(64);
        std::string caught;
        try {
            in_parts(workers, 64, [&](std::size_t i) {
                ++running;
                if (i % 8 == round % 8) std::this_thread::yield();
                done[i] = 1;
                --running;
                if (i >= first && i % 2 == first % 2) throw std::runtime_error(std::to_string(i));
            });
        } catch (const std::runtime_error& error) {
            caught = error.what();
        }
        check(caught == std::to_string(first), "the error of the first part that threw is thrown again");
        check(running == 0, "all parts have ended");
        bool all = true;
        for (std::size_t i = 0; i <= first; ++i) all = all && done[i];
        check(all, "the parts before were done");
    }
    check(does_all(workers), "the threads work on");
}

// A part throws while other parts wait for it: the caller of the inner `in_parts` is itself a part.
void parts_inside_parts_throw() {
    Workers workers(4);
    for (int round = 0; round < 100; ++round) {
        bool caught = false;
        try {
            in_parts(workers, 4, [&](std::size_t) {
                in_parts(workers, 4, [&](std::size_t k) {
                    if (k == 2) throw std::bad_alloc();
                });
            });
        } catch (const std::bad_alloc&) {
            caught = true;
        }
        check(caught, "an error passes through two levels");
    }
    check(does_all(workers), "the threads work on");
}

// The pool works without threads that cannot be started.
void no_memory_for_threads() {
    for (long allocations = 0; allocations < 24; ++allocations) {
        std::unique_ptr<Workers> workers;
        {
            const LittleMemory little(allocations + 1);  // one for the object itself
            workers = std::make_unique<Workers>(8);
        }
        check(does_all(*workers), "work is done by the threads that there are");
    }
}

void no_room_for_threads() {
#if defined(__linux__) && !defined(UNITLESS_SANITIZED)
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit before{};
    if (pages == 0 || getrlimit(RLIMIT_AS, &before) != 0) return;
    rlimit little = before;
    little.rlim_cur =
        pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (std::size_t{1} << 20);  // less than a stack
    setrlimit(RLIMIT_AS, &little);
    std::unique_ptr<Workers> workers;
    try {
        workers = std::make_unique<Workers>(64);
    } catch (const std::bad_alloc&) {  // not even the object fits
    }
    setrlimit(RLIMIT_AS, &before);
    check(!workers || workers->count() < 64, "not all threads were started");
    check(!workers || does_all(*workers), "work is done by the threads that there are");
#endif
}

// A learner whose memory runs out at any allocation of a call: the call reports it, and later calls work or report why
// not.
void learner_without_memory(const char* name, const Setup& setup) {
    constexpr std::size_t rows = 300, columns = 6;
    std::vector<double> x, y;
    for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t j = 0; j < columns; ++j) x.push_back(static_cast<double>((r * 7 + j * 5) % 11) - 5.0);
        y.push_back(setup.engine.has_classes() ? static_cast<double>(r % 3) : x[r * columns]);
    }
    const DenseRows input{reinterpret_cast<const char*>(x.data()),
                          static_cast<std::ptrdiff_t>(8 * columns),
                          Type::f64,
                          nullptr,
                          columns,
                          rows};
    const Labels labels{y.data(), nullptr};
    std::vector<double> p(rows * 8);
    int refused = 0, calls = 0;
    for (const bool learning : {true, false}) {
        for (long allocations = 0;; allocations += 1 + allocations / 16) {
            Learner learner(setup, *supported_kernels().back().second);
            if (!learning) learn(learner, input, labels, p);
            bool enough = true;
            try {
                const LittleMemory little(allocations);
                learning ? learn(learner, input, labels, p) : predict(learner, input, false, p);
            } catch (const std::bad_alloc&) {
                enough = false;
            }
            ++calls;
            refused += !enough;
            try {
                learn(learner, input, labels, p);
                predict(learner, input, false, p);
            } catch (const std::runtime_error&) {  // some members have not learned what the others have
                check(learning && !enough, "what was not changed works");
            }
            if (enough) break;
            if (allocations > 20000) {
                check(false, "some memory is enough");
                break;
            }
        }
    }
    check(refused > 4, "memory ran out");
    std::printf("%s: memory ran out in %d of %d calls\n", name, refused, calls);
}

void learners_without_memory() {
    Setup plain;
    learner_without_memory("one learner", plain);
    Setup rates;
    rates.engine.rates = {0.02, 0.1, 0.5, 2.0, 7.0};
    rates.engine.first_rate = 1;
    rates.engine.last_rate = 3;
    rates.engine.selecting = Selecting::follow;
    rates.encoder.center = true;
    learner_without_memory("automatic rate", rates);
    Setup second;
    second.engine.newton = true;
    second.engine.options.loss = loss_of("logistic");
    second.engine.classes = 3;
    second.engine.coupled = true;
    learner_without_memory("second order, classes", second);
    rates.engine.options.loss = loss_of("logistic");
    rates.engine.classes = 3;
    rates.engine.coupled = true;
    learner_without_memory("softmax", rates);
    rates.engine.form = {ModelType::trees, Ensemble::newton};
    rates.engine.coupled = false;
    learner_without_memory("trees, softmax and second order", rates);
}

}  // namespace

int main() {
    setenv("UNITLESS_THREADS", "4", 0);
    parts_throw();
    parts_inside_parts_throw();
    no_memory_for_threads();
    no_room_for_threads();
    learners_without_memory();
    std::printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
