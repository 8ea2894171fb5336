// Reads numbers in text: with blanks around them, currency and percent signs, thousands separators, a decimal comma.
// Signs are dropped, because a learner needs no unit: 90.1% is 90.1, $5,801.02 is 5801.02.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/name_hash.hpp"
#include "text/parse_number.hpp"

namespace unitless {

// How the numbers of a column are written.
struct NumberForm {
    char decimal = '.';     // the decimal separator
    char thousands = '\0';  // the separator of groups of three digits; '\0' if there is none
    std::string unit{};     // follows the number, such as "kg"

    // Parses the concatenation of the three, such as ".", ",." or ".,kg".
    static NumberForm of(std::string_view text) {
        return {text.empty() ? '.' : text[0], text.size() < 2 ? '\0' : text[1],
                std::string(text.size() < 3 ? std::string_view() : text.substr(2))};
    }
};

// The texts that mean a missing value; empty text always does.
class MissingMarks {
  public:
    explicit MissingMarks(const std::vector<std::string>& marks) : marks_(marks.begin(), marks.end()) {
        for (std::string mark : marks) {
            longest_ = std::max(longest_, mark.size());
            const std::size_t length = mark.size();
            mark.resize(length + 24);  // parse_number reads this far
            double x;
            include_numbers_ |= parse_number(mark.data(), mark.data() + length, x);
        }
    }
    bool contain(std::string_view word) const {
        return word.empty() || (word.size() <= longest_ && marks_.find(word) != marks_.end());
    }
    // Whether a number such as -999 means a missing value.
    bool include_numbers() const { return include_numbers_; }

  private:
    std::unordered_set<std::string, NameHash, std::equal_to<>> marks_;
    std::size_t longest_ = 0;
    bool include_numbers_ = false;
};

namespace written {

// The number of bytes of a blank at the beginning, or 0. Blanks are spaces, tabs, no-break and thin spaces.
inline std::size_t blank_at_begin(std::string_view text) {
    if (text.starts_with(' ') || text.starts_with('\t')) return 1;
    if (text.starts_with("\xc2\xa0")) return 2;
    return text.starts_with("\xe2\x80\xaf") || text.starts_with("\xe2\x80\x89") ? 3 : 0;
}
// The number of bytes of a blank at the end, or 0.
inline std::size_t blank_at_end(std::string_view text) {
    if (text.ends_with(' ') || text.ends_with('\t')) return 1;
    if (text.ends_with("\xc2\xa0")) return 2;
    return text.ends_with("\xe2\x80\xaf") || text.ends_with("\xe2\x80\x89") ? 3 : 0;
}

inline std::string_view trimmed(std::string_view text) {
    while (const std::size_t blank = blank_at_begin(text)) text.remove_prefix(blank);
    while (const std::size_t blank = blank_at_end(text)) text.remove_suffix(blank);
    return text;
}

// Signs of currencies and the percent sign.
inline constexpr std::string_view signs[] = {"$", "%", "€", "£", "¥", "₹", "₽", "₩", "₺", "¢"};

// Text without a sign on either side; % is only a sign at the end.
inline std::string_view without_sign(std::string_view text) {
    for (const std::string_view sign : signs) {
        if (sign != "%" && text.starts_with(sign)) return trimmed(text.substr(sign.size()));
        if (text.ends_with(sign)) return trimmed(text.substr(0, text.size() - sign.size()));
    }
    return text;
}

// Appends a number without its thousands separators, such as those of 12,345 and 1 234 567, and with a decimal point.
// The text begins with a digit or a decimal separator. Returns false if the groups are malformed. After a leading zero
// there are no groups: 0,123 is malformed if the comma separates thousands.
inline bool append_ungrouped(std::string_view text, const NumberForm& form, std::string& to) {
    std::size_t digits = 0;  // in the current group
    std::size_t groups = 0;  // the number of complete groups
    const bool leading_zero = text[0] == '0';
    bool fraction = false;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (is_digit(c)) {
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
        const std::size_t blank = blank_at_begin(text.substr(at));
        const std::size_t length = blank ? blank : c == '\'' || (form.thousands && c == form.thousands) ? 1 : 0;
        if (!length || fraction || leading_zero || digits == 0 || digits > 3 || (groups && digits != 3)) return false;
        ++groups;
        digits = 0;
        at += length;
    }
    return fraction || !groups || digits == 3;
}

}  // namespace written

enum class Cell : unsigned char { number = 0, missing = 1, invalid = 2 };

// Reads a cell of a number column. Infinity is a number here; learners reject it with their own message.
inline Cell read_number(std::string_view cell, const NumberForm& form, const MissingMarks& marks, double& out) {
    std::string_view text = written::trimmed(cell);
    if (marks.contain(text) || marks.contain(cell)) return Cell::missing;
    if (!form.unit.empty() && text.ends_with(form.unit))
        text = written::trimmed(text.substr(0, text.size() - form.unit.size()));
    bool negative = text.size() > 2 && text.front() == '(' && text.back() == ')';  // accounting notation: (12) is -12
    if (negative) text = written::trimmed(text.substr(1, text.size() - 2));
    const auto read_sign = [&] {
        if (text.starts_with('-') || text.starts_with('+')) {
            negative ^= text[0] == '-';
            text = written::trimmed(text.substr(1));
        } else if (text.starts_with("\xe2\x88\x92")) {  // U+2212, the minus sign
            negative ^= true;
            text = written::trimmed(text.substr(3));
        } else {
            return false;
        }
        return true;
    };
    const bool has_sign = read_sign();
    text = written::without_sign(text);
    if (!has_sign) read_sign();
    if (equals_ignoring_case(text, "inf") || equals_ignoring_case(text, "infinity")) {
        out = negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
        return Cell::number;
    }
    if (text.empty() || !(is_digit(text[0]) || text[0] == form.decimal)) return Cell::invalid;
    std::string plain;
    if (!written::append_ungrouped(text, form, plain)) return Cell::invalid;
    const std::size_t length = plain.size();
    plain.resize(length + 24);  // parse_number reads this far
    if (!parse_number(plain.data(), plain.data() + length, out)) return Cell::invalid;
    out = negative ? -out : out;
    return Cell::number;
}

}  // namespace unitless
