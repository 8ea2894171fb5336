// A learner's state in Python: a dictionary of numbers and arrays. Fields that only some engines have are in its
// dictionary "form", as arrays of float64. So are the members of an ensemble, under "member.field".

#include <limits>

#include "learner/snapshot_fields.hpp"
#include "python/learner.hpp"
#include "python/options.hpp"

namespace unitless {
namespace {

// Converts fields of any type to numbers and back.
template <class Number>
double as_number(Number field) {
    return static_cast<double>(field);
}
double as_number(Offset field) { return field == Offset::removed ? 1.0 : 0.0; }

// Returns false if the number is not a value of that type.
template <class Number>
bool set_number(Number& field, double number) {
    if constexpr (std::is_floating_point_v<Number>) {
        field = static_cast<Number>(number);
        return true;
    } else {
        constexpr double exact = 0x1p53;  // float64 represents all integers up to this
        const auto largest = static_cast<double>(std::numeric_limits<Number>::max());
        if (!(number >= 0 && number <= std::min(largest, exact) && number == std::floor(number))) return false;
        field = static_cast<Number>(number);
        return true;
    }
}
bool set_number(Offset& field, double number) {
    field = number != 0 ? Offset::removed : Offset::kept;
    return true;
}

// Arrays of integers have 32 bits in Python.
template <class Field>
constexpr bool is_whole() {
    if constexpr (requires { Field::whole; }) {
        return Field::whole;
    } else {
        return std::is_same_v<Field, std::vector<std::uint32_t>>;
    }
}

template <class To, class Field>
std::vector<To> numbers_of(const Field& field) {
    std::vector<To> numbers;
    for_each_number(field, [&](const auto& number) { numbers.push_back(static_cast<To>(as_number(number))); });
    return numbers;
}

// At the top level, fields have their own names and types. Otherwise they are arrays of float64 in the dictionary
// "form", with names that begin with a prefix.
class Writer {
  public:
    Writer(nb::dict top, nb::dict form) : top_(std::move(top)), form_(std::move(form)) {}

    template <class Field>
    void operator()(const char* name, const Field& field, Sound sound) {
        if constexpr (is_optional<Field>) {
            if (field) return (*this)(name, *field, sound);
            if (top_) (*top_)[name] = nb::none();
        } else if (!top_) {
            form_[(prefix_ + name).c_str()] = copied<NewDoubles>(numbers_of<double>(field));
        } else if constexpr (is_number<Field>) {
            (*top_)[name] = field;
        } else if constexpr (is_whole<Field>()) {
            (*top_)[name] = copied<NewSlots>(numbers_of<std::uint32_t>(field));
        } else {
            (*top_)[name] = copied<NewDoubles>(numbers_of<double>(field));
        }
    }
    template <class Field>
    void extra(const char* name, const Field& field, Sound sound) {
        within("")(name, field, sound);
    }
    template <class Part>
    void part(const char* prefix, const std::optional<Part>& part, const char* /*mark*/) {
        Writer inner = within(prefix);
        if (part) visit_fields(inner, *part);
    }
    void members(const std::vector<MemberState>& all) {
        for (const MemberState& member : all) {
            Writer inner = within(member.name + ".");
            visit_fields(inner, member.state);
        }
    }

  private:
    std::optional<nb::dict> top_;  // empty below the top level
    nb::dict form_;
    std::string prefix_;

    Writer within(const std::string& prefix) const {
        Writer inner = *this;
        inner.top_.reset();
        inner.prefix_ += prefix;
        return inner;
    }
};

// Reads what Writer wrote.
class Reader {
  public:
    Reader(nb::dict top, nb::dict form) : top_(std::move(top)), form_(std::move(form)) {}

    template <class Field>
    void operator()(const char* name, Field&& field, Sound sound) {
        using Type = std::remove_cvref_t<Field>;
        if constexpr (is_optional<Type>) {
            if (has(name)) (*this)(name, field.emplace(), sound);
        } else if (!top_) {
            if (!has(name)) throw InputError("the model has no field '" + prefix_ + name + "'");
            take(name, nb::cast<Doubles>(form_[(prefix_ + name).c_str()]), field);
        } else if constexpr (is_number<Type>) {
            field = nb::cast<Type>((*top_)[name]);
        } else if constexpr (is_whole<Type>()) {
            take(name, nb::cast<Slots>((*top_)[name]), field);
        } else {
            take(name, nb::cast<Doubles>((*top_)[name]), field);
        }
    }
    template <class Field>
    void extra(const char* name, Field& field, Sound sound) {
        within("")(name, field, sound);
    }
    template <class Part>
    void part(const char* prefix, std::optional<Part>& part, const char* mark) {
        Reader inner = within(prefix);
        if (inner.has(mark)) visit_fields(inner, part.emplace());
    }
    // Each member has a field with the number of its examples. Members have no members.
    void members(std::vector<MemberState>& all) {
        constexpr std::string_view mark = ".examples";
        if (!prefix_.empty()) return;
        for (const auto& [key, value] : form_) {
            const auto name = nb::cast<std::string>(key);
            if (!name.ends_with(mark)) continue;
            all.push_back({name.substr(0, name.size() - mark.size()), {}});
            Reader inner = within(all.back().name + ".");
            visit_fields(inner, all.back().state);
        }
    }

  private:
    std::optional<nb::dict> top_;
    nb::dict form_;
    std::string prefix_;

    Reader within(const std::string& prefix) const {
        Reader inner = *this;
        inner.top_.reset();
        inner.prefix_ += prefix;
        return inner;
    }
    bool has(const char* name) const {
        return top_ ? !(*top_)[name].is_none() : form_.contains((prefix_ + name).c_str());
    }

    // Converts an array to the numbers of a field.
    template <class Array, class Field>
    void take(const char* name, const Array& array, Field& field) const {
        const std::size_t count = array.size();
        if constexpr (is_number<std::remove_const_t<Field>>) {
            if (count != 1 || !set_number(field, array.data()[0])) FieldChecker::refuse(prefix_ + name);
        } else if constexpr (requires { field.records; }) {
            const bool agrees = field.sized ? count == Field::width * field.records.size() : count % Field::width == 0;
            if (!agrees) throw InputError("the model's arrays differ in length");
            if constexpr (requires { field.records.resize(0); }) field.records.resize(count / Field::width);
            const auto* next = array.data();
            field.for_each([&](auto& number) {
                if (!set_number(number, as_number(*next++))) FieldChecker::refuse(prefix_ + name);
            });
        } else {
            field.resize(count);
            for (std::size_t i = 0; i < count; ++i)
                if (!set_number(field[i], as_number(array.data()[i]))) FieldChecker::refuse(prefix_ + name);
        }
    }
};

// ---------------------------------------------------------------------------------------------------- words

// The word for an option's value; None if it is automatic.
template <class Table, class Kind>
nb::object word_of(const Table& table, Kind kind) {
    for (const auto& [word, other] : table)
        if (other == kind && kind != Kind::automatic) return nb::cast(word);
    return nb::none();
}

template <class Table, class Kind>
void read_word(const Table& table, const nb::handle& word, Kind& to) {
    if (!word.is_none()) to = by_name(table, nb::cast<std::string>(word));
}

// Computes fields that follow from others and are not in model files.
void complete(Snapshot& state) {
    for (Center::Watched& watched : state.encoder.windows) watched.window.inverse = 1.0 / watched.window.scale;
    LabelUnit& unit = state.labels.unit;
    if (!unit.started) return;
    state.engine.clock.label_scale = unit.scale();
    unit.low = state.engine.clock.label_min;
    unit.high = state.engine.clock.label_max;
    unit.rows = static_cast<double>(state.engine.clock.examples);
    unit.repeated = state.engine.choosing.suspended();
}

}  // namespace

nb::dict fields_of(const Snapshot& from) {
    nb::dict to, form;
    form["settled"] = word_of(model_types, from.settled.model_type);
    Writer writer(to, form);
    visit_fields(writer, from);
    to["form"] = form;
    to["ensemble"] = word_of(ensembles, from.settled.ensemble);
    to["negative"] = static_cast<int>(from.labels.negative);
    to["columns"] = from.encoder.space == Space::columns ? nb::cast(from.encoder.columns) : nb::none();
    to["names"] = from.encoder.space == Space::names ? nb::cast(from.encoder.names) : nb::none();
    to["kept"] = from.keeps_average ? "averaged" : "last";
    return to;
}

nb::dict snapshot(const PyLearner& self, bool slots) {
    return fields_of(unlocked_get([&] { return self.learner.snapshot(slots); }));
}

Snapshot snapshot_of(const nb::dict& from) {
    Snapshot to;
    const auto form = nb::cast<nb::dict>(from["form"]);
    Reader reader(from, form);
    visit_fields(reader, to);
    complete(to);
    check_fields(to);
    read_word(model_types, form["settled"], to.settled.model_type);
    read_word(ensembles, from["ensemble"], to.settled.ensemble);
    to.labels.negative = static_cast<NegativeLabel>(nb::cast<int>(from["negative"]));
    if (!from["columns"].is_none()) {
        to.encoder.space = Space::columns;
        to.encoder.columns = nb::cast<std::size_t>(from["columns"]);
    }
    if (!from["names"].is_none()) {
        to.encoder.space = Space::names;
        to.encoder.names = nb::cast<std::vector<std::string>>(from["names"]);
    }
    to.keeps_average = nb::cast<std::string>(from["kept"]) == "averaged";
    return to;
}

void restore(PyLearner& self, const nb::dict& from) { self.load(snapshot_of(from)); }

void define_remembered(nb::module_& m) {
    nb::class_<Snapshot>(m, "Remembered", "A state of a learner, which can go back to it; cheaper than its fields.")
        .def("fields", &fields_of, "The state as the dictionary that `_snapshot` returns.");
}

}  // namespace unitless
