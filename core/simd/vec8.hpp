// Eight doubles that move together: one AVX-512 register, two AVX2, four SSE2 or NEON.
//
// Eight is fixed whatever the machine: sums run in eight accumulators (slot mod 8) that are added up in one fixed
// order, so every instruction set gives the same bits.
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
inline constexpr int register_width = 8;
#elif defined(__AVX2__)
inline constexpr int register_width = 4;
#else
inline constexpr int register_width = 2;
#endif

using Register = double __attribute__((vector_size(register_width * sizeof(double))));
using Bits = std::uint64_t __attribute__((vector_size(register_width * sizeof(double))));
// Clang takes no notice of an alignment on the right of `using`.
using UnalignedRegister [[gnu::aligned(8)]] =
    double __attribute__((vector_size(register_width * sizeof(double)), may_alias));
static_assert(alignof(UnalignedRegister) == 8);

struct Vec8 {
    static constexpr int registers = width / register_width;
    Register part[registers];

    static Vec8 all(double x) {
        Vec8 r;
        for (auto& p : r.part) p = x - Register{};  // x - 0 is x, -0.0 included
        return r;
    }
    static Vec8 first(double x) {  // the rest is 0
        Vec8 r{};
#if defined(__AVX512F__)
        r.part[0] = (Register)_mm512_zextpd128_pd512(_mm_set_sd(x));
#elif defined(__AVX2__)
        r.part[0] = (Register)_mm256_zextpd128_pd256(_mm_set_sd(x));
#else
        r.part[0] = Register{x, 0.0};
#endif
        return r;
    }
    static Vec8 load(const double* from) {
        Vec8 r;
        for (int i = 0; i < registers; ++i)
            r.part[i] = *reinterpret_cast<const UnalignedRegister*>(from + i * register_width);
        return r;
    }
    static Vec8 load(const float* from) {
        Vec8 r;
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
    // Only the first `count`, fewer than eight; the rest is 0. Nothing beyond them is touched, and nothing goes through
    // memory, where a wide load would wait for the narrow stores before it.
    static Vec8 load(const double* from, std::size_t count) {
        Vec8 r;
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
    static Vec8 load(const float* from, std::size_t count) {
        Vec8 r;
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
    static Vec8 gather(const double* from, const std::uint32_t* at) {
        Vec8 r;
#if defined(__AVX512F__)
        const __m512i indices = _mm512_maskz_cvtepu32_epi64(0xff, _mm256_loadu_si256((const __m256i*)at));
        r.part[0] = (Register)_mm512_mask_i64gather_pd(_mm512_setzero_pd(), 0xff, indices, from, 8);
#else
        for (int i = 0; i < width; ++i) r.part[i / register_width][i % register_width] = from[at[i]];
#endif
        return r;
    }
    // Rounded to floats.
    void store(float* to) const {
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
    void store(double* to) const {
        for (int i = 0; i < registers; ++i) *reinterpret_cast<UnalignedRegister*>(to + i * register_width) = part[i];
    }

#if defined(__AVX2__) && !defined(__AVX512F__)
  private:
    // All bits of those places of register i that are among the first `count` of the eight.
    template <class Integer>
    static __m256i first_of(std::size_t count, int i) {
        static constexpr Integer bits[24] = {-1, -1, -1, -1, -1, -1, -1, -1};
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bits + 8 - count + i * register_width));
    }
#endif
};

// One of the eight, without a way through memory.
template <int i>
UNITLESS_INLINE double at(const Vec8& a) {
    return a.part[i / register_width][i % register_width];
}

#define UNITLESS_ELEMENTWISE(op)                                                      \
    inline Vec8 operator op(const Vec8& a, const Vec8& b) {                           \
        Vec8 r;                                                                       \
        for (int i = 0; i < Vec8::registers; ++i) r.part[i] = a.part[i] op b.part[i]; \
        return r;                                                                     \
    }
UNITLESS_ELEMENTWISE(+)
UNITLESS_ELEMENTWISE(-)
UNITLESS_ELEMENTWISE(*)
UNITLESS_ELEMENTWISE(/)
#undef UNITLESS_ELEMENTWISE

#define UNITLESS_WITH_NUMBER(op)                                                   \
    inline Vec8 operator op(const Vec8& a, double b) { return a op Vec8::all(b); } \
    inline Vec8 operator op(double a, const Vec8& b) { return Vec8::all(a) op b; }
UNITLESS_WITH_NUMBER(+)
UNITLESS_WITH_NUMBER(-)
UNITLESS_WITH_NUMBER(*)
UNITLESS_WITH_NUMBER(/)
#undef UNITLESS_WITH_NUMBER
inline Vec8 operator-(const Vec8& a) { return -1.0 * a; }

// Yes or no for each of the eight. `select(a < b, x, y)` reads the same for a Vec8 and for a double.
struct Mask8 {
    Bits part[Vec8::registers];
    bool any() const {
#if defined(__AVX512F__)
        return _mm512_test_epi64_mask((__m512i)part[0], (__m512i)part[0]) != 0;
#else
        Bits either = part[0];
        for (int i = 1; i < Vec8::registers; ++i) either |= part[i];
#if defined(__AVX2__)
        return !_mm256_testz_si256((__m256i)either, (__m256i)either);
#else
        return (either[0] | either[1]) != 0;
#endif
#endif
    }
};

#define UNITLESS_COMPARISON(op)                                                               \
    inline Mask8 operator op(const Vec8& a, const Vec8& b) {                                  \
        Mask8 r;                                                                              \
        for (int i = 0; i < Vec8::registers; ++i) r.part[i] = (Bits)(a.part[i] op b.part[i]); \
        return r;                                                                             \
    }                                                                                         \
    inline Mask8 operator op(const Vec8& a, double b) { return a op Vec8::all(b); }
UNITLESS_COMPARISON(<)
UNITLESS_COMPARISON(<=)
UNITLESS_COMPARISON(>)
UNITLESS_COMPARISON(==)
#undef UNITLESS_COMPARISON
inline Mask8 operator&(const Mask8& a, const Mask8& b) {
    Mask8 r;
    for (int i = 0; i < Vec8::registers; ++i) r.part[i] = a.part[i] & b.part[i];
    return r;
}
inline Mask8 operator|(const Mask8& a, const Mask8& b) {
    Mask8 r;
    for (int i = 0; i < Vec8::registers; ++i) r.part[i] = a.part[i] | b.part[i];
    return r;
}
inline Mask8 operator~(const Mask8& a) {
    Mask8 r;
    for (int i = 0; i < Vec8::registers; ++i) r.part[i] = ~a.part[i];
    return r;
}
inline Vec8 select(const Mask8& mask, const Vec8& a, const Vec8& b) {
    Vec8 r;
    for (int i = 0; i < Vec8::registers; ++i)
        r.part[i] = (Register)((mask.part[i] & (Bits)a.part[i]) | (~mask.part[i] & (Bits)b.part[i]));
    return r;
}
inline Vec8 select(const Mask8& mask, const Vec8& a, double b) { return select(mask, a, Vec8::all(b)); }
inline Vec8 select(const Mask8& mask, double a, const Vec8& b) { return select(mask, Vec8::all(a), b); }
inline Vec8 select(const Mask8& mask, double a, double b) { return select(mask, Vec8::all(a), Vec8::all(b)); }
inline double select(bool mask, double a, double b) { return mask ? a : b; }
inline bool any(const Mask8& mask) { return mask.any(); }

inline Vec8 absolute(const Vec8& a) {
    Vec8 r;
    for (int i = 0; i < Vec8::registers; ++i) r.part[i] = (Register)((Bits)a.part[i] << 1 >> 1);
    return r;
}

// The sum of the eight accumulators, always in the order ((0+4) + (2+6)) + ((1+5) + (3+7)).
inline double sum(const Vec8& a) {
#if defined(__AVX512F__)
    const Register x = a.part[0];
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

inline Vec8 smaller(const Vec8& a, const Vec8& b) {
    Vec8 r;
    for (int i = 0; i < Vec8::registers; ++i) r.part[i] = a.part[i] < b.part[i] ? a.part[i] : b.part[i];
    return r;
}
inline Vec8 larger(const Vec8& a, const Vec8& b) {
    Vec8 r;
    for (int i = 0; i < Vec8::registers; ++i) r.part[i] = a.part[i] > b.part[i] ? a.part[i] : b.part[i];
    return r;
}

// 1/sqrt(h) to 1e-13; 0 where h is below the smallest normal number. A guess from the bit pattern, within 13%, and
// three Newton steps y (1.5 - h y^2/2) whose constants are moved so that the error of each is centered. Plain
// arithmetic, so it vectorizes and has the same bits everywhere; multiplying h by 4^k divides it by 2^k exactly.
inline constexpr std::uint64_t inverse_root_guess = 0x5fe3fe4af2992400ULL;
template <class T>
UNITLESS_INLINE T newton_inverse_root(T x, T y) {
    const T half = 0.5 * x;
    y = y * (0x1.aeb08996f92ecp+0 - (0x1.68b9554ddb055p-1 * x) * (y * y));
    y = y * ((1.5 + 3.1694e-7) - half * (y * y));
    return y * ((1.5 + 7.53e-14) - half * (y * y));
}
UNITLESS_INLINE Vec8 inverse_root(const Vec8& h) {
    Vec8 r;
    for (int i = 0; i < Vec8::registers; ++i) {
        const Register x = h.part[i];
        const Register root = newton_inverse_root(x, (Register)(inverse_root_guess - ((Bits)x >> 1)));
        r.part[i] = (Register)((Bits)root & (Bits)(x >= __DBL_MIN__));
    }
    return r;
}
UNITLESS_INLINE double inverse_root(double x) {
    const auto guess = __builtin_bit_cast(double, inverse_root_guess - (__builtin_bit_cast(std::uint64_t, x) >> 1));
    return x >= __DBL_MIN__ ? newton_inverse_root(x, guess) : 0.0;
}

inline Vec8 square_root(const Vec8& x) {
    Vec8 r;
#if defined(__AVX512F__)
    r.part[0] = (Register)_mm512_maskz_sqrt_pd(0xff, (__m512d)x.part[0]);
#elif defined(__AVX2__)
    for (int i = 0; i < Vec8::registers; ++i) r.part[i] = (Register)_mm256_sqrt_pd((__m256d)x.part[i]);
#elif defined(__x86_64__)
    for (int i = 0; i < Vec8::registers; ++i) r.part[i] = (Register)_mm_sqrt_pd((__m128d)x.part[i]);
#else
    for (int i = 0; i < Vec8::registers; ++i)
        for (int j = 0; j < register_width; ++j) r.part[i][j] = __builtin_sqrt(x.part[i][j]);
#endif
    return r;
}

// Yes or no for each of the eight, gathered over many.
class Flags {
  public:
#if defined(__AVX512F__)
    void note_beyond(const Vec8& x, const Vec8& s) {
        seen_ |= _mm512_cmp_pd_mask(_mm512_abs_pd((__m512d)x.part[0]), (__m512d)s.part[0], _CMP_NLE_UQ);
    }
    void note_nonzero(const Vec8& x) {
        const __m512i magnitude = _mm512_set1_epi64(0x7fffffffffffffff);
        seen_ |= _mm512_test_epi64_mask((__m512i)x.part[0], magnitude);
    }
    void note_below(const Vec8& x, const Vec8& limit) {
        seen_ |= _mm512_cmp_pd_mask((__m512d)x.part[0], (__m512d)limit.part[0], _CMP_LT_OQ);
    }
    bool any() const { return seen_ != 0; }

  private:
    unsigned seen_ = 0;
#else
    // Where |x| <= s does not hold, NaN included.
    void note_beyond(const Vec8& x, const Vec8& s) {
        for (int i = 0; i < Vec8::registers; ++i) seen_ |= ~(Bits)((Register)((Bits)x.part[i] << 1 >> 1) <= s.part[i]);
    }
    void note_below(const Vec8& x, const Vec8& limit) {
        for (int i = 0; i < Vec8::registers; ++i) seen_ |= (Bits)(x.part[i] < limit.part[i]);
    }
    // Where x is other than zero; the sign does not count.
    void note_nonzero(const Vec8& x) {
        for (const auto& part : x.part) seen_ |= (Bits)part << 1;
    }
    bool any() const {
#if defined(__AVX2__)
        return !_mm256_testz_si256((__m256i)seen_, (__m256i)seen_);
#else
        return (seen_[0] | seen_[1]) != 0;
#endif
    }

  private:
    Bits seen_{};
#endif
};

inline bool any_nonzero(const Vec8& x) {
    Flags flags;
    flags.note_nonzero(x);
    return flags.any();
}

inline bool any_beyond(const Vec8& x, const Vec8& s) {
    Flags flags;
    flags.note_beyond(x, s);
    return flags.any();
}

// Lists the chunks of eight in which something is other than zero. The others add nothing to any sum, to the bit.
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
