// Only for wheels that contain their own C++ runtime. The runtime of a newer system takes random numbers from
// arc4random, which glibc has since 2.36. This replacement lets the wheel also run with older versions of glibc.

#include <unistd.h>

#include <cstdint>
#include <cstdlib>

extern "C" __attribute__((visibility("hidden"))) std::uint32_t arc4random() {
    std::uint32_t number;
    if (getentropy(&number, sizeof number) != 0) std::abort();  // it does not fail for so few bytes
    return number;
}
