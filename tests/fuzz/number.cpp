// Checks that the core and the C library read the same numbers, to the bit, and that the bytes behind a number never
// matter.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "reference_number.hpp"
#include "require.hpp"
#include "text/parse_number.hpp"

using namespace unitless;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0 || size > 1000) return 0;
    constexpr std::size_t padding = 24;
    const char behind = static_cast<char>(data[--size]);  // fills the bytes behind the number that may be read
    const auto memory = std::make_unique<char[]>(size + padding);
    std::copy_n(data, size, memory.get());
    std::fill_n(memory.get() + size, padding, behind);
    const char *const begin = memory.get(), *const end = begin + size;
    const std::string_view text(begin, size);

    double x = 0;
    const bool read = parse_number(begin, end, x);
    const auto expected = reference_number(text);
    require(read == expected.has_value(), "a number is read exactly where there is one");
    if (read)
        require(std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(*expected),
                "the nearest double is what is read");

    const auto whole = parse_whole(begin, end);
    const bool digits = size > 0 && size <= 16 && text.find_first_not_of("0123456789") == text.npos;
    require(whole.has_value() == digits, "a whole number is read exactly where there is one");
    if (whole) require(*whole == std::strtoull(std::string(text).c_str(), nullptr, 10), "whole numbers are exact");
    return 0;
}
