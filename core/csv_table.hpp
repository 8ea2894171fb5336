// Rows of delimited text whose columns are known, read straight into arrays.
//
// Only what is plain is read here: as many fields in each row as there are columns, numbers that are numbers. Where
// anything else turns up the piece is given back unread, for a reader that takes its time and says what is wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "name_table.hpp"

namespace unitless {

enum class CsvKind : int { ignored = 0, number = 1, text = 2, boolean = 3, apart = 4 };

struct CsvText {
    std::vector<std::int32_t> codes;    // each row's place among the values, or -1 for none
    std::vector<std::int64_t> offsets;  // value k is text[offsets[k], offsets[k + 1])
    std::vector<char> text;
};

struct CsvTable {
    std::size_t rows = 0, number_count = 0;
    std::unique_ptr<double[]> numbers;       // [row][column of numbers]; not-a-number where there is none
    std::vector<std::int64_t> absent;        // how many are not there: by column of numbers
    std::vector<std::vector<double>> apart;  // numbers that are no features: by column
    std::vector<CsvText> texts;              // columns of text and booleans
};

class CsvReader {
  public:
    CsvReader(std::vector<CsvKind> kinds, char delimiter);
    // Whole rows; nothing if they are not plain.
    std::optional<CsvTable> read(const char* data, std::size_t size);

  private:
    enum class Step { field, finished, strange };

    std::vector<CsvKind> kinds_;
    char delimiter_;
    std::vector<std::size_t> places_;  // each column's place among those of its kind
    std::size_t numbers_ = 0, apart_ = 0, texts_ = 0;
    std::vector<NameTable> names_;                // by column of text
    std::vector<char> text_;                      // the piece, with room behind it
    std::vector<std::uint32_t> ends_, row_ends_;  // of fields; of rows: how many fields end before
    struct Run {
        std::size_t first, count;
        bool numbers;
    };
    std::vector<Run> runs_;  // columns of numbers that lie side by side, and single other columns

    void find_ends(std::size_t size);
    template <class Next>
    bool read_rows(CsvTable& table, Next next);
    bool take(CsvTable& table, std::size_t j, const char* begin, const char* end);
    static bool number(const char* begin, const char* end, double& out);
    void start(CsvTable& table, std::size_t most_rows) const;
    bool read_plain(std::size_t size, CsvTable& table);
    bool read_quoted(std::size_t size, CsvTable& table);
};

}  // namespace unitless
