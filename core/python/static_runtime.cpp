// Only for wheels that hold their own C++ runtime. The runtime of a newer system takes random numbers from arc4random,
// which glibc has since 2.36; with this one in its place the wheel also runs where glibc is older.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>

extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() {
    std::uint32_t number;
    if (getentropy(&number, sizeof number) != 0) std::abort();  // it does not fail for so few bytes
    return number;
}
