// Rows of several pieces in any order: records, which are equally long, and rows of entries, which are not.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace unitless {

// Which rows: the piece that each is in, and its number there.
struct Picked {
    const std::int64_t* piece;
    const std::int64_t* row;
    std::size_t count;
};

// Elements of any type, side by side or apart.
struct Records {
    const char* data;
    std::size_t rows;
    std::ptrdiff_t row_stride, element_stride;
};

inline void prefetch(const char* from, std::size_t bytes) {
#if defined(__GNUC__)
    for (std::size_t at = 0; at < bytes && at < 1024; at += 64) __builtin_prefetch(from + at);
#else
    (void)from, (void)bytes;
#endif
}

// A column of values of `size` bytes goes into records.
template <std::size_t size>
void put_column(const Records& column, std::size_t first, std::size_t last, char* to, std::size_t width) {
    for (std::size_t r = first; r < last; ++r)
        std::memcpy(to + r * width, column.data + static_cast<std::ptrdiff_t>(r) * column.row_stride, size);
}

// Whole numbers that fit go into less room, `count` columns that lie side by side: whether all did, to the sign of
// zero.
template <class From, class To>
bool put_narrow(const Records& column, std::size_t count, std::size_t first, std::size_t last, char* to,
                std::size_t width) {
    constexpr auto least = static_cast<From>(std::numeric_limits<To>::min());
    constexpr auto most = static_cast<From>(std::numeric_limits<To>::max());
    std::uint64_t differing = 0;
    for (std::size_t r = first; r < last; ++r) {
        const char* const from = column.data + static_cast<std::ptrdiff_t>(r) * column.row_stride;
        char* const here = to + r * width;  // which need not be aligned either
        for (std::size_t k = 0; k < count; ++k) {
            From x;
            std::memcpy(&x, from + k * sizeof x, sizeof x);
            const To narrow = static_cast<To>(x >= least && x <= most ? x : From{0});
            differing |= std::bit_cast<std::uint64_t>(static_cast<From>(narrow)) ^ std::bit_cast<std::uint64_t>(x);
            std::memcpy(here + k * sizeof narrow, &narrow, sizeof narrow);
        }
    }
    return differing == 0;
}

enum class Narrowing { none, double_to_i8, double_to_i32, i64_to_i8, i64_to_i32 };

struct PackedColumn {
    Records from;
    std::size_t size, room, offset;  // bytes of a value here and in the record, and where it goes there
    Narrowing narrowing = Narrowing::none;
    std::size_t count = 1;  // columns that lie side by side, here and there
};

// Columns become records of `width` bytes, some rows at a time, so that the records stay in the cache meanwhile. False
// if a column could not be made narrow.
inline bool pack(std::vector<PackedColumn> columns, std::size_t rows, char* to, std::size_t width) {
    // Columns that lie side by side, and are to do so, go together.
    std::size_t apart = 0;
    for (std::size_t j = 1; j < columns.size(); ++j) {
        PackedColumn& last = columns[apart];
        const PackedColumn& next = columns[j];
        if (next.narrowing == last.narrowing && next.size == last.size &&
            next.from.row_stride == last.from.row_stride && next.from.data == last.from.data + last.count * last.size &&
            next.offset == last.offset + last.count * last.room)
            ++last.count;
        else
            columns[++apart] = next;
    }
    if (!columns.empty()) columns.resize(apart + 1);
    bool all = true;
    const std::size_t block = 8 + 8192 / (width + 1);
    for (std::size_t first = 0; first < rows; first += block) {
        const std::size_t last = first + block < rows ? first + block : rows;
        for (const auto& [from, size, room, offset, narrowing, count] : columns) {
            char* const at = to + offset;
            if (narrowing == Narrowing::double_to_i8) {
                all &= put_narrow<double, std::int8_t>(from, count, first, last, at, width);
            } else if (narrowing == Narrowing::double_to_i32) {
                all &= put_narrow<double, std::int32_t>(from, count, first, last, at, width);
            } else if (narrowing == Narrowing::i64_to_i8) {
                all &= put_narrow<std::int64_t, std::int8_t>(from, count, first, last, at, width);
            } else if (narrowing == Narrowing::i64_to_i32) {
                all &= put_narrow<std::int64_t, std::int32_t>(from, count, first, last, at, width);
            } else if (count > 1) {
                for (std::size_t r = first; r < last; ++r)
                    std::memcpy(at + r * width, from.data + static_cast<std::ptrdiff_t>(r) * from.row_stride,
                                count * size);
            } else if (size == 1) {
                put_column<1>(from, first, last, at, width);
            } else if (size == 2) {
                put_column<2>(from, first, last, at, width);
            } else if (size == 4) {
                put_column<4>(from, first, last, at, width);
            } else {
                put_column<8>(from, first, last, at, width);
            }
        }
    }
    return all;
}

// Rows of `elements` values of `size` bytes each.
inline void gather(const std::vector<Records>& pieces, Picked rows, std::size_t elements, std::size_t size, char* to) {
    constexpr std::size_t ahead = 8;
    const std::size_t width = elements * size;
    const auto begin = [&](std::size_t i) {
        const Records& from = pieces[static_cast<std::size_t>(rows.piece[i])];
        return from.data + static_cast<std::ptrdiff_t>(rows.row[i]) * from.row_stride;
    };
    for (std::size_t i = 0; i < rows.count; ++i, to += width) {
        const Records& from = pieces[static_cast<std::size_t>(rows.piece[i])];
        if (elements == 1 || from.element_stride == static_cast<std::ptrdiff_t>(size)) {
            if (i + ahead < rows.count) prefetch(begin(i + ahead), width);
            std::memcpy(to, begin(i), width);
        } else {
            for (std::size_t k = 0; k < elements; ++k)
                std::memcpy(to + k * size, begin(i) + static_cast<std::ptrdiff_t>(k) * from.element_stride, size);
        }
    }
}

// Entries of rows: row r has those from starts[r] up to starts[r + 1], of `size` bytes each.
struct Entries {
    const std::int64_t* starts;
    std::size_t rows;
    const char* data;
    std::size_t entries;
};

// `room`: the entries that there must be in all; false if there are not. Starts are read once, because another thread
// may change them.
inline bool gather(const std::vector<Entries>& pieces, Picked rows, std::size_t size, char* to, std::size_t room) {
    for (std::size_t i = 0; i < rows.count; ++i) {
        const Entries& from = pieces[static_cast<std::size_t>(rows.piece[i])];
        const std::int64_t begin = from.starts[rows.row[i]], end = from.starts[rows.row[i] + 1];
        if (begin < 0 || end < begin || static_cast<std::size_t>(end) > from.entries) return false;
        const auto count = static_cast<std::size_t>(end - begin);
        if (count > room) return false;
        if (count) std::memcpy(to, from.data + static_cast<std::size_t>(begin) * size, count * size);
        to += count * size;
        room -= count;
    }
    return room == 0;
}

}  // namespace unitless
