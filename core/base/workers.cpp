#include "base/workers.hpp"

#include <algorithm>
#include <cstdlib>

namespace unitless {
namespace {
thread_local bool alone = false;
}  // namespace

void work_alone(bool from_here_on) { alone = from_here_on; }

// A forked child has none of its parent's threads, and makes its own.
Workers& workers() {
    static Workers& nobody_else = *new Workers(1);
    if (alone) return nobody_else;
    static std::mutex making;
    static Workers* all = nullptr;
    const std::lock_guard guard(making);
    if (all && all->is_here()) return *all;
    const char* setting = std::getenv("UNITLESS_THREADS");
    const long asked = setting ? std::strtol(setting, nullptr, 10) : 0;
    const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    all = new Workers(asked > 0 ? static_cast<unsigned>(std::min(asked, 256L)) : cores);
    return *all;
}

}  // namespace unitless
