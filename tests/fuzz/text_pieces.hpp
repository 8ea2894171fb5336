// Checks that text gives the same rows, tags and messages as a whole and in chunks that end anywhere.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "require.hpp"
#include "text/text_rows.hpp"
#include "text/utf8.hpp"

namespace unitless {

// Appends the rows as text that depends on every bit of their numbers.
inline void show(const TextRows& rows, std::size_t first_line, std::vector<std::string>& to) {
    const auto number = [](double x) { return std::to_string(std::bit_cast<std::uint64_t>(x)) + " "; };
    const NamedRows& features = rows.features;
    require(rows.label.size() == rows.rows() && rows.weight.size() == rows.rows() && rows.line.size() == rows.rows(),
            "each row has a label, a weight and a line");
    require(features.ids.size() == features.values.size(), "each feature has a value");
    for (std::size_t row = 0, k = 0; row < rows.rows(); ++row) {
        std::string text = std::to_string(first_line + rows.line[row]) + " " + number(rows.label[row]) +
                           number(rows.weight[row]) + std::string(rows.tag(row)) + "|";
        for (; k < features.row_ends[row]; ++k) {
            require(features.ids[k] < features.names(), "a feature has a name");
            text += std::string(features.name(features.ids[k])) + ":" + number(features.values[k]);
        }
        to.push_back(std::move(text));
    }
    for (const auto& bad : rows.bad) {
        require(is_utf8(bad.problem), "messages are text");
        to.push_back(std::to_string(first_line + bad.line) + " " + bad.problem);
    }
}

template <class Reader>
std::vector<std::string> read_in_pieces(Reader reader, const std::string& text, std::vector<std::size_t> cuts) {
    cuts.push_back(text.size());
    std::vector<std::string> seen;
    std::size_t begin = 0, lines = 0;
    for (const std::size_t cut : cuts) {
        if (cut < begin) continue;
        const auto exact = std::make_unique<char[]>(cut - begin);  // the sanitizer detects a read beyond it
        std::copy_n(text.data() + begin, cut - begin, exact.get());
        const TextRows rows = reader.read(exact.get(), cut - begin, cut == text.size());
        require(rows.bytes_used <= cut - begin, "a reader uses only the bytes that it gets");
        show(rows, lines, seen);
        begin += rows.bytes_used;
        lines += rows.lines;
        if (cut == text.size()) break;
    }
    require(begin == text.size(), "all of the text is read");
    std::sort(seen.begin(), seen.end());
    return seen;
}

// The first four bytes are the places of two cuts.
template <class MakeReader>
void check_pieces(const std::uint8_t* data, std::size_t size, MakeReader make_reader) {
    if (size < 4 || size > 20000) return;
    const std::string text(reinterpret_cast<const char*>(data) + 4, size - 4);
    std::size_t first = (data[0] * 256u + data[1]) % (text.size() + 1);
    std::size_t second = (data[2] * 256u + data[3]) % (text.size() + 1);
    if (second < first) std::swap(first, second);
    const auto whole = read_in_pieces(make_reader(), text, {});
    require(read_in_pieces(make_reader(), text, {first, second}) == whole, "cuts change nothing");
}

}  // namespace unitless
