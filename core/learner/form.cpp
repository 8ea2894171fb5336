// What an automatic learner becomes: settled by the first row that it learns.

#include "algorithm/dispatch.hpp"
#include "learner/learner.hpp"

namespace unitless {
namespace {

// More columns than that suit a linear model best, and one without second order, unless another one is asked for.
constexpr std::size_t many_columns = 1000;

// What a learner is like while that is not settled.
Form for_now(const Form& form) { return form.settled() ? form : Form{}; }

}  // namespace

EncoderSetup Learner::encoder_setup(const Setup& setup, const Form& form) {
    EncoderSetup encoder = setup.encoder;
    const ModelType type = for_now(form).model_type;
    encoder.raw = type != ModelType::linear;
    encoder.numbers_linear = type != ModelType::curves_only;
    if (encoder.raw && encoder.bits)
        throw InputError("hashed features have neither curves nor trees", "leave out bits=, or use shape='linear'");
    return encoder;
}

EngineSetup Learner::engine_setup(const Setup& setup, const Form& form) {
    EngineSetup engine = setup.engine;
    engine.form = for_now(form);
    if (setup.label_unit) engine.options.clip = Clip::labels;
    if (setup.encoder.bits) engine.slots = std::uint64_t{1} << *setup.encoder.bits;
    // The slots of hashed features and of products depend on more than the row: its order does not.
    engine.in_sequence = setup.encoder.bits || setup.encoder.pairs != Pairs::none;
    return engine;
}

// The members of an ensemble are mixed by the losses that the mixture knows, and the rule is NAG.
bool Learner::may_ensemble() const {
    const Mixing mixing = facts_of(options_.loss).mixing;
    const bool mixed = mixing == Mixing::odds || (mixing == Mixing::numbers && !setup_.engine.has_classes());
    return mixed && options_.rule == RuleKind{} && !options_.proximal && !setup_.engine.newton;
}

Form Learner::suitable_form(const DataKind& data) const {
    const bool single = options_.order == Order::vw || options_.clip == Clip::vw;
    const bool few_columns = data.has_columns && !setup_.encoder.bits && data.columns <= many_columns;
    Form form = form_;
    if (form.model_type == ModelType::automatic)
        form.model_type = few_columns && !single ? ModelType::trees : ModelType::linear;
    if (form.ensemble != Ensemble::automatic) return form;
    form.ensemble = Ensemble::none;
    if (single || form.model_type == ModelType::curves_only || !may_ensemble()) return form;
    if (few_columns && !data.has_words) {
        form.ensemble = Ensemble::newton;
    } else if (!setup_.engine.has_classes()) {
        form.ensemble = Ensemble::snag;
    } else if (!data.has_words) {  // of which there are many, and they have weights for each class
        form.ensemble = Ensemble::softmax;
    }
    return form;
}

// What has been set of a learner that has learned nothing is kept.
Learner::Settling::Settling(Learner& learner, const RowSource& rows, bool counts) {
    if (learner.form_.settled() || !counts) return;
    const Form form = learner.suitable_form(rows.kind());
    if (form != Form{}) {
        Encoder encoder(encoder_setup(learner.setup_, form), *learner.kernel_.rows);
        encoder.load(learner.encoder_.save());
        std::unique_ptr<Engine> engine = make_engine(engine_setup(learner.setup_, form), learner.kernel_);
        reserve(*engine, encoder);
        const std::size_t more = learner.engine_->widths().classes - engine->widths().classes;
        if (more) engine->add_classes(more);
        engine->choose_rates(learner.engine_->chooses_rates());
        engine->keep_rates(learner.engine_->keeps_rates());
        encoder_ = std::make_unique<Encoder>(std::move(encoder));
        std::swap(learner.encoder_, *encoder_);
        engine_ = std::exchange(learner.engine_, std::move(engine));
        learner.take_over();
    }
    learner.form_ = form;
    learner_ = &learner;
}

void Learner::Settling::take_back() {
    if (learner_->has_learned()) return;
    if (engine_ && engine_->widths().classes != learner_->engine_->widths().classes) return;  // new classes stay
    learner_->form_ = learner_->setup_.engine.form;
    if (!engine_) return;
    std::swap(learner_->encoder_, *encoder_);
    std::swap(learner_->engine_, engine_);
    learner_->take_over();
}

Form Learner::form_of(const Snapshot& from) const {
    const Form asked = setup_.engine.form, settled = from.settled;
    Form form = asked;
    if (asked.model_type == ModelType::automatic) form.model_type = settled.model_type;
    if (asked.ensemble == Ensemble::automatic) form.ensemble = settled.ensemble;
    if (!form.settled() && from.engine.clock.examples > 0)
        throw InputError("the model has learned, but its shape is not settled");
    const bool type_fits = asked.model_type == ModelType::automatic
                               ? settled.model_type != ModelType::curves && settled.model_type != ModelType::curves_only
                               : settled.model_type == ModelType::automatic || settled.model_type == asked.model_type;
    const bool ensemble_fits = asked.ensemble == Ensemble::automatic || settled.ensemble == Ensemble::automatic ||
                               settled.ensemble == asked.ensemble;
    if (!type_fits || !ensemble_fits) throw InputError("the model's shape is not the one that its options ask for");
    return form;
}

}  // namespace unitless
