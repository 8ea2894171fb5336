// Converts decimal text to the nearest double, independent of the locale.
//
// Integers of up to 8 digits and decimals of up to 19 are read eight digits at a time, without a branch per digit. If a
// double holds the digits and the power of ten exactly, their product or quotient is rounded once and is therefore
// correct. The standard library reads everything else.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include "base/load_word.hpp"
#include "text/characters.hpp"

#if defined(__APPLE__)
#include <xlocale.h>

#include <cstdlib>
#include <string>
#endif

namespace unitless {

namespace decimal {

template <class T, std::size_t count>
class PowersOfTen {
  public:
    constexpr PowersOfTen() {
        for (std::size_t k = 1; k < count; ++k) powers_[k] = powers_[k - 1] * 10;
    }
    constexpr T operator[](std::size_t k) const { return powers_[k]; }

  private:
    T powers_[count]{1};
};
inline constexpr PowersOfTen<double, 23> powers;  // a double holds them exactly
inline constexpr PowersOfTen<std::uint64_t, 17> whole_powers;
constexpr std::uint64_t exact = std::uint64_t{1} << 53;  // a double holds all integers up to this one

// Reads 1 to 8 digits. The digits move to the end of the word, with zeros before them.
inline bool up_to_eight(const char* p, std::size_t count, std::uint64_t& out) {
    const std::size_t shift = 64 - 8 * count;
    std::uint64_t x = (load_word(p) << shift) ^ (0x3030303030303030U << shift);
    const bool digits = (((x + 0x7676767676767676U) | x) & 0x8080808080808080U) == 0;
    x = x * 10 + (x >> 8);
    out = ((x & 0xff000000ffU) * 0x000f424000000064U + ((x >> 16) & 0xff000000ffU) * 0x0000271000000001U) >> 32;
    return digits;
}

// Reads 0 to 16 digits.
inline bool up_to_sixteen(const char* p, std::size_t count, std::uint64_t& out) {
    out = 0;
    if (count == 0) return true;
    if (count <= 8) return up_to_eight(p, count, out);
    std::uint64_t high, low;
    const bool first = up_to_eight(p, count - 8, high), last = up_to_eight(p + count - 8, 8, low);
    out = high * 100000000 + low;
    return first && last;
}

// Reads digits[.digits][e[+-]digits] with at least one digit before the e. Returns false if the text is something else,
// or the number is not finite.
[[gnu::noinline]] inline bool parse_any(const char* p, const char* end, double& out) {
    const char* const begin = p;
    std::uint64_t mantissa = 0;
    std::int64_t exponent = 0, significant = 0;
    std::int64_t places = 0;  // the distance of the first nonzero digit before the decimal point
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
        const auto power = powers[static_cast<std::size_t>(exponent < 0 ? -exponent : exponent)];
        out = exponent < 0 ? whole / power : whole * power;
        return true;
    }
    // from_chars reports the same error for numbers that are too large and too small.
    if (places > 400) return false;
    if (places < -400) {
        out = 0;
        return true;
    }
#if defined(__APPLE__)  // its from_chars reads only integers; there, a null locale is the C locale
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

// Reads all of [p, end) as a number. Returns false if it is not a finite number. 24 bytes from p on must be readable.
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
    // No branch, because signs are random and the processor could not predict it.
    out = std::bit_cast<double>(std::bit_cast<std::uint64_t>(size) | static_cast<std::uint64_t>(negative) << 63);
    return true;
}

// Reads all of [p, end) as an integer of up to 16 digits.
inline std::optional<std::uint64_t> parse_whole(const char* p, const char* end) {
    std::uint64_t whole;
    const auto count = static_cast<std::size_t>(end - p);
    if (count == 0 || count > 16) return std::nullopt;
    if (!decimal::up_to_sixteen(p, count, whole)) return std::nullopt;
    return whole;
}

}  // namespace unitless
