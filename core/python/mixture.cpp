// The mixture of experts by itself. Learners mix by themselves: this is for tests alone, which compare it with the
// plain one of unitless.research.mixture.

#include "engine/shapes/mixture.hpp"

#include "python/learner.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

using Experts = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

class PyMixture {
  public:
    PyMixture(const std::string& kind, std::size_t experts)
        : kind_(kind_of(kind)), experts_(experts), mixture_(kind_, experts) {}

    NewDoubles say(const Experts& experts, double offset) const {
        check(experts);
        auto said = std::make_unique<double[]>(experts.shape(1));
        mixture_.say(experts.data(), experts.shape(1), said.get(), offset);
        return hand_over<NewDoubles>(std::move(said), experts.shape(1));
    }

    void learn(const Experts& experts, double y, double weight, const std::optional<Doubles>& losses, double offset) {
        check(experts);
        const bool is_class = y >= 0 && y < static_cast<double>(experts.shape(1));
        if (kind_ == Mixture::Kind::classes && !is_class) throw InputError("the label is not the number of a class");
        if (kind_ == Mixture::Kind::other && (!losses || losses->size() != experts_))
            throw InputError("each expert must have a loss");
        mixture_.learn(experts.data(), experts.shape(1), y, weight, losses ? losses->data() : nullptr, offset);
    }

    NewDoubles save() const { return copied<NewDoubles>(mixture_.save()); }
    void load(const Doubles& state) { mixture_.load({state.data(), state.data() + state.size()}); }

  private:
    Mixture::Kind kind_;
    std::size_t experts_;
    Mixture mixture_;

    static Mixture::Kind kind_of(const std::string& name) {
        if (name == "logistic") return Mixture::Kind::logistic;
        if (name == "squared") return Mixture::Kind::squared;
        if (name == "classes") return Mixture::Kind::classes;
        if (name == "other") return Mixture::Kind::other;
        throw InputError("there is no mixture of the kind '" + name + "'");
    }
    void check(const Experts& experts) const {
        const bool by_class = kind_ == Mixture::Kind::classes || kind_ == Mixture::Kind::other;
        if (experts.shape(0) != experts_ || experts.shape(1) == 0 || (experts.shape(1) != 1 && !by_class))
            throw InputError("predictions must have a row for each expert and a column for each head");
    }
};

}  // namespace

void define_mixture(nb::module_& m) {
    nb::class_<PyMixture>(m, "Mixture", "A mixture of experts by itself, for tests.")
        .def(nb::init<const std::string&, std::size_t>(), "kind"_a, "experts"_a)
        .def("say", &PyMixture::say, "experts"_a, "offset"_a = 0.0, "What is said of a row, by head.")
        .def("learn", &PyMixture::learn, "experts"_a, "y"_a, "weight"_a = 1.0, "losses"_a = nb::none(),
             "offset"_a = 0.0, "Learn the row's label.")
        .def("save", &PyMixture::save, "All that it knows.")
        .def("load", &PyMixture::load, "state"_a, "Go on from there.");
}

}  // namespace unitless
