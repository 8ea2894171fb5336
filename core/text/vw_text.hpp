// Reads Vowpal Wabbit's text format: [label [importance [initial]]] ['tag]|namespace[:weight] name[:value] ...
//
// A line has the same meaning as in VW 9.11. Lines that VW reads only in part are invalid here.
//   - A word that touches the first bar, or begins with ', is a tag. Label, importance and initial prediction, which is
//     an offset of the row's score, are words before it.
//   - `x` in namespace a is named a^x; in the nameless namespace it is named x. The values of a namespace are
//     multiplied by its weight.
//   - A feature without a name gets its number among the nameless features of its namespace, from 0 on: `|a :5 :6` is
//     `|a 0:5 1:6`. In VW the two have the same weights, too.
//   - `x:red` is the feature x=red with the value 1, whatever the weight of its namespace; VW names it x^red. Text that
//     begins like a number is invalid: VW reads the number and skips the rest of the line.
//   - VW drops values of zero. Here they stay, because they mention a feature. A line without a bar is an example
//     without features in VW; here it is invalid, unless it is blank. Tabs are blanks everywhere; in VW they can be
//     part of labels and tags.
#pragma once

#include <string>
#include <vector>

#include "text/delimiters.hpp"
#include "text/expected_names.hpp"
#include "text/field_ends.hpp"
#include "text/name_filter.hpp"
#include "text/row_builder.hpp"
#include "text/text_chunk.hpp"

namespace unitless {

class VwReader {
  public:
    explicit VwReader(const std::vector<std::string>& ignore = {}, const std::vector<std::string>& only = {})
        : filter_(ignore, only) {}

    // Patterns that have matched no name so far.
    std::vector<std::string> unmatched() const { return filter_.unmatched(); }

    // Reads the complete lines of a chunk; with `last`, also the text after the last newline. The next chunk must begin
    // with the byte after `bytes_used`.
    TextRows read(const char* data, std::size_t size, bool last);

  private:
    struct Head {
        double label, weight;
        std::string_view tag;
        double offset = 0;
    };

    NameFilter filter_;
    TextChunk chunk_;
    Delimiters<'|'> delimiters_;
    RowBuilder rows_;
    ExpectedNames expected_;
    int other_windows_ = 0;    // consecutive windows that were mostly not plain
    int windows_to_skip_ = 0;  // for this many windows, no plain lines are tried
    NameTable spaces_;         // namespace i is space 1 + i of the names
    std::string full_name_, valued_name_;

    void read_window(const char* begin, const char* end);
    void read_any_lines(const char* begin, const char* end);
    const char* read_plain_lines(const char* begin, const char* end);
    const char* read_plain_line(const char* line, FieldEnds& ends);
    bool read_line(const char* const*& at, const char* begin);
    bool read_head(std::string_view text, Head& head);
    bool read_features(const char* const*& place);
    std::uint32_t space_of(std::string_view name);
    std::uint32_t new_name(std::uint32_t space, std::string_view written);
    std::uint32_t name_with_value(std::uint32_t space, std::string_view name, std::string_view value);
};

}  // namespace unitless
