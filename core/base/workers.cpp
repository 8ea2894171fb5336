#include "base/workers.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <cstdlib>

namespace unitless {
namespace {
thread_local bool alone = false;

unsigned cores() {
#if defined(__linux__)
    cpu_set_t mine;  // the process may have fewer cores than the machine
    if (sched_getaffinity(0, sizeof mine, &mine) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&mine)));
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

unsigned thread_count() {
    const char* setting = std::getenv("UNITLESS_THREADS");
    const long wanted = setting ? std::strtol(setting, nullptr, 10) : 0;
    return wanted > 0 ? static_cast<unsigned>(std::min(wanted, 256L)) : cores();
}

void work_alone(bool from_here_on) { alone = from_here_on; }

// A forked child has none of its parent's threads, so it creates its own.
Workers& workers() {
    static Workers& no_others = *new Workers(1);
    if (alone) return no_others;
    static std::mutex making;
    static Workers* all = nullptr;
    const std::lock_guard guard(making);
    if (all && all->is_here()) return *all;
    all = new Workers(thread_count());
    return *all;
}

}  // namespace unitless
