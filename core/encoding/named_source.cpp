#include "encoding/named_source.hpp"

#include "base/limits.hpp"
#include "encoding/named_row.hpp"
#include "rows/dense_values.hpp"

namespace unitless {

void NamedSource::check_features(const Encoder& encoder) const {
    encoder.check_named();
    for (std::size_t i = 0; i < from_.names(); ++i) encoder.check_name(from_.name(i));
}

void NamedSource::check_values(const Encoder& encoder, std::size_t first, std::size_t end) {
    const std::size_t from = row_begin(first), count = row_begin(end) - from;
    double largest =
        largest_of<double>(reinterpret_cast<const char*>(from_.values.data() + from), sizeof(double), count);
    if (!(largest < 0x1p960)) {
        for (std::size_t r = first; r < end; ++r)
            for (std::size_t k = row_begin(r); k < from_.row_ends[r]; ++k)
                if (!is_usable(from_.values[k]))
                    throw_bad_value(from_.values[k], Place{r, std::string(from_.name(from_.ids[k]))});
        largest = largest_value;
    }
    encoder.check_magnitude(largest, count);
}

std::size_t NamedSource::encode(Encoder& to, std::size_t first, std::size_t most, Purpose purpose,
                                const double* weight) {
    return to.add_rows(first, most, purpose, weight, [&](std::size_t row, std::size_t, const RowUse& use) {
        const std::size_t begin = row_begin(row);
        const std::uint32_t* const ids = from_.ids.data() + begin;
        const auto name = [&](std::size_t i) { return from_.name(ids[i]); };
        const auto find = [&](std::size_t i) {
            const std::uint32_t found = numbers_.found(ids[i]);
            return found ? found : numbers_.find(to, ids[i], from_.name(ids[i]), use);
        };
        add_named_row(to, from_.row_ends[row] - begin, from_.values.data() + begin, use, find, name);
    });
}

}  // namespace unitless
