// Bindings of the text readers.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "base/locks.hpp"
#include "python/learner.hpp"
#include "python/texts.hpp"
#include "text/csv_rows.hpp"
#include "text/csv_table.hpp"
#include "text/libsvm_text.hpp"
#include "text/row_places.hpp"
#include "text/vw_text.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

// A reader that threads may share. It releases the interpreter's lock while it reads.
template <class Reader>
class SharedReader {
  public:
    explicit SharedReader(auto... options) : reader_(std::move(options)...) {}

    template <class Action>
    auto use(Action action) {
        return unlocked_get([&] {
            const std::lock_guard guard(*lock_);
            return action(reader_);
        });
    }
    TextRows read(const Bytes& data, bool last) {
        return use([&](Reader& reader) { return reader.read(letters(data), data.size(), last); });
    }
    static const char* letters(const Bytes& data) { return reinterpret_cast<const char*>(data.data()); }

  private:
    Reader reader_;
    std::shared_ptr<Lock> lock_ = ForkLocks::make();
};

// An array that owns the memory of a vector.
template <class Array, class T>
Array array_of(std::vector<T>&& from) {
    auto* owned = new std::vector<T>(std::move(from));
    return Array(owned->data(), {owned->size()},
                 nb::capsule(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); }));
}

NewIntegers copied_sizes(const std::vector<std::size_t>& from) {
    return array_of<NewIntegers>(std::vector<std::int64_t>(from.begin(), from.end()));
}

NewLetters copied_bytes(const std::vector<char>& from) {
    return array_of<NewLetters>(std::vector<std::uint8_t>(from.begin(), from.end()));
}

nb::str text_of(std::string_view text) { return nb::str(text.data(), text.size()); }

nb::list text_names(const TextRows& rows) {
    nb::list names;
    for (std::size_t i = 0; i < rows.features.names(); ++i) names.append(text_of(rows.features.name(i)));
    return names;
}

std::optional<nb::list> text_tags(const TextRows& rows) {
    if (rows.tag_ends.empty()) return std::nullopt;
    nb::list tags;
    for (std::size_t row = 0; row < rows.rows(); ++row) tags.append(text_of(rows.tag(row)));
    return tags;
}

nb::list bad_lines(const TextRows& rows) {
    nb::list bad;
    for (const auto& [line, problem] : rows.bad) bad.append(nb::make_tuple(line, text_of(problem)));
    return bad;
}

TextRows selected(const TextRows& rows, const Booleans& mask) {
    if (mask.size() != rows.rows())
        throw InputError("the mask has " + std::to_string(mask.size()) + " values for " + std::to_string(rows.rows()) +
                         " rows");
    const Released release;
    return rows.select([&](std::size_t row) { return mask.data()[row]; });
}

// Creates rows from the arrays that `TextRows` has in Python.
TextRows made(const Bytes& text, const Integers& name_ends, const Slots& ids, const Doubles& values,
              const Integers& row_ends, const Doubles& label, const Doubles& weight, const Bytes& tag_text,
              const Integers& tag_ends, const Doubles& offset) {
    const auto are_ends = [](const Integers& ends, std::size_t last) {
        std::int64_t before = 0;
        for (std::size_t i = 0; i < ends.size(); before = ends.data()[i++])
            if (ends.data()[i] < before) return false;
        return static_cast<std::size_t>(before) == last;
    };
    bool good = ids.size() == values.size() && are_ends(name_ends, text.size()) && are_ends(row_ends, ids.size()) &&
                are_ends(tag_ends, tag_text.size()) && label.size() == row_ends.size() &&
                weight.size() == row_ends.size() && (tag_ends.size() == 0 || tag_ends.size() == row_ends.size()) &&
                (offset.size() == 0 || offset.size() == row_ends.size());
    for (std::size_t k = 0; k < ids.size(); ++k) good = good && ids.data()[k] < name_ends.size();
    if (!good) throw InputError("the arrays do not make rows of text");
    TextRows rows;
    const auto assign = [](auto& to, const auto& from) { to.assign(from.data(), from.data() + from.size()); };
    assign(rows.features.text, text);
    assign(rows.features.name_ends, name_ends);
    assign(rows.features.ids, ids);
    assign(rows.features.values, values);
    assign(rows.features.row_ends, row_ends);
    assign(rows.label, label);
    assign(rows.weight, weight);
    assign(rows.offset, offset);
    assign(rows.tag_text, tag_text);
    assign(rows.tag_ends, tag_ends);
    rows.line.resize(rows.rows());
    return rows;
}

// Returns (numbers [row][column], missing values by number column, separate number columns, text columns as (codes,
// offsets, bytes), columns with invalid values as (column, count, first row, its text)), or None.
nb::object csv_table(SharedReader<CsvReader>& self, const Bytes& data) {
    std::optional<CsvTable> table =
        self.use([&](CsvReader& reader) { return reader.read(SharedReader<CsvReader>::letters(data), data.size()); });
    if (!table) return nb::none();
    using Numbers = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
    using Codes = nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>;
    nb::list separate, texts, invalid;
    for (auto& column : table->separate) separate.append(array_of<NewDoubles>(std::move(column)));
    for (auto& column : table->texts)
        texts.append(nb::make_tuple(array_of<Codes>(std::move(column.codes)),
                                    array_of<NewIntegers>(std::move(column.offsets)), copied_bytes(column.text)));
    for (std::size_t j = 0; j < table->invalid.size(); ++j)
        if (const CsvInvalid& found = table->invalid[j]; found.count)
            invalid.append(nb::make_tuple(j, found.count, found.row, nb::bytes(found.text.data(), found.text.size())));
    double* numbers = table->numbers.release();
    const nb::capsule owner(numbers, [](void* p) noexcept { CsvTable::Free()(static_cast<double*>(p)); });
    return nb::make_tuple(Numbers(numbers, {table->rows, table->number_count}, owner),
                          array_of<NewIntegers>(std::move(table->missing)), separate, texts, invalid);
}

nb::tuple written_numbers(const Integers& ends, const Bytes& bytes, const std::string& form,
                          const std::vector<std::string>& marks) {
    const Texts texts(ends, bytes);
    std::vector<double> numbers(texts.size(), std::numeric_limits<double>::quiet_NaN());
    std::vector<std::uint8_t> kinds(texts.size());
    {
        const Released release;
        const MissingMarks missing(marks);
        const NumberForm how = NumberForm::of(form);
        for (std::size_t k = 0; k < texts.size(); ++k) {
            double x;
            const Cell kind = read_number(texts[k], how, missing, x);
            if (kind == Cell::number) numbers[k] = x;
            kinds[k] = static_cast<std::uint8_t>(kind);
        }
    }
    return nb::make_tuple(array_of<NewDoubles>(std::move(numbers)), array_of<NewLetters>(std::move(kinds)));
}

// Returns (rows, numbers, offsets of positions, rows before each, numbers before each): see RowPlaces.
nb::tuple row_places(const Bytes& data, const std::string& delimiter, const std::string& comment, std::int64_t every,
                     std::int64_t since) {
    const auto one = [](const std::string& text) { return text.empty() ? '\0' : text[0]; };
    const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
    RowPlaces found = unlocked_get([&] { return find_row_places(text, one(delimiter), one(comment), every, since); });
    return nb::make_tuple(found.rows, found.numbers, array_of<NewIntegers>(std::move(found.offsets)),
                          array_of<NewIntegers>(std::move(found.rows_before)),
                          array_of<NewIntegers>(std::move(found.numbers_before)));
}

}  // namespace

void define_text(nb::module_& m) {
    nb::class_<SharedReader<CsvReader>>(m, "CsvReader")
        .def(
            "__init__",
            [](SharedReader<CsvReader>* self, const std::vector<int>& kinds, char delimiter,
               const std::vector<std::string>& forms, const std::vector<std::string>& marks,
               const std::vector<std::string>& text_marks, bool trim) {
                std::vector<CsvKind> known;
                for (const int kind : kinds) known.push_back(static_cast<CsvKind>(kind));
                std::vector<NumberForm> written;
                for (const std::string& form : forms) written.push_back(NumberForm::of(form));
                new (self) SharedReader<CsvReader>(std::move(known), delimiter, std::move(written), MissingMarks(marks),
                                                   MissingMarks(text_marks), trim);
            },
            "kinds"_a, "delimiter"_a, "forms"_a = std::vector<std::string>(), "marks"_a = std::vector<std::string>(),
            "text_marks"_a = std::vector<std::string>(), "trim"_a = true)
        .def("read", &csv_table, "data"_a, "Reads whole rows into arrays; None if they need a slower reader.");
    constexpr auto arrays = nb::rv_policy::automatic;  // the arrays are copies, so they need not keep the rows alive
    nb::class_<TextRows>(m, "TextRows")
        .def_prop_ro("rows", &TextRows::rows)
        .def_ro("lines", &TextRows::lines)
        .def_ro("bytes_used", &TextRows::bytes_used)
        .def_ro("bad_count", &TextRows::bad_count)
        .def_prop_ro("bad", &bad_lines)
        .def_prop_ro(
            "label", [](const TextRows& rows) { return copied<NewDoubles>(rows.label); }, arrays)
        .def_prop_ro(
            "weight", [](const TextRows& rows) { return copied<NewDoubles>(rows.weight); }, arrays)
        .def_prop_ro(
            "offset", [](const TextRows& rows) { return copied<NewDoubles>(rows.offset); }, arrays)
        .def_prop_ro(
            "line", [](const TextRows& rows) { return copied_sizes(rows.line); }, arrays)
        .def_prop_ro("weighted",
                     [](const TextRows& rows) {
                         return std::any_of(rows.weight.begin(), rows.weight.end(), [](double h) { return h != 1; });
                     })
        .def_prop_ro("tags", &text_tags)
        .def_prop_ro("entries", [](const TextRows& rows) { return rows.features.ids.size(); })
        .def_prop_ro("names", &text_names)
        .def_prop_ro(
            "ids", [](const TextRows& rows) { return copied<NewSlots>(rows.features.ids); }, arrays)
        .def_prop_ro(
            "values", [](const TextRows& rows) { return copied<NewDoubles>(rows.features.values); }, arrays)
        .def_prop_ro(
            "row_ends", [](const TextRows& rows) { return copied_sizes(rows.features.row_ends); }, arrays)
        .def_prop_ro("nbytes", &TextRows::bytes)
        .def_ro("first_index", &TextRows::first_index)
        .def_rw("next_index", &TextRows::next_index)
        .def_prop_ro(
            "text", [](const TextRows& rows) { return copied_bytes(rows.features.text); }, arrays)
        .def_prop_ro(
            "name_ends", [](const TextRows& rows) { return copied_sizes(rows.features.name_ends); }, arrays)
        .def_prop_ro(
            "tag_text", [](const TextRows& rows) { return copied_bytes(rows.tag_text); }, arrays)
        .def_prop_ro(
            "tag_ends", [](const TextRows& rows) { return copied_sizes(rows.tag_ends); }, arrays)
        .def_static("made", &made, "text"_a, "name_ends"_a, "ids"_a, "values"_a, "row_ends"_a, "label"_a, "weight"_a,
                    "tag_text"_a, "tag_ends"_a, "offset"_a, "Makes rows from the arrays of other rows.")
        .def("select", &selected, "mask"_a, "The rows where the mask is true; names keep their numbers.");
    using Vw = SharedReader<VwReader>;
    nb::class_<Vw>(m, "VwReader")
        .def(nb::init<std::vector<std::string>, std::vector<std::string>>(), "ignore"_a = std::vector<std::string>(),
             "only"_a = std::vector<std::string>())
        .def("read", &Vw::read, "data"_a, "last"_a, "Reads the complete lines of a chunk.")
        .def_prop_ro("idle", [](Vw& self) { return self.use([](VwReader& reader) { return reader.unmatched(); }); });
    using Libsvm = SharedReader<LibsvmReader>;
    nb::class_<Libsvm>(m, "LibsvmReader")
        .def(nb::init<bool>(), "zero_based"_a)
        .def("read", &Libsvm::read, "data"_a, "last"_a, "Reads the complete lines of a chunk.")
        .def_prop_rw(
            "highest",
            [](Libsvm& self) {
                const auto highest = self.use([](LibsvmReader& reader) { return reader.highest(); });
                return nb::make_tuple(highest.next, highest.dense);
            },
            [](Libsvm& self, const std::pair<std::uint64_t, bool>& highest) {
                self.use([&](LibsvmReader& reader) { reader.set_highest({highest.first, highest.second}); });
            });
    m.def(
        "row_end",
        [](const nb::bytes& data, char delimiter, bool first) {
            return unlocked_get([&] { return row_end(data.c_str(), data.size(), delimiter, first); });
        },
        "data"_a, "delimiter"_a, "first"_a,
        "The end of the first whole row of CSV, or of the last one; 0 if there is none.");
    m.def("written_numbers", &written_numbers, "ends"_a, "text"_a, "form"_a, "marks"_a,
          "The numbers in texts, and whether each text is a number (0), missing (1) or invalid (2).");
    m.def("row_places", &row_places, "data"_a, "delimiter"_a, "comment"_a, "every"_a, "since"_a,
          "Counts the rows of a text of whole rows, and finds places where a reader can start.");
}

}  // namespace unitless
