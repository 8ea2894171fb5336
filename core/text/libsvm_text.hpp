// libsvm's and svmlight's text: label index:value ... [# comment]
//
// A feature is called by its index. When an index beyond the highest so far is met, those that were left out between
// are mentioned first, with the value 0: so features are numbered in the order of their indices, as in other programs,
// whichever of them the first rows happen to have. Not from the first gap on that is so wide that the indices must be
// hashes: there may be billions of them.
#pragma once

#include "text/delimiters.hpp"
#include "text/row_builder.hpp"
#include "text/text_chunk.hpp"
#include "text/text_tokens.hpp"

namespace unitless {

class LibsvmReader {
  public:
    // Indices count from 1, or from 0.
    explicit LibsvmReader(bool zero_based) : first_(zero_based ? 0 : 1), highest_{first_} {}

    // The complete lines of a chunk; with `last`, also what follows the last newline. What is beyond `bytes_used` must
    // be given again, at the beginning of the next chunk.
    TextRows read(const char* data, std::size_t size, bool last);

    struct Highest {
        std::uint64_t next;  // after the highest index so far
        bool dense = true;   // no gap was too wide
    };
    // All of a text's lines before that the next chunk depends on.
    Highest highest() const { return highest_; }
    void go_on_from(Highest highest) { highest_ = highest; }

  private:
    static constexpr std::uint64_t end_of_indices = 0xfffffffe, widest_gap = 1 << 22;

    std::uint64_t first_;
    Highest highest_;
    TextChunk chunk_;
    Delimiters<'#'> delimiters_;
    RowBuilder rows_;
    Problem problem_;

    void read_lines(const char* begin, const char* end);
    bool read_row(const char* const*& at, const char* begin);
    bool read_features(const char* const*& place);
    void mention_gap(std::uint64_t index);
    std::uint32_t id_of(std::uint64_t index);
    bool bad_index(const char* begin, const char* end);
    bool bad(const char* what, std::string_view text, const char* advice);
};

}  // namespace unitless
