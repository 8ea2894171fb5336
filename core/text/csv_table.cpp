#include "text/csv_table.hpp"

#include <algorithm>
#include <limits>

#include "text/characters.hpp"
#include "text/csv_rows.hpp"
#include "text/parse_number.hpp"
#include "text/utf8.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace unitless {
namespace {

constexpr double missing_number = std::numeric_limits<double>::quiet_NaN();

// Reads eight fields of one digit each at once; returns false if there are others. Columns of zeros and ones, and of
// small counts, have such fields.
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

std::optional<bool> boolean_of(std::string_view word) {
    for (const std::string_view yes : {"true", "True", "TRUE", "1"})
        if (word == yes) return true;
    for (const std::string_view no : {"false", "False", "FALSE", "0"})
        if (word == no) return false;
    return std::nullopt;
}

// Whether there is a carriage return without a newline after it. Other CSV readers end a row there.
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
      trim_(trim),
      most_plain_digits_(marks_.include_numbers() ? 0 : 8) {
    forms_.resize(kinds_.size());
    for (std::size_t j = 0; j < kinds_.size(); ++j) {
        const bool numbers = kinds_[j] == CsvKind::number;
        std::size_t& count = numbers                                 ? number_count_
                             : kinds_[j] == CsvKind::separate_number ? separate_count_
                                                                     : text_count_;
        places_.push_back(count);
        count += kinds_[j] != CsvKind::ignored;
        if (numbers && !runs_.empty() && runs_.back().numbers) {
            ++runs_.back().count;
        } else {
            runs_.push_back({j, 1, numbers});
        }
    }
    values_.resize(text_count_);
    missing_codes_.resize(text_count_);
}

std::optional<CsvTable> CsvReader::read(const char* data, std::size_t size) {
    const std::string_view text(data, size);
    if (text.find('\0') != text.npos) return std::nullopt;
    has_bare_returns_ = has_bare_return(text);
    CsvTable table = new_table(text);
    bool good = true;
    if (text.find('"') == text.npos) {
        chunk_.read(data, size, true,
                    [&](const char* begin, const char* end) { good = good && read_rows(begin, end, table); });
    } else {  // a newline may be part of a value, so the text cannot be divided into lines
        const std::string_view padded = chunk_.padded(text);
        good = read_rows(padded.data(), padded.data() + padded.size(), table);
    }
    if (!good || !table.invalid_is_utf8) return std::nullopt;
    table.set_capacity(table.rows);
    for (std::size_t j = 0; j < kinds_.size(); ++j) {
        if (kinds_[j] == CsvKind::boolean) {
            const std::string_view both = "falsetrue";
            CsvText& column = table.texts[places_[j]];
            column.offsets = {0, 5, 9};
            column.text.assign(both.begin(), both.end());
        } else if (kinds_[j] == CsvKind::text) {
            const NameTable& values = values_[places_[j]];
            CsvText& column = table.texts[places_[j]];
            column.text = values.text();
            column.offsets.push_back(0);
            for (const std::size_t end : values.ends()) column.offsets.push_back(static_cast<std::int64_t>(end));
        }
    }
    return table;
}

// Allocates memory for all rows, on the assumption that they are about as long as the first one.
CsvTable CsvReader::new_table(std::string_view text) {
    for (NameTable& values : values_) values.clear();
    for (auto& codes : missing_codes_) codes.clear();
    CsvTable table;
    table.number_count = number_count_;
    const std::size_t first = std::min(text.find('\n'), text.size());
    table.set_capacity(text.size() / std::max(first, kinds_.size()) * 9 / 8 + 16);
    table.missing.assign(number_count_, 0);
    table.separate.resize(separate_count_);
    table.texts.resize(text_count_);
    table.invalid.resize(kinds_.size());
    return table;
}

// Reads a field that ends at `end`, and returns `end`; null if the field contains a bare carriage return.
const char* CsvReader::read_plain_field(const char* at, const char* end, std::string_view& field) const {
    field = between(at, end);
    if (*end == '\n' && field.ends_with('\r')) field.remove_suffix(1);
    return has_bare_returns_ && field.find('\r') != field.npos ? nullptr : end;
}

// Reads the field whose opening quote is at `at`. Returns its end, or null if there is no closing quote. Inline,
// because a call makes files that quote every field 10% slower.
inline const char* CsvReader::read_quoted_field(const char* at, const char* stop, FieldEnds& ends,
                                                std::string_view& field) {
    bool has_pairs = false;
    const char* const closing = closing_quote(at + 1, stop, has_pairs);
    if (!closing) return nullptr;
    field = between(at + 1, closing);
    if (has_pairs) field = without_pairs(field);
    const char* end = closing + 1;
    if (*end == '\r' && end[1] == '\n') ++end;
    if (end[1] != '"') ends.go_to(end + 1);  // unless the next field is quoted too and needs no ends
    return end;
}

// A copy of a quoted value with one quote for every two. It is valid until the next call.
std::string_view CsvReader::without_pairs(std::string_view value) {
    unquoted_.clear();
    for (std::size_t pair; (pair = value.find('"')) != value.npos; value.remove_prefix(pair + 2))
        unquoted_.append(value.substr(0, pair + 1));
    unquoted_.append(value);
    const std::size_t size = unquoted_.size();
    unquoted_.append(text_padding, '\0');
    return {unquoted_.data(), size};
}

// Reads [at, stop). Returns false if a row does not have one field per column, or a field is malformed.
bool CsvReader::read_rows(const char* at, const char* stop, CsvTable& table) {
    FieldEnds ends(at, delimiter_);
    while (at != stop) {
        const bool empty_line = *at == '\n' || (*at == '\r' && at[1] == '\n');
        if (empty_line) {
            at = ends.next() + 1;
            continue;
        }
        if (table.rows == table.capacity) table.set_capacity(2 * table.capacity);
        for (const Run& run : runs_) {
            if (run.numbers) {
                at = read_numbers(at, stop, ends, run, table);
                if (!at) return false;
                continue;
            }
            std::string_view field;
            const char* const end =
                *at == '"' ? read_quoted_field(at, stop, ends, field) : read_plain_field(at, ends.next(), field);
            if (!end || !ends_field(end, run.first) || !add(table, run.first, field)) return false;
            at = end + 1;
        }
        ++table.rows;
    }
    return true;
}

// Reads adjacent number columns. Returns the beginning of the field after them, or null.
const char* CsvReader::read_numbers(const char* at, const char* stop, FieldEnds& ends, const Run& run,
                                    CsvTable& table) {
    const std::size_t place = places_[run.first];
    const bool at_row_end = run.first + run.count == kinds_.size();
    const std::size_t delimited = run.count - at_row_end;  // columns with a delimiter after them
    double* const to = table.numbers.get() + table.rows * number_count_ + place;
    for (std::size_t i = 0; i < run.count; ++i) {
        const char* end = nullptr;
        if (*at != '"') [[likely]] {
            end = ends.next();
            const auto length = static_cast<std::size_t>(end - at);
            std::uint64_t whole;
            if (length - 1 < most_plain_digits_ && decimal::up_to_eight(at, length, whole)) [[likely]] {
                if (!ends_field(end, run.first + i)) return nullptr;
                to[i] = static_cast<double>(static_cast<std::int64_t>(whole));
                at = end + 1;
                if (length != 1) continue;  // after a field of one digit others are likely
                const std::size_t before = i;
                for (; i + 8 < delimited && eight_digits(at, delimiter_, to + i + 1); i += 8) at += 16;
                if (i != before) ends.go_to(at);
                continue;
            }
        }
        std::string_view field;
        end = end ? read_plain_field(at, end, field) : read_quoted_field(at, stop, ends, field);
        if (!end || !ends_field(end, run.first + i)) return nullptr;
        to[i] = number(table, run.first + i, field);
        at = end + 1;
    }
    return at;
}

// Whether a field of this column may end here: the last one of a row ends with the line, the others with a delimiter.
bool CsvReader::ends_field(const char* end, std::size_t column) const {
    return *end == (column + 1 == kinds_.size() ? '\n' : delimiter_);
}

// Adds a cell of any kind but `number`. Returns false if its text is not UTF-8.
bool CsvReader::add(CsvTable& table, std::size_t column, std::string_view field) {
    const std::size_t place = places_[column];
    switch (kinds_[column]) {
        case CsvKind::ignored:
            return true;
        case CsvKind::separate_number:
            table.separate[place].push_back(number(table, column, field));
            return true;
        case CsvKind::boolean: {
            const std::string_view word = written::trimmed(field);
            const std::optional<bool> value = boolean_of(word);
            if (!value && !marks_.contain(word) && !marks_.contain(field)) add_invalid(table, column, word);
            table.texts[place].codes.push_back(value ? *value : -1);
            return true;
        }
        default:
            return add_text(table.texts[place], place, field);
    }
}

bool CsvReader::add_text(CsvText& to, std::size_t place, std::string_view field) {
    if (trim_) field = written::trimmed(field);
    if (field.empty()) {
        to.codes.push_back(-1);
        return true;
    }
    NameTable& values = values_[place];
    auto& missing = missing_codes_[place];
    std::uint32_t code = values.find(0, field.data(), field.size());
    if (code == NameTable::none) {
        if (!is_utf8(field)) return false;
        code = values.add(0, {}, field.data(), field.size());
        if (text_marks_.contain(field)) missing.push_back(code);
    }
    const bool is_missing = std::find(missing.begin(), missing.end(), code) != missing.end();
    to.codes.push_back(is_missing ? -1 : static_cast<std::int32_t>(code));
    return true;
}

// The number in a cell; NaN if it is missing or invalid.
double CsvReader::number(CsvTable& table, std::size_t column, std::string_view field) const {
    double x;
    const NumberForm& form = forms_[column];
    const bool plain =
        !field.empty() && form.decimal == '.' && parse_number(field.data(), field.data() + field.size(), x);
    if (plain && !(marks_.include_numbers() && marks_.contain(field))) [[likely]]
        return x;
    const Cell kind = read_number(field, form, marks_, x);
    if (kind == Cell::number) return x;
    if (kind == Cell::invalid) add_invalid(table, column, written::trimmed(field));
    if (kinds_[column] == CsvKind::number) ++table.missing[places_[column]];
    return missing_number;
}

void CsvReader::add_invalid(CsvTable& table, std::size_t column, std::string_view field) {
    table.invalid_is_utf8 = table.invalid_is_utf8 && is_utf8(field);
    table.invalid[column].add(table.rows, field);
}

}  // namespace unitless
