// Where rows of CSV end: a newline inside quotes is part of a value. A quote opens only at the beginning of a field.
#pragma once

#include <cstddef>
#include <cstring>

namespace unitless {

// The end of the last whole row, or of the first one; or 0. The data begins with a row.
inline std::size_t row_end(const char* data, std::size_t size, char delimiter, bool first) {
    const auto find = [&](char c, std::size_t from) {
        const void* at = from < size ? std::memchr(data + from, c, size - from) : nullptr;
        return at ? static_cast<std::size_t>(static_cast<const char*>(at) - data) : size;
    };
    std::size_t end = 0, newline = find('\n', 0), quote = find('"', 0);
    while (quote < size) {
        for (; newline < quote && !(first && end); newline = find('\n', newline + 1)) end = newline + 1;
        if (first && end) return end;
        const bool opens =
            quote == 0 || data[quote - 1] == delimiter || data[quote - 1] == '\n' || data[quote - 1] == '\r';
        ++quote;
        if (opens) {
            for (;; quote += 2) {  // up to a quote that is not doubled
                quote = find('"', quote);
                if (quote >= size) return end;
                if (quote + 1 >= size || data[quote + 1] != '"') break;
            }
            ++quote;
            newline = find('\n', quote);
        }
        quote = find('"', quote);
    }
    for (; newline < size && !(first && end); newline = find('\n', newline + 1)) end = newline + 1;
    return end;
}

}  // namespace unitless
