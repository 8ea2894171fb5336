// One row of named features on its way into the batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "encoding/encoder.hpp"

namespace unitless {

// `find(i)` gives the number of the i-th feature, or 0 if it has none; `name(i)` its name.
template <class Find, class Name>
void add_named_row(Encoder& to, std::size_t count, const double* from, const RowUse& use, Find find, Name name) {
    const bool noting = to.notes(), raw = to.raw(), centering = to.centering();
    const auto [slots, values] = to.builder().extend(count);
    std::size_t written = 0, moves = 0;
    bool ordered = true;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t feature = find(i);
        if (feature == 0) continue;
        if (raw) to.add_raw(feature, from[i]);
        const double x = centering ? to.centered(feature, from[i], use) : from[i];
        if (x == 0) continue;
        if (noting) to.note(feature, name(i));
        // Rows are nearly in order: what is not is moved to its place at once, unless that becomes too much.
        std::size_t at = written++;
        if (ordered && at > 0 && slots[at - 1] >= feature) {
            for (; at > 0 && slots[at - 1] > feature; --at, ++moves) {
                slots[at] = slots[at - 1];
                values[at] = values[at - 1];
            }
            ordered = (at == 0 || slots[at - 1] < feature) && moves <= 8 * count + 64;
        }
        slots[at] = feature;
        values[at] = x;
    }
    to.builder().commit(count, written);
    if (!ordered) to.builder().order_unknown();
}

}  // namespace unitless
