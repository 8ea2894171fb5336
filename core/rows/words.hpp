// The words of a text, by the rule of scikit-learn's vectorizers: two or more letters, digits and underscores, in lower
// case. Also the pairs of neighboring words.
//
// This code knows only ASCII letters. All other bytes count as letters and stay unchanged. If a text has such bytes,
// the caller must split it into words first, and pass them in lower case, separated by blanks.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace unitless {

class Words {
  public:
    void read(std::string_view text) {
        plain_.clear();
        places_.clear();
        std::size_t begin = 0;
        const auto end_word = [&] {
            if (plain_.size() - begin >= 2) {
                places_.emplace_back(begin, plain_.size());
                plain_.push_back(' ');
            } else {
                plain_.resize(begin);
            }
            begin = plain_.size();
        };
        for (const char c : text) {
            if (const char lower = letters[static_cast<unsigned char>(c)]) {
                plain_.push_back(lower);
            } else if (plain_.size() > begin) {
                end_word();
            }
        }
        if (plain_.size() > begin) end_word();
    }

    std::size_t count() const { return places_.size(); }
    std::string_view word(std::size_t i) const { return between(places_[i].first, places_[i].second); }
    // Words i and i + 1 with a blank between them.
    std::string_view pair(std::size_t i) const { return between(places_[i].first, places_[i + 1].second); }

  private:
    // By byte: the character in lower case, or 0 if the byte is not part of a word.
    static constexpr std::array<char, 256> letters = [] {
        std::array<char, 256> table{};
        for (std::size_t c = 0; c < 256; ++c) {
            const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
            if (upper || lower || digit || c == '_' || c >= 0x80) table[c] = static_cast<char>(upper ? c + 32 : c);
        }
        return table;
    }();

    std::string plain_;                                        // the words, each followed by a blank
    std::vector<std::pair<std::size_t, std::size_t>> places_;  // by word: its begin and end in `plain_`

    std::string_view between(std::size_t begin, std::size_t end) const {
        return std::string_view(plain_).substr(begin, end - begin);
    }
};

}  // namespace unitless
