// Converts contiguous dense rows to rows of (slot, value) without zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "rows/dense.hpp"
#include "simd/vec8.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {

// Writes the nonzero ones of eight numbers with their slots (`slot` and the seven that follow), and returns their
// count. The arrays must always have space for eight.
UNITLESS_INLINE std::size_t collect_eight(const Vec8& x, std::uint32_t slot, std::uint32_t* slots, double* values) {
#if defined(__AVX512F__)
    const __m512i magnitude = _mm512_set1_epi64(0x7fffffffffffffff);
    const auto there = _mm512_test_epi64_mask((__m512i)x.part[0], magnitude);
    const __m512i places = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(slot)),
                                            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0));
    _mm512_storeu_pd(values, _mm512_maskz_compress_pd(there, (__m512d)x.part[0]));
    _mm512_mask_storeu_epi32(slots, 0xff, _mm512_maskz_compress_epi32(there, places));
    return static_cast<std::size_t>(__builtin_popcount(there));
#else
    if (!any_nonzero(x)) return 0;
    double from[width];
    x.store(from);
    std::size_t n = 0;
    for (std::uint32_t i = 0; i < width; ++i) {
        slots[n] = slot + i;
        values[n] = from[i];
        n += from[i] != 0;
    }
    return n;
#endif
}

// The arrays must have space for all numbers and `row_margin` more.
template <class T>
void collect_rows(const DenseRows& input, std::uint32_t* slots, double* values, std::size_t* row_ends) {
    std::size_t n = 0;
    for (std::size_t r = 0; r < input.rows; ++r) {
        const auto* row = reinterpret_cast<const T*>(input.data + static_cast<std::ptrdiff_t>(r) * input.row_stride);
        std::size_t j = 0;
        for (; j + width <= input.column_count; j += width)
            n += collect_eight(Vec8::load(row + j), static_cast<std::uint32_t>(1 + j), slots + n, values + n);
        for (; j < input.column_count; ++j) {
            slots[n] = static_cast<std::uint32_t>(1 + j);
            values[n] = static_cast<double>(row[j]);
            n += row[j] != 0;
        }
        row_ends[r] = n;
    }
}

}  // namespace UNITLESS_ISA
}  // namespace unitless
