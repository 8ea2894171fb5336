// Reads rows of delimited text into arrays; the kinds of the columns are known.
//
// Each row must have one field per column, and text must be UTF-8. If not, the reader returns nothing; a slower reader
// then reads the text and reports the problem. A cell of a number column that is not a number counts as missing, and as
// an invalid value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/field_ends.hpp"
#include "text/name_table.hpp"
#include "text/text_chunk.hpp"
#include "text/written_number.hpp"

namespace unitless {

// Columns of the kind `number` share a matrix. Columns of the kind `separate_number`, such as labels and weights, have
// an array each.
enum class CsvKind : int { ignored = 0, number = 1, text = 2, boolean = 3, separate_number = 4 };

struct CsvText {
    std::vector<std::int32_t> codes;    // by row: the number of its value; -1: missing
    std::vector<std::int64_t> offsets;  // value k is text[offsets[k], offsets[k + 1])
    std::vector<char> text;
};

// The cells of a column that could not be read as the column's kind.
struct CsvInvalid {
    std::int64_t count = 0;
    std::size_t row = 0;  // the row of the first one
    std::string text;     // the text of the first one

    void add(std::size_t at, std::string_view cell) {
        if (count++ == 0) {
            row = at;
            text = cell;
        }
    }
};

struct CsvTable {
    struct Free {
        void operator()(double* memory) const { std::free(memory); }
    };
    std::size_t rows = 0, number_count = 0;
    std::size_t capacity = 0;                   // the number of rows for which `numbers` has memory
    std::unique_ptr<double[], Free> numbers;    // [row][number column]; NaN: missing
    std::vector<std::int64_t> missing;          // by number column: the number of missing cells
    std::vector<std::vector<double>> separate;  // [separate number column][row]
    std::vector<CsvText> texts;                 // by column of text or booleans
    std::vector<CsvInvalid> invalid;            // by column
    bool invalid_is_utf8 = true;                // whether all invalid cells are UTF-8

    // Uses realloc, because it can often extend the memory without a copy.
    void set_capacity(std::size_t new_capacity) {
        auto* memory = static_cast<double*>(
            std::realloc(numbers.get(), std::max<std::size_t>(1, new_capacity * number_count) * sizeof(double)));
        if (!memory) throw std::bad_alloc();
        static_cast<void>(numbers.release());
        numbers.reset(memory);
        capacity = new_capacity;
    }
};

class CsvReader {
  public:
    // `forms`: how the numbers of each column are written. `marks`: texts that mean a missing value in columns of
    // numbers and booleans; `text_marks`: in columns of text. `trim`: remove the blanks around text.
    CsvReader(std::vector<CsvKind> kinds, char delimiter, std::vector<NumberForm> forms = {},
              MissingMarks marks = MissingMarks({}), MissingMarks text_marks = MissingMarks({}), bool trim = true);
    // Reads complete rows; returns nothing if they need a slower reader.
    std::optional<CsvTable> read(const char* data, std::size_t size);

  private:
    // Adjacent number columns, or a single other column.
    struct Run {
        std::size_t first, count;
        bool numbers;
    };

    std::vector<CsvKind> kinds_;
    char delimiter_;
    std::vector<NumberForm> forms_;  // by column
    MissingMarks marks_, text_marks_;
    bool trim_;
    std::size_t most_plain_digits_;    // fields of at most this many digits are numbers, not marks
    std::vector<std::size_t> places_;  // by column: its index among those of its kind
    std::size_t number_count_ = 0, separate_count_ = 0, text_count_ = 0;
    std::vector<Run> runs_;
    std::vector<NameTable> values_;                          // by text column
    std::vector<std::vector<std::uint32_t>> missing_codes_;  // by text column: its values that are text_marks
    TextChunk chunk_;
    bool has_bare_returns_ = false;  // the text has carriage returns without a newline, perhaps inside quotes
    std::string unquoted_;           // see without_pairs

    CsvTable new_table(std::string_view text);
    bool read_rows(const char* at, const char* stop, CsvTable& table);
    const char* read_numbers(const char* at, const char* stop, FieldEnds& ends, const Run& run, CsvTable& table);
    const char* read_plain_field(const char* at, const char* end, std::string_view& field) const;
    const char* read_quoted_field(const char* at, const char* stop, FieldEnds& ends, std::string_view& field);
    std::string_view without_pairs(std::string_view value);
    bool ends_field(const char* end, std::size_t column) const;
    bool add(CsvTable& table, std::size_t column, std::string_view field);
    bool add_text(CsvText& to, std::size_t place, std::string_view field);
    double number(CsvTable& table, std::size_t column, std::string_view field) const;
    static void add_invalid(CsvTable& table, std::size_t column, std::string_view field);
};

}  // namespace unitless
