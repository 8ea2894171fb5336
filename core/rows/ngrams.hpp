// The character n-grams of a text: 2 to 5 neighboring characters of a word, and the word itself. Words are what stands
// between white space, in lower case. `<` and `>` mark their ends, so that `<ma` begins a word and `na>` ends one. Up
// to these marks, and the words themselves, this is scikit-learn's analyzer "char_wb".
//
// This code knows only the capital letters and the white space of ASCII. If a text has other characters, the caller
// must pass it in lower case, with blanks between its words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace unitless {

class Ngrams {
  public:
    static constexpr std::size_t shortest = 2, longest = 5;  // characters

    // Calls `add(ngram)` for each n-gram of each word. An n-gram that occurs twice is added twice.
    template <class Add>
    void read(std::string_view text, Add add) {
        std::size_t at = 0;
        while (at < text.size()) {
            if (is_white(text[at])) {
                ++at;
                continue;
            }
            begin_word();
            for (; at < text.size() && !is_white(text[at]); ++at) append(text[at]);
            append('>');
            add_word(add);
        }
    }

  private:
    std::string word_;
    std::vector<std::size_t> starts_;  // the position of each character of the word

    static bool is_white(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f'); }

    void begin_word() {
        word_.assign(1, '<');
        starts_.assign(1, 0);
    }

    void append(char c) {
        const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;  // within a character of UTF-8
        if (!continues) starts_.push_back(word_.size());
        word_.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
    }

    template <class Add>
    void add_word(Add add) {
        const std::size_t characters = starts_.size();
        starts_.push_back(word_.size());
        const std::string_view word = word_;
        for (std::size_t n = shortest; n <= std::min(longest, characters); ++n)
            for (std::size_t i = 0; i + n <= characters; ++i) add(word.substr(starts_[i], starts_[i + n] - starts_[i]));
        if (characters > longest) add(word);
    }
};

}  // namespace unitless
