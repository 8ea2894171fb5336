// Eight doubles: one AVX-512 register, two AVX2 registers, or four SSE2 or NEON registers.
//
// The number is eight on every machine. Sums run in eight accumulators (slot mod 8), which are added in one fixed
// order, so every instruction set gives the same bits. Registers of lanes, which are never added to each other, may
// also have four.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/isa.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace unitless {
inline namespace UNITLESS_ISA {

inline constexpr int width = 8;

#if defined(__AVX512F__)
inline constexpr int widest_register = 8;
#elif defined(__AVX2__)
inline constexpr int widest_register = 4;
#else
inline constexpr int widest_register = 2;
#endif

// A register of `count` doubles, its bits, and its unaligned form in memory.
template <int count>
struct RegisterOf;
// Clang ignores an alignment on the right of `using`.
#define UNITLESS_REGISTER(count)                                                                                      \
    template <>                                                                                                       \
    struct RegisterOf<count> {                                                                                        \
        using Doubles = double __attribute__((vector_size(count * sizeof(double))));                                  \
        using Bits = std::uint64_t __attribute__((vector_size(count * sizeof(double))));                              \
        using Unaligned [[gnu::aligned(8)]] = double __attribute__((vector_size(count * sizeof(double)), may_alias)); \
        static_assert(alignof(Unaligned) == 8);                                                                       \
    };
UNITLESS_REGISTER(2)
#if defined(__AVX2__)
UNITLESS_REGISTER(4)
#endif
#if defined(__AVX512F__)
UNITLESS_REGISTER(8)
#endif
#undef UNITLESS_REGISTER

template <int n>
struct Vec {
    static constexpr int count = n, register_width = n < widest_register ? n : widest_register;
    static constexpr int registers = n / register_width;
    using Register = typename RegisterOf<register_width>::Doubles;
    using Bits = typename RegisterOf<register_width>::Bits;
    Register part[registers];

    static Vec all(double x) {
        Vec r;
        for (auto& p : r.part) p = x - Register{};  // x - 0 is x, -0.0 included
        return r;
    }
    static Vec load(const double* from) {
        using Unaligned = typename RegisterOf<register_width>::Unaligned;
        Vec r;
        for (int i = 0; i < registers; ++i) r.part[i] = *reinterpret_cast<const Unaligned*>(from + i * register_width);
        return r;
    }
    void store(double* to) const {
        using Unaligned = typename RegisterOf<register_width>::Unaligned;
        for (int i = 0; i < registers; ++i) *reinterpret_cast<Unaligned*>(to + i * register_width) = part[i];
    }

    // ---- For eight numbers only

    static Vec first(double x)
        requires(n == 8)
    {  // the others are 0
        Vec r{};
#if defined(__AVX512F__)
        r.part[0] = (Register)_mm512_zextpd128_pd512(_mm_set_sd(x));
#elif defined(__AVX2__)
        r.part[0] = (Register)_mm256_zextpd128_pd256(_mm_set_sd(x));
#else
        r.part[0] = Register{x, 0.0};
#endif
        return r;
    }
    static Vec load(const float* from)
        requires(n == 8)
    {
        Vec r;
        for (int i = 0; i < registers; ++i) {
            const float* at = from + i * register_width;
#if defined(__AVX512F__)
            r.part[i] = (Register)_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(at));
#elif defined(__AVX2__)
            r.part[i] = (Register)_mm256_cvtps_pd(_mm_loadu_ps(at));
#else
            r.part[i] = Register{static_cast<double>(at[0]), static_cast<double>(at[1])};
#endif
        }
        return r;
    }
    // Loads only the first `count` numbers; the others are 0. It reads nothing beyond them, and does not build the
    // register in memory, where a wide load would wait for the narrow stores before it.
    static Vec load(const double* from, std::size_t count)
        requires(n == 8)
    {
        Vec r;
#if defined(__AVX512F__)
        r.part[0] = (Register)_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << count) - 1), from);
#elif defined(__AVX2__)
        for (int i = 0; i < registers; ++i)
            r.part[i] = (Register)_mm256_maskload_pd(from + i * register_width, first_of<std::int64_t>(count, i));
#else
        for (int i = 0; i < width; ++i)
            r.part[i / register_width][i % register_width] = static_cast<std::size_t>(i) < count ? from[i] : 0.0;
#endif
        return r;
    }
    static Vec load(const float* from, std::size_t count)
        requires(n == 8)
    {
        Vec r;
#if defined(__AVX512F__)
        const __m512 some = _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
        const __m256 eight = (__m256)__builtin_shufflevector(some, some, 0, 1, 2, 3, 4, 5, 6, 7);
        r.part[0] = (Register)_mm512_maskz_cvtps_pd(0xff, eight);
#elif defined(__AVX2__)
        for (int i = 0; i < registers; ++i) {
            const __m256i those = first_of<std::int32_t>(count, i);
            const __m128 some = _mm_maskload_ps(from + i * register_width, _mm256_castsi256_si128(those));
            r.part[i] = (Register)_mm256_cvtps_pd(some);
        }
#else
        for (int i = 0; i < width; ++i)
            r.part[i / register_width][i % register_width] =
                static_cast<std::size_t>(i) < count ? static_cast<double>(from[i]) : 0.0;
#endif
        return r;
    }
    static Vec gather(const double* from, const std::uint32_t* at)
        requires(n == 8)
    {
        Vec r;
#if defined(__AVX512F__)
        const __m512i indices = _mm512_maskz_cvtepu32_epi64(0xff, _mm256_loadu_si256((const __m256i*)at));
        r.part[0] = (Register)_mm512_mask_i64gather_pd(_mm512_setzero_pd(), 0xff, indices, from, 8);
#elif defined(__AVX2__)
        for (int i = 0; i < registers; ++i, at += 4)
            r.part[i] = Register{from[at[0]], from[at[1]], from[at[2]], from[at[3]]};
#else
        for (int i = 0; i < registers; ++i, at += 2) r.part[i] = Register{from[at[0]], from[at[1]]};
#endif
        return r;
    }
    // Copies the first `count` of eight numbers, the others 0, for `gather`. It uses one store, because a load of all
    // eight follows.
    static void load_places(const std::uint32_t* from, std::size_t count, std::uint32_t* to)
        requires(n == 8)
    {
#if defined(__AVX512F__)
        const __m512i some = _mm512_maskz_loadu_epi32(static_cast<__mmask16>((1u << count) - 1), from);
        _mm256_storeu_si256((__m256i*)to, (__m256i)__builtin_shufflevector(some, some, 0, 1, 2, 3));
#elif defined(__AVX2__)
        const __m256i some = _mm256_maskload_epi32((const int*)from, first_of<std::int32_t>(count, 0));
        _mm256_storeu_si256((__m256i*)to, some);
#else
        for (std::size_t i = 0; i < width; ++i) to[i] = i < count ? from[i] : 0;
#endif
    }
    // Stores the numbers as floats.
    void store(float* to) const
        requires(n == 8)
    {
        for (int i = 0; i < registers; ++i) {
            float* at = to + i * register_width;
#if defined(__AVX512F__)
            _mm256_storeu_ps(at, _mm512_maskz_cvtpd_ps(0xff, (__m512d)part[i]));
#elif defined(__AVX2__)
            _mm_storeu_ps(at, _mm256_cvtpd_ps((__m256d)part[i]));
#else
            for (int j = 0; j < register_width; ++j) at[j] = static_cast<float>(part[i][j]);
#endif
        }
    }

#if defined(__AVX2__) && !defined(__AVX512F__)
  private:
    // A mask with all bits set for those positions of register i that are among the first `count` of the eight.
    template <class Integer>
    static __m256i first_of(std::size_t count, int i) {
        static constexpr Integer bits[24] = {-1, -1, -1, -1, -1, -1, -1, -1};
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bits + 8 - count + i * register_width));
    }
#endif
};
using Vec8 = Vec<8>;
using Vec4 = Vec<4>;

// Returns number i without a store to memory.
template <int i>
UNITLESS_INLINE double at(const Vec8& a) {
    return a.part[i / Vec8::register_width][i % Vec8::register_width];
}

#define UNITLESS_ELEMENTWISE(op)                                                        \
    template <int n>                                                                    \
    inline Vec<n> operator op(const Vec<n>& a, const Vec<n>& b) {                       \
        Vec<n> r;                                                                       \
        for (int i = 0; i < Vec<n>::registers; ++i) r.part[i] = a.part[i] op b.part[i]; \
        return r;                                                                       \
    }                                                                                   \
    template <int n>                                                                    \
    inline Vec<n> operator op(const Vec<n>& a, double b) {                              \
        return a op Vec<n>::all(b);                                                     \
    }                                                                                   \
    template <int n>                                                                    \
    inline Vec<n> operator op(double a, const Vec<n>& b) {                              \
        return Vec<n>::all(a) op b;                                                     \
    }
UNITLESS_ELEMENTWISE(+)
UNITLESS_ELEMENTWISE(-)
UNITLESS_ELEMENTWISE(*)
UNITLESS_ELEMENTWISE(/)
#undef UNITLESS_ELEMENTWISE
template <int n>
inline Vec<n> operator-(const Vec<n>& a) {
    return -1.0 * a;
}

// One bool per number. `select(a < b, x, y)` has the same form for a Vec and for a double.
template <int n>
struct Mask {
    using Bits = typename Vec<n>::Bits;
    Bits part[Vec<n>::registers];
    bool any() const {
        Bits either = part[0];
        for (int i = 1; i < Vec<n>::registers; ++i) either |= part[i];
#if defined(__AVX2__)
        return !_mm256_testz_si256((__m256i)either, (__m256i)either);
#else
        return (either[0] | either[1]) != 0;
#endif
    }
};
using Mask8 = Mask<8>;

#define UNITLESS_COMPARISON(op)                                                                                   \
    template <int n>                                                                                              \
    inline Mask<n> operator op(const Vec<n>& a, const Vec<n>& b) {                                                \
        Mask<n> r;                                                                                                \
        for (int i = 0; i < Vec<n>::registers; ++i) r.part[i] = (typename Mask<n>::Bits)(a.part[i] op b.part[i]); \
        return r;                                                                                                 \
    }                                                                                                             \
    template <int n>                                                                                              \
    inline Mask<n> operator op(const Vec<n>& a, double b) {                                                       \
        return a op Vec<n>::all(b);                                                                               \
    }
#define UNITLESS_LOGIC(op)                                                              \
    template <int n>                                                                    \
    inline Mask<n> operator op(const Mask<n>& a, const Mask<n>& b) {                    \
        Mask<n> r;                                                                      \
        for (int i = 0; i < Vec<n>::registers; ++i) r.part[i] = a.part[i] op b.part[i]; \
        return r;                                                                       \
    }

#if defined(__AVX512F__)
// AVX-512 has mask registers.
template <>
struct Mask<8> {
    __mmask8 bits;
    bool any() const { return bits != 0; }
};
#define UNITLESS_COMPARISON_OF_EIGHT(op, predicate)                                     \
    inline Mask8 operator op(const Vec8& a, const Vec8& b) {                            \
        return {_mm512_cmp_pd_mask((__m512d)a.part[0], (__m512d)b.part[0], predicate)}; \
    }
UNITLESS_COMPARISON_OF_EIGHT(<, _CMP_LT_OQ)
UNITLESS_COMPARISON_OF_EIGHT(<=, _CMP_LE_OQ)
UNITLESS_COMPARISON_OF_EIGHT(>, _CMP_GT_OQ)
UNITLESS_COMPARISON_OF_EIGHT(>=, _CMP_GE_OQ)
UNITLESS_COMPARISON_OF_EIGHT(==, _CMP_EQ_OQ)
#undef UNITLESS_COMPARISON_OF_EIGHT
inline Mask8 operator&(const Mask8& a, const Mask8& b) { return {static_cast<__mmask8>(a.bits & b.bits)}; }
inline Mask8 operator|(const Mask8& a, const Mask8& b) { return {static_cast<__mmask8>(a.bits | b.bits)}; }
inline Mask8 operator~(const Mask8& a) { return {static_cast<__mmask8>(~a.bits)}; }
inline Vec8 select(const Mask8& mask, const Vec8& a, const Vec8& b) {
    Vec8 r;
    r.part[0] = (Vec8::Register)_mm512_mask_blend_pd(mask.bits, (__m512d)b.part[0], (__m512d)a.part[0]);
    return r;
}
#endif

UNITLESS_COMPARISON(<)
UNITLESS_COMPARISON(<=)
UNITLESS_COMPARISON(>)
UNITLESS_COMPARISON(>=)
UNITLESS_COMPARISON(==)
UNITLESS_LOGIC(&)
UNITLESS_LOGIC(|)
#undef UNITLESS_COMPARISON
#undef UNITLESS_LOGIC
template <int n>
inline Mask<n> operator~(const Mask<n>& a) {
    Mask<n> r;
    for (int i = 0; i < Vec<n>::registers; ++i) r.part[i] = ~a.part[i];
    return r;
}
template <int n>
inline Vec<n> select(const Mask<n>& mask, const Vec<n>& a, const Vec<n>& b) {
    using Bits = typename Mask<n>::Bits;
    Vec<n> r;
    for (int i = 0; i < Vec<n>::registers; ++i)
        r.part[i] = (typename Vec<n>::Register)((mask.part[i] & (Bits)a.part[i]) | (~mask.part[i] & (Bits)b.part[i]));
    return r;
}
template <int n>
inline Vec<n> select(const Mask<n>& mask, const Vec<n>& a, double b) {
    return select(mask, a, Vec<n>::all(b));
}
template <int n>
inline Vec<n> select(const Mask<n>& mask, double a, const Vec<n>& b) {
    return select(mask, Vec<n>::all(a), b);
}
template <int n>
inline Vec<n> select(const Mask<n>& mask, double a, double b) {
    return select(mask, Vec<n>::all(a), Vec<n>::all(b));
}
inline double select(bool mask, double a, double b) { return mask ? a : b; }
template <int n>
inline bool any(const Mask<n>& mask) {
    return mask.any();
}

template <int n>
inline Vec<n> absolute(const Vec<n>& a) {
    Vec<n> r;
    for (int i = 0; i < Vec<n>::registers; ++i)
        r.part[i] = (typename Vec<n>::Register)((typename Vec<n>::Bits)a.part[i] << 1 >> 1);
    return r;
}

// The sum of the eight accumulators, always in the order ((0+4) + (2+6)) + ((1+5) + (3+7)).
inline double sum(const Vec8& a) {
#if defined(__AVX512F__)
    const auto x = a.part[0];
    const auto four = __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
    const auto two = __builtin_shufflevector(four, four, 0, 1) + __builtin_shufflevector(four, four, 2, 3);
#elif defined(__AVX2__)
    const auto four = a.part[0] + a.part[1];
    const auto two = __builtin_shufflevector(four, four, 0, 1) + __builtin_shufflevector(four, four, 2, 3);
#else
    const auto two = (a.part[0] + a.part[2]) + (a.part[1] + a.part[3]);
#endif
    return two[0] + two[1];
}

template <int n>
inline Vec<n> smaller(const Vec<n>& a, const Vec<n>& b) {
    Vec<n> r;
    for (int i = 0; i < Vec<n>::registers; ++i) r.part[i] = a.part[i] < b.part[i] ? a.part[i] : b.part[i];
    return r;
}
template <int n>
inline Vec<n> larger(const Vec<n>& a, const Vec<n>& b) {
    Vec<n> r;
    for (int i = 0; i < Vec<n>::registers; ++i) r.part[i] = a.part[i] > b.part[i] ? a.part[i] : b.part[i];
    return r;
}

// 1/sqrt(h) with relative error below 1e-13; 0 where h is below the smallest normal number.
//
// A guess from the bit pattern, with an error below 13%, and three Newton steps, whose constants are chosen so that the
// error of each step is centered. The first two steps give 2^(-4/9) and 2^(-1/3) times the value; this folds the factor
// 1/2 of h/2 into the constants. Plain arithmetic vectorizes and gives the same bits everywhere. Multiplying h by 4^k
// divides the result by 2^k exactly.
inline constexpr std::uint64_t inverse_root_guess = 0x5fe3fe4af2992400ULL;
template <class T>
UNITLESS_INLINE T newton_inverse_root(T h, T y) {
    y = y * (0x1.3c7feb05725f9p+0 - (0x1.09158f8b1dbc3p-1 * h) * (y * y));
    y = y * (0x1.9ebe370aa1927p+0 - h * (y * y));
    return y * (0x1.e3cf476542d7cp+0 - h * (y * y));
}
template <int n>
UNITLESS_INLINE Vec<n> inverse_root(const Vec<n>& h) {
    Vec<n> r;
    for (int i = 0; i < Vec<n>::registers; ++i) {
        const auto guess = inverse_root_guess - ((typename Vec<n>::Bits)h.part[i] >> 1);
        r.part[i] = newton_inverse_root(h.part[i], (typename Vec<n>::Register)guess);
    }
    return select(h >= __DBL_MIN__, r, 0.0);
}
UNITLESS_INLINE double inverse_root(double x) {
    const auto guess = __builtin_bit_cast(double, inverse_root_guess - (__builtin_bit_cast(std::uint64_t, x) >> 1));
    return x >= __DBL_MIN__ ? newton_inverse_root(x, guess) : 0.0;
}

inline Vec8 square_root(const Vec8& x) {
    Vec8 r;
#if defined(__AVX512F__)
    r.part[0] = (Vec8::Register)_mm512_maskz_sqrt_pd(0xff, (__m512d)x.part[0]);
#elif defined(__AVX2__)
    for (int i = 0; i < Vec8::registers; ++i) r.part[i] = (Vec8::Register)_mm256_sqrt_pd((__m256d)x.part[i]);
#elif defined(__x86_64__)
    for (int i = 0; i < Vec8::registers; ++i) r.part[i] = (Vec8::Register)_mm_sqrt_pd((__m128d)x.part[i]);
#else
    for (int i = 0; i < Vec8::registers; ++i)
        for (int j = 0; j < Vec8::register_width; ++j) r.part[i][j] = __builtin_sqrt(x.part[i][j]);
#endif
    return r;
}

// True where |x| <= s is false, also for NaN.
template <int n>
inline Mask<n> beyond(const Vec<n>& x, const Vec<n>& s) {
    return ~(absolute(x) <= s);
}
template <int n>
inline bool any_beyond(const Vec<n>& x, const Vec<n>& s) {
    return any(beyond(x, s));
}
inline bool any_nonzero(const Vec8& x) { return any(~(x == 0.0)); }

// Lists the chunks of eight that have a nonzero number. The other chunks change no bit of any sum.
inline std::size_t find_active(const double* x, std::size_t chunks, std::uint32_t* active) {
    std::size_t n = 0;
    for (std::size_t c = 0; c < chunks; ++c) {
        active[n] = static_cast<std::uint32_t>(c);
        n += any_nonzero(Vec8::load(x + c * width));
    }
    return n;
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
