// Memory that is aligned to cache lines, or that is cheap to allocate.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace unitless {

// Returns the first address in the vector that begins a cache line, so that a block of eight doubles lies in one line.
// The vector loses its content when it grows.
inline double* aligned(std::vector<double>& memory, std::size_t doubles) {
    if (memory.size() < doubles + 8) memory.assign(doubles + 8, 0.0);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return reinterpret_cast<double*>((address + 63) / 64 * 64);
}

// An allocator that does not set new elements to zero, for vectors whose new elements are overwritten at once.
template <class T>
struct Unset : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = Unset<U>;
    };
    template <class U, class... Arguments>
    void construct(U* at, Arguments&&... arguments) {
        if constexpr (sizeof...(Arguments) == 0) {
            ::new (static_cast<void*>(at)) U;
        } else {
            ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
        }
    }
};

// Requests huge pages if the system has them. They make the first access to memory cheaper.
inline void ask_for_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    constexpr std::size_t huge = std::size_t{2} << 20;
    if (bytes < 2 * huge) return;
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    const std::uintptr_t from = (address + huge - 1) / huge * huge, to = (address + bytes) / huge * huge;
    madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE);  // only a hint; failure does not matter
#endif
}

// Zeros that take no memory until they are accessed. A very large array gets no huge pages, because often only a small
// part of it is accessed.
class Zeros {
  public:
    Zeros() = default;
    explicit Zeros(std::size_t bytes) : memory_(std::calloc(bytes + 64, 1), std::free) {
        if (!memory_) throw std::bad_alloc();
        if (bytes <= std::size_t{128} << 20) ask_for_huge_pages(memory_.get(), bytes);
    }
    char* get() const {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
        return reinterpret_cast<char*>((address + 63) / 64 * 64);
    }

  private:
    std::unique_ptr<void, void (*)(void*)> memory_{nullptr, nullptr};
};

}  // namespace unitless
