#include "text/libsvm_text.hpp"

#include "text/parse_number.hpp"
#include "text/text_tokens.hpp"

namespace unitless {

TextRows LibsvmReader::read(const char* data, std::size_t size, bool last) {
    rows_.clear();
    const auto read_this_line = [this](const char* const*& at, const char* begin) { return read_line(at, begin); };
    const std::size_t used = chunk_.read(data, size, last, [&](const char* begin, const char* end) {
        read_lines(begin, end, delimiters_, rows_, read_this_line);
    });
    TextRows rows = rows_.finish(used);
    rows.first_index = first_;
    rows.next_index = highest_.dense ? highest_.next : first_;
    return rows;
}

// `at`: the first delimiter of the line.
bool LibsvmReader::read_line(const char* const*& at, const char* begin) {
    while (begin == *at && is_blank(*begin)) {
        ++begin;
        ++at;
    }
    const bool blank = begin == *at || begin == token_end(*at);
    if (blank) return true;
    const Highest highest = highest_;
    rows_.begin_row();
    const bool good = read_row(at, begin);
    if (!good) highest_ = highest;
    return good;
}

// `begin`: the beginning of the label. `at`: its end, then the end of the row.
bool LibsvmReader::read_row(const char* const*& at, const char* begin) {
    double label;
    if (**at == ':' || !parse_number(begin, token_end(*at), label)) {
        const std::string_view word = word_at(begin, '#');
        if (word.find(',') != word.npos)
            return rows_.fail("there are several labels, ", word,
                              "write one label per row, and train one model per label");
        if (**at == ':') return rows_.fail("the line begins with a feature, ", word, "put the label before it");
        return rows_.fail("the label is not a number: ", word, number_advice);
    }
    if (!read_features(at)) return false;
    rows_.end_row(label, 1);
    return true;
}

bool LibsvmReader::read_features(const char* const*& place) {
    const char* const* at = place;
    const char* delimiter = *at;
    while (is_blank(*delimiter)) {
        const char* const begin = delimiter + 1;
        delimiter = *++at;
        if (*delimiter != ':') {
            if (begin == token_end(delimiter)) continue;
            return rows_.fail("there is a feature without a value, ", word_at(begin, '#'), "write index:value");
        }
        const char* const number = delimiter + 1;
        // The table stores the written forms of indices, so only a new index is parsed.
        std::uint32_t id =
            begin == delimiter ? NameTable::none : rows_.names.find(0, begin, between(begin, delimiter).size());
        if (id == NameTable::none) [[unlikely]] {
            const auto index = parse_whole(begin, delimiter);
            if (!index || *index < first_ || *index >= end_of_indices) return fail_at_index(begin, delimiter);
            if (*index >= highest_.next) mention_gap(*index);
            id = id_of(*index);
            // The gap has used entries that were reserved for this and the following features.
            rows_.reserve(static_cast<std::size_t>(delimiters_.places() + delimiters_.count() - at));
        }
        delimiter = *++at;
        double value;
        if (*delimiter == ':' || !parse_number(number, token_end(delimiter), value)) [[unlikely]]
            return rows_.fail("the value is not a number: ", word_at(begin, '#'), number_advice);
        rows_.add(id, value);
    }
    place = at;
    return true;
}

void LibsvmReader::mention_gap(std::uint64_t index) {
    const std::uint64_t gap = index - highest_.next;
    highest_.dense = highest_.dense && gap <= std::min(widest_gap, 65536 + 2 * highest_.next);
    if (highest_.dense) {
        rows_.reserve(static_cast<std::size_t>(gap));
        for (std::uint64_t i = highest_.next; i < index; ++i) rows_.add(id_of(i), 0);
    }
    highest_.next = index + 1;
}

std::uint32_t LibsvmReader::id_of(std::uint64_t index) {
    char text[24] = {};
    const auto length = static_cast<std::size_t>(std::to_chars(text, text + sizeof text, index).ptr - text);
    return rows_.names.find_or_add(0, {}, text, length);
}

bool LibsvmReader::fail_at_index(const char* begin, const char* end) {
    const std::string_view index = between(begin, end);
    if (index == "qid")
        return rows_.fail("there is a query, ", word_at(begin, '#'), "leave it out: ranking is not supported");
    const auto whole = parse_whole(begin, end);
    if (whole && *whole < first_)
        return rows_.fail("there is a feature with index ", index,
                          "indices count from 1, unless zero_based=True is given");
    if (whole) return rows_.fail("the index is too big: ", index, "indices are below 4294967294");
    return rows_.fail("the index is not a whole number: ", word_at(begin, '#'), "write index:value");
}

}  // namespace unitless
