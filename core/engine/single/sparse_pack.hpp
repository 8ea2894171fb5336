// Copies rows of a batch into a pack and back: assigns positions to a row's features, loads their state, and stores it.
//
// A row has few features among many slots, so most of the time would be spent waiting for memory. So the slots of later
// rows are prefetched, a few at a time: a processor can wait for about ten to sixteen cache lines at once, and blocks
// if more are requested.
#pragma once

#include "algorithm/rule.hpp"
#include "algorithm/scale8.hpp"
#include "algorithm/state.hpp"
#include "engine/single/kernel.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// How many features ahead a slot is prefetched. This many fit into the second-level cache; prefetching into the first
// level would block the processor. Rows themselves are contiguous, but among so many other cache lines the processor's
// own prefetcher does not detect this.
inline constexpr std::size_t slots_ahead = 256, rows_ahead = 1024;

// The state of eight features, one register per number.
struct EightSlots {
    Vec8 scale, v, H;
};

// Four slots are read or written as whole registers and transposed.
using Four = double __attribute__((vector_size(32), may_alias));
using UnalignedFour [[gnu::aligned(8)]] = double __attribute__((vector_size(32), may_alias));
static_assert(alignof(UnalignedFour) == 8);

struct FourSlots {
    Four scale, v, H;
};

UNITLESS_INLINE Vec8 side_by_side(const Four& low, const Four& high) {
    Vec8 r;
#if defined(__AVX512F__)
    r.part[0] = __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#elif defined(__AVX2__)
    r.part[0] = low;
    r.part[1] = high;
#else
    r.part[0] = __builtin_shufflevector(low, low, 0, 1);
    r.part[1] = __builtin_shufflevector(low, low, 2, 3);
    r.part[2] = __builtin_shufflevector(high, high, 0, 1);
    r.part[3] = __builtin_shufflevector(high, high, 2, 3);
#endif
    return r;
}

UNITLESS_INLINE FourSlots collect_four(const Slot* slots, const std::uint32_t* at) {
    const auto slot = [&](std::size_t i)
                          UNITLESS_INLINE_LAMBDA -> const Four& { return reinterpret_cast<const Four&>(slots[at[i]]); };
    const Four a = slot(0), b = slot(1), c = slot(2), d = slot(3);
    const Four ab = __builtin_shufflevector(a, b, 0, 4, 2, 6), cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
    const Four ab_v = __builtin_shufflevector(a, b, 1, 5, 3, 7), cd_v = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    return {__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab_v, cd_v, 0, 1, 4, 5),
            __builtin_shufflevector(ab, cd, 2, 3, 6, 7)};
}

UNITLESS_INLINE void put_back_four(Slot* slots, const std::uint32_t* at, const FourSlots& four) {
    const auto slot = [&](std::size_t i)
                          UNITLESS_INLINE_LAMBDA -> Four& { return reinterpret_cast<Four&>(slots[at[i]]); };
    const auto [scale, v, H] = four;
    const Four none = {};
    const Four even = __builtin_shufflevector(scale, v, 0, 4, 2, 6),
               odd = __builtin_shufflevector(scale, v, 1, 5, 3, 7);
    const Four even_H = __builtin_shufflevector(H, none, 0, 4, 2, 6),
               odd_H = __builtin_shufflevector(H, none, 1, 5, 3, 7);
    slot(0) = __builtin_shufflevector(even, even_H, 0, 1, 4, 5);
    slot(1) = __builtin_shufflevector(odd, odd_H, 0, 1, 4, 5);
    slot(2) = __builtin_shufflevector(even, even_H, 2, 3, 6, 7);
    slot(3) = __builtin_shufflevector(odd, odd_H, 2, 3, 6, 7);
}

UNITLESS_INLINE EightSlots collect_eight(const Slot* slots, const std::uint32_t* at) {
    const FourSlots low = collect_four(slots, at), high = collect_four(slots, at + 4);
    return {side_by_side(low.scale, high.scale), side_by_side(low.v, high.v), side_by_side(low.H, high.H)};
}

class SparsePack {
  public:
    SparsePack(const Batch& batch, const Slot* slots, Positions positions, const Pack& pack, std::size_t chunks)
        : batch_(batch),
          slots_(slots),
          positions_(positions),
          pack_(pack),
          end_(entries_end(batch)),
          prefetched_(batch.first) {
        // Every used chunk has some feature.
        for (std::size_t c = 0; c < chunks; ++c) pack.active[c] = static_cast<std::uint32_t>(c);
        prefetch_end_ = sooner(prefetched_ + slots_ahead);
        prefetch(slots_ahead);
    }

    // Copies row r into the pack and applies its scales. This function and put_back do not depend on the rule or the
    // loss, and are not inlined, so that they are compiled only once.
    struct Collected {
        FeatureTerms terms;
        bool grown;  // some rho is not 1
    };
    template <class Scale>
    __attribute__((noinline)) Collected observe(std::size_t r, double h, double as) {
        const Pack pack = pack_;
        Mask8 grown{};
        const std::size_t chunks =
            collect(r, [&](std::size_t at, const Vec8& x, EightSlots state) UNITLESS_INLINE_LAMBDA {
                const Observed8 seen = unitless::observe<Scale>(x, state.scale, h, as);
                seen.z.store(pack.x + at);
                seen.rho.store(pack.rho + at);
                state.scale.store(pack.scale + at);
                state.v.store(pack.v + at);
                state.H.store(pack.H + at);
                grown = grown | (seen.rho < 1.0);
            });
        return {{pack, chunks}, any(grown)};
    }
    template <class Scale>
    __attribute__((noinline)) FeatureTerms peek(std::size_t r, bool extrapolate) {
        const Pack pack = pack_;
        return {pack, collect(r, [&](std::size_t at, const Vec8& x, const EightSlots& state) UNITLESS_INLINE_LAMBDA {
                    unitless::peek<Scale>(x, state.scale, extrapolate).store(pack.x + at);
                    state.v.store(pack.v + at);
                })};
    }

    // This may write any value into the bias's slot: the bias's state is separate, and is stored afterwards.
    __attribute__((noinline)) void put_back(std::size_t chunks, Slot* slots) const {
        const Pack pack = pack_;
        // By reference: the way to return four doubles differs between instruction sets, and GCC warns about it.
        const auto four = [](const double* from) -> const UnalignedFour& {
            return reinterpret_cast<const UnalignedFour&>(*from);
        };
        for (std::size_t at = 0; at < chunks * width; at += 4)
            put_back_four(slots, pack.slot + at, {four(pack.scale + at), four(pack.v + at), four(pack.H + at)});
    }

  private:
    const Batch batch_;
    const Slot* slots_;
    const Positions positions_;
    const Pack pack_;
    std::size_t end_, prefetched_, prefetch_end_ = 0;

    std::size_t sooner(std::size_t k) const { return k < end_ ? k : end_; }

    UNITLESS_INLINE void prefetch(std::size_t count) {
        const std::size_t stop = prefetched_ + count < prefetch_end_ ? prefetched_ + count : prefetch_end_;
        for (; prefetched_ < stop; ++prefetched_) __builtin_prefetch(slots_ + batch_.slots[prefetched_], 0, 2);
    }

    // Calls each(at, x, state) for the features of row r at positions [at, at + 8) of the pack. Returns the number of
    // chunks. Positions without a feature have the value zero and the bias's slot.
    template <class Each>
    UNITLESS_INLINE std::size_t collect(std::size_t r, const Each& each) {
        const std::size_t begin = begin_of(batch_, r), end = end_of(batch_, r);
        prefetch_end_ = sooner(end + slots_ahead);
        for (std::size_t k = begin; k < end; k += 8) __builtin_prefetch(batch_.values + sooner(k + rows_ahead), 0, 2);
        for (std::size_t k = begin; k < end; k += 16) __builtin_prefetch(batch_.slots + sooner(k + rows_ahead), 0, 2);
        return is_in_sequence(begin, end) ? collect_in_sequence(begin, end, each) : collect_by_slot(begin, end, each);
    }

    // Whether the features of a row stand in the pack one after another, which is so for consecutive slots from
    // position 0 on.
    UNITLESS_INLINE bool is_in_sequence(std::size_t begin, std::size_t end) const {
        const std::uint32_t* const slots = batch_.slots;
        return positions_ == Positions::in_sequence || begin == end ||
               ((slots[begin] - 1) % width == 0 && slots[end - 1] - slots[begin] == end - 1 - begin);
    }

    template <class Each>
    UNITLESS_INLINE std::size_t collect_in_sequence(std::size_t begin, std::size_t end, const Each& each) {
        std::size_t at = 0;
        for (std::size_t k = begin; k < end; k += width, at += width) {
            const std::size_t count = smaller<std::size_t>(end - k, width);
            Vec8::load_places(batch_.slots + k, count, pack_.slot + at);
            const Vec8 x = count == width ? Vec8::load(batch_.values + k) : Vec8::load(batch_.values + k, count);
            each(at, x, collect_eight(slots_, pack_.slot + at));
            prefetch(width);
        }
        return at / width;
    }

    // Puts each feature into the register position of its slot, in the first chunk where it is free.
    template <class Each>
    UNITLESS_INLINE std::size_t collect_by_slot(std::size_t begin, std::size_t end, const Each& each) {
        std::size_t depth[width] = {}, chunks = 0;
        for (std::size_t k = begin; k < end; ++k) {
            const std::uint32_t slot = batch_.slots[k];
            const std::size_t position = (slot - 1) % width, deep = depth[position]++;
            if (deep == chunks) blank(chunks++);
            pack_.x[deep * width + position] = batch_.values[k];
            pack_.slot[deep * width + position] = slot;
        }
        for (std::size_t at = 0; at < chunks * width; at += width) {
            each(at, Vec8::load(pack_.x + at), collect_eight(slots_, pack_.slot + at));
            prefetch(width);
        }
        return chunks;
    }

    UNITLESS_INLINE void blank(std::size_t chunk) const {
        Vec8::all(0.0).store(pack_.x + chunk * width);
        for (std::size_t i = chunk * width; i < (chunk + 1) * width; ++i) pack_.slot[i] = 0;
    }
};

// The number of chunks that the largest row of the batch needs. Slots increase within a row, so a register position
// holds at most the row's length, and at most an eighth of the slots from its first to its last. If this bound is too
// large, the slots are counted.
inline std::size_t pack_chunks(const Batch& batch, Positions positions) {
    constexpr std::size_t too_much = 256;
    std::size_t deepest = 1;
    for (std::size_t r = 0; r < batch.rows; ++r) {
        const std::size_t begin = begin_of(batch, r), end = end_of(batch, r);
        if (begin == end) continue;
        std::size_t most = (end - begin + width - 1) / width;
        if (positions == Positions::by_slot) {
            const std::size_t slots = std::size_t{batch.slots[end - 1]} - batch.slots[begin] + 1;
            most = smaller(end - begin, (slots + width - 1) / width);
            if (most > too_much) {
                std::size_t depth[width] = {};
                most = 0;
                for (std::size_t k = begin; k < end; ++k) {
                    const std::size_t now = ++depth[(batch.slots[k] - 1) % width];
                    most = now > most ? now : most;
                }
            }
        }
        deepest = most > deepest ? most : deepest;
    }
    return deepest;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
