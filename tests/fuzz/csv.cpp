// Checks the fast CSV reader. Whatever it reads, a plain reader that goes character by character reads alike. Pieces
// that are cut where `row_end` finds the end of a row give the rows of the whole.
//
// An input has a byte for the delimiter, one for the number of columns, one for each column's kind, two for the place
// of a cut; the rest is text.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reference_number.hpp"
#include "require.hpp"
#include "text/csv_rows.hpp"
#include "text/csv_table.hpp"

using namespace unitless;

namespace {

struct Field {
    std::string text;
    bool quoted = false;
};
using Row = std::vector<Field>;

// A quote opens a field only at its beginning. Empty lines are skipped.
std::vector<Row> reference_rows(const std::string& text, char delimiter) {
    std::vector<Row> rows;
    Row row;
    std::size_t at = 0;
    while (at < text.size()) {
        Field field;
        if (text[at] == '"') {
            field.quoted = true;
            for (++at; at < text.size(); ++at) {
                if (text[at] == '"') {
                    if (at + 1 >= text.size() || text[at + 1] != '"') break;
                    ++at;
                }
                field.text += text[at];
            }
            ++at;
            if (at < text.size() && text[at] == '\r' && (at + 1 == text.size() || text[at + 1] == '\n')) ++at;
        }
        while (at < text.size() && text[at] != delimiter && text[at] != '\n') field.text += text[at++];
        const bool last = at >= text.size() || text[at] == '\n';
        if (last && !field.quoted && field.text.ends_with('\r')) field.text.pop_back();
        ++at;
        row.push_back(std::move(field));
        if (!last) {
            if (at == text.size()) row.push_back({});  // the text ends with a delimiter
            if (at != text.size()) continue;
        }
        if (row.size() > 1 || row[0].quoted || !row[0].text.empty()) rows.push_back(std::move(row));
        row.clear();
    }
    return rows;
}

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

void check_number(const Field& field, double x) {
    const std::size_t from = field.text.find_first_not_of(" \t"), to = field.text.find_last_not_of(" \t");
    const std::string word = from == std::string::npos ? "" : field.text.substr(from, to - from + 1);
    if (const auto expected = reference_number(word)) {
        require(same(*expected, x), "a field gives the number that is written");
        return;
    }
    double written = 0;  // the reader accepts more than the C library: "- 7", "$5", "1 000"
    const bool is_number = read_number(field.text, NumberForm(), MissingMarks({}), written) == Cell::number;
    require(is_number ? same(written, x) : x != x, "a field is a number as people write it, or missing");
}

std::string text_at(const CsvText& column, std::size_t row) {
    const std::int32_t code = column.codes[row];
    if (code < 0) return "";
    require(static_cast<std::size_t>(code) + 1 < column.offsets.size(), "a code is among the values");
    const auto first = static_cast<std::size_t>(column.offsets[static_cast<std::size_t>(code)]);
    const auto last = static_cast<std::size_t>(column.offsets[static_cast<std::size_t>(code) + 1]);
    return {column.text.begin() + static_cast<std::ptrdiff_t>(first),
            column.text.begin() + static_cast<std::ptrdiff_t>(last)};
}

void check_against_reference(const CsvTable& table, const std::vector<CsvKind>& kinds, const std::vector<Row>& rows) {
    require(table.rows == rows.size(), "there are as many rows as a plain reader finds");
    for (std::size_t r = 0; r < rows.size(); ++r) {
        require(rows[r].size() == kinds.size(), "a row has as many fields as there are columns");
        std::size_t number = 0, separate = 0, text = 0;
        for (std::size_t j = 0; j < kinds.size(); ++j) {
            const Field& field = rows[r][j];
            if (kinds[j] == CsvKind::number) check_number(field, table.numbers[r * table.number_count + number++]);
            if (kinds[j] == CsvKind::separate_number) check_number(field, table.separate[separate++][r]);
            if (kinds[j] == CsvKind::text)
                require(text_at(table.texts[text++], r) == field.text, "text is what is written");
            if (kinds[j] == CsvKind::boolean) {
                const std::string value = text_at(table.texts[text++], r);
                std::string word(written::trimmed(field.text));
                std::transform(word.begin(), word.end(), word.begin(),
                               [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
                if (value == "true") require(word == "true" || word == "1", "true where it is written");
                if (value == "false") require(word == "false" || word == "0", "false where it is written");
            }
        }
    }
}

// Row `r` of a table as text that depends on every bit.
std::string shown(const CsvTable& table, std::size_t r) {
    std::string to;
    const auto put = [&](double x) { to += std::to_string(std::bit_cast<std::uint64_t>(x)) + ","; };
    for (std::size_t j = 0; j < table.number_count; ++j) put(table.numbers[r * table.number_count + j]);
    for (const auto& column : table.separate) put(column[r]);
    for (const auto& column : table.texts) to += std::to_string(column.codes[r] < 0) + text_at(column, r) + '\0';
    return to;
}

std::optional<CsvTable> read(CsvReader& reader, const std::string& text, std::size_t from, std::size_t to) {
    const auto exact = std::make_unique<char[]>(to - from);  // the sanitizer detects a read beyond it
    std::copy_n(text.data() + from, to - from, exact.get());
    return reader.read(to == from ? nullptr : exact.get(), to - from);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 5 || size > 20000) return 0;
    const char delimiter = ",;\t|"[data[0] % 4];
    const std::size_t columns = 1 + data[1] % 24;
    if (size < 4 + columns) return 0;
    std::vector<CsvKind> kinds;
    for (std::size_t j = 0; j < columns; ++j) kinds.push_back(static_cast<CsvKind>(data[2 + j] % 5));
    const std::size_t place = data[2 + columns] * 256u + data[3 + columns];
    const std::string text(reinterpret_cast<const char*>(data) + 4 + columns, size - 4 - columns);

    CsvReader reader(kinds, delimiter, {}, MissingMarks({}), MissingMarks({}),
                     false);  // `false`: blanks around text stay
    const auto whole = read(reader, text, 0, text.size());
    const std::size_t cut = text.empty() ? 0 : place % (text.size() + 1);
    const auto prefix = std::make_unique<char[]>(cut);
    std::copy_n(text.data(), cut, prefix.get());
    const std::size_t first_end = row_end(prefix.get(), cut, delimiter, true);
    const std::size_t last_end = row_end(prefix.get(), cut, delimiter, false);
    require(first_end <= last_end && last_end <= cut, "rows end within the text");
    if (!whole) return 0;
    check_against_reference(*whole, kinds, reference_rows(text, delimiter));
    for (const std::size_t end : {first_end, last_end}) {
        const auto before = read(reader, text, 0, end), after = read(reader, text, end, text.size());
        require(before && after, "the pieces of text that the reader accepts are accepted");
        require(before->rows + after->rows == whole->rows, "a cut between rows loses none");
        for (std::size_t r = 0; r < whole->rows; ++r)
            require(shown(*whole, r) == (r < before->rows ? shown(*before, r) : shown(*after, r - before->rows)),
                    "a cut between rows changes none");
    }
    return 0;
}
