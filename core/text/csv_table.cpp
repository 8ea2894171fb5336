#include "text/csv_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "text/parse_number.hpp"
#include "text/utf8.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace unitless {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

// Eight fields of one digit each, as columns of zeros and ones and small counts have them, all at once.
bool eight_digits([[maybe_unused]] const char* p, [[maybe_unused]] char delimiter, [[maybe_unused]] double* to) {
#if defined(__SSE2__)
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i digit = _mm_sub_epi8(x, _mm_set1_epi8('0'));
    const int digits = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit));
    const int delimiters = _mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8(delimiter)));
    if ((digits & 0x5555) + (delimiters & 0xaaaa) != 0xffff) return false;
    const __m128i numbers = _mm_and_si128(digit, _mm_set1_epi16(0xff)), zero = _mm_setzero_si128();
    const __m128i low = _mm_unpacklo_epi16(numbers, zero), high = _mm_unpackhi_epi16(numbers, zero);
    _mm_storeu_pd(to, _mm_cvtepi32_pd(low));
    _mm_storeu_pd(to + 2, _mm_cvtepi32_pd(_mm_unpackhi_epi64(low, low)));
    _mm_storeu_pd(to + 4, _mm_cvtepi32_pd(high));
    _mm_storeu_pd(to + 6, _mm_cvtepi32_pd(_mm_unpackhi_epi64(high, high)));
    return true;
#else
    return false;
#endif
}

// In the words that tables have for booleans.
std::optional<bool> boolean_of(std::string_view word) {
    for (const std::string_view yes : {"true", "True", "TRUE", "1"})
        if (word == yes) return true;
    for (const std::string_view no : {"false", "False", "FALSE", "0"})
        if (word == no) return false;
    return std::nullopt;
}

// Is there a carriage return that does not belong to a line's end? Other readers take it for the end of a row by
// itself.
bool has_bare_return(std::string_view text) {
    for (std::size_t at = 0; (at = text.find('\r', at)) != text.npos; ++at)
        if (at + 1 < text.size() && text[at + 1] != '\n') return true;
    return false;
}

}  // namespace

CsvReader::CsvReader(std::vector<CsvKind> kinds, char delimiter, std::vector<NumberForm> forms, MissingMarks marks,
                     MissingMarks text_marks, bool trim)
    : kinds_(std::move(kinds)),
      delimiter_(delimiter),
      forms_(std::move(forms)),
      marks_(std::move(marks)),
      text_marks_(std::move(text_marks)),
      trim_(trim) {
    forms_.resize(kinds_.size());
    for (const CsvKind kind : kinds_) {
        const bool text = kind == CsvKind::text || kind == CsvKind::boolean;
        places_.push_back(kind == CsvKind::number ? numbers_ : kind == CsvKind::apart ? apart_ : texts_);
        numbers_ += kind == CsvKind::number;
        apart_ += kind == CsvKind::apart;
        texts_ += text;
    }
    names_.resize(texts_);
    missing_.resize(texts_);
    for (std::size_t j = 0; j < kinds_.size(); ++j) {
        const bool numbers = kinds_[j] == CsvKind::number;
        if (numbers && !runs_.empty() && runs_.back().numbers) {
            ++runs_.back().count;
        } else {
            runs_.push_back({j, 1, numbers});
        }
    }
}

// With memory for all rows, if they are about as long as the first one.
CsvTable CsvReader::started(const char* data, std::size_t size) {
    for (NameTable& names : names_) names.clear();
    for (auto& missing : missing_) missing.clear();
    CsvTable table;
    table.number_count = numbers_;
    const std::size_t first = std::min(std::string_view(data, size).find('\n'), size);
    table.make_room(size / std::max(first, kinds_.size()) * 9 / 8 + 16);
    table.absent.assign(numbers_, 0);
    table.apart.resize(apart_);
    table.texts.resize(texts_);
    table.odd.resize(kinds_.size());
    return table;
}

// A field of column j, which holds numbers; not-a-number if it is missing or something else.
double CsvReader::number(CsvTable& table, std::size_t j, const char* begin, const char* end) const {
    double x;
    const NumberForm& form = forms_[j];
    if (begin != end && form.decimal == '.' && parse_number(begin, end, x)) [[likely]]
        return x;
    const std::string_view cell(begin, static_cast<std::size_t>(end - begin));
    const Cell kind = read_number(cell, form, marks_, x);
    if (kind == Cell::number) return x;
    if (kind == Cell::other) note_odd(table, j, written::trimmed(cell));
    return none;
}

void CsvReader::note_odd(CsvTable& table, std::size_t j, std::string_view word) {
    table.unicode = table.unicode && is_utf8(word);
    table.odd[j].add(table.rows, word);
}

// One field of column j. False if it is not what it should be.
bool CsvReader::take(CsvTable& table, std::size_t j, const char* begin, const char* end) {
    const std::size_t at = places_[j];
    switch (kinds_[j]) {
        case CsvKind::ignored:
            return true;
        case CsvKind::number:
            table.numbers[table.rows * numbers_ + at] = number(table, j, begin, end);
            table.absent[at] += std::isnan(table.numbers[table.rows * numbers_ + at]);
            return true;
        case CsvKind::apart:
            table.apart[at].push_back(number(table, j, begin, end));
            return true;
        case CsvKind::boolean: {
            const std::string_view cell(begin, static_cast<std::size_t>(end - begin)), word = written::trimmed(cell);
            const std::optional<bool> value = boolean_of(word);
            if (!value && !marks_.contain(word) && !marks_.contain(cell)) note_odd(table, j, word);
            table.texts[at].codes.push_back(value ? *value : -1);
            return true;
        }
        case CsvKind::text:
            break;
    }
    if (trim_) {
        const std::string_view text = written::trimmed({begin, static_cast<std::size_t>(end - begin)});
        begin = text.data();
        end = begin + text.size();
    }
    if (begin == end) {
        table.texts[at].codes.push_back(-1);
        return true;
    }
    NameTable& names = names_[at];
    const auto length = static_cast<std::size_t>(end - begin);
    std::uint32_t number = names.find(0, begin, length);
    if (number == NameTable::none) {
        if (!is_utf8({begin, length})) return false;
        number = names.add(0, {}, begin, length);
        if (text_marks_.contain({begin, length})) missing_[at].push_back(number);
    }
    const auto& missing = missing_[at];
    const bool none_there = std::find(missing.begin(), missing.end(), number) != missing.end();
    table.texts[at].codes.push_back(none_there ? -1 : static_cast<std::int32_t>(number));
    return true;
}

// `next(begin, end, quoted, last)` gives the next field, whether it was quoted and whether its row ends with it.
template <class Next>
bool CsvReader::read_rows(CsvTable& table, Next next) {
    const std::size_t columns = kinds_.size();
    const char *begin, *end;
    bool quoted, last;
    Step step;
    while ((step = next(begin, end, quoted, last)) == Step::field) {
        if (last && begin == end && !quoted) continue;  // an empty line
        if (table.rows == table.room) table.make_room(2 * table.room);
        for (std::size_t j = 0;; ++j) {
            if (last != (j + 1 == columns)) return false;
            if (!take(table, j, begin, end)) return false;
            if (last) break;
            if (next(begin, end, quoted, last) != Step::field) return false;
        }
        ++table.rows;
    }
    return step == Step::finished;
}

// Does a field of this column end as it should: the last one of a row with the line, the others with a delimiter?
bool CsvReader::ends_well(const char* end, std::size_t column) const {
    return *end == (column + 1 == kinds_.size() ? '\n' : delimiter_);
}

// Columns of numbers that lie side by side.
bool CsvReader::read_numbers(CsvTable& table, const Run& run, const char*& begin, FieldEnds& ends) const {
    const std::size_t at = places_[run.first], columns = kinds_.size();
    const std::size_t delimited = run.count - (run.first + run.count == columns);  // not followed by the line's end
    double* const to = table.numbers.get() + table.rows * numbers_ + at;
    for (std::size_t i = 0; i < run.count; ++i) {
        const char* const end = ends.next();
        if (!ends_well(end, run.first + i)) return false;
        const auto length = static_cast<std::size_t>(end - begin);
        std::uint64_t whole;
        if (length - 1 < 8 && decimal::up_to_eight(begin, length, whole)) [[likely]] {
            to[i] = static_cast<double>(static_cast<std::int64_t>(whole));
        } else {
            const bool carriage_return = *end == '\n' && length > 0 && end[-1] == '\r';
            to[i] = number(table, run.first + i, begin, end - carriage_return);
            table.absent[at + i] += std::isnan(to[i]);
        }
        begin = end + 1;
        if (length != 1) continue;  // where one field has one digit, others will
        const std::size_t before = i;
        for (; i + 8 < delimited && eight_digits(begin, delimiter_, to + i + 1); i += 8) begin += 16;
        if (i != before) ends.go_to(begin);
    }
    return true;
}

// Lines without quotes.
bool CsvReader::read_plain(const char* begin, const char* stop, CsvTable& table) {
    FieldEnds ends(begin, delimiter_);
    while (begin != stop) {
        if (*begin == '\n' || (*begin == '\r' && begin[1] == '\n')) {  // an empty line
            begin = ends.next() + 1;
            continue;
        }
        if (table.rows == table.room) table.make_room(2 * table.room);
        for (const Run& run : runs_) {
            if (run.numbers) {
                if (!read_numbers(table, run, begin, ends)) return false;
                continue;
            }
            const char* const end = ends.next();
            if (!ends_well(end, run.first)) return false;
            const bool carriage_return = *end == '\n' && end != begin && end[-1] == '\r';
            if (!take(table, run.first, begin, end - carriage_return)) return false;
            begin = end + 1;
        }
        ++table.rows;
    }
    return true;
}

// A quote opens only at the beginning of a field; doubled inside, it stands for itself.
bool CsvReader::read_quoted(const char* data, std::size_t size, CsvTable& table) {
    quoted_.resize(size + 1 + text_padding);
    std::copy_n(data, size, quoted_.data());
    if (size && data[size - 1] != '\n') quoted_[size++] = '\n';
    std::fill(quoted_.begin() + static_cast<std::ptrdiff_t>(size), quoted_.end(), '\0');
    char *at = quoted_.data(), *const stop = quoted_.data() + size;
    return read_rows(table, [&](const char*& begin, const char*& end, bool& quoted, bool& last) {
        if (at == stop) return Step::finished;
        begin = at;
        quoted = *at == '"';
        if (quoted) {
            char* to = ++at;
            begin = at;
            for (;;) {
                auto* quote = static_cast<char*>(std::memchr(at, '"', static_cast<std::size_t>(stop - at)));
                if (!quote) return Step::strange;  // never closed
                const auto length = static_cast<std::size_t>(quote - at);
                if (to != at) std::memmove(to, at, length);
                to += length;
                at = quote + 1;
                if (*at != '"') break;
                *to++ = '"';
                ++at;
            }
            end = to;
            if (*at == '\r' && at[1] == '\n') ++at;
            if (*at != delimiter_ && *at != '\n') return Step::strange;
        } else {
            for (; *at != delimiter_ && *at != '\n'; ++at)
                if (*at == '\r' && at[1] != '\n') return Step::strange;
            end = at;
            if (*at == '\n' && end != begin && end[-1] == '\r') --end;
        }
        last = *at++ == '\n';
        return Step::field;
    });
}

std::optional<CsvTable> CsvReader::read(const char* data, std::size_t size) {
    const std::string_view text(data, size);  // of nothing, too, which memchr does not take
    if (text.find('\0') != text.npos) return std::nullopt;
    CsvTable table = started(data, size);
    if (text.find('"') != text.npos) {
        if (!read_quoted(data, size, table)) return std::nullopt;
    } else {
        if (has_bare_return(text)) return std::nullopt;
        bool plain = true;
        chunk_.read(data, size, true,
                    [&](const char* begin, const char* end) { plain = plain && read_plain(begin, end, table); });
        if (!plain) return std::nullopt;
    }
    table.make_room(table.rows);
    if (!table.unicode) return std::nullopt;
    for (std::size_t j = 0; j < kinds_.size(); ++j) {
        if (kinds_[j] != CsvKind::text && kinds_[j] != CsvKind::boolean) continue;
        CsvText& column = table.texts[places_[j]];
        if (kinds_[j] == CsvKind::boolean) {
            const std::string_view both = "falsetrue";
            column.offsets = {0, 5, 9};
            column.text.assign(both.begin(), both.end());
            continue;
        }
        const NameTable& names = names_[places_[j]];
        column.text = names.text();
        column.offsets.push_back(0);
        for (const std::size_t end : names.ends()) column.offsets.push_back(static_cast<std::int64_t>(end));
    }
    return table;
}

}  // namespace unitless
