// Divides a chunk of text into windows of complete lines, each followed by text_padding readable bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "base/load_word.hpp"

namespace unitless {

class TextChunk {
  public:
    // Calls `read_lines(begin, end)` for all complete lines, in order; end[-1] is a newline. With `last`, the text
    // after the last newline is a line too. Returns the number of bytes that were read.
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
        const std::string_view rest = padded({data + in_place, used - in_place});
        read_lines(rest.data(), rest.data() + rest.size());
        return used;
    }

    // A copy of lines with padding after it, and a newline at the end. It is valid until the next call.
    std::string_view padded(std::string_view lines) {
        copy_.assign(lines);
        if (!lines.ends_with('\n')) copy_.push_back('\n');
        const std::size_t size = copy_.size();
        copy_.append(text_padding, '\0');
        return {copy_.data(), size};
    }

  private:
    // A window and the positions of its delimiters must fit into the first-level cache together.
    static constexpr std::size_t window = 8192;
    std::string copy_;

    static std::size_t last_line_end(const char* data, std::size_t size) {
        while (size > 0 && data[size - 1] != '\n') --size;
        return size;
    }
};

}  // namespace unitless
