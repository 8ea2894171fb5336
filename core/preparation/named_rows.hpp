// Rows of names on their way in.
#pragma once

#include <algorithm>
#include <vector>

#include "base/limits.hpp"
#include "preparation/mention.hpp"
#include "rows/dense_input.hpp"
#include "rows/dense_values.hpp"
#include "rows/named_rows.hpp"

namespace unitless {

class NamedRowsIn {
  public:
    explicit NamedRowsIn(const NamedRows& from) : from_(from), features_(from.names()) {}

    std::size_t rows() const { return from_.rows(); }
    std::size_t width() const { return std::max<std::size_t>(1, from_.ids.size() / std::max<std::size_t>(1, rows())); }
    std::size_t entries() const { return from_.ids.size(); }

    // Throws if a name or a value cannot be learned.
    void check(Preparation& preparation) const {
        check_names(preparation);
        check_values(preparation, 0, rows());
    }
    void check_names(const Preparation& preparation) const {
        for (std::size_t i = 0; i < from_.names(); ++i) preparation.check_name(from_.name(i));
    }
    // Of the rows before `end` from one on.
    void check_values(Preparation& preparation, std::size_t first, std::size_t end) const {
        const std::size_t from = row_begin(first), count = row_begin(end) - from;
        const double largest =
            largest_of<double>(reinterpret_cast<const char*>(from_.values.data() + from), sizeof(double), count);
        preparation.check_magnitude(largest);
        if (largest < 0x1p960) return;
        for (std::size_t r = first; r < end; ++r) {
            for (std::size_t k = row_begin(r); k < from_.row_ends[r]; ++k)
                if (!is_usable(from_.values[k]))
                    throw_bad_value(from_.values[k], Place{r, std::string(from_.name(from_.ids[k]))});
            preparation.check_sum(from_.row_ends[r] - row_begin(r), from_.values.data() + row_begin(r), r);
        }
    }

    void forget() { features_.assign(features_.size()); }
    void begin_batch(Preparation&, std::size_t, std::size_t) const {}

    void add_row(Preparation& to, std::size_t row, std::size_t, Looking looking, double weight) {
        const bool learning = looking == Looking::learning, grow = learning && weight > 0, noting = to.notes(),
                   raw = to.raw();
        const std::size_t begin = row_begin(row), count = from_.row_ends[row] - begin;
        const auto [slots, values] = to.row().extend(count);
        std::size_t written = 0, moves = 0;
        bool ordered = true;
        for (std::size_t k = begin; k < begin + count; ++k) {
            const std::uint32_t id = from_.ids[k];
            std::uint32_t feature = features_[id];
            if (!is_feature(feature)) [[unlikely]] {
                feature = features_.mention(to, id, from_.name(id), grow, learning);
                if (!feature) continue;
            }
            if (raw) to.mention(feature, from_.values[k]);
            const double x = to.centring() ? to.centred(feature, from_.values[k], looking, weight) : from_.values[k];
            if (x == 0) continue;
            if (noting) to.note(feature, from_.name(id));
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
        to.row().commit(count, written);
        if (!ordered) to.row().order_unknown();
    }

    // Are all names known? From then on rows can be spread.
    bool know(Preparation& preparation) {
        for (std::size_t i = 0; i < features_.size(); ++i) {
            const auto found = preparation.feature(from_.name(i), false);
            if (!found) return false;
            features_.set(i, *found);
        }
        return true;
    }

    // A row over all slots. A feature that stands there twice is added up as elsewhere.
    void spread(std::size_t row, double* to) {
        const std::size_t begin = row_begin(row), end = from_.row_ends[row];
        bool twice = false;
        for (std::size_t k = begin; k < end; ++k) {
            double& there = to[position(features_[from_.ids[k]])];
            twice |= there != 0;
            there = from_.values[k] + 0.0;  // turns -0 into 0
        }
        if (twice) [[unlikely]]
            spread_again(begin, end, to);
    }

  private:
    const NamedRows& from_;
    SharedMentions features_;  // of each name; threads that predict add rows at once
    SparseRows again_;

    std::size_t row_begin(std::size_t row) const { return row ? from_.row_ends[row - 1] : 0; }

    void spread_again(std::size_t begin, std::size_t end, double* to) {
        again_.clear();
        again_.begin_row();
        for (std::size_t k = begin; k < end; ++k) {
            const std::uint32_t slot = features_[from_.ids[k]];
            to[position(slot)] = 0;
            again_.add(slot, from_.values[k]);
        }
        again_.end_row();
        const SparseInput once = again_.view();
        for (std::size_t k = begin_of(once, 0); k < end_of(once, 0); ++k) to[position(once.slots[k])] = once.values[k];
    }
};

}  // namespace unitless
