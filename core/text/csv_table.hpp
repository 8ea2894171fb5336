// Rows of delimited text whose columns are known, read straight into arrays.
//
// Each row must have as many fields as there are columns, in UTF-8; otherwise the piece is given back unread, for a
// reader that takes its time and says what is wrong. What is not a number in a column of numbers is missing, and
// counted.
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

enum class CsvKind : int { ignored = 0, number = 1, text = 2, boolean = 3, apart = 4 };

struct CsvText {
    std::vector<std::int32_t> codes;    // each row's place among the values, or -1 for none
    std::vector<std::int64_t> offsets;  // value k is text[offsets[k], offsets[k + 1])
    std::vector<char> text;
};

// Values of a column that are not what it holds: how many, and the first one.
struct CsvOdd {
    std::int64_t count = 0;
    std::size_t row = 0;
    std::string text;

    void add(std::size_t at, std::string_view value) {
        if (count++ == 0) {
            row = at;
            text = value;
        }
    }
};

struct CsvTable {
    struct Free {
        void operator()(double* memory) const { std::free(memory); }
    };
    std::size_t rows = 0, number_count = 0, room = 0;  // room: for so many rows
    std::unique_ptr<double[], Free> numbers;           // [row][column of numbers]; not-a-number where there is none
    std::vector<std::int64_t> absent;                  // how many are not there: by column of numbers
    std::vector<std::vector<double>> apart;            // numbers that are not features: by column
    std::vector<CsvText> texts;                        // columns of text and booleans
    std::vector<CsvOdd> odd;                           // by column
    bool unicode = true;                               // what is odd is text at least

    void make_room(std::size_t for_rows) {
        auto* memory = static_cast<double*>(
            std::realloc(numbers.get(), std::max<std::size_t>(1, for_rows * number_count) * sizeof(double)));
        if (!memory) throw std::bad_alloc();
        static_cast<void>(numbers.release());
        numbers.reset(memory);
        room = for_rows;
    }
};

class CsvReader {
  public:
    // `forms`: of each column, if it is numbers. `marks`: of missing values. `trim`: text loses the blanks around it.
    // `text_marks`: of missing values in columns of text.
    CsvReader(std::vector<CsvKind> kinds, char delimiter, std::vector<NumberForm> forms = {},
              MissingMarks marks = MissingMarks({}), MissingMarks text_marks = MissingMarks({}), bool trim = true);
    // Whole rows; nothing if they are not plain.
    std::optional<CsvTable> read(const char* data, std::size_t size);

  private:
    enum class Step { field, finished, strange };

    std::vector<CsvKind> kinds_;
    char delimiter_;
    std::vector<NumberForm> forms_;  // by column
    MissingMarks marks_, text_marks_;
    bool trim_;
    std::vector<std::size_t> places_;  // each column's place among those of its kind
    std::size_t numbers_ = 0, apart_ = 0, texts_ = 0;
    std::vector<NameTable> names_;                     // by column of text
    std::vector<std::vector<std::uint32_t>> missing_;  // by column of text: those of its values that stand for none
    TextChunk chunk_;
    std::vector<char> quoted_;  // a piece with quotes, which is changed on the way
    struct Run {
        std::size_t first, count;
        bool numbers;
    };
    std::vector<Run> runs_;  // columns of numbers that lie side by side, and single other columns

    template <class Next>
    bool read_rows(CsvTable& table, Next next);
    bool take(CsvTable& table, std::size_t j, const char* begin, const char* end);
    double number(CsvTable& table, std::size_t j, const char* begin, const char* end) const;
    static void note_odd(CsvTable& table, std::size_t j, std::string_view word);
    CsvTable started(const char* data, std::size_t size);
    bool ends_well(const char* end, std::size_t column) const;
    bool read_numbers(CsvTable& table, const Run& run, const char*& begin, FieldEnds& ends) const;
    bool read_plain(const char* begin, const char* stop, CsvTable& table);
    bool read_quoted(const char* data, std::size_t size, CsvTable& table);
};

}  // namespace unitless
