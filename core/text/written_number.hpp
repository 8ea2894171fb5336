// Numbers as people write them: with blanks around them, currency and percent signs, marks between thousands, a decimal
// comma. Signs carry no unit that a learner would need: 90.1% is 90.1, $5,801.02 is 5801.02.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/name_hash.hpp"
#include "text/parse_number.hpp"

namespace unitless {

// How the numbers of a column are written: what stands before the fraction, between thousands (none if zero), and
// behind the number, such as "kg".
struct NumberForm {
    char decimal = '.', thousands = '\0';
    std::string unit{};

    // From text such as ".", ",." or ".,kg".
    static NumberForm of(std::string_view text) {
        return {text.empty() ? '.' : text[0], text.size() < 2 ? '\0' : text[1],
                std::string(text.size() < 3 ? std::string_view() : text.substr(2))};
    }
};

// What people write where there is no value.
class MissingMarks {
  public:
    explicit MissingMarks(const std::vector<std::string>& marks) : marks_(marks.begin(), marks.end()) {
        for (const std::string& mark : marks) longest_ = std::max(longest_, mark.size());
    }
    bool contain(std::string_view word) const {
        return word.empty() || (word.size() <= longest_ && marks_.find(word) != marks_.end());
    }

  private:
    std::unordered_set<std::string, NameHash, std::equal_to<>> marks_;
    std::size_t longest_ = 0;
};

namespace written {

// Blanks at the beginning, as so many bytes: space, tab, no-break and thin spaces.
inline std::size_t blank_at(std::string_view text) {
    if (text.starts_with(' ') || text.starts_with('\t')) return 1;
    if (text.starts_with("\xc2\xa0")) return 2;
    return text.starts_with("\xe2\x80\xaf") || text.starts_with("\xe2\x80\x89") ? 3 : 0;
}
inline std::size_t blank_before(std::string_view text) {
    if (text.ends_with(' ') || text.ends_with('\t')) return 1;
    if (text.ends_with("\xc2\xa0")) return 2;
    return text.ends_with("\xe2\x80\xaf") || text.ends_with("\xe2\x80\x89") ? 3 : 0;
}

inline std::string_view trimmed(std::string_view text) {
    while (const std::size_t blank = blank_at(text)) text.remove_prefix(blank);
    while (const std::size_t blank = blank_before(text)) text.remove_suffix(blank);
    return text;
}

// Signs of currencies and shares, which may stand on either side of a number.
inline constexpr std::array<std::string_view, 10> signs{"$",
                                                        "%",
                                                        "\xe2\x82\xac",
                                                        "\xc2\xa3",
                                                        "\xc2\xa5",
                                                        "\xe2\x82\xb9",
                                                        "\xe2\x82\xbd",
                                                        "\xe2\x82\xa9",
                                                        "\xe2\x82\xba",
                                                        "\xc2\xa2"};

// Without one sign, if there is one.
inline std::string_view without_sign(std::string_view text) {
    for (const std::string_view sign : signs) {
        if (sign != "%" && text.starts_with(sign)) return trimmed(text.substr(sign.size()));
        if (text.ends_with(sign)) return trimmed(text.substr(0, text.size() - sign.size()));
    }
    return text;
}

// Digits in groups of three, such as 12,345 or 1 234 567: without what separates them. The text begins with a digit. A
// group that follows nothing but a zero is not one (0,123). False if they are not grouped so.
inline bool ungrouped(std::string_view text, const NumberForm& form, std::string& to) {
    std::size_t digits = 0, groups = 0;  // of the present group; that are complete
    bool zero = text[0] == '0', fraction = false;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (decimal::is_digit(c)) {
            to.push_back(c);
            ++digits;
            ++at;
            continue;
        }
        if (!fraction && c == form.decimal) {
            if (groups && digits != 3) return false;
            to.push_back('.');
            fraction = true;
            ++at;
            continue;
        }
        if (c == 'e' || c == 'E') {
            if (groups && !fraction && digits != 3) return false;
            to.append(text.substr(at));
            return true;
        }
        const std::size_t blank = blank_at(text.substr(at));
        const std::size_t length = blank ? blank : c == '\'' || (form.thousands && c == form.thousands) ? 1 : 0;
        if (!length || fraction || zero || digits == 0 || digits > 3 || (groups && digits != 3)) return false;
        ++groups;
        digits = 0;
        at += length;
    }
    return fraction || !groups || digits == 3;
}

inline bool is_infinity(std::string_view text) {
    const auto is = [&](std::string_view word) {
        return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                          [](char a, char b) { return (a | 0x20) == b; });
    };
    return is("inf") || is("infinity");
}

}  // namespace written

enum class Cell : unsigned char { number = 0, missing = 1, other = 2 };

// What a cell of a column of numbers holds.
inline Cell read_number(std::string_view cell, const NumberForm& form, const MissingMarks& marks, double& out) {
    std::string_view text = written::trimmed(cell);
    if (marks.contain(text) || marks.contain(cell)) return Cell::missing;
    if (!form.unit.empty() && text.ends_with(form.unit))
        text = written::trimmed(text.substr(0, text.size() - form.unit.size()));
    const bool accounted = text.size() > 2 && text.front() == '(' && text.back() == ')';  // (12) is -12
    if (accounted) text = written::trimmed(text.substr(1, text.size() - 2));
    bool negative = accounted;
    const auto sign = [&] {
        if (text.starts_with('-') || text.starts_with('+')) {
            negative ^= text[0] == '-';
            text = written::trimmed(text.substr(1));
        } else if (text.starts_with("\xe2\x88\x92")) {  // the sign of mathematics
            negative ^= true;
            text = written::trimmed(text.substr(3));
        } else {
            return false;
        }
        return true;
    };
    const bool signed_first = sign();
    text = written::without_sign(text);
    if (!signed_first) sign();
    if (written::is_infinity(text)) {
        out = negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
        return Cell::number;  // which whoever learns from it refuses
    }
    if (text.empty() || !(decimal::is_digit(text[0]) || text[0] == form.decimal)) return Cell::other;
    std::string plain;
    if (!written::ungrouped(text, form, plain)) return Cell::other;
    const std::size_t length = plain.size();
    plain.resize(length + 24);  // which the parser may read
    if (!parse_number(plain.data(), plain.data() + length, out)) return Cell::other;
    out = negative ? -out : out;
    return Cell::number;
}

}  // namespace unitless
