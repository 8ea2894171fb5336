// Sparse rows on their way through a pack: where a row's features stand in it, their state in, their state out.
//
// A row's features are few among many slots, so that most of the time would go into waiting for memory. The slots of
// rows to come are asked for early, a few at a time: a processor waits for some ten or sixteen lines at once, and what
// asks for more has to wait itself.
#pragma once

#include <type_traits>

#include "algorithm/rule.hpp"
#include "algorithm/state.hpp"
#include "engine/single/kernel.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// How many features before its turn a slot is asked for. The second-level cache holds so many; what is asked for into
// the first one waits for its place there, and with it the processor. Rows themselves come one after another, but among
// so many other lines the processor does not notice.
inline constexpr std::size_t slots_ahead = 256, rows_ahead = 1024;

// The state of eight features, each number of it side by side.
struct EightSlots {
    Vec8 scale, v, H;
};

// Four slots are read or written as whole registers and transposed on the way.
using Four = double __attribute__((vector_size(32), may_alias));
using Two = double __attribute__((vector_size(16), may_alias));
using FourFloats = float __attribute__((vector_size(16), may_alias));
using EightFloats = float __attribute__((vector_size(32), may_alias));
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

UNITLESS_INLINE FourSlots collect_four(const Slot64* slots, const std::uint32_t* at) {
    const auto slot = [&](std::size_t i)
                          UNITLESS_INLINE_LAMBDA -> const Four& { return reinterpret_cast<const Four&>(slots[at[i]]); };
    const Four a = slot(0), b = slot(1), c = slot(2), d = slot(3);
    const Four ab = __builtin_shufflevector(a, b, 0, 4, 2, 6), cd = __builtin_shufflevector(c, d, 0, 4, 2, 6);
    const Four ab_v = __builtin_shufflevector(a, b, 1, 5, 3, 7), cd_v = __builtin_shufflevector(c, d, 1, 5, 3, 7);
    return {__builtin_shufflevector(ab, cd, 0, 1, 4, 5), __builtin_shufflevector(ab_v, cd_v, 0, 1, 4, 5),
            __builtin_shufflevector(ab, cd, 2, 3, 6, 7)};
}

UNITLESS_INLINE void put_back_four(Slot64* slots, const std::uint32_t* at, const FourSlots& four) {
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

UNITLESS_INLINE FourSlots collect_four(const Slot32* slots, const std::uint32_t* at) {
    const auto slot = [&](std::size_t i)
                          UNITLESS_INLINE_LAMBDA -> const Two& { return reinterpret_cast<const Two&>(slots[at[i]]); };
    const Two a = slot(0), b = slot(1), c = slot(2), d = slot(3);
    const Four ac = __builtin_shufflevector(a, c, 0, 1, 2, 3), bd = __builtin_shufflevector(b, d, 0, 1, 2, 3);
    const auto vH = (EightFloats)__builtin_shufflevector(ac, bd, 1, 5, 3, 7);
    return {__builtin_shufflevector(ac, bd, 0, 4, 2, 6),
            __builtin_convertvector(__builtin_shufflevector(vH, vH, 0, 2, 4, 6), Four),
            __builtin_convertvector(__builtin_shufflevector(vH, vH, 1, 3, 5, 7), Four)};
}

UNITLESS_INLINE void put_back_four(Slot32* slots, const std::uint32_t* at, const FourSlots& four) {
    const auto slot = [&](std::size_t i)
                          UNITLESS_INLINE_LAMBDA -> Two& { return reinterpret_cast<Two&>(slots[at[i]]); };
    const auto v = __builtin_convertvector(four.v, FourFloats), H = __builtin_convertvector(four.H, FourFloats);
    const auto vH = (Four)__builtin_shufflevector(v, H, 0, 4, 1, 5, 2, 6, 3, 7);
    slot(0) = __builtin_shufflevector(four.scale, vH, 0, 4);
    slot(1) = __builtin_shufflevector(four.scale, vH, 1, 5);
    slot(2) = __builtin_shufflevector(four.scale, vH, 2, 6);
    slot(3) = __builtin_shufflevector(four.scale, vH, 3, 7);
}

template <class Slot>
UNITLESS_INLINE EightSlots collect_eight(const Slot* slots, const std::uint32_t* at) {
    const FourSlots low = collect_four(slots, at), high = collect_four(slots, at + 4);
    return {side_by_side(low.scale, high.scale), side_by_side(low.v, high.v), side_by_side(low.H, high.H)};
}

// Eight features whose scales are maxima. `inverse` is 1 over the larger of |x| and s, so that ratio(x, s) or
// ratio(s, |x|) is a product; `plain`: none of these is near the ends of the floating-point range.
struct EightMaxima {
    Vec8 x, s, maximum, inverse;
    Mask8 beyond;
    bool plain;

    UNITLESS_INLINE EightMaxima(const Vec8& values, const Vec8& scale) : x(values), s(scale) {
        const Vec8 magnitude = absolute(x), floor = Vec8::all(scale_floor);
        maximum = larger(magnitude, s);
        beyond = magnitude > s;
        inverse = Vec8::all(1.0) / larger(maximum, floor);
        plain = !any((maximum > scale_ceiling) | ((maximum < floor) & (maximum > 0.0)));
    }

    Vec8 sign() const { return select(x < 0.0, -1.0, 1.0); }
    Vec8 rho() const { return select(beyond & (s > 0.0), s * inverse, 1.0); }
};

// Eight features on their way to the pack: x becomes z, which sees the row with the weight `as`; scales and rho are
// updated, and noted in `grown` where some rho is not 1.
template <class Scale>
UNITLESS_INLINE void observe(const Pack pack, std::size_t at, const Vec8& x, const EightSlots& state, double h,
                             double as, Flags& grown) {
    const Vec8 one = Vec8::all(1.0);
    state.v.store(pack.v + at);
    state.H.store(pack.H + at);
    if constexpr (std::is_base_of_v<MaxScale, Scale>) {
        if (const EightMaxima eight(x, state.scale); eight.plain) {
            const Vec8 rho = eight.rho();
            select(eight.beyond, eight.sign(), eight.x * eight.inverse).store(pack.x + at);
            eight.maximum.store(pack.scale + at);
            rho.store(pack.rho + at);
            grown.note_below(rho, one);
            return;
        }
    }
    x.store(pack.x + at);
    state.scale.store(pack.scale + at);
    one.store(pack.rho + at);
    for (std::size_t i = at; i < at + width; ++i) {
        if (pack.x[i] == 0) continue;
        const Observed seen = Scale::observe(pack.scale[i], pack.x[i], h, as);
        pack.x[i] = seen.z;
        pack.rho[i] = seen.rho;
    }
    grown.note_below(Vec8::load(pack.rho + at), one);
}

// The same, where x becomes the z with which it would be predicted.
template <class Scale>
UNITLESS_INLINE void look(const Pack pack, std::size_t at, const Vec8& x, const EightSlots& state, bool extrapolate) {
    state.v.store(pack.v + at);
    if constexpr (std::is_base_of_v<MaxScale, Scale>) {
        const EightMaxima eight(x, state.scale);
        if (eight.plain && !(extrapolate && any(eight.beyond))) {
            Vec8 limited = eight.sign();
            if constexpr (std::is_same_v<Scale, ShrinkingMaxScale>) limited = eight.s * eight.inverse * limited;
            select(eight.beyond, limited, eight.x * eight.inverse).store(pack.x + at);
            return;
        }
    }
    x.store(pack.x + at);
    state.scale.store(pack.scale + at);
    for (std::size_t i = at; i < at + width; ++i) {
        if (pack.x[i] == 0) continue;
        pack.x[i] = extrapolate ? Scale::linear(pack.scale[i], pack.x[i]) : Scale::peek(pack.scale[i], pack.x[i]);
    }
}

template <class Slot>
class SparsePack {
  public:
    SparsePack(const SparseInput& input, const Slot* slots, const Pack& pack, std::size_t pack_chunks)
        : input_(input), slots_(slots), pack_(pack), end_(input.rows ? end_of(input, input.rows - 1) : input.first) {
        // Every chunk that is used holds some feature.
        for (std::size_t c = 0; c < pack_chunks; ++c) pack.active[c] = static_cast<std::uint32_t>(c);
        asked_ = input.first;
        to_ask_ = sooner(asked_ + slots_ahead);
        ask_for(slots_ahead);
    }

    // Row r into the pack, as `observe` and `look` leave it. These know nothing of rules and losses, and as functions
    // of their own they are compiled once for all of them.
    struct Collected {
        std::size_t chunks;
        bool grown;
    };
    template <class Scale>
    __attribute__((noinline)) Collected observe(std::size_t r, double h, double as) {
        const Pack pack = pack_;
        Flags grown;
        const std::size_t chunks =
            collect(r, [&](std::size_t at, const Vec8& x, const EightSlots& state)
                           UNITLESS_INLINE_LAMBDA { unitless::observe<Scale>(pack, at, x, state, h, as, grown); });
        return {chunks, grown.any()};
    }
    template <class Scale>
    __attribute__((noinline)) std::size_t look(std::size_t r, bool extrapolate) {
        const Pack pack = pack_;
        return collect(r, [&](std::size_t at, const Vec8& x, const EightSlots& state)
                              UNITLESS_INLINE_LAMBDA { unitless::look<Scale>(pack, at, x, state, extrapolate); });
    }

    // The bias's slot is written too, with anything: its state is kept apart and stored afterwards.
    __attribute__((noinline)) void put_back(std::size_t chunks, Slot* slots) const {
        const Pack pack = pack_;
        // By reference: how four doubles are given back differs between instruction sets, and GCC warns of it.
        const auto four = [](const double* from) -> const UnalignedFour& {
            return reinterpret_cast<const UnalignedFour&>(*from);
        };
        for (std::size_t at = 0; at < chunks * width; at += 4)
            put_back_four(slots, pack.slot + at, {four(pack.scale + at), four(pack.v + at), four(pack.H + at)});
    }

  private:
    const SparseInput input_;
    const Slot* slots_;
    const Pack pack_;
    std::size_t end_, asked_, to_ask_;

    std::size_t sooner(std::size_t k) const { return k < end_ ? k : end_; }

    // Row r, eight features at a time: each(at, x, state) for those at [at, at + 8) of the pack, whose slots are in it.
    // Gives the number of chunks. Places without a feature have the value zero and the bias's slot.
    template <class Each>
    UNITLESS_INLINE std::size_t collect(std::size_t r, const Each& each) {
        const std::size_t begin = begin_of(input_, r), end = end_of(input_, r);
        to_ask_ = sooner(end + slots_ahead);
        for (std::size_t k = begin; k < end; k += 8) __builtin_prefetch(input_.values + sooner(k + rows_ahead), 0, 2);
        for (std::size_t k = begin; k < end; k += 16) __builtin_prefetch(input_.slots + sooner(k + rows_ahead), 0, 2);
        return input_.in_sequence ? collect_in_sequence(begin, end, each) : collect_by_slot(begin, end, each);
    }

    UNITLESS_INLINE void ask_for(std::size_t count) {
        const std::size_t stop = asked_ + count < to_ask_ ? asked_ + count : to_ask_;
        for (; asked_ < stop; ++asked_) __builtin_prefetch(slots_ + slot_at(input_, asked_), 0, 2);
    }

    template <class Each>
    UNITLESS_INLINE void collect_chunk(std::size_t at, const double* x, const Each& each) {
        each(at, Vec8::load(x), collect_eight(slots_, pack_.slot + at));
        ask_for(width);
    }

    UNITLESS_INLINE void blank(std::size_t chunk) const {
        Vec8::all(0.0).store(pack_.x + chunk * width);
        for (std::size_t i = chunk * width; i < (chunk + 1) * width; ++i) pack_.slot[i] = 0;
    }

    // Values are read where they are; only the last of them may have to be copied, beside zeros.
    template <class Each>
    UNITLESS_INLINE std::size_t collect_in_sequence(std::size_t begin, std::size_t end, const Each& each) {
        const std::size_t whole = (end - begin) / width * width;
        const Pack pack = pack_;
        const SparseInput input = input_;
        for (std::size_t at = 0; at < whole; at += width) {
            for (std::size_t i = 0; i < width; ++i) pack.slot[at + i] = slot_at(input, begin + at + i);
            collect_chunk(at, input.values + begin + at, each);
        }
        if (begin + whole == end) return whole / width;
        blank(whole / width);
        for (std::size_t i = whole; begin + i < end; ++i) {
            pack.slot[i] = slot_at(input, begin + i);
            pack.x[i] = input.values[begin + i];
        }
        collect_chunk(whole, pack.x + whole, each);
        return whole / width + 1;
    }

    template <class Each>
    UNITLESS_INLINE std::size_t collect_by_slot(std::size_t begin, std::size_t end, const Each& each) {
        const std::size_t chunks = lay_out_by_slot(begin, end);
        for (std::size_t at = 0; at < chunks * width; at += width) collect_chunk(at, pack_.x + at, each);
        return chunks;
    }

    // Each feature in its lane, as deep as that lane is filled. Products come last in a row: from the first slot whose
    // lane is listed on, all are.
    UNITLESS_INLINE std::size_t lay_out_by_slot(std::size_t begin, std::size_t end) const {
        const Pack pack = pack_;
        const SparseInput input = input_;
        const auto by_number = [](std::uint32_t slot) -> std::size_t { return (slot - 1) % width; };
        const auto listed = [&](std::uint32_t slot) -> std::size_t { return input.lanes[slot - input.lanes_from]; };
        std::size_t middle = end;
        if (input.lanes) [[unlikely]]
            for (middle = begin; middle < end && slot_at(input, middle) < input.lanes_from;) ++middle;
        std::uint32_t depth[width] = {}, chunks = 0;
        for (std::size_t k = begin; k < middle; ++k) ++depth[by_number(slot_at(input, k))];
        for (std::size_t k = middle; k < end; ++k) ++depth[listed(slot_at(input, k))];
        for (std::uint32_t& deep : depth) {
            chunks = deep > chunks ? deep : chunks;
            deep = 0;
        }
        for (std::size_t c = 0; c < chunks; ++c) blank(c);
        const auto put = [&](std::size_t k, std::size_t lane) {
            const std::size_t at = depth[lane]++ * width + lane;
            pack.x[at] = input.values[k];
            pack.slot[at] = slot_at(input, k);
        };
        for (std::size_t k = begin; k < middle; ++k) put(k, by_number(slot_at(input, k)));
        for (std::size_t k = middle; k < end; ++k) put(k, listed(slot_at(input, k)));
        return chunks;
    }
};

}  // namespace UNITLESS_ISA
}  // namespace unitless
