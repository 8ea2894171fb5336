#include "csv_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "parse_number.hpp"
#include "utf8.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace unitless {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

// What people write where there is no number.
constexpr std::array<std::string_view, 16> no_number{"NA",   "N/A",  "NaN",      "nan",    "null",    "NULL",
                                                     "n/a",  "#N/A", "#N/A N/A", "#NA",    "-1.#IND", "-1.#QNAN",
                                                     "-NaN", "-nan", "1.#IND",   "1.#QNAN"};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Where the bytes at p are one of two characters, as bits.
std::uint64_t either(const char* p, char a, char b) {
    std::uint64_t found = 0;
#if defined(__SSE2__)
    const __m128i first = _mm_set1_epi8(a), second = _mm_set1_epi8(b);
    for (int i = 0; i < 4; ++i) {
        const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
        const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, first), _mm_cmpeq_epi8(x, second));
        found |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(hit))) << (16 * i);
    }
#else
    for (int i = 0; i < 64; ++i) found |= static_cast<std::uint64_t>(p[i] == a || p[i] == b) << i;
#endif
    return found;
}

}  // namespace

CsvReader::CsvReader(std::vector<CsvKind> kinds, char delimiter) : kinds_(std::move(kinds)), delimiter_(delimiter) {
    for (const CsvKind kind : kinds_) {
        const bool text = kind == CsvKind::text || kind == CsvKind::boolean;
        places_.push_back(kind == CsvKind::number ? numbers_ : kind == CsvKind::apart ? apart_ : texts_);
        numbers_ += kind == CsvKind::number;
        apart_ += kind == CsvKind::apart;
        texts_ += text;
    }
    names_.resize(texts_);
    for (std::size_t j = 0; j < kinds_.size(); ++j) {
        const bool numbers = kinds_[j] == CsvKind::number;
        if (numbers && !runs_.empty() && runs_.back().numbers) {
            ++runs_.back().count;
        } else {
            runs_.push_back({j, 1, numbers});
        }
    }
}

void CsvReader::start(CsvTable& table, std::size_t most_rows) const {
    table.number_count = numbers_;
    table.numbers = std::make_unique_for_overwrite<double[]>(most_rows * numbers_);
    table.absent.assign(numbers_, 0);
    table.apart.resize(apart_);
    table.texts.resize(texts_);
    for (auto& column : table.apart) column.reserve(most_rows);
    for (auto& column : table.texts) column.codes.reserve(most_rows);
}

// Where all fields end, quotes not being thought of.
void CsvReader::find_ends(std::size_t size) {
    std::size_t count = 0;
    row_ends_.clear();
    for (std::size_t at = 0; at < size; at += 64) {
        if (ends_.size() < count + 64) ends_.resize(2 * ends_.size() + 4096);
        std::uint64_t places = either(text_.data() + at, delimiter_, '\n');
        std::uint64_t newlines = either(text_.data() + at, '\n', '\n');
        if (size - at < 64) {
            places &= ~std::uint64_t{0} >> (64 - (size - at));
            newlines &= places;
        }
        std::uint32_t* to = ends_.data() + count;
        const std::uint32_t* const first = to;
        for (; places; places &= places - 1) {
            const auto bit = static_cast<unsigned>(std::countr_zero(places));
            *to++ = static_cast<std::uint32_t>(at) + bit;
            if (newlines >> bit & 1) row_ends_.push_back(static_cast<std::uint32_t>(count + (to - first)));
        }
        count += static_cast<std::size_t>(to - first);
    }
}

// A field of numbers; false if it is not one.
bool CsvReader::number(const char* begin, const char* end, double& out) {
    if (begin != end && *begin != '+' && parse_number(begin, end, out)) [[likely]]
        return true;
    while (begin != end && is_blank(*begin)) ++begin;
    while (begin != end && is_blank(end[-1])) --end;
    const std::string_view word(begin, static_cast<std::size_t>(end - begin));
    out = none;
    if (word.empty() || std::find(no_number.begin(), no_number.end(), word) != no_number.end()) return true;
    return *begin != '+' && parse_number(begin, end, out);
}

// One field of column j. False if it is not what it should be.
bool CsvReader::take(CsvTable& table, std::size_t j, const char* begin, const char* end) {
    const std::size_t at = places_[j];
    switch (kinds_[j]) {
        case CsvKind::ignored:
            return true;
        case CsvKind::number:
            if (double& x = table.numbers[table.rows * numbers_ + at]; number(begin, end, x)) {
                table.absent[at] += x != x;
                return true;
            }
            return false;
        case CsvKind::apart:
            return number(begin, end, table.apart[at].emplace_back());
        case CsvKind::boolean: {
            const std::string_view word(begin, static_cast<std::size_t>(end - begin));
            const bool no = word == "false" || word == "False" || word == "FALSE" || word == "0";
            const bool yes = word == "true" || word == "True" || word == "TRUE" || word == "1";
            if (!no && !yes && !word.empty() && std::find(no_number.begin(), no_number.end(), word) == no_number.end())
                return false;
            table.texts[at].codes.push_back(yes ? 1 : no ? 0 : -1);
            return true;
        }
        case CsvKind::text:
            break;
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
    }
    table.texts[at].codes.push_back(static_cast<std::int32_t>(number));
    return true;
}

// `next(begin, end, last)` gives the next field and whether its row ends with it.
template <class Next>
bool CsvReader::read_rows(CsvTable& table, Next next) {
    const std::size_t columns = kinds_.size();
    const char *begin, *end;
    bool last;
    Step step;
    while ((step = next(begin, end, last)) == Step::field) {
        if (last && (begin == end || (end - begin == 1 && *begin == '\r'))) continue;  // an empty line
        for (std::size_t j = 0;; ++j) {
            if (last != (j + 1 == columns)) return false;
            if (last && end != begin && end[-1] == '\r') --end;
            if (!take(table, j, begin, end)) return false;
            if (last) break;
            if (next(begin, end, last) != Step::field) return false;
        }
        ++table.rows;
    }
    return step == Step::finished;
}

bool CsvReader::read_plain(std::size_t size, CsvTable& table) {
    find_ends(size);
    start(table, row_ends_.size());
    const char* const text = text_.data();
    const char* begin = text;
    std::size_t k = 0;
    for (const std::uint32_t row_end : row_ends_) {
        const char* const line_end = text + ends_[row_end - 1];
        const char* const last_end = line_end != begin && line_end[-1] == '\r' ? line_end - 1 : line_end;
        if (last_end == begin) {  // an empty line
            k = row_end;
            begin = line_end + 1;
            continue;
        }
        if (row_end - k != kinds_.size()) return false;
        ends_[row_end - 1] = static_cast<std::uint32_t>(last_end - text);
        for (const Run& run : runs_) {
            if (run.numbers) {
                double* to = table.numbers.get() + table.rows * numbers_ + places_[run.first];
                const std::uint32_t* const ends = ends_.data() + k;
                for (std::size_t i = 0; i < run.count; ++i) {
                    const char* const end = text + ends[i];
                    const auto length = static_cast<std::size_t>(end - begin);
                    std::uint64_t whole;
                    if (length - 1 < 8 && decimal::up_to_eight(begin, length, whole)) [[likely]] {
                        to[i] = static_cast<double>(static_cast<std::int64_t>(whole));
                    } else {
                        if (!number(begin, end, to[i])) return false;
                        table.absent[places_[run.first] + i] += to[i] != to[i];
                    }
                    begin = end + 1;
                }
                k += run.count;
            } else {
                const char* const end = text + ends_[k++];
                if (!take(table, run.first, begin, end)) return false;
                begin = end + 1;
            }
        }
        begin = line_end + 1;
        ++table.rows;
    }
    return true;
}

// A quote opens only at the beginning of a field; doubled inside, it stands for itself.
bool CsvReader::read_quoted(std::size_t size, CsvTable& table) {
    char *at = text_.data(), *const stop = text_.data() + size;
    start(table, static_cast<std::size_t>(std::count(at, stop, '\n')));
    return read_rows(table, [&](const char*& begin, const char*& end, bool& last) {
        if (at == stop) return Step::finished;
        begin = at;
        if (*at == '"') {
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
            while (*at != delimiter_ && *at != '\n') ++at;
            end = at;
        }
        last = *at++ == '\n';
        return Step::field;
    });
}

std::optional<CsvTable> CsvReader::read(const char* data, std::size_t size) {
    if (size >= std::numeric_limits<std::uint32_t>::max() - 128) return std::nullopt;
    text_.resize(size + 1 + text_padding);
    std::copy_n(data, size, text_.data());
    if (size && data[size - 1] != '\n') text_[size++] = '\n';
    std::fill(text_.begin() + static_cast<std::ptrdiff_t>(size), text_.end(), '\0');
    for (NameTable& names : names_) names.clear();
    CsvTable table;
    const bool quotes = std::memchr(text_.data(), '"', size) != nullptr;
    if (!(quotes ? read_quoted(size, table) : read_plain(size, table))) return std::nullopt;
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
