#include "text/libsvm_text.hpp"

namespace unitless {

TextRows LibsvmReader::read(const char* data, std::size_t size, bool last) {
    rows_.clear();
    const std::size_t used =
        chunk_.read(data, size, last, [this](const char* begin, const char* end) { read_lines(begin, end); });
    TextRows rows = rows_.finish(used);
    rows.first_index = first_;
    rows.next_index = highest_.dense ? highest_.next : first_;
    return rows;
}

void LibsvmReader::read_lines(const char* begin, const char* end) {
    delimiters_.find(begin, end);
    rows_.reserve(delimiters_.count());
    const char* const* place = delimiters_.places();
    while (begin < end) {
        if (begins_with_byte_order_mark(begin)) [[unlikely]]
            begin += 3;
        while (begin == *place && is_blank(*begin)) {
            ++begin;
            ++place;
        }
        if (begin != *place && begin != token_end(*place)) {
            const Highest highest = highest_;
            rows_.begin_row();
            if (!read_row(place, begin)) {
                highest_ = highest;
                rows_.drop_row([this] { return problem_.what + shown(problem_.text) + "; " + problem_.advice; });
            }
        }
        while (**place != '\n') ++place;
        rows_.end_line();
        begin = *place++ + 1;
    }
}

// `begin` is the label's; `at` is where it ends, and then where the row does.
bool LibsvmReader::read_row(const char* const*& at, const char* begin) {
    double label;
    if (**at == ':' || !parse_number(begin, token_end(*at), label)) {
        const std::string_view word = word_at(begin, '#');
        if (word.find(',') != word.npos)
            return bad("there are several labels, ", word, "write one: learn each of them as a problem of its own");
        if (**at == ':') return bad("the line begins with a feature, ", word, "put the label before it");
        return bad("the label is not a number: ", word, number_advice);
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
            return bad("there is a feature without a value, ", word_at(begin, '#'), "write index:value");
        }
        const char* const number = delimiter + 1;
        // An index that was written like this before needs no second look.
        std::uint32_t id =
            begin == delimiter ? NameTable::none : rows_.names.find(0, begin, between(begin, delimiter).size());
        if (id == NameTable::none) [[unlikely]] {
            const auto index = parse_whole(begin, delimiter);
            if (!index || *index < first_ || *index >= end_of_indices) return bad_index(begin, delimiter);
            if (*index >= highest_.next) mention_gap(*index);
            id = id_of(*index);
            // For this one and all that follow: there was room for as many as there are delimiters.
            rows_.reserve(static_cast<std::size_t>(delimiters_.places() + delimiters_.count() - at));
        }
        delimiter = *++at;
        double value;
        if (*delimiter == ':' || !parse_number(number, token_end(delimiter), value)) [[unlikely]]
            return bad("the value is not a number: ", word_at(begin, '#'), number_advice);
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
    const std::uint32_t id = rows_.names.find(0, text, length);
    return id != NameTable::none ? id : rows_.names.add(0, {}, text, length);
}

bool LibsvmReader::bad_index(const char* begin, const char* end) {
    const std::string_view index = between(begin, end);
    if (index == "qid") return bad("there is a query, ", word_at(begin, '#'), "leave it out: ranking is not offered");
    const auto whole = parse_whole(begin, end);
    if (whole && *whole < first_)
        return bad("there is a feature with index ", index, "indices count from 1, unless zero_based=True is given");
    if (whole) return bad("the index is too big: ", index, "indices are below 4294967294");
    return bad("the index is not a whole number: ", word_at(begin, '#'), "write index:value");
}

bool LibsvmReader::bad(const char* what, std::string_view text, const char* advice) {
    problem_ = {what, text, advice};
    return false;
}

}  // namespace unitless
