// Adds one row of named features to the batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "encoding/encoder.hpp"

namespace unitless {

// `find(i)` returns the number of the i-th feature, or 0 if it has none; `name(i)` returns its name.
template <class Find, class Name>
void add_named_row(Encoder& to, std::size_t count, const double* from, const RowUse& use, Find find, Name name) {
    const bool noting = to.notes(), raw = to.raw(), centering = to.centering();
    const auto [slots, values] = to.builder().extend(count);
    std::size_t written = 0;
    std::uint32_t last = 0;
    bool rising = true;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t feature = find(i);
        if (feature == 0) continue;
        if (raw) to.add_raw(feature, from[i]);
        const double x = centering ? to.centered(feature, from[i], use) : from[i];
        if (x == 0) continue;
        if (noting) to.note(feature, name(i));
        rising = rising && feature > last;
        last = feature;
        slots[written] = feature;
        values[written++] = x;
    }
    to.builder().commit(count, written);
    if (!rising) to.builder().order_unknown();
}

}  // namespace unitless
