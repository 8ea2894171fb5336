// The features of a text: one for each word and each pair of neighboring words, or one for each character n-gram. Each
// counts once, however often it occurs. Those that share a feature add up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encoding/features.hpp"
#include "rows/ngrams.hpp"
#include "rows/table.hpp"
#include "rows/words.hpp"

namespace unitless {

class WordFeatures {
  public:
    // `find(name, size of its stem "column=")` returns the number of the feature of a word or n-gram, if it has one.
    template <class Find>
    const std::vector<std::uint32_t>& read(std::string_view column, std::string_view text, TextParts parts, Find find) {
        found_.clear();
        const auto add = [&](std::string_view word) {
            name_.assign(column).append(1, '=').append(word);
            if (const auto feature = find(name_, column.size() + 1)) found_.emplace_back(*feature, hash_name(word));
        };
        if (parts == TextParts::ngrams) {
            ngrams_.read(text, add);
        } else {
            words_.read(text);
            for (std::size_t i = 0; i < words_.count(); ++i) add(words_.word(i));
            for (std::size_t i = 0; i + 1 < words_.count(); ++i) add(words_.pair(i));
        }
        std::sort(found_.begin(), found_.end());
        found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
        features_.clear();
        for (const auto& [feature, word] : found_) features_.push_back(feature);
        return features_;
    }

  private:
    Words words_;
    Ngrams ngrams_;
    std::string name_;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> found_;  // with the word's hash
    std::vector<std::uint32_t> features_;
};

}  // namespace unitless
