// Chooses the model type and ensemble of an automatic learner when it learns its first row.

#include "algorithm/dispatch.hpp"
#include "learner/learner.hpp"

namespace unitless {
namespace {

// With more columns, a linear model without second order suits best, unless the options set another one.
constexpr std::size_t many_columns = 1000;

// The form that a learner has until its form is settled.
Form for_now(const Form& form) { return form.settled() ? form : Form{}; }

}  // namespace

EncoderSetup Learner::encoder_setup(const Setup& setup, const Form& form) {
    EncoderSetup encoder = setup.encoder;
    const ModelType type = for_now(form).model_type;
    encoder.raw = type != ModelType::linear;
    encoder.numbers_linear = type != ModelType::curves_only;
    if (encoder.raw && encoder.bits)
        throw InputError("hashed features have neither curves nor trees",
                         "leave out bits=, or use model_type='linear'");
    return encoder;
}

EngineSetup Learner::engine_setup(const Setup& setup, const Form& form) {
    EngineSetup engine = setup.engine;
    engine.form = for_now(form);
    if (setup.label_unit) engine.options.clip = Clip::labels;
    if (setup.encoder.bits) engine.slots = std::uint64_t{1} << *setup.encoder.bits;
    // The slots of hashed features and of products depend on earlier rows; the order within a row does not.
    engine.in_sequence = setup.encoder.bits || setup.encoder.pairs != Pairs::none;
    return engine;
}

// An ensemble needs a loss that the mixture supports, and the rule NAG.
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
    } else if (!data.has_words) {  // free text has many words, which would have weights for each class
        form.ensemble = Ensemble::softmax;
    }
    return form;
}

// Settings that were made before the first row are kept.
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
    const Form requested = setup_.engine.form, settled = from.settled;
    Form form = requested;
    if (requested.model_type == ModelType::automatic) form.model_type = settled.model_type;
    if (requested.ensemble == Ensemble::automatic) form.ensemble = settled.ensemble;
    if (!form.settled() && from.engine.clock.examples > 0)
        throw InputError("the model has learned rows, but its model type is not decided");
    const bool type_fits =
        requested.model_type == ModelType::automatic
            ? settled.model_type != ModelType::curves && settled.model_type != ModelType::curves_only
            : settled.model_type == ModelType::automatic || settled.model_type == requested.model_type;
    const bool ensemble_fits = requested.ensemble == Ensemble::automatic || settled.ensemble == Ensemble::automatic ||
                               settled.ensemble == requested.ensemble;
    if (!type_fits || !ensemble_fits) throw InputError("the model's type or ensemble differs from its options");
    return form;
}

}  // namespace unitless
