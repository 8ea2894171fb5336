// The mixture of members by itself. Learners have their own: this binding is only for tests, which compare it with the
// plain version in tests/oracles/mixture.py.

#include "ensemble/mixture.hpp"

#include "python/learner.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

using Predictions = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

class PyMixture {
  public:
    PyMixture(const std::string& kind, std::size_t members)
        : kind_(kind_of(kind)), members_(members), mixture_(kind_, members) {}

    NewDoubles combine(const Predictions& members, double offset) const {
        check(members);
        auto prediction = std::make_unique<double[]>(members.shape(1));
        mixture_.combine({members.data(), members.shape(1), offset}, prediction.get());
        return hand_over<NewDoubles>(std::move(prediction), members.shape(1));
    }

    void learn(const Predictions& members, double y, double weight, const std::optional<Doubles>& losses,
               double offset) {
        check(members);
        const bool is_class = y >= 0 && y < static_cast<double>(members.shape(1));
        if (kind_ == Mixture::Kind::classes && !is_class) throw InputError("the label is not the number of a class");
        if (kind_ == Mixture::Kind::other && (!losses || losses->size() != members_))
            throw InputError("each member must have a loss");
        mixture_.learn({members.data(), members.shape(1), offset}, y, weight, losses ? losses->data() : nullptr);
    }

    NewDoubles save() const { return copied<NewDoubles>(mixture_.save()); }
    void load(const Doubles& state) { mixture_.load({state.data(), state.data() + state.size()}); }

  private:
    Mixture::Kind kind_;
    std::size_t members_;
    Mixture mixture_;

    static Mixture::Kind kind_of(const std::string& name) {
        if (name == "logistic") return Mixture::Kind::logistic;
        if (name == "squared") return Mixture::Kind::squared;
        if (name == "classes") return Mixture::Kind::classes;
        if (name == "other") return Mixture::Kind::other;
        throw InputError("there is no mixture of the kind '" + name + "'");
    }
    void check(const Predictions& members) const {
        const bool by_class = kind_ == Mixture::Kind::classes || kind_ == Mixture::Kind::other;
        if (members.shape(0) != members_ || members.shape(1) == 0 || (members.shape(1) != 1 && !by_class))
            throw InputError("predictions must have a row for each member and a column for each head");
    }
};

}  // namespace

void define_mixture(nb::module_& m) {
    nb::class_<PyMixture>(m, "Mixture", "A mixture by itself, for tests.")
        .def(nb::init<const std::string&, std::size_t>(), "kind"_a, "members"_a)
        .def("say", &PyMixture::combine, "members"_a, "offset"_a = 0.0, "The prediction of a row, by head.")
        .def("learn", &PyMixture::learn, "members"_a, "y"_a, "weight"_a = 1.0, "losses"_a = nb::none(),
             "offset"_a = 0.0, "Learn the row's label.")
        .def("save", &PyMixture::save, "All that it knows.")
        .def("load", &PyMixture::load, "state"_a, "Go on from there.");
}

}  // namespace unitless
