// Decimal text to the nearest double, whatever the locale.
//
// Whole numbers of up to 8 digits and decimals of up to 19 are read eight digits at a time, without a branch per digit.
// A mantissa that a double holds exactly, times or divided by a power of ten that one holds exactly, is rounded once
// and so correctly; all else goes to the library.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "base/load_word.hpp"

#if defined(__APPLE__)
#include <xlocale.h>

#include <cstdlib>
#include <string>
#endif

namespace unitless {

namespace decimal {

constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                             1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr std::uint64_t whole_powers[] = {1,
                                          10,
                                          100,
                                          1000,
                                          10000,
                                          100000,
                                          1000000,
                                          10000000,
                                          100000000,
                                          1000000000,
                                          10000000000,
                                          100000000000,
                                          1000000000000,
                                          10000000000000,
                                          100000000000000,
                                          1000000000000000,
                                          10000000000000000};
constexpr std::uint64_t exact = std::uint64_t{1} << 53;

// 1 to 8 digits. Leading places are filled with zeros, by moving the digits to the word's end.
inline bool up_to_eight(const char* p, std::size_t count, std::uint64_t& out) {
    const std::size_t shift = 64 - 8 * count;
    std::uint64_t x = (load_word(p) << shift) ^ (0x3030303030303030U << shift);
    const bool digits = (((x + 0x7676767676767676U) | x) & 0x8080808080808080U) == 0;
    x = x * 10 + (x >> 8);
    out = ((x & 0xff000000ffU) * 0x000f424000000064U + ((x >> 16) & 0xff000000ffU) * 0x0000271000000001U) >> 32;
    return digits;
}

// 0 to 16 digits.
inline bool up_to_sixteen(const char* p, std::size_t count, std::uint64_t& out) {
    out = 0;
    if (count == 0) return true;
    if (count <= 8) return up_to_eight(p, count, out);
    std::uint64_t high, low;
    const bool first = up_to_eight(p, count - 8, high), last = up_to_eight(p + count - 8, 8, low);
    out = high * 100000000 + low;
    return first && last;
}

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// digits[.digits][e[+-]digits], at least one digit before the e; nothing else. False if it is not that, or not finite.
[[gnu::noinline]] inline bool parse_any(const char* p, const char* end, double& out) {
    const char* const begin = p;
    std::uint64_t mantissa = 0;
    std::int64_t exponent = 0, significant = 0, places = 0;  // places: of the first digit that counts, before the point
    bool any = false;
    const auto take = [&] {
        any = true;
        if (significant > 0 || *p != '0') ++significant;
        if (significant <= 19) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p - '0');
    };
    for (; p != end && is_digit(*p); ++p) {
        take();
        places += significant > 0;
    }
    if (p != end && *p == '.') {
        for (++p; p != end && is_digit(*p); ++p) {
            take();
            --exponent;
            places -= significant == 0;
        }
    }
    if (!any) return false;
    if (p != end && (*p == 'e' || *p == 'E')) {
        ++p;
        const bool negative = p != end && *p == '-';
        if (p != end && (*p == '-' || *p == '+')) ++p;
        if (p == end) return false;
        std::int64_t written = 0;
        for (; p != end && is_digit(*p); ++p)
            if (written < (std::int64_t{1} << 52)) written = written * 10 + (*p - '0');
        exponent += negative ? -written : written;
        places += negative ? -written : written;
    }
    if (p != end) return false;
    if (significant == 0) {
        out = 0;
        return true;
    }
    if (significant <= 19 && mantissa <= exact && exponent >= -22 && exponent <= 22) {
        const auto whole = static_cast<double>(mantissa);
        out = exponent < 0 ? whole / powers[-exponent] : whole * powers[exponent];
        return true;
    }
    // from_chars calls both ends of the range the same.
    if (places > 400) return false;
    if (places < -400) {
        out = 0;
        return true;
    }
#if defined(__APPLE__)  // whose library has from_chars for whole numbers alone; no locale is the C locale there
    out = strtod_l(std::string(begin, end).c_str(), nullptr, nullptr);
    return out <= 1.7976931348623157e308;
#else
    const auto result = std::from_chars(begin, end, out);
    if (result.ec == std::errc::result_out_of_range) {
        out = 0;
        return places < 0;
    }
    return result.ec == std::errc() && out <= 1.7976931348623157e308;
#endif
}

}  // namespace decimal

// The number that is all of [p, end); false if there is none, or none that is finite. From p on 24 bytes are readable.
inline bool parse_number(const char* p, const char* end, double& out) {
    const bool negative = *p == '-';
    p += negative | (*p == '+');
    if (p >= end) return false;
    const auto count = static_cast<std::size_t>(end - p);
    std::uint64_t whole;
    double size;
    if (count <= 8 && decimal::up_to_eight(p, count, whole)) [[likely]] {
        size = static_cast<double>(static_cast<std::int64_t>(whole));
    } else {
        const std::uint64_t points = load_word(p) ^ 0x2e2e2e2e2e2e2e2eU;
        const std::uint64_t found = (points - 0x0101010101010101U) & ~points & 0x8080808080808080U;
        const auto point = static_cast<std::size_t>(std::countr_zero(found)) / 8;
        const std::size_t places = count - point - 1;
        std::uint64_t fraction;
        if (count > 1 && point < 8 && point < count && places <= 16 && point + places <= 19 &&
            decimal::up_to_sixteen(p, point, whole) && decimal::up_to_sixteen(p + point + 1, places, fraction) &&
            (whole = whole * decimal::whole_powers[places] + fraction) <= decimal::exact) {
            size = static_cast<double>(static_cast<std::int64_t>(whole)) / decimal::powers[places];
        } else if (!decimal::parse_any(p, end, size)) {
            return false;
        }
    }
    // Signs come as they like: a branch would be guessed wrong.
    out = std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | static_cast<std::uint64_t>(negative) << 63);
    return true;
}

// The whole number that is all of [p, end), up to 16 digits; none if it is not one.
inline std::optional<std::uint64_t> parse_whole(const char* p, const char* end) {
    std::uint64_t whole;
    const auto count = static_cast<std::size_t>(end - p);
    if (count == 0 || count > 16) return std::nullopt;
    if (count <= 8 ? !decimal::up_to_eight(p, count, whole) : !decimal::up_to_sixteen(p, count, whole))
        return std::nullopt;
    return whole;
}

}  // namespace unitless
