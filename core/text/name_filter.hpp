// Selects features by patterns. A pattern is
//   - one letter: the namespaces that begin with it, as in Vowpal Wabbit's --ignore and --keep;
//   - the name of a namespace;
//   - with a ^, the name of a feature: namespace^feature.
// * matches any number of characters, ? matches one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rows/named_rows.hpp"

namespace unitless {

inline bool matches_pattern(std::string_view pattern, std::string_view text) {
    std::size_t p = 0, t = 0, star = pattern.npos, resumed = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {  // the * matches nothing at first
            star = p++;
            resumed = t;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
            ++p;
            ++t;
        } else if (star != pattern.npos) {  // the * matches one more character
            p = star + 1;
            t = ++resumed;
        } else {
            return false;
        }
    }
    return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(p), pattern.end(),
                       [](char c) { return c == '*'; });
}

class NameFilter {
  public:
    NameFilter(const std::vector<std::string>& ignore, const std::vector<std::string>& only)
        : ignore_(patterns(ignore)), only_(patterns(only)) {}

    bool uses(std::string_view name) {
        const auto is_match = [name](Pattern& pattern) {
            const bool match = matches(pattern.text, name);
            pattern.matched |= match;
            return match;
        };
        if (std::any_of(ignore_.begin(), ignore_.end(), is_match)) return false;
        return only_.empty() || std::any_of(only_.begin(), only_.end(), is_match);
    }

    // Patterns that have matched no name so far.
    std::vector<std::string> unmatched() const {
        std::vector<std::string> texts;
        for (const auto* side : {&ignore_, &only_})
            for (const Pattern& pattern : *side)
                if (!pattern.matched) texts.push_back(pattern.text);
        return texts;
    }

    // Removes unused features and their names.
    void apply(NamedRows& rows) {
        if (ignore_.empty() && only_.empty()) return;
        constexpr std::uint32_t unused = 0xffffffff;
        std::vector<std::uint32_t> number(rows.names(), unused);  // new numbers, by old number
        std::vector<char> text;
        std::vector<std::size_t> ends;
        for (std::size_t i = 0; i < number.size(); ++i) {
            const std::string_view name = rows.name(i);
            if (!uses(name)) continue;
            number[i] = static_cast<std::uint32_t>(ends.size());
            text.insert(text.end(), name.begin(), name.end());
            ends.push_back(text.size());
        }
        if (ends.size() == number.size()) return;
        std::size_t to = 0, from = 0;
        for (std::size_t& row_end : rows.row_ends) {
            for (; from < row_end; ++from) {
                rows.ids[to] = number[rows.ids[from]];
                rows.values[to] = rows.values[from];
                to += rows.ids[to] != unused;
            }
            row_end = to;
        }
        rows.ids.resize(to);
        rows.values.resize(to);
        rows.text = std::move(text);
        rows.name_ends = std::move(ends);
    }

  private:
    struct Pattern {
        std::string text;
        bool matched = false;
    };
    std::vector<Pattern> ignore_, only_;

    static std::vector<Pattern> patterns(const std::vector<std::string>& texts) {
        std::vector<Pattern> all;
        for (const std::string& text : texts) all.push_back({text});
        return all;
    }
    static bool matches(const std::string& pattern, std::string_view name) {
        if (pattern.find('^') != pattern.npos) return matches_pattern(pattern, name);
        const std::size_t caret = name.find('^');
        if (caret == name.npos || caret == 0) return false;  // the name has no namespace
        const std::string_view space = name.substr(0, caret);
        const bool letter = pattern.size() == 1 && pattern[0] != '*' && pattern[0] != '?';
        return letter ? space[0] == pattern[0] : matches_pattern(pattern, space);
    }
};

}  // namespace unitless
