#include <limits>

#include "algorithm/dispatch.hpp"
#include "engine/engine.hpp"
#include "engine/lanes/engine.hpp"
#include "engine/newton/engine.hpp"
#include "engine/single/engine.hpp"
#include "engine/softmax/engine.hpp"
#include "ensemble/engine.hpp"

namespace unitless {
namespace {

// The clock before the first label: the range of labels is empty, or that of the options.
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

// The members of an ensemble in addition to the linear one.
std::vector<EnsembleEngine::Member> extra_members(const EngineSetup& terms, Ensemble ensemble, const Kernel& kernel) {
    std::vector<EnsembleEngine::Member> all;
    if (ensemble == Ensemble::none) return all;
    EngineSetup own = terms;
    if (ensemble == Ensemble::snag) {
        own.options.rule = *rule_named("snag");
        all.push_back({"snag", make_engine(own, kernel)});
        return all;
    }
    if (terms.has_classes() && !terms.coupled) {
        own.coupled = true;
        all.push_back({"softmax", make_engine(own, kernel)});
    }
    if (ensemble == Ensemble::newton) {
        own.newton = own.block = true;
        own.average = false;
        own.forgetting = Forgetting::slowly;
        all.push_back({"newton", make_engine(own, kernel)});
        own.forgetting = Forgetting::fastest;
        all.push_back({"forgetting", make_engine(own, kernel)});
    }
    return all;
}

}  // namespace

std::unique_ptr<Engine> make_engine(const EngineSetup& requested, const Kernel& kernel) {
    EngineSetup setup = requested;
    if (setup.rates.empty()) setup.rates = {setup.options.learning_rate};
    setup.options.learning_rate = setup.rates[0];
    if (setup.has_classes() && setup.options.clip == Clip::labels) setup.options.clip = Clip::signs;
    const Clock clock = fresh_clock(setup.options);
    EngineSetup terms = setup;
    terms.form = {};
    if (setup.form.model_type == ModelType::curves_only)
        return std::make_unique<EnsembleEngine>(setup, kernel, clock, nullptr, std::vector<EnsembleEngine::Member>{});
    if (setup.form.model_type != ModelType::linear || setup.form.ensemble != Ensemble::none)
        return std::make_unique<EnsembleEngine>(setup, kernel, clock, make_engine(terms, kernel),
                                                extra_members(terms, setup.form.ensemble, kernel));
    if (setup.newton) return std::make_unique<NewtonEngine>(setup, kernel, clock);
    if (setup.coupled) return std::make_unique<SoftmaxEngine>(setup, kernel, clock);
    if (setup.has_classes() || setup.selecting != Selecting::none || setup.options.proximal)
        return std::make_unique<LaneEngine>(setup, kernel, clock);
    return std::make_unique<SingleEngine>(setup, kernel, clock);
}

}  // namespace unitless
