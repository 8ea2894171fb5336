// Checks the reader of Vowpal Wabbit's text with text that is cut anywhere, and learns from the rows.

#include "calls.hpp"
#include "learner/learner.hpp"
#include "text/vw_text.hpp"
#include "text_pieces.hpp"

using namespace unitless;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    check_pieces(data, size, [] { return VwReader(); });
    if (size < 4 || size > 2000) return 0;
    // The learner must learn from the rows, or refuse them.
    const TextRows rows = VwReader().read(reinterpret_cast<const char*>(data) + 4, size - 4, true);
    Setup setup;
    if (data[0] % 2) setup.encoder.bits = 3;
    if (data[1] % 2) setup.encoder.pairs = Pairs::all;
    Learner learner(setup, kernel_baseline);
    std::vector<double> p(rows.rows());
    const Labels labels{rows.label.data(), rows.weight.data()};
    try {
        learn(learner, rows.features, labels, p);
        predict(learner, rows.features, false, p);
    } catch (const InputError&) {
        require(learner.snapshot().engine.clock.examples == 0, "a refused call changes nothing");
    } catch (const DivergedError&) {
    }
    return 0;
}
