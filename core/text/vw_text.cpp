#include "text/vw_text.hpp"

#include <cmath>
#include <limits>

#include "text/parse_number.hpp"
#include "text/text_tokens.hpp"

namespace unitless {
namespace {

constexpr double no_label = std::numeric_limits<double>::quiet_NaN();
bool parse(std::string_view word, double& out) { return parse_number(word.data(), word.data() + word.size(), out); }

bool can_be_text(std::string_view text) {
    bool ascii = true, forbidden = false;
    for (const char c : text) {
        ascii &= static_cast<unsigned char>(c) < 0x80;
        forbidden |= (c == '\0') | (c == '\r');
    }
    return !forbidden && (ascii || is_utf8(text));
}

// Whether a value is text, and not a malformed number.
bool is_text_value(std::string_view value) {
    while (!value.empty() && (value[0] == '+' || value[0] == '-')) value.remove_prefix(1);
    if (value.empty() || value[0] == '.' || is_digit(value[0])) return false;
    for (const std::string_view number : {"nan", "inf", "infinity"})
        if (equals_ignoring_case(value, number)) return false;
    return true;
}

constexpr const char* value_advice = "write a finite decimal number, or text that does not begin like one";
constexpr const char* head_advice = "write label importance initial 'tag|";
constexpr const char* text_advice = "write UTF-8 without NUL bytes and carriage returns";

}  // namespace

TextRows VwReader::read(const char* data, std::size_t size, bool last) {
    rows_.clear();
    spaces_.clear();
    expected_.clear();
    const std::size_t used =
        chunk_.read(data, size, last, [this](const char* begin, const char* end) { read_window(begin, end); });
    TextRows rows = rows_.finish(used);
    filter_.apply(rows.features);
    return rows;
}

// Reads plain lines: `label | name:value name:value ...` with known names. Many files have hardly any others. Returns
// the beginning of the first line that is not plain, or `end`.
const char* VwReader::read_plain_lines(const char* begin, const char* end) {
    FieldEnds ends(begin, ' ');
    rows_.reserve(static_cast<std::size_t>(end - begin) / 2);
    while (begin < end) {
        rows_.begin_row();
        const char* const next = read_plain_line(begin, ends);
        if (!next) {
            rows_.restart_row();
            break;
        }
        rows_.end_line();
        begin = next;
    }
    return begin;
}

// Returns the beginning of the next line, or null if this line is not plain.
const char* VwReader::read_plain_line(const char* line, FieldEnds& ends) {
    const char* end = ends.next();
    double label;
    if (end[0] != ' ' || end[1] != '|' || ends.next() != end + 2 || end[2] != ' ' || !parse_number(line, end, label))
        return nullptr;
    const char* begin = end + 3;
    for (std::uint32_t before = ExpectedNames::start;; begin = end + 1) {
        end = ends.next();
        const ExpectedNames::Name* const name = expected_.follower(before);
        std::uint32_t id;
        const char* number;
        if (name && name->stands_at(begin)) [[likely]] {
            id = name->number;
            number = begin + name->length;
        } else {
            const void* const colon = std::memchr(begin, ':', ExpectedNames::longest);
            if (!colon || colon == begin) return nullptr;
            number = static_cast<const char*>(colon) + 1;
            const auto length = static_cast<std::size_t>(number - begin);
            id = rows_.names.find(0, begin, length - 1);
            if (id == NameTable::none) return nullptr;
            expected_.learn(before, id, begin, length);
        }
        before = ExpectedNames::after(id);
        double value;
        if (number >= end || !parse_number(number, end, value)) return nullptr;
        rows_.add(id, value);
        if (*end == '\n') break;
    }
    rows_.end_row(label, 1);
    return end + 1;
}

// Reads plain lines and others. If most of the text is not plain, it does not try plain lines for a while.
void VwReader::read_window(const char* begin, const char* end) {
    if (windows_to_skip_ > 0) {
        --windows_to_skip_;
        return read_any_lines(begin, end);
    }
    std::ptrdiff_t other = 0;  // bytes of lines that are not plain
    const std::ptrdiff_t size = end - begin;
    while ((begin = read_plain_lines(begin, end)) != end) {
        const void* const newline = std::memchr(begin, '\n', static_cast<std::size_t>(end - begin));
        const char* const next = static_cast<const char*>(newline) + 1;
        read_any_lines(begin, next);
        other += next - begin;
        begin = next;
    }
    other_windows_ = 2 * other > size ? other_windows_ + 1 : 0;
    if (other_windows_ < 2) return;
    other_windows_ = 1;
    windows_to_skip_ = 16;
}

void VwReader::read_any_lines(const char* begin, const char* end) {
    read_lines(begin, end, delimiters_, rows_,
               [this](const char* const*& at, const char* line) { return read_line(at, line); });
}

// `at`: the first delimiter of the line, then the end of the line if it is valid.
bool VwReader::read_line(const char* const*& at, const char* begin) {
    Head head{no_label, 1, {}, 0};
    rows_.begin_row();
    const char* const delimiter = *at;
    if (*delimiter == ' ' && delimiter[1] == '|' && parse_number(begin, delimiter, head.label)) [[likely]] {
        ++at;
    } else {
        while (**at != '|' && **at != '\n') ++at;
        const std::string_view text = between(begin, begin == *at ? begin : token_end(*at));
        if (**at == '\n') {
            const bool blank = text.find_first_not_of(" \t") == text.npos;
            return blank ||
                   rows_.fail("there is no '|' in the line ", text, "put one before the features: label | name:value");
        }
        if (!read_head(text, head)) return false;
    }
    if (!read_features(at)) return false;
    rows_.end_row(head.label, head.weight, head.tag, head.offset);
    return true;
}

// Reads the words before the first bar.
bool VwReader::read_head(std::string_view text, Head& head) {
    std::string_view words[4];
    std::size_t count = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_blank(text[i])) continue;
        const std::size_t begin = i;
        while (i < text.size() && !is_blank(text[i])) ++i;
        if (count == 4) return rows_.fail("there are too many words before the '|' in ", text, head_advice);
        words[count++] = text.substr(begin, i - begin);
    }
    if (count == 0) return true;
    const bool touching = !is_blank(text.back());
    if (touching || words[count - 1].front() == '\'') {
        head.tag = words[--count];
        if (head.tag.front() == '\'') head.tag.remove_prefix(1);
        if (!can_be_text(head.tag)) return rows_.fail("there is a tag that is not valid text, ", head.tag, text_advice);
    }
    if (count == 4) return rows_.fail("there are too many words before the '|' in ", text, head_advice);
    if (count > 0 && !parse(words[0], head.label))
        return rows_.fail("the label is not a number: ", words[0], number_advice);
    if (count > 1 && (!parse(words[1], head.weight) || head.weight < 0))
        return rows_.fail("the importance is not a number of at least 0: ", words[1],
                          "write how much the example counts");
    if (count > 2 && !parse(words[2], head.offset))
        return rows_.fail("the initial prediction is not a number: ", words[2], number_advice);
    return true;
}

// `place`: the first bar, then the end of the line.
bool VwReader::read_features(const char* const*& place) {
    const char* const* at = place;
    const char* delimiter = *at;
    while (*delimiter == '|') {
        const char* begin = delimiter + 1;
        delimiter = *++at;
        std::uint32_t space = 0;
        double weight = 1;
        if (const std::string_view name = between(begin, token_end(delimiter)); !name.empty()) {
            space = space_of(name);
            if (space == NameTable::none) return false;
        }
        if (*delimiter == ':') {
            const char* const number = delimiter + 1;
            delimiter = *++at;
            if (space == 0)
                return rows_.fail("there is a weight without a namespace: ", word_at(begin, '|'), "write |name:weight");
            if (*delimiter == ':' || !parse_number(number, token_end(delimiter), weight))
                return rows_.fail("the namespace's weight is not a number: ", word_at(begin, '|'), number_advice);
        }
        const bool weighted = weight != 1;
        std::size_t nameless = 0;
        while (is_blank(*delimiter)) {
            begin = delimiter + 1;
            delimiter = *++at;
            const char* end = delimiter;
            double value = 1;
            std::string_view text;
            if (*delimiter == ':') [[likely]] {
                const char* const number = delimiter + 1;
                delimiter = *++at;
                if (*delimiter == ':' || !parse_number(number, token_end(delimiter), value)) [[unlikely]] {
                    while (*delimiter == ':') delimiter = *++at;
                    text = between(number, token_end(delimiter));
                    if (begin == end || !is_text_value(text))
                        return rows_.fail("the value is not a number: ", word_at(begin, '|'), value_advice);
                    value = 1;
                }
            } else {
                end = token_end(delimiter);
                if (begin == end) continue;
            }
            if (weighted && text.empty()) {
                value *= weight;
                if (!std::isfinite(value))
                    return rows_.fail("the value times the namespace's weight is too big: ", word_at(begin, '|'),
                                      number_advice);
            }
            std::uint32_t id;
            if (!text.empty()) [[unlikely]] {
                id = name_with_value(space, between(begin, end), text);
                if (id == NameTable::none) return false;
            } else if (begin == end) [[unlikely]] {
                const std::string number = std::to_string(nameless++);
                char written[32] = {};
                number.copy(written, number.size());
                id = rows_.names.find(space, written, number.size());
                if (id == NameTable::none) id = new_name(space, {written, number.size()});
            } else {
                const std::string_view written = between(begin, end);
                id = rows_.names.find(space, begin, written.size());
                if (id == NameTable::none) [[unlikely]] {
                    id = new_name(space, written);
                    if (id == NameTable::none) return false;
                }
            }
            rows_.add(id, value);
        }
    }
    place = at;
    return true;
}

std::uint32_t VwReader::space_of(std::string_view name) {
    std::uint32_t number = spaces_.find(0, name.data(), name.size());
    if (number == NameTable::none) {
        if (!can_be_text(name)) {
            rows_.fail("there is a namespace that is not valid text, ", name, text_advice);
            return NameTable::none;
        }
        number = spaces_.add(0, {}, name.data(), name.size());
    }
    return 1 + number;
}

// The number of a feature that the chunk has not written in this way before, or none after `fail`.
//
// A name can be written in several ways: a^x is x in namespace a, or a^x in the nameless namespace. A name with one ^
// is stored as x in a. A name with several ^ is stored as a whole, because it can be split in several positions. So
// each way to write a name finds it, whichever came first.
std::uint32_t VwReader::new_name(std::uint32_t space, std::string_view written) {
    if (!can_be_text(written)) {
        rows_.fail("there is a feature whose name is not valid text, ", written, text_advice);
        return NameTable::none;
    }
    NameTable& names = rows_.names;
    const std::size_t caret = written.find('^');
    if (space == 0) {
        if (written == "(bias)") {
            rows_.fail("there is a feature named ", written, "rename it: that is the bias's own name");
            return NameTable::none;
        }
        if (caret == written.npos || caret == 0 || caret + 1 == written.size() || caret != written.rfind('^'))
            return names.add(0, {}, written.data(), written.size());
        const std::string_view rest = written.substr(caret + 1);
        const std::uint32_t before = space_of(written.substr(0, caret));
        const std::uint32_t id = names.find_or_add(before, written.substr(0, caret + 1), rest.data(), rest.size());
        names.add_alias(id, 0, written.data(), written.size());
        return id;
    }
    full_name_ = spaces_.name(space - 1);
    const bool one_caret = caret == written.npos && full_name_.find('^') == full_name_.npos;
    full_name_ += '^';
    if (one_caret) return names.add(space, full_name_, written.data(), written.size());
    full_name_ += written;
    const std::size_t length = full_name_.size();
    full_name_.append(8, '\0');  // NameTable reads whole words
    const std::uint32_t id = names.find_or_add(0, {}, full_name_.data(), length);
    names.add_alias(id, space, written.data(), written.size());
    return id;
}

std::uint32_t VwReader::name_with_value(std::uint32_t space, std::string_view name, std::string_view value) {
    valued_name_.assign(name);
    valued_name_ += '=';
    valued_name_ += value;
    const std::size_t length = valued_name_.size();
    valued_name_.append(8, '\0');  // NameTable reads whole words
    const std::uint32_t id = rows_.names.find(space, valued_name_.data(), length);
    return id == NameTable::none ? new_name(space, {valued_name_.data(), length}) : id;
}

}  // namespace unitless
