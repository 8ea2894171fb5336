// Columns of values before encoding, for engines that use the order of values: assigns named features to columns. The
// columns follow from the names alone, in the order of their numbers, so model files do not store them.
//
// A name without '=' is a column of numbers. A name with '=' belongs to the text column that is named before the '='. A
// missing value (`column=(missing)`) is not a value of the text column: it is NaN in the column itself.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/name_hash.hpp"
#include "rows/table.hpp"

namespace unitless {

class RawColumns {
  public:
    static constexpr std::uint32_t most = 1024, none = ~std::uint32_t{0};  // later names have no column
    enum Kind : unsigned char { number = 0, text = 1 };

    // For arrays, where every feature is a column of numbers.
    static const unsigned char* numbers() {
        static constexpr std::array<unsigned char, most> all{};
        return all.data();
    }

    std::size_t count() const { return kinds_.size(); }
    const unsigned char* kinds() const { return kinds_.data(); }
    std::uint32_t of(std::uint32_t feature) const { return columns_[feature - 1]; }
    bool is_text(std::uint32_t column) const { return kinds_[column] == text; }
    // The number of features at the beginning that are columns of numbers: feature 1 + j is column j.
    std::size_t leading() const { return leading_; }

    // Adds the name of the next feature.
    void add(std::string_view name) {
        const std::size_t end = name.find('=');
        const std::size_t feature = columns_.size() + 1;
        if (end != std::string_view::npos && name.substr(end + 1) == missing_value) {
            columns_.push_back(none);
            return;
        }
        std::uint32_t column = none;
        if (end != std::string_view::npos) {
            const auto found = texts_.find(name.substr(0, end));
            if (found != texts_.end()) column = found->second;
        }
        const bool made = column == none && kinds_.size() < most;
        kinds_.reserve(kinds_.size() + 1);
        makers_.reserve(makers_.size() + 1);
        columns_.push_back(made ? static_cast<std::uint32_t>(kinds_.size()) : column);
        if (!made) return;
        if (end != std::string_view::npos) {
            texts_.emplace(name.substr(0, end), columns_.back());
        } else if (leading_ + 1 == feature) {
            leading_ = feature;
        }
        kinds_.push_back(end == std::string_view::npos ? number : text);
        makers_.push_back(static_cast<std::uint32_t>(feature));
    }

    // Removes all but the first `features` features.
    void rewind(std::size_t features) {
        if (features >= columns_.size()) return;
        columns_.resize(features);
        leading_ = std::min(leading_, features);
        while (!makers_.empty() && makers_.back() > features) {
            makers_.pop_back();
            kinds_.pop_back();
        }
        std::erase_if(texts_, [&](const auto& one) { return one.second >= kinds_.size(); });
    }

    std::size_t bytes() const {
        return columns_.capacity() * sizeof(std::uint32_t) + kinds_.capacity() * 5 + texts_.size() * 96;
    }

  private:
    std::vector<std::uint32_t> columns_;  // by feature
    std::vector<unsigned char> kinds_;    // by column
    std::vector<std::uint32_t> makers_;   // by column: its first feature
    std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>> texts_;
    std::size_t leading_ = 0;
};

}  // namespace unitless
