// Checks the libsvm reader with text that is cut anywhere; indices count from 0 or from 1.

#include "text/libsvm_text.hpp"
#include "text_pieces.hpp"

using namespace unitless;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 5) return 0;
    // The reader mentions features that the text leaves out. A line of a few bytes can mean millions of them, which
    // would make the fuzzer slow. Other tests cover this.
    std::size_t digits = 0;
    for (std::size_t i = 5; i < size; ++i) {
        digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
        if (digits > 5 && digits < 9) return 0;
    }
    check_pieces(data + 1, size - 1, [&] { return LibsvmReader(data[0] % 2 == 0); });
    return 0;
}
