// Finds the ends of CSV rows. A quote at the beginning of a field opens it. Up to the closing quote, newlines and
// delimiters are part of the value, and two quotes stand for one.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace unitless {

// The closing quote of a field whose value begins at `value`, or null. `has_pairs` becomes true if two quotes in the
// value stand for one.
inline const char* closing_quote(const char* value, const char* end, bool& has_pairs) {
    for (;;) {
        const void* const found = std::memchr(value, '"', static_cast<std::size_t>(end - value));
        const auto* const quote = static_cast<const char*>(found);
        if (!quote || quote + 1 == end || quote[1] != '"') return quote;
        has_pairs = true;
        value = quote + 2;
    }
}

// Finds the ends of rows, one after another, in a text that begins with a row.
class RowEnds {
  public:
    // `delimiter`: '\0' if quotes have no meaning. `newline`: the character that ends a row.
    RowEnds(std::string_view text, char delimiter, char newline = '\n')
        : text_(text.data()),
          stop_(text.data() + text.size()),
          begin_(text_),
          quote_(delimiter ? find('"', text_) : stop_),
          delimiter_(delimiter),
          newline_(newline) {}

    // The end of the next row, after its newline; null if the text ends before the row does.
    const char* next() {
        const char* newline = find(newline_, begin_);
        while (quote_ < newline) {
            if (opens_field(quote_)) {
                bool has_pairs = false;
                const char* const closing = closing_quote(quote_ + 1, stop_, has_pairs);
                if (!closing) {
                    begin_ = quote_ = stop_;
                    return nullptr;
                }
                quote_ = closing;
                newline = find(newline_, quote_ + 1);
            }
            quote_ = find('"', quote_ + 1);
        }
        begin_ = newline == stop_ ? stop_ : newline + 1;
        return newline == stop_ ? nullptr : begin_;
    }
    // The next row with its newline, which the last row of the text may lack; empty after the last row.
    std::string_view next_row() {
        const char* const begin = begin_;
        next();
        return {begin, static_cast<std::size_t>(begin_ - begin)};
    }

  private:
    const char *text_, *stop_;
    const char* begin_;  // the beginning of the next row
    const char* quote_;  // the first quote that `next` has not passed; `stop_` if there is none
    char delimiter_, newline_;

    const char* find(char c, const char* from) const {
        if (from == stop_) return stop_;
        const void* const found = std::memchr(from, c, static_cast<std::size_t>(stop_ - from));
        return found ? static_cast<const char*>(found) : stop_;
    }
    bool opens_field(const char* quote) const {
        return quote == text_ || quote[-1] == delimiter_ || quote[-1] == '\n' || quote[-1] == '\r';
    }
};

// The end of the first complete row of a text, or of the last one; 0 if there is none.
inline std::size_t row_end(const char* data, std::size_t size, char delimiter, bool first) {
    RowEnds ends({data, size}, delimiter);
    const char* last = data;
    for (const char* end; (end = ends.next());) {
        last = end;
        if (first) break;
    }
    return static_cast<std::size_t>(last - data);
}

}  // namespace unitless
