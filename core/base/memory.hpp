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

// Frees memory of `zeroed`.
struct FreeZeroed {
    std::size_t mapped = 0;  // bytes
    void operator()(void* memory) const {
#if defined(__linux__)
        if (mapped) {
            munmap(memory, mapped);
            return;
        }
#endif
        std::free(memory);
    }
};

using ZeroedMemory = std::unique_ptr<void, FreeZeroed>;

// Returns zeros that take no memory until they are accessed. Large blocks come from the system and return to it: calloc
// reuses memory as soon as blocks of this size have been freed, and sets all of it to zero.
inline ZeroedMemory zeroed(std::size_t bytes) {
#if defined(__linux__)
    if (bytes >= std::size_t{4} << 20) {
        void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        return ZeroedMemory(memory, FreeZeroed{bytes});
    }
#endif
    ZeroedMemory memory(std::calloc(bytes, 1));
    if (!memory) throw std::bad_alloc();
    return memory;
}

// Zeros that take no memory until they are accessed. A very large array gets no huge pages, because often only a small
// part of it is accessed.
class Zeros {
  public:
    Zeros() = default;
    explicit Zeros(std::size_t bytes) : memory_(zeroed(bytes + 64)) {
        if (bytes <= std::size_t{128} << 20) ask_for_huge_pages(memory_.get(), bytes);
    }
    char* get() const {
        const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
        return reinterpret_cast<char*>((address + 63) / 64 * 64);
    }

  private:
    ZeroedMemory memory_;
};

}  // namespace unitless
