// Reads the text format of libsvm and svmlight: label index:value ... [# comment]
//
// The name of a feature is its index. Before an index beyond the highest so far, the reader inserts the indices that
// the text leaves out, with the value 0. So features are numbered in the order of their indices, as in other programs,
// whichever of them the first rows have. This ends with the first gap that is so wide that the indices must be hashes,
// because there may be billions of them.
#pragma once

#include "text/delimiters.hpp"
#include "text/row_builder.hpp"
#include "text/text_chunk.hpp"

namespace unitless {

class LibsvmReader {
  public:
    // Indices count from 1, or from 0.
    explicit LibsvmReader(bool zero_based) : first_(zero_based ? 0 : 1), highest_{first_} {}

    // Reads the complete lines of a chunk; with `last`, also the text after the last newline. The next chunk must begin
    // with the byte after `bytes_used`.
    TextRows read(const char* data, std::size_t size, bool last);

    struct Highest {
        std::uint64_t next;  // one after the highest index so far
        bool dense = true;   // no gap was too wide
    };
    // The only state that one chunk passes to the next.
    Highest highest() const { return highest_; }
    void set_highest(Highest highest) { highest_ = highest; }

  private:
    static constexpr std::uint64_t end_of_indices = 0xfffffffe, widest_gap = 1 << 22;

    std::uint64_t first_;
    Highest highest_;
    TextChunk chunk_;
    Delimiters<'#'> delimiters_;
    RowBuilder rows_;

    bool read_line(const char* const*& at, const char* begin);
    bool read_row(const char* const*& at, const char* begin);
    bool read_features(const char* const*& place);
    void mention_gap(std::uint64_t index);
    std::uint32_t id_of(std::uint64_t index);
    bool fail_at_index(const char* begin, const char* end);
};

}  // namespace unitless
