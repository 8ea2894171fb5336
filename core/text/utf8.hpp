// Whether text is UTF-8. Surrogates, overlong forms and code points beyond U+10FFFF are not allowed.
#pragma once

#include <string_view>

namespace unitless {

inline bool is_utf8(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    for (std::size_t i = 0; i < text.size();) {
        const unsigned first = byte(i);
        if (first < 0x80) {
            ++i;
            continue;
        }
        const unsigned second = byte(i + 1);
        std::size_t length = 2;
        unsigned least = 0x80, most = 0xbf;  // of the second byte
        if (first >= 0xe0) length = first < 0xf0 ? 3 : 4;
        if (first == 0xe0) least = 0xa0;
        if (first == 0xed) most = 0x9f;
        if (first == 0xf0) least = 0x90;
        if (first == 0xf4) most = 0x8f;
        if (first < 0xc2 || first > 0xf4 || second < least || second > most) return false;
        for (std::size_t k = 2; k < length; ++k)
            if ((byte(i + k) & 0xc0) != 0x80) return false;
        i += length;
    }
    return true;
}

}  // namespace unitless
