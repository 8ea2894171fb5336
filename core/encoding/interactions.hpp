// Products of features, computed from the nonzero features of a row.
//
// A product is a feature like any other: it has its own slot and scale. A product gets a slot when it first occurs;
// products of hashed features are hashed. Rows enter with feature numbers (from 1, without the bias), and leave with
// slots.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "encoding/batch_builder.hpp"
#include "encoding/features.hpp"

namespace unitless {

enum class Pairs { none, all, ordered, listed };

// The features that one side of an interaction selects.
struct Selector {
    std::string name;          // the name of a feature, or
    bool prefix = false;       // the beginning of its name, or
    std::int64_t column = -1;  // the number of its column
    bool spaces = false;       // a prefix of namespaces, which excludes names without a namespace (before a ^)

    bool matches(std::string_view feature) const {
        if (column >= 0) return false;
        return prefix ? feature.starts_with(name) && (!spaces || feature.find('^', name.size()) != feature.npos)
                      : feature == name;
    }
    std::string shown() const {
        if (column >= 0) return "column " + std::to_string(column);
        return "'" + name + (prefix ? spaces ? "*^*'" : "*'" : "'");
    }
};

struct Interaction {
    std::vector<Selector> left, right;
};

// Scratch for the products of a row.
struct RowScratch {
    using Sides = std::vector<std::uint64_t>;
    std::vector<std::uint32_t> ids;
    std::vector<double> values;
    std::vector<const Sides*> sides;
    std::unordered_map<std::uint32_t, Sides> noted;  // by hashed feature of the row: the sides that it is on

    // Discards the notes of a row that is not built after all.
    void forget_notes() {
        if (!noted.empty()) noted.clear();
    }
};

class Interactions {
  public:
    struct Product {
        std::uint32_t left, right, slot;
    };

    Interactions(Pairs pairs, std::vector<Interaction> listed)
        : pairs_(pairs), listed_(std::move(listed)), words_((listed_.size() + 63) / 64) {}

    bool any() const { return pairs_ != Pairs::none; }
    const std::vector<Interaction>& listed() const { return listed_; }
    const std::vector<Product>& products() const { return products_; }
    // Returns false if the product exists already.
    bool restore(std::uint32_t left, std::uint32_t right, std::uint32_t slot) {
        if (slot_of(left, right)) return false;
        add(left, right, slot);
        return true;
    }

    std::size_t bytes() const {
        return products_.capacity() * sizeof(Product) + direct_.capacity() * sizeof(std::uint32_t) +
               (far_.size() + sides_.size()) * 48;
    }

    // A state that `rewind` can restore if the data turns out to be invalid.
    std::size_t mark() const { return products_.size(); }
    void rewind(std::size_t mark) {
        for (; products_.size() > mark; products_.pop_back())
            slot_of(products_.back().left, products_.back().right) = 0;
    }

    // Records on which sides of the listed interactions a feature is. A feature with its own number is recorded once.
    // Hashed features may share a number, so each row records them again (`note`).
    void introduce(std::uint32_t feature, std::string_view name, std::int64_t column) {
        if (pairs_ == Pairs::listed) sides_[feature] = sides_of(name, column);
    }
    bool notes(const Features& features) const { return pairs_ == Pairs::listed && features.space() == Space::hashed; }
    void note(RowScratch& row, std::uint32_t feature, std::string_view name, std::int64_t column) const {
        const Sides sides = sides_of(name, column);
        Sides& noted = row.noted[feature];
        noted.resize(2 * words_);
        for (std::size_t w = 0; w < sides.size(); ++w) noted[w] |= sides[w];
    }

    // Adds the products of the current row and converts features to slots. Products may be new. `leave`: the features
    // that occur only in products.
    template <class Leave>
    void expand(RowScratch& row, BatchBuilder& rows, Features& features, Leave leave) {
        expand_with(row, rows, features, leave, [&](std::uint32_t left, std::uint32_t right) {
            if (features.space() == Space::hashed) return hashed(left, right, features);
            std::uint32_t& slot = slot_of(left, right);
            if (!slot) [[unlikely]] {
                products_.push_back({left, right, 0});  // before the slot, so that `rewind` finds it if allot() throws
                products_.back().slot = slot = features.allot();
            }
            return slot;
        });
    }
    // For a row that changes nothing: unknown products are left out.
    template <class Leave>
    void expand_known(RowScratch& row, BatchBuilder& rows, const Features& features, Leave leave) const {
        expand_with(row, rows, features, leave, [&](std::uint32_t left, std::uint32_t right) {
            return features.space() == Space::hashed ? hashed(left, right, features) : known(left, right);
        });
    }

  private:
    using Sides = RowScratch::Sides;
    static constexpr std::uint32_t direct_limit = 4096;  // features below this number use a table for their products

    Pairs pairs_;
    std::vector<Interaction> listed_;
    std::size_t words_;
    std::unordered_map<std::uint32_t, Sides> sides_;
    std::vector<Product> products_;
    std::vector<std::uint32_t> direct_;
    std::unordered_map<std::uint64_t, std::uint32_t> far_;

    // `find(left, right)` returns the slot of a product, or 0.
    template <class Leave, class Find>
    void expand_with(RowScratch& row, BatchBuilder& rows, const Features& features, Leave leave, Find find) const {
        std::vector<std::uint32_t>& ids = row.ids;
        rows.take_row(ids, row.values);
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (!leave(ids[i])) rows.add(features.slot_of(ids[i]), row.values[i]);
        if (pairs_ == Pairs::listed) keep_listed(row, notes(features) ? row.noted : sides_);
        const std::size_t n = ids.size(), most = pairs_ == Pairs::ordered ? n * n : n * (n + 1) / 2;
        const auto [slots, values] = rows.extend(most);
        std::size_t at = 0;
        const auto put = [&](std::uint32_t slot, double value) {
            slots[at] = slot;
            values[at] = value;
            at += slot != 0 && value != 0;
        };
        for (std::size_t j = 0; j < n; ++j) {
            if (pairs_ == Pairs::all && features.space() != Space::hashed && ids[j] <= direct_limit &&
                std::size_t{ids[j]} * (ids[j] + 1) / 2 <= direct_.size()) {
                const std::uint32_t* others = direct_.data() + std::size_t{ids[j]} * (ids[j] - 1) / 2 - 1;
                bool plain = true;
                const double factor = row.values[j];
                for (std::size_t i = 0; i <= j; ++i) {
                    slots[at + i] = others[ids[i]];
                    values[at + i] = row.values[i] * factor;
                    plain = plain && (slots[at + i] != 0) & (values[at + i] != 0);
                }
                if (plain) [[likely]] {
                    at += j + 1;
                } else {
                    for (std::size_t i = 0; i <= j; ++i) put(find(ids[i], ids[j]), row.values[i] * row.values[j]);
                }
                continue;
            }
            for (std::size_t i = 0; i <= j; ++i) {
                if (pairs_ == Pairs::listed && !wanted(row, i, j)) continue;
                const double value = row.values[i] * row.values[j];
                put(find(ids[i], ids[j]), value);
                if (pairs_ == Pairs::ordered && i < j) put(find(ids[j], ids[i]), value);
            }
        }
        row.noted.clear();
        rows.commit(most, at);
        rows.order_unknown();
        if (features.space() != Space::hashed) rows.accept_order();
    }

    Sides sides_of(std::string_view name, std::int64_t column) const {
        Sides sides(2 * words_, 0);
        const auto on = [&](const std::vector<Selector>& selectors) {
            for (const auto& selector : selectors)
                if (column >= 0 ? selector.column == column : selector.matches(name)) return true;
            return false;
        };
        for (std::size_t k = 0; k < listed_.size(); ++k) {
            const std::uint64_t bit = std::uint64_t{1} << (k % 64);
            if (on(listed_[k].left)) sides[k / 64] |= bit;
            if (on(listed_[k].right)) sides[words_ + k / 64] |= bit;
        }
        return sides;
    }

    // Keeps only those features of the row that are on some side.
    static void keep_listed(RowScratch& row, const std::unordered_map<std::uint32_t, Sides>& all) {
        row.sides.clear();
        for (std::size_t i = 0; i < row.ids.size(); ++i) {
            const auto found = all.find(row.ids[i]);
            if (found == all.end()) continue;
            if (std::all_of(found->second.begin(), found->second.end(), [](std::uint64_t w) { return w == 0; }))
                continue;
            row.ids[row.sides.size()] = row.ids[i];
            row.values[row.sides.size()] = row.values[i];
            row.sides.push_back(&found->second);
        }
        row.ids.resize(row.sides.size());
        row.values.resize(row.sides.size());
    }

    bool wanted(const RowScratch& row, std::size_t i, std::size_t j) const {
        const Sides &a = *row.sides[i], &b = *row.sides[j];
        for (std::size_t w = 0; w < words_; ++w)
            if ((a[w] & b[words_ + w]) | (b[w] & a[words_ + w])) return true;
        return false;
    }

    static std::uint32_t hashed(std::uint32_t left, std::uint32_t right, const Features& features) {
        std::uint64_t h = (std::uint64_t{left} << 32 | right) * 0x9e3779b97f4a7c15ULL;
        h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93ULL;
        return 1 + (static_cast<std::uint32_t>(h ^ (h >> 29)) & features.mask());
    }

    // The slot of the product of two features, or 0. Allocates no memory.
    std::uint32_t known(std::uint32_t left, std::uint32_t right) const {
        if (near(left, right)) {
            const std::size_t at = place(left, right);
            return at < direct_.size() ? direct_[at] : 0;
        }
        const auto found = far_.find(std::uint64_t{left} << 32 | right);
        return found == far_.end() ? 0 : found->second;
    }

    void add(std::uint32_t left, std::uint32_t right, std::uint32_t slot) {
        slot_of(left, right) = slot;
        products_.push_back({left, right, slot});
    }

    static bool near(std::uint32_t left, std::uint32_t right) { return left <= direct_limit && right <= direct_limit; }

    // The table is a triangle, [larger][smaller], with two entries per pair if pairs are ordered. Features beyond its
    // limit use a hash table.
    std::size_t place(std::uint32_t left, std::uint32_t right) const {
        const std::uint32_t low = left < right ? left : right, high = left < right ? right : left;
        const std::size_t at = std::size_t{high} * (high - 1) / 2 + (low - 1);
        return pairs_ == Pairs::ordered ? 2 * at + (left > right) : at;
    }
    std::uint32_t& slot_of(std::uint32_t left, std::uint32_t right) {
        if (!near(left, right)) return far_[std::uint64_t{left} << 32 | right];
        const std::size_t at = place(left, right), high = std::max(left, right);
        if (at >= direct_.size()) direct_.resize(high * (high + 1));
        return direct_[at];
    }
};

}  // namespace unitless
