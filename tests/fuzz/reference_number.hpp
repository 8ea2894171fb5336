// Reads numbers by the C library, for comparison: the syntax is checked character by character, then strtod rounds.
#pragma once

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace unitless {

// Reads [+-]digits[.digits][e[+-]digits] with at least one digit before the e, if the number is finite.
inline std::optional<double> reference_number(std::string_view text) {
    std::size_t at = 0;
    const auto is = [&](std::string_view any) { return at < text.size() && any.find(text[at]) != any.npos; };
    const auto digits = [&] {
        const std::size_t from = at;
        while (is("0123456789")) ++at;
        return at - from;
    };
    if (is("+-")) ++at;
    std::size_t count = digits();
    if (is(".")) {
        ++at;
        count += digits();
    }
    if (count == 0) return std::nullopt;
    if (is("eE")) {
        ++at;
        if (is("+-")) ++at;
        if (digits() == 0) return std::nullopt;
    }
    if (at != text.size()) return std::nullopt;
    const double x = std::strtod(std::string(text).c_str(), nullptr);
    if (!std::isfinite(x)) return std::nullopt;
    return x;
}

}  // namespace unitless
