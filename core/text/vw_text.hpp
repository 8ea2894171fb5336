// Vowpal Wabbit's text: [label [importance [initial]]] ['tag]|namespace[:weight] name[:value] ...
//
// Read as VW 9.11 reads it, where it makes sense of a line; lines of which it makes sense in part are bad here.
//   - The word that touches the first bar, or begins with ', is a tag. Label, importance and initial prediction, which
//     is an offset of the row's score, are words before it.
//   - `x` in namespace a is called a^x, in the nameless namespace x. A namespace's weight multiplies its values.
//   - A feature without a name is the one that is called by its number among the nameless ones of its namespace, from 0
//     on: `|a :5 :6` is `|a 0:5 1:6`. They have the same weights in VW, too.
//   - `x:red` is the feature x=red with the value 1, whatever its namespace's weight; VW calls it x^red. Text that
//     begins like a number is bad: VW reads the number and gives up on the rest of the line.
//   - VW drops values of zero. Here they are kept: they mention a feature. VW takes a line without bar for an example
//     without features; here it is bad, or nothing if it is blank. Tabs are blanks everywhere; VW takes them for a part
//     of labels and tags.
#pragma once

#include <string>
#include <vector>

#include "text/delimiters.hpp"
#include "text/expected_names.hpp"
#include "text/field_ends.hpp"
#include "text/name_filter.hpp"
#include "text/row_builder.hpp"
#include "text/text_chunk.hpp"
#include "text/text_tokens.hpp"

namespace unitless {

class VwReader {
  public:
    explicit VwReader(const std::vector<std::string>& ignore = {}, const std::vector<std::string>& only = {})
        : filter_(ignore, only) {}

    std::vector<std::string> idle() const { return filter_.idle(); }

    // The complete lines of a chunk; with `last`, also what follows the last newline. What is beyond `bytes_used` must
    // be given again, at the beginning of the next chunk.
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
    int strange_windows_ = 0, patience_ = 0;  // how many were mostly not plain; as many are not tried
    NameTable spaces_;                        // namespace i is space 1 + i of the names
    std::string full_name_, valued_name_;
    Problem problem_;

    void read_window(const char* begin, const char* end);
    void read_lines(const char* begin, const char* end);
    const char* read_plain(const char* begin, const char* end);
    const char* read_plain_line(const char* line, FieldEnds& ends);
    bool read_head(std::string_view text, Head& head);
    bool read_features(const char* const*& place);
    std::uint32_t space_of(std::string_view name);
    std::uint32_t new_name(std::uint32_t space, std::string_view written);
    std::uint32_t name_with_value(std::uint32_t space, std::string_view name, std::string_view value);
    bool bad(const char* what, std::string_view text, const char* advice);
};

}  // namespace unitless
