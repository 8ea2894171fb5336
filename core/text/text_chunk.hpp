// Cuts a chunk of text into whole lines behind which there is room to read (see text_padding), a window at a time.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "base/load_word.hpp"

namespace unitless {

class TextChunk {
  public:
    // Calls `read_lines(begin, end)` for all complete lines, in order; end[-1] is a newline. With `last`, what follows
    // the last newline is a line too. Gives the number of bytes that were read.
    template <class ReadLines>
    std::size_t read(const char* data, std::size_t size, bool last, ReadLines read_lines) {
        if (size == 0) return 0;
        const std::size_t used = last ? size : last_line_end(data, size);
        const std::size_t in_place = std::min(used, size > text_padding ? last_line_end(data, size - text_padding) : 0);
        for (std::size_t at = 0; at < in_place;) {
            std::size_t end = std::min(at + window, in_place);
            if (end < in_place) {
                const void* newline = std::memchr(data + end - 1, '\n', in_place - end + 1);
                end = static_cast<std::size_t>(static_cast<const char*>(newline) - data) + 1;
            }
            read_lines(data + at, data + end);
            at = end;
        }
        if (in_place == used) return used;
        // Behind the last lines there is nothing to read: they are copied to where there is.
        rest_.assign(data + in_place, used - in_place);
        if (rest_.back() != '\n') rest_.push_back('\n');
        const std::size_t length = rest_.size();
        rest_.append(text_padding, '\0');
        read_lines(rest_.data(), rest_.data() + length);
        return used;
    }

  private:
    static constexpr std::size_t window =
        8192;  // small enough that the text and its marks stay in the first-level cache
    std::string rest_;

    static std::size_t last_line_end(const char* data, std::size_t size) {
        while (size > 0 && data[size - 1] != '\n') --size;
        return size;
    }
};

}  // namespace unitless
