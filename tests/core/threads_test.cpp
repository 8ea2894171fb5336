// Many threads that share one model: learning, predicting, snapshots, copies, restoring, merging, classes that join.
// For the thread sanitizer, which detects unsynchronized access to memory; without it, the results are still checked.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "calls.hpp"
#include "kinds.hpp"
#include "learner/learner.hpp"
#include "supported_kernels.hpp"

using namespace unitless;

namespace {

std::atomic<int> checks{0}, failures{0};

void check(bool condition, const char* what) {
    ++checks;
    if (condition) return;
    ++failures;
    std::printf("FAILED: %s\n", what);
}

constexpr std::size_t rows = 96, columns = 6, most_classes = 12;

struct Data {
    std::vector<double> x, y;
    explicit Data(bool classes) {
        std::uint64_t state = 5;
        const auto next = [&] {
            state = state * 6364136223846793005U + 1442695040888963407U;
            return static_cast<double>(state >> 33) / 2147483648.0 - 0.5;
        };
        for (std::size_t r = 0; r < rows; ++r) {
            double score = 0;
            for (std::size_t j = 0; j < columns; ++j) score += x.emplace_back(next());
            y.push_back(classes ? static_cast<double>(r % 3) : score);
        }
    }
    DenseRows dense() const {
        return {reinterpret_cast<const char*>(x.data()),
                static_cast<std::ptrdiff_t>(8 * columns),
                Type::f64,
                nullptr,
                columns,
                rows};
    }
    NamedRows named() const {
        NamedRows to;
        for (std::size_t j = 0; j < columns; ++j) {
            to.text.push_back(static_cast<char>('a' + j));
            to.name_ends.push_back(j + 1);
        }
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t j = 0; j < columns; ++j) {
                to.ids.push_back(static_cast<std::uint32_t>(j));
                to.values.push_back(x[r * columns + j]);
            }
            to.row_ends.push_back(to.ids.size());
        }
        return to;
    }
};

// Runs every action `rounds` times in two threads each, all at once.
void at_once(const std::vector<std::function<void(int)>>& actions, int rounds) {
    std::atomic<bool> go{false};
    std::vector<std::thread> threads;
    for (int copy = 0; copy < 2; ++copy)
        for (const auto& action : actions)
            threads.emplace_back([&] {
                while (!go) std::this_thread::yield();
                for (int round = 0; round < rounds; ++round) action(round);
            });
    go = true;
    for (auto& thread : threads) thread.join();
}

bool finite(const std::vector<double>& all) {
    for (const double x : all)
        if (!std::isfinite(x)) return false;
    return true;
}

void share(const char* name, const Setup& setup, const Kernel& kernel, int rounds, bool by_name) {
    const bool classes = setup.engine.has_classes();
    const Data data(classes);
    const NamedRows named = data.named();
    NamedRows one = named;
    one.ids.resize(columns);
    one.values.resize(columns);
    one.row_ends.resize(1);
    Learner learner(setup, kernel);
    const std::size_t widest = classes ? most_classes : 5;
    const Labels labels{data.y.data(), nullptr, nullptr, setup.engine.open ? std::size_t{3} : 0};
    {
        std::vector<double> p(rows * widest);
        by_name ? learn(learner, named, labels, p) : learn(learner, data.dense(), labels, p);
    }
    const std::uint64_t before = learner.clock().examples;
    std::atomic<std::uint64_t> learned{0};
    std::mutex joining;
    std::size_t known = 3;
    const auto learn_all = [&](int) {
        std::vector<double> p(rows * widest);
        const Labels more{data.y.data(), nullptr};
        by_name ? learn(learner, named, more, p) : learn(learner, data.dense(), more, p);
        learned += rows;
    };
    // Memory for the largest number of classes, because the number may change at any time.
    const auto predict_all = [&](int round) {
        std::vector<double> p(rows * widest);
        by_name ? predict(learner, named, round % 2, p) : predict(learner, data.dense(), round % 2, p);
        check(finite(p), "predictions are numbers");
    };
    const auto one_row = [&](int) {
        if (!by_name) return;
        const std::shared_lock guard(learner.lock());
        std::vector<double> p(widest);
        NamedSource row(one);
        Into results(p);
        learner.predict_locked(row, {}, nullptr, results);
        check(finite(p), "predictions of one row are numbers");
    };
    const auto copy = [&](int round) {
        const Snapshot snapshot = learner.snapshot();
        check(snapshot.engine.clock.examples % rows == before % rows, "a snapshot lies between two calls");
        Learner other(setup, kernel);
        other.restore(snapshot);
        std::vector<double> p(rows * widest), q(rows * widest);
        by_name ? predict(other, named, false, p) : predict(other, data.dense(), false, p);
        Learner again(setup, kernel);
        again.restore(other.snapshot());
        by_name ? predict(again, named, false, q) : predict(again, data.dense(), false, q);
        check(p == q, "a copy predicts what it was copied from");
        check(other.bytes() > 0 && round >= 0, "a copy has a size");
    };
    // Merges the learner with itself: the predictions stay the same if it has not learned between the plan and the
    // merge.
    const auto merge = [&](int) {
        const Snapshot plan = learner.snapshot(false);
        const Clock& clock = plan.engine.clock;
        std::vector<std::uint32_t> lanes(plan.engine.lanes.size());
        std::iota(lanes.begin(), lanes.end(), 0u);
        const MergedPart part{&learner, clock.t, clock.examples, lanes.size(), lanes, MergedPart::none, nullptr, 0,
                              nullptr,  0,       nullptr};
        const Merging how{true, false, false, false, false, {clock.t, clock.t}, 2 * clock.t};
        Learner other(setup, kernel);
        if (!other.load_merged(plan, {part, part}, how)) return;
        std::vector<double> p(rows * widest);
        by_name ? predict(other, named, false, p) : predict(other, data.dense(), false, p);
        check(finite(p), "predictions of a merged learner are numbers");
        check(other.clock().examples == clock.examples, "a merged learner is what was planned");
    };
    const auto look = [&](int) {
        check(learner.bytes() > 0, "a learner has a size");
        check(learner.clock().examples >= before, "examples only become more");
    };
    const auto join = [&](int) {
        if (!setup.engine.open) return;
        const std::lock_guard guard(joining);  // a thread that adds a class must know how many there are
        if (known == most_classes) return;
        std::vector<double> y(rows, static_cast<double>(known)), p(rows * widest);
        const Labels new_class{y.data(), nullptr, nullptr, 1};
        by_name ? learn(learner, named, new_class, p) : learn(learner, data.dense(), new_class, p);
        learned += rows;
        ++known;
    };
    at_once({learn_all, predict_all, one_row, copy, merge, look, join}, rounds);
    check(learner.clock().examples == before + learned, "every row was learned once");
    if (setup.engine.open) check(learner.widths().predict == known, "every class has joined");
    std::printf("%s: %llu rows learned\n", name, static_cast<unsigned long long>(learned.load()));
}

// Two numbers that are equal whenever no thread writes, for all readers; and no thread is locked out forever.
void share_lock(int rounds) {
    Lock lock;
    std::uint64_t a = 0, b = 0, written = 0;
    std::atomic<std::uint64_t> tried{0};
    const auto read = [&](int) {
        const std::shared_lock guard(lock);
        check(a == b, "nobody writes while one reads");
    };
    const auto write = [&](int) {
        const std::lock_guard guard(lock);
        ++a;
        ++b;
        ++written;
    };
    const auto try_to = [&](int) {
        if (std::shared_lock guard(lock, std::try_to_lock); guard) check(a == b, "nobody writes while one reads");
        if (std::unique_lock guard(lock, std::try_to_lock); guard) {
            ++a;
            ++b;
            ++tried;
        }
    };
    at_once({read, read, write, try_to}, 200 * rounds);
    check(written == 400 * static_cast<std::uint64_t>(rounds), "everybody has written");
    check(a == written + tried && lock.changes() == a, "every change is counted");
    check(lock.try_lock(), "in the end it is free");
    lock.unlock();
}

// Enough rows for many parts, which several threads predict while one learns. In the end the learner equals one that
// never predicted.
void predict_while_learning(const char* name, const Setup& setup, const Kernel& kernel, int rounds) {
    constexpr std::size_t times = 40;
    const Data data(setup.engine.has_classes());
    std::vector<double> long_x;
    for (std::size_t i = 0; i < times; ++i) long_x.insert(long_x.end(), data.x.begin(), data.x.end());
    DenseRows long_input = data.dense();
    long_input.data = reinterpret_cast<const char*>(long_x.data());
    long_input.rows = times * rows;
    const std::size_t width = std::max<std::size_t>(1, setup.engine.classes);
    Learner learner(setup, kernel), twin(setup, kernel);
    std::vector<double> p(rows * width), q(rows * width);
    learn(learner, data.dense(), {data.y.data(), nullptr}, p);
    learn(twin, data.dense(), {data.y.data(), nullptr}, q);
    std::atomic<bool> done{false};
    const auto predict_on = [&] {
        std::vector<double> all(long_input.rows * width);
        while (!done) {
            predict(learner, long_input, false, all);
            check(finite(all), "predictions are numbers");
        }
    };
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) readers.emplace_back(predict_on);
    for (int i = 0; i < rounds; ++i) {
        learn(learner, data.dense(), {data.y.data(), nullptr}, p);
        learn(twin, data.dense(), {data.y.data(), nullptr}, q);
        check(p == q, "who predicts changes nothing");
    }
    done = true;
    for (auto& reader : readers) reader.join();
    std::printf("%s: predicted meanwhile\n", name);
}

}  // namespace

int main(int count, char** arguments) {
    setenv("UNITLESS_THREADS", "4", 0);  // several threads run the lanes, on any machine
    const int rounds = count > 1 ? std::atoi(arguments[1]) : 12;
    const Kernel& kernel = *supported_kernels().back().second;
    for (const bool by_name : {false, true}) {
        Setup plain;
        share("one learner", plain, kernel, rounds, by_name);
        Setup follow;
        follow.engine.rates = {0.02, 0.1, 0.5, 2.0, 7.0};
        follow.engine.first_rate = 1;
        follow.engine.last_rate = 3;
        follow.engine.selecting = Selecting::follow;
        follow.label_unit = true;
        follow.encoder.center = !by_name;
        share("automatic rate", follow, kernel, rounds, by_name);
        Setup sweep = follow;
        sweep.engine.first_rate = 0;
        sweep.engine.last_rate = 4;
        sweep.engine.selecting = Selecting::sweep;
        share("sweep", sweep, kernel, rounds, by_name);
        Setup open;
        open.engine.options.loss = loss_of("logistic");
        open.engine.open = true;
        share("classes that join", open, kernel, rounds, by_name);
        open.engine.rates = follow.engine.rates;
        open.engine.first_rate = 1;
        open.engine.last_rate = 3;
        open.engine.selecting = Selecting::follow;
        open.encoder.pairs = Pairs::all;
        share("classes that join, automatic rates, interactions", open, kernel, rounds, by_name);
    }
    share_lock(rounds);
    {
        Setup plain;
        predict_while_learning("one learner", plain, kernel, rounds);
        Setup rates;
        rates.engine.rates = {0.02, 0.1, 0.5, 2.0, 7.0};
        rates.engine.first_rate = 1;
        rates.engine.last_rate = 3;
        rates.engine.selecting = Selecting::follow;
        rates.encoder.center = true;
        rates.encoder.pairs = Pairs::all;
        predict_while_learning("automatic rate, centered, interactions", rates, kernel, rounds);
        rates.encoder.pairs = Pairs::none;
        rates.engine.options.loss = loss_of("logistic");
        rates.engine.classes = 3;
        rates.engine.coupled = true;
        predict_while_learning("softmax", rates, kernel, rounds);
        rates.engine.form = {ModelType::trees, Ensemble::newton};
        rates.engine.coupled = false;
        predict_while_learning("trees, softmax and second order", rates, kernel, rounds);
    }
    std::printf("%d passed, %d failed\n", checks - failures, failures.load());
    return failures != 0;
}
