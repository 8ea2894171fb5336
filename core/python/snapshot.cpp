// All that a learner knows, as arrays by name.

#include "python/learner.hpp"
#include "python/options.hpp"

namespace unitless {
namespace {

constexpr double Window::* window_fields[] = {&Window::scale,  &Window::limit,  &Window::low,
                                              &Window::high,   &Window::first,  &Window::sum,
                                              &Window::square, &Window::weight, &Window::count};

}  // namespace

nb::dict snapshot(const PyLearner& self, bool slots) {
    const Snapshot from = [&] {
        const nb::gil_scoped_release release;
        return self.learner.snapshot(slots);
    }();
    nb::dict to;
    to["t"] = from.engine.clock.t;
    to["T"] = from.engine.clock.T;
    to["N"] = from.engine.clock.N;
    to["examples"] = from.engine.clock.examples;
    to["label_min"] = from.engine.clock.label_min;
    to["label_max"] = from.engine.clock.label_max;
    to["negative"] = static_cast<int>(from.labels.negative);
    to["columns"] = from.preparation.space == Space::columns ? nb::cast(from.preparation.columns) : nb::none();
    to["names"] = from.preparation.space == Space::names ? nb::cast(from.preparation.names) : nb::none();
    to["slots"] = copied<NewSlots>(from.engine.slots);
    to["scale"] = copied<NewDoubles>(from.engine.scale);
    to["v"] = copied<NewDoubles>(from.engine.v);
    to["H"] = copied<NewDoubles>(from.engine.H);
    to["average"] = copied<NewDoubles>(from.engine.average);
    to["average_scale"] = copied<NewDoubles>(from.engine.average_scale);
    to["averaged_t"] = from.engine.averaged_t;
    to["next_look"] = from.engine.next_look;
    to["kept"] = from.engine.keeps_average ? "averaged" : "last";
    const Choosing& choosing = from.engine.choosing;
    to["suspended_at"] = choosing.suspended() ? nb::cast(choosing.suspended_at) : nb::none();
    to["missed"] = choosing.missed;
    std::vector<std::uint32_t> heads, rates;
    for (const auto& lane : from.engine.lanes) {
        heads.push_back(lane.head);
        rates.push_back(lane.rate);
    }
    to["lane_heads"] = copied<NewSlots>(heads);
    to["lane_rates"] = copied<NewSlots>(rates);
    std::vector<double> scores;
    for (const auto& lane : from.engine.scores)
        for (const double x : {lane.loss, lane.recent, lane.gap, lane.square, lane.total_gap, lane.total_square})
            scores.push_back(x);
    to["scores"] = copied<NewDoubles>(scores);
    to["followed"] = copied<NewDoubles>(from.engine.followed);
    to["errors"] = copied<NewDoubles>(from.engine.errors);
    const Target& target = from.labels.target;
    to["target"] = copied<NewDoubles>(std::vector<double>{target.started ? 1.0 : 0.0, target.centre, target.weight,
                                                          target.sum, target.square, target.far_rows, target.limited});
    std::vector<std::uint32_t> products, kinds;
    for (const auto& product : from.preparation.products)
        for (const std::uint32_t x : {product.left, product.right, product.slot}) products.push_back(x);
    to["products"] = copied<NewSlots>(products);
    std::vector<double> means, proven;
    for (const auto& column : from.preparation.centre) {
        kinds.push_back(column.offset == Offset::removed);
        means.push_back(column.mean);
        means.push_back(column.weight);
        proven.push_back(column.proven);
    }
    to["centre_features"] = copied<NewSlots>(from.preparation.centre_features);
    to["centre_kinds"] = copied<NewSlots>(kinds);
    to["centre_means"] = copied<NewDoubles>(means);
    std::vector<std::uint32_t> window_features;
    std::vector<double> windows;
    for (const auto& [feature, window] : from.preparation.windows) {
        window_features.push_back(feature);
        for (const auto field : window_fields) windows.push_back(window.*field);
    }
    to["window_features"] = copied<NewSlots>(window_features);
    to["proven_scales"] = copied<NewDoubles>(proven);
    to["windows"] = copied<NewDoubles>(windows);
    nb::dict shape;
    shape["settled"] = nb::none();
    for (const auto& [word, kind] : shapes)
        if (kind == from.settled.shape && kind != Shape::automatic) shape["settled"] = word;
    to["company"] = nb::none();
    for (const auto& [word, kind] : companies)
        if (kind == from.settled.company && kind != Company::automatic) to["company"] = word;
    for (const auto& [name, values] : from.engine.shape) shape[name.c_str()] = copied<NewDoubles>(values);
    to["shape"] = shape;
    to["slopes"] = copied<NewDoubles>(from.slopes);
    return to;
}

Snapshot snapshot_of(const nb::dict& from) {
    Snapshot to;
    to.engine.clock.t = nb::cast<double>(from["t"]);
    to.engine.clock.T = nb::cast<double>(from["T"]);
    to.engine.clock.N = nb::cast<double>(from["N"]);
    to.engine.clock.examples = nb::cast<std::uint64_t>(from["examples"]);
    to.engine.clock.label_min = nb::cast<double>(from["label_min"]);
    to.engine.clock.label_max = nb::cast<double>(from["label_max"]);
    to.labels.negative = static_cast<NegativeLabel>(nb::cast<int>(from["negative"]));
    if (!from["columns"].is_none()) {
        to.preparation.space = Space::columns;
        to.preparation.columns = nb::cast<std::size_t>(from["columns"]);
    }
    if (!from["names"].is_none()) {
        to.preparation.space = Space::names;
        to.preparation.names = nb::cast<std::vector<std::string>>(from["names"]);
    }
    const auto numbers = [&](const char* key) {
        const auto array = nb::cast<Doubles>(from[key]);
        return std::vector<double>(array.data(), array.data() + array.size());
    };
    const auto slots = [&](const char* key) {
        const auto array = nb::cast<Slots>(from[key]);
        return std::vector<std::uint32_t>(array.data(), array.data() + array.size());
    };
    to.engine.slots = slots("slots");
    to.engine.scale = numbers("scale");
    to.engine.v = numbers("v");
    to.engine.H = numbers("H");
    to.engine.average = numbers("average");
    to.engine.average_scale = numbers("average_scale");
    to.engine.averaged_t = nb::cast<double>(from["averaged_t"]);
    to.engine.next_look = nb::cast<std::uint64_t>(from["next_look"]);
    to.engine.keeps_average = nb::cast<std::string>(from["kept"]) == "averaged";
    if (!from["suspended_at"].is_none()) to.engine.choosing.suspended_at = nb::cast<double>(from["suspended_at"]);
    to.engine.choosing.missed = nb::cast<double>(from["missed"]);
    to.engine.followed = numbers("followed");
    to.engine.errors = numbers("errors");
    const auto heads = slots("lane_heads"), rates = slots("lane_rates");
    const auto scores = numbers("scores"), target = numbers("target"), means = numbers("centre_means");
    const auto products = slots("products"), kinds = slots("centre_kinds");
    to.preparation.centre_features = slots("centre_features");
    if (heads.size() != rates.size() || scores.size() % 6 != 0 || target.size() != 7 || products.size() % 3 != 0 ||
        kinds.size() != to.preparation.centre_features.size() || means.size() != 2 * kinds.size())
        throw InputError("the model's arrays differ in length");
    for (std::size_t i = 0; i < heads.size(); ++i) to.engine.lanes.push_back({heads[i], rates[i]});
    for (std::size_t i = 0; i < scores.size(); i += 6)
        to.engine.scores.push_back(
            {scores[i], scores[i + 1], scores[i + 2], scores[i + 3], scores[i + 4], scores[i + 5]});
    to.labels.target = {.started = target[0] != 0,
                        .centre = target[1],
                        .weight = target[2],
                        .sum = target[3],
                        .square = target[4],
                        .far_rows = target[5],
                        .limited = target[6]};
    if (to.labels.target.started) {
        to.engine.clock.pace = to.labels.target.pace();
        to.labels.target.low = to.engine.clock.label_min;
        to.labels.target.high = to.engine.clock.label_max;
        to.labels.target.rows = static_cast<double>(to.engine.clock.examples);
        to.labels.target.repeated = to.engine.choosing.suspended();
    }
    for (std::size_t i = 0; i < products.size(); i += 3)
        to.preparation.products.push_back({products[i], products[i + 1], products[i + 2]});
    for (std::size_t i = 0; i < kinds.size(); ++i)
        to.preparation.centre.push_back({means[2 * i], means[2 * i + 1], kinds[i] ? Offset::removed : Offset::kept});
    if (from.contains("window_features")) {
        const auto features = slots("window_features");
        const auto windows = numbers("windows");
        const auto proven = numbers("proven_scales");
        const std::size_t each = std::size(window_fields);
        if (windows.size() != each * features.size() || proven.size() != kinds.size())
            throw InputError("the model's arrays differ in length");
        for (std::size_t i = 0; i < proven.size(); ++i) to.preparation.centre[i].proven = proven[i];
        for (std::size_t i = 0; i < features.size(); ++i) {
            Centre::Watched& one = to.preparation.windows.emplace_back(features[i], Window());
            for (std::size_t k = 0; k < each; ++k) one.window.*window_fields[k] = windows[each * i + k];
            one.window.inverse = 1.0 / one.window.scale;
        }
    }
    if (from.contains("shape")) {
        for (const auto& [key, value] : nb::cast<nb::dict>(from["shape"])) {
            const auto name = nb::cast<std::string>(key);
            if (name != "settled") {
                const auto array = nb::cast<Doubles>(value);
                to.engine.shape.push_back({name, {array.data(), array.data() + array.size()}});
            } else if (!value.is_none()) {
                to.settled.shape = by_name(shapes, nb::cast<std::string>(value));
            }
        }
    }
    if (from.contains("company") && !from["company"].is_none())
        to.settled.company = by_name(companies, nb::cast<std::string>(from["company"]));
    if (from.contains("slopes")) to.slopes = numbers("slopes");
    return to;
}

void restore(PyLearner& self, const nb::dict& from) { self.load(snapshot_of(from)); }

}  // namespace unitless
