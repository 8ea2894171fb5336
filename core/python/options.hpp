// Converts a learner's options from Python, keywords and names, to a Setup.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "algorithm/dispatch.hpp"
#include "learner/learner.hpp"

namespace unitless {

namespace nb = nanobind;

template <class Kind, std::size_t n>
Kind by_name(const std::array<std::pair<const char*, Kind>, n>& table, const std::string& name) {
    for (const auto& [text, kind] : table)
        if (name == text) return kind;
    throw InputError("unknown option '" + name + "'");
}

inline constexpr std::array<std::pair<const char*, Schedule>, 2> schedules{
    {{"sqrt", Schedule::root}, {"constant", Schedule::constant}}};
inline constexpr std::array<std::pair<const char*, Order>, 2> orders{{{"paper", Order::paper}, {"vw", Order::vw}}};
inline constexpr std::array<std::pair<const char*, Clip>, 3> clips{
    {{"none", Clip::none}, {"labels", Clip::labels}, {"vw", Clip::vw}}};
inline constexpr std::array<std::pair<const char*, Selecting>, 3> selections{
    {{"none", Selecting::none}, {"sweep", Selecting::sweep}, {"follow", Selecting::follow}}};
inline constexpr std::array<std::pair<const char*, ModelType>, 5> model_types{{{"linear", ModelType::linear},
                                                                               {"curves", ModelType::curves},
                                                                               {"trees", ModelType::trees},
                                                                               {"curves only", ModelType::curves_only},
                                                                               {"auto", ModelType::automatic}}};
inline constexpr std::array<std::pair<const char*, Ensemble>, 5> ensembles{{{"none", Ensemble::none},
                                                                            {"newton", Ensemble::newton},
                                                                            {"snag", Ensemble::snag},
                                                                            {"softmax", Ensemble::softmax},
                                                                            {"auto", Ensemble::automatic}}};
inline constexpr std::array<std::pair<const char*, Pairs>, 4> pairings{
    {{"none", Pairs::none}, {"all", Pairs::all}, {"ordered", Pairs::ordered}, {"listed", Pairs::listed}}};

// Interactions in Python's form: pairs of lists of (name, whether it is a prefix, column or -1, whether of namespaces).
using ListedSide = std::vector<std::tuple<std::string, bool, std::int64_t, bool>>;
using Listed = std::vector<std::pair<ListedSide, ListedSide>>;

inline std::vector<Interaction> interactions(const Listed& listed) {
    const auto side = [](const ListedSide& from) {
        std::vector<Selector> to;
        for (const auto& [name, prefix, column, spaces] : from) to.push_back({name, prefix, column, spaces});
        return to;
    };
    std::vector<Interaction> all;
    for (const auto& [left, right] : listed) all.push_back({side(left), side(right)});
    return all;
}

template <class Kind>
Kind known(std::optional<Kind> kind, const std::string& name) {
    if (!kind) throw InputError("unknown option '" + name + "'");
    return *kind;
}

// One line per option; Python has checked the values (options.py).
inline Setup setup_of(const nb::dict& given) {
    const auto text = [&](const char* key) { return nb::cast<std::string>(given[key]); };
    const auto flag = [&](const char* key) { return nb::cast<bool>(given[key]); };
    const auto count = [&](const char* key) { return nb::cast<std::size_t>(given[key]); };
    Setup setup;
    Options& options = setup.engine.options;
    setup.engine.newton = text("rule") == "newton";
    if (!setup.engine.newton) options.rule = known(rule_named(text("rule")), text("rule"));
    setup.engine.coupled = text("loss") == "softmax";
    const std::string loss = setup.engine.coupled ? "logistic" : text("loss");  // the loss of each head
    options.loss = known(loss_named(loss), loss);
    options.quantile = nb::cast<double>(given["quantile"]);
    options.importance_aware = flag("importance_aware");
    options.bias = flag("bias");
    options.schedule = by_name(schedules, text("schedule"));
    options.order = by_name(orders, text("order"));
    options.clip = by_name(clips, text("clip"));
    options.proximal = flag("proximal");
    options.l2 = nb::cast<double>(given["l2"]);
    options.leaf_l1 = nb::cast<double>(given["leaf_l1"]);
    options.leaf_l2 = nb::cast<double>(given["leaf_l2"]);
    setup.engine.penalties = nb::cast<std::vector<double>>(given["penalties"]);
    setup.engine.across = count("across");
    setup.engine.rates = nb::cast<std::vector<double>>(given["rates"]);
    options.learning_rate = setup.engine.rates.at(0);
    setup.engine.first_rate = count("first_rate");
    setup.engine.last_rate = count("last_rate");
    setup.engine.selecting = by_name(selections, text("selecting"));
    setup.engine.classes = count("classes");
    setup.engine.open = flag("open");
    setup.engine.average = flag("average");
    setup.engine.form.model_type = by_name(model_types, text("model_type"));
    setup.engine.tree_size = {
        .trees = count("n_trees"), .leaves = count("max_leaves"), .patience = count("tree_patience")};
    setup.engine.form.ensemble = by_name(ensembles, text("ensemble"));
    setup.encoder.bits = nb::cast<std::optional<unsigned>>(given["bits"]);
    setup.encoder.center = flag("center");
    setup.encoder.falling = flag("falling_scales");
    setup.encoder.pairs = by_name(pairings, text("pairs"));
    setup.encoder.listed = interactions(nb::cast<Listed>(given["listed"]));
    setup.label_unit = flag("target");
    return setup;
}

}  // namespace unitless
