// All that a learner knows, out of it and into another one.

#include <algorithm>
#include <cmath>

#include "errors.hpp"
#include "learner.hpp"

namespace unitless {

Snapshot Learner::snapshot() const {
    const std::lock_guard guard(lock_);
    Snapshot to;
    to.clock = clock_;
    to.negative = negative_;
    to.space = features_.space();
    to.columns = features_.column_count();
    to.names = features_.names();
    to.lanes = lanes_ ? lanes_->lanes() : std::vector<Lane>{{0, 0}};
    to.scores = selection_.scores();
    to.followed = selection_.followed();
    to.errors = selection_.errors();
    to.target = target_;
    to.products = interactions_.products();
    for (std::uint32_t feature = 0; feature < centre_.columns().size(); ++feature) {
        if (centre_.columns()[feature].offset == Offset::unknown) continue;
        to.centre_features.push_back(feature);
        to.centre.push_back(centre_.columns()[feature]);
    }
    const std::size_t slots = features_.slot_count();
    if (lanes_) {
        for (std::size_t j = 0; j < std::min(lanes_->capacity(), slots); ++j) {
            if (lanes_->scale()[j] == 0) continue;
            to.slots.push_back(static_cast<std::uint32_t>(j));
            to.scale.push_back(lanes_->scale()[j]);
            for (std::size_t lane = 0; lane < lanes_->lanes().size(); ++lane) {
                to.v.push_back(lanes_->v(j, lane));
                to.H.push_back(lanes_->H(j, lane));
            }
        }
        return to;
    }
    const auto copy = [&](const auto* from) {
        for (std::size_t j = 0; j < std::min(capacity_, slots); ++j) {
            if (from[j].scale == 0) continue;
            to.slots.push_back(static_cast<std::uint32_t>(j));
            to.scale.push_back(from[j].scale);
            to.v.push_back(from[j].v);
            to.H.push_back(from[j].H);
        }
    };
    with_slots(setup_.options, slots_.get(), copy);
    return to;
}

// Into a fresh learner of the same setup.
void Learner::restore(const Snapshot& from) {
    const std::lock_guard guard(lock_);
    if (from.space == Space::columns) use_columns(from.columns);
    if (from.space == Space::names) {
        features_.use_names();
        for (const auto& name : from.names) feature(name, true);
        if (features_.names().size() != from.names.size()) throw InputError("a feature name occurs twice");
    }
    restore_products(from);
    for (std::size_t k = 0; k < from.centre.size(); ++k) {
        const std::uint32_t number = from.centre_features[k];
        if (number == 0 || number > features_.feature_count() || (k && number <= from.centre_features[k - 1]))
            throw InputError("a mean is outside the features");
        if (!(std::isfinite(from.centre[k].mean) && from.centre[k].weight >= 0))
            throw InputError("a mean is not a number");
        centre_.restore(from.centre_features[k], from.centre[k]);
    }
    if (lanes_) {
        restore_lanes(from);
    } else if (from.lanes.size() != 1 || from.lanes[0].head != 0 || from.lanes[0].rate != 0) {
        throw InputError("lanes that are not the model's");
    }
    check_scales(from);
    reserve(features_.slot_count());
    const std::size_t lanes = lanes_ ? lanes_->lanes().size() : 1;
    if (from.v.size() != lanes * from.slots.size() || from.H.size() != from.v.size() ||
        from.scale.size() != from.slots.size())
        throw InputError("the model's arrays differ in length");
    for (const std::uint32_t slot : from.slots)
        if (slot >= features_.slot_count()) throw InputError("a slot is outside the model's features");
    if (lanes_) {
        for (std::size_t k = 0; k < from.slots.size(); ++k) {
            lanes_->scale()[from.slots[k]] = from.scale[k];
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                lanes_->v(from.slots[k], lane) = from.v[k * lanes + lane];
                lanes_->H(from.slots[k], lane) = from.H[k * lanes + lane];
            }
        }
    } else {
        with_slots(setup_.options, slots_.get(), [&](auto* to) {
            using Stored = decltype(to->v);
            for (std::size_t k = 0; k < from.slots.size(); ++k)
                to[from.slots[k]] = {from.scale[k], static_cast<Stored>(from.v[k]), static_cast<Stored>(from.H[k])};
        });
    }
    clock_ = from.clock;
    negative_ = from.negative;
    const bool paced = target_.paced;
    target_ = from.target;
    target_.on = setup_.target;
    target_.paced = paced;
}

// The bias is 1 in every example, so that its scale is not less than that; other scales are those of some value.
void Learner::check_scales(const Snapshot& from) const {
    for (std::size_t k = 0; k < from.scale.size() && k < from.slots.size(); ++k) {
        const double s = from.scale[k];
        if (!(s > 0 && std::isfinite(s))) throw InputError("a scale is not a positive number");
        if (from.slots[k] != 0) continue;
        // A model of Vowpal Wabbit's may share the place of its constant with some feature: then it is larger.
        const double least = setup_.options.rule == RuleKind::snag ? std::sqrt(from.clock.T) * (1 - 1e-3) : 1.0;
        if (s < least) throw InputError("the scale of the bias is not what its examples give");
    }
}

// Slots that are no product's belong to the names, in order.
void Learner::restore_products(const Snapshot& from) {
    if (from.products.empty()) return;
    if (!interactions_.any()) throw InputError("products in a model without interactions");
    const std::size_t features = features_.feature_count(), slots = 1 + features + from.products.size();
    std::vector<bool> taken(slots, false);
    taken[0] = true;
    for (const auto& product : from.products) {
        const bool known = product.left - 1 < features && product.right - 1 < features;
        if (!known || product.slot >= slots || taken[product.slot]) throw InputError("a product that cannot be");
        taken[product.slot] = true;
        if (!interactions_.restore(product.left, product.right, product.slot))
            throw InputError("a product that occurs twice");
    }
    std::vector<std::uint32_t> free;
    for (std::uint32_t slot = 1; slot < slots; ++slot)
        if (!taken[slot]) free.push_back(slot);
    if (from.space == Space::columns)
        for (std::size_t j = 0; j < features; ++j)
            if (free[j] != j + 1) throw InputError("a product in a column's slot");
    features_.restore_slots(from.space == Space::names ? free : std::vector<std::uint32_t>{}, from.products.size());
}

}  // namespace unitless
