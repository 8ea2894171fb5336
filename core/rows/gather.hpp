// Collects rows of several pieces in any order. Rows are records of equal length, or lists of entries of different
// lengths.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace unitless {

// The rows to collect.
struct Picked {
    const std::int64_t* piece;
    const std::int64_t* row;  // the row's number within the piece
    std::size_t count;
};

// A matrix of elements of any type.
struct Records {
    const char* data;
    std::size_t rows;
    std::ptrdiff_t row_stride, element_stride;

    const char* row(std::size_t r) const { return data + static_cast<std::ptrdiff_t>(r) * row_stride; }
};

inline void prefetch(const char* from, std::size_t bytes) {
#if defined(__GNUC__)
    for (std::size_t at = 0; at < bytes && at < 1024; at += 64) __builtin_prefetch(from + at);
#else
    (void)from, (void)bytes;
#endif
}

// Writes rows [first, last) of adjacent columns into records of `width` bytes. Returns false if a value does not fit.
using PackColumns = bool (*)(const Records& columns, std::size_t count, std::size_t first, std::size_t last, char* to,
                             std::size_t width);

// Copies values of `size` bytes.
template <std::size_t size>
bool pack_unchanged(const Records& columns, std::size_t count, std::size_t first, std::size_t last, char* to,
                    std::size_t width) {
    if (count == 1) {  // the compiler knows the size, and copies without a call
        for (std::size_t r = first; r < last; ++r) std::memcpy(to + r * width, columns.row(r), size);
    } else {
        for (std::size_t r = first; r < last; ++r) std::memcpy(to + r * width, columns.row(r), count * size);
    }
    return true;
}

// Writes numbers as integers of a narrower type, if this loses nothing, not even the sign of zero.
template <class From, class To>
bool pack_narrow(const Records& columns, std::size_t count, std::size_t first, std::size_t last, char* to,
                 std::size_t width) {
    constexpr auto least = static_cast<From>(std::numeric_limits<To>::min());
    constexpr auto most = static_cast<From>(std::numeric_limits<To>::max());
    std::uint64_t lost_bits = 0;
    for (std::size_t r = first; r < last; ++r) {
        const char* const from = columns.row(r);
        char* const record = to + r * width;
        for (std::size_t k = 0; k < count; ++k) {  // source and target may be unaligned
            From x;
            std::memcpy(&x, from + k * sizeof x, sizeof x);
            const To narrow = static_cast<To>(x >= least && x <= most ? x : From{0});
            lost_bits |= std::bit_cast<std::uint64_t>(static_cast<From>(narrow)) ^ std::bit_cast<std::uint64_t>(x);
            std::memcpy(record + k * sizeof narrow, &narrow, sizeof narrow);
        }
    }
    return lost_bits == 0;
}

struct PackedColumn {
    Records from;
    std::size_t size, packed_size;  // bytes of a value in the column and in the record
    std::size_t offset;             // position in the record
    PackColumns pack;
    std::size_t count = 1;  // the number of columns that are adjacent both in memory and in the record
};

// Converts columns to records of `width` bytes. It works in blocks of rows, so that the records of a block stay in the
// cache for all columns. Returns false if a value does not fit.
inline bool pack(std::vector<PackedColumn> columns, std::size_t rows, char* to, std::size_t width) {
    // Merges columns that are adjacent both in memory and in the record.
    std::size_t merged = 0;
    for (std::size_t j = 1; j < columns.size(); ++j) {
        PackedColumn& last = columns[merged];
        const PackedColumn& next = columns[j];
        if (next.pack == last.pack && next.size == last.size && next.from.row_stride == last.from.row_stride &&
            next.from.data == last.from.data + last.count * last.size &&
            next.offset == last.offset + last.count * last.packed_size) {
            ++last.count;
        } else {
            columns[++merged] = next;
        }
    }
    if (!columns.empty()) columns.resize(merged + 1);
    bool all_fit = true;
    const std::size_t block = 8 + 8192 / (width + 1);
    for (std::size_t first = 0; first < rows; first += block) {
        const std::size_t last = std::min(first + block, rows);
        for (const PackedColumn& column : columns)
            all_fit &= column.pack(column.from, column.count, first, last, to + column.offset, width);
    }
    return all_fit;
}

// Collects rows of `elements` values of `size` bytes each.
inline void gather(const std::vector<Records>& pieces, Picked rows, std::size_t elements, std::size_t size, char* to) {
    constexpr std::size_t ahead = 8;
    const std::size_t width = elements * size;
    const auto row = [&](std::size_t i) {
        return pieces[static_cast<std::size_t>(rows.piece[i])].row(static_cast<std::size_t>(rows.row[i]));
    };
    for (std::size_t i = 0; i < rows.count; ++i, to += width) {
        const std::ptrdiff_t stride = pieces[static_cast<std::size_t>(rows.piece[i])].element_stride;
        if (elements == 1 || stride == static_cast<std::ptrdiff_t>(size)) {
            if (i + ahead < rows.count) prefetch(row(i + ahead), width);
            std::memcpy(to, row(i), width);
        } else {
            for (std::size_t k = 0; k < elements; ++k)
                std::memcpy(to + k * size, row(i) + static_cast<std::ptrdiff_t>(k) * stride, size);
        }
    }
}

// Rows of entries: row r has the entries [starts[r], starts[r + 1]).
struct Entries {
    const std::int64_t* starts;
    std::size_t rows;
    const char* data;
    std::size_t entries;
};

// Collects rows of entries of `size` bytes each. Returns false if the rows do not have `count` entries in total. It
// reads each start once, because another thread may change it.
inline bool gather(const std::vector<Entries>& pieces, Picked rows, std::size_t size, char* to, std::size_t count) {
    for (std::size_t i = 0; i < rows.count; ++i) {
        const Entries& from = pieces[static_cast<std::size_t>(rows.piece[i])];
        const std::int64_t begin = from.starts[rows.row[i]], end = from.starts[rows.row[i] + 1];
        if (begin < 0 || end < begin || static_cast<std::size_t>(end) > from.entries) return false;
        const auto entries = static_cast<std::size_t>(end - begin);
        if (entries > count) return false;
        if (entries) std::memcpy(to, from.data + static_cast<std::size_t>(begin) * size, entries * size);
        to += entries * size;
        count -= entries;
    }
    return count == 0;
}

}  // namespace unitless
