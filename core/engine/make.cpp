#include <limits>
#include <type_traits>

#include "algorithm/dispatch.hpp"
#include "engine/engine.hpp"
#include "engine/lanes/engine.hpp"
#include "engine/second_order/engine.hpp"
#include "engine/shapes/engine.hpp"
#include "engine/single/engine.hpp"
#include "engine/softmax/engine.hpp"

namespace unitless {
namespace {

// The range of labels before the first one.
Clock fresh_clock(const Options& options) {
    Clock clock;
    const double infinity = std::numeric_limits<double>::infinity();
    clock.label_min = infinity;
    clock.label_max = -infinity;
    if (options.clip == Clip::vw) {
        const double limit = facts_of(options.loss).vw_limit;
        clock.label_min = -limit + 0.0;
        clock.label_max = limit;
    } else if (options.clip == Clip::signs) {
        clock.label_min = -1;
        clock.label_max = 1;
    }
    return clock;
}

// Those that learn beside the linear one.
std::vector<ShapedEngine::Companion> company_of(const EngineSetup& terms, Company company, const Kernel& kernel) {
    std::vector<ShapedEngine::Companion> all;
    if (company == Company::none) return all;
    EngineSetup own = terms;
    if (company == Company::second_moments) {
        own.options.rule = *rule_named("snag");
        all.push_back({"snag", make_engine(own, kernel)});
        return all;
    }
    if (terms.has_classes() && !terms.coupled) {
        own.coupled = true;
        all.push_back({"softmax", make_engine(own, kernel)});
    }
    if (company == Company::second_order) {
        own.second_order = own.block = true;
        own.average = false;
        own.walking = Walking::slowly;
        all.push_back({"newton", make_engine(own, kernel)});
        own.walking = Walking::fastest;
        all.push_back({"walker", make_engine(own, kernel)});
    }
    return all;
}

}  // namespace

Unit unit_of_v(const Options& options) {
    return with_rule(options.rule, [](auto rule) {
        using Scale = typename decltype(rule)::type::Scale;
        return std::is_same_v<Scale, RawScale>   ? Unit::none
               : std::is_same_v<Scale, RmsScale> ? Unit::root_mean_square
                                                 : Unit::scale;
    });
}

std::unique_ptr<Engine> make_engine(const EngineSetup& asked, const Kernel& kernel) {
    EngineSetup setup = asked;
    if (setup.rates.empty()) setup.rates = {setup.options.learning_rate};
    setup.options.learning_rate = setup.rates[0];
    if (setup.has_classes() && setup.options.clip == Clip::labels) setup.options.clip = Clip::signs;
    const Clock clock = fresh_clock(setup.options);
    EngineSetup terms = setup;
    terms.form = {};
    if (setup.form.shape == Shape::curves_only)
        return std::make_unique<ShapedEngine>(setup, kernel, clock, nullptr, std::vector<ShapedEngine::Companion>{});
    if (setup.form.shape != Shape::linear || setup.form.company != Company::none)
        return std::make_unique<ShapedEngine>(setup, kernel, clock, make_engine(terms, kernel),
                                              company_of(terms, setup.form.company, kernel));
    if (setup.second_order) return std::make_unique<SecondOrderEngine>(setup, kernel, clock);
    if (setup.coupled) return std::make_unique<SoftmaxEngine>(setup, kernel, clock);
    if (setup.has_classes() || setup.selecting != Selecting::none || setup.options.proximal)
        return std::make_unique<LaneEngine>(setup, kernel, clock);
    return std::make_unique<SingleEngine>(setup, kernel, clock);
}

}  // namespace unitless
