// Bindings of contextual bandits. A state is an array of numbers that Python owns. The interpreter's lock stays held,
// so that no other thread sees half of a change.

#include <nanobind/stl/pair.h>

#include "bandit/best_action.hpp"
#include "bandit/context.hpp"
#include "bandit/uncertainty.hpp"
#include "python/learner.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

using Row = std::vector<std::uint32_t>;
using Values = std::vector<double>;
using Parts = std::pair<Sums, std::optional<Sums>>;

void check(const Row& slots, const Values& z) {
    if (slots.size() != z.size()) throw InputError("the row has not as many values as slots");
    for (const std::uint32_t slot : slots)
        if (slot > most_exact + buckets) throw InputError("the row has a slot that does not exist");
}

Uncertainty uncertainty(const Parts& parts) {
    const auto& [exact, rest] = parts;
    if (rest && rest->size() != buckets) throw InputError("this is not a state of an uncertainty");
    return {exact.data(), exact.size(), rest ? rest->data() : nullptr};
}

Values scale_context(const Sums& state, const Row& slots, const Values& x, std::size_t centered) {
    if (state.size() != ContextScales::count) throw InputError("this is not a state of contexts");
    check(slots, x);
    return ContextScales(state.data()).observe(slots, x, centered);
}

Values variances(const std::vector<Parts>& actions, const Row& slots, const Values& z) {
    check(slots, z);
    Values found;
    for (const Parts& action : actions) found.push_back(uncertainty(action).variance(slots, z));
    return found;
}

void reduce_variance(const Sums& exact, const std::optional<Sums>& rest, const Row& slots, const Values& z) {
    check(slots, z);
    Uncertainty state = uncertainty({exact, rest});
    for (const std::uint32_t slot : slots) {
        const bool is_exact = slot <= most_exact;
        if (is_exact ? Uncertainty::doubles(slot + 1) > exact.size() : !rest)
            throw InputError("the state is too small for this row");
    }
    state.learn(slots, z);
}

Values probabilities(const Values& f, const Values& u) {
    if (f.empty() || f.size() != u.size()) throw InputError("there must be a mean and a deviation for each action");
    return best_probabilities(f, u);
}

}  // namespace

void define_bandit(nb::module_& m) {
    m.attr("MOST_EXACT") = most_exact;
    m.attr("BUCKETS") = buckets;
    m.attr("CONTEXT_SCALES_SIZE") = ContextScales::count;
    m.def("scale_context", &scale_context, "state"_a, "slots"_a, "x"_a, "centered"_a,
          "Counts a row of features and returns it without units; slots up to `centered` are centered.");
    m.def("variances", &variances, "actions"_a, "slots"_a, "z"_a,
          "The variance of the prediction of each action, in units of the noise.");
    m.def("reduce_variance", &reduce_variance, "exact"_a, "rest"_a.none(), "slots"_a, "z"_a,
          "Updates the uncertainty of an action, which has learned a row.");
    m.def("best_probabilities", &probabilities, "f"_a, "u"_a,
          "The probability of each action to be the best, for rewards with these means and deviations.");
    m.def("normal_below", &normal_below, "x"_a, "The distribution function of the standard normal distribution.");
}

}  // namespace unitless
