// The readers of text.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "base/locks.hpp"
#include "python/learner.hpp"
#include "text/csv_rows.hpp"
#include "text/csv_table.hpp"
#include "text/libsvm_text.hpp"
#include "text/row_places.hpp"
#include "text/vw_text.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

// A reader that threads may share; the interpreter's lock is not held while it reads.
template <class Reader>
struct PyReader {
    explicit PyReader(auto... options) : reader(options...) {}
    Reader reader;
    std::shared_ptr<Lock> own_lock = ForkLocks::make();
    Lock& lock = *own_lock;

    TextRows read(const Bytes& data, bool last) {
        const nb::gil_scoped_release release;
        const std::lock_guard guard(lock);
        return reader.read(reinterpret_cast<const char*>(data.data()), data.size(), last);
    }
};

struct PyCsvReader {
    PyCsvReader(std::vector<CsvKind> kinds, char delimiter, std::vector<NumberForm> forms, MissingMarks marks,
                MissingMarks text_marks, bool trim)
        : reader(std::move(kinds), delimiter, std::move(forms), std::move(marks), std::move(text_marks), trim) {}
    CsvReader reader;
    std::shared_ptr<Lock> own_lock = ForkLocks::make();
    Lock& lock = *own_lock;
};

NewIntegers copied_sizes(const std::vector<std::size_t>& from) {
    return copied<NewIntegers>(std::vector<std::int64_t>(from.begin(), from.end()));
}

NewLetters copied_bytes(const std::vector<char>& from) {
    return copied<NewLetters>(std::vector<std::uint8_t>(from.begin(), from.end()));
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

TextRows selected(const TextRows& rows, const Mask& mask) {
    if (mask.size() != rows.rows())
        throw InputError("the mask has " + std::to_string(mask.size()) + " values for " + std::to_string(rows.rows()) +
                         " rows");
    const nb::gil_scoped_release release;
    return rows.select([&](std::size_t row) { return mask.data()[row]; });
}

// Rows from the arrays that they consist of.
TextRows made(const Bytes& text, const Integers& name_ends, const Slots& ids, const Doubles& values,
              const Integers& row_ends, const Doubles& label, const Doubles& weight, const Bytes& tag_text,
              const Integers& tag_ends, const Doubles& offset) {
    const auto rise_to = [](const Integers& ends, std::size_t last) {
        std::int64_t before = 0;
        for (std::size_t i = 0; i < ends.size(); before = ends.data()[i++])
            if (ends.data()[i] < before) return false;
        return static_cast<std::size_t>(before) == last;
    };
    bool good = ids.size() == values.size() && rise_to(name_ends, text.size()) && rise_to(row_ends, ids.size()) &&
                rise_to(tag_ends, tag_text.size()) && label.size() == row_ends.size() &&
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

// Memory of a vector as an array, without copying.
template <class Array, class T>
Array array_of(std::vector<T>&& from, std::initializer_list<std::size_t> shape) {
    auto* kept = new std::vector<T>(std::move(from));
    return Array(kept->data(), shape,
                 nb::capsule(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); }));
}

// (numbers [row][column], how many of each column are missing, numbers apart, text as (codes, offsets, bytes), what is
// not what its column holds as (column, count, first row, its text)), or None.
nb::object csv_table(PyCsvReader& self, const Bytes& data) {
    std::optional<CsvTable> table = unlocked_get([&] {
        const std::lock_guard guard(self.lock);
        return self.reader.read(reinterpret_cast<const char*>(data.data()), data.size());
    });
    if (!table) return nb::none();
    using Numbers = nb::ndarray<nb::numpy, double, nb::ndim<2>>;
    using Codes = nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>;
    using Letters = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
    const std::size_t rows = table->rows;
    nb::list apart, texts, odd;
    for (auto& column : table->apart) apart.append(array_of<NewDoubles>(std::move(column), {rows}));
    for (auto& column : table->texts) {
        const std::size_t values = column.offsets.size(), letters = column.text.size();
        std::vector<std::uint8_t> bytes(column.text.begin(), column.text.end());
        texts.append(nb::make_tuple(array_of<Codes>(std::move(column.codes), {rows}),
                                    array_of<NewIntegers>(std::move(column.offsets), {values}),
                                    array_of<Letters>(std::move(bytes), {letters})));
    }
    double* numbers = table->numbers.release();
    const nb::capsule owner(numbers, [](void* p) noexcept { CsvTable::Free()(static_cast<double*>(p)); });
    for (std::size_t j = 0; j < table->odd.size(); ++j)
        if (const CsvOdd& found = table->odd[j]; found.count)
            odd.append(nb::make_tuple(j, found.count, found.row, nb::bytes(found.text.data(), found.text.size())));
    return nb::make_tuple(Numbers(numbers, {rows, table->number_count}, owner), copied<NewIntegers>(table->absent),
                          apart, texts, odd);
}

// The numbers that texts stand for, and what each is: see Cell. Text k is bytes[ends[k], ends[k + 1]).
nb::tuple written_numbers(const Integers& given_ends, const Bytes& bytes, const std::string& form,
                          const std::vector<std::string>& marks) {
    const auto ends = copy_of(given_ends);
    const std::size_t count = ends.empty() ? 0 : ends.size() - 1;
    const auto length = static_cast<std::int64_t>(bytes.size());
    for (std::size_t k = 0; k < count; ++k)
        if (ends[k] < 0 || ends[k] > ends[k + 1] || ends[k + 1] > length) throw InputError("the texts are malformed");
    std::vector<double> numbers(count, std::numeric_limits<double>::quiet_NaN());
    std::vector<std::uint8_t> kinds(count);
    unlocked_get([&] {
        const MissingMarks missing(marks);
        const NumberForm how = NumberForm::of(form);
        const auto* text = reinterpret_cast<const char*>(bytes.data());
        for (std::size_t k = 0; k < count; ++k) {
            const std::string_view cell(text + ends[k], static_cast<std::size_t>(ends[k + 1] - ends[k]));
            double x;
            const Cell kind = read_number(cell, how, missing, x);
            if (kind == Cell::number) numbers[k] = x;
            kinds[k] = static_cast<std::uint8_t>(kind);
        }
        return 0;
    });
    using Kinds = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
    return nb::make_tuple(array_of<NewDoubles>(std::move(numbers), {count}),
                          array_of<Kinds>(std::move(kinds), {count}));
}

// (rows, numbers, offsets of places, rows before each, numbers before each)
nb::tuple row_places(const Bytes& data, const std::string& delimiter, const std::string& comment, std::int64_t every,
                     std::int64_t since) {
    const auto one = [](const std::string& text) { return text.empty() ? '\0' : text[0]; };
    const RowPlaces found = unlocked_get([&] {
        return RowFinder(one(delimiter), one(comment), every, since)
            .find(reinterpret_cast<const char*>(data.data()), data.size());
    });
    return nb::make_tuple(found.rows, found.numbers, copied<NewIntegers>(found.offsets),
                          copied<NewIntegers>(found.rows_before), copied<NewIntegers>(found.numbers_before));
}

}  // namespace

void define_text(nb::module_& m) {
    nb::class_<PyCsvReader>(m, "CsvReader")
        .def(
            "__init__",
            [](PyCsvReader* self, const std::vector<int>& kinds, char delimiter, const std::vector<std::string>& forms,
               const std::vector<std::string>& marks, const std::vector<std::string>& text_marks, bool trim) {
                std::vector<CsvKind> known;
                for (const int kind : kinds) known.push_back(static_cast<CsvKind>(kind));
                std::vector<NumberForm> written;
                for (const std::string& form : forms) written.push_back(NumberForm::of(form));
                new (self) PyCsvReader(std::move(known), delimiter, std::move(written), MissingMarks(marks),
                                       MissingMarks(text_marks), trim);
            },
            "kinds"_a, "delimiter"_a, "forms"_a = std::vector<std::string>(), "marks"_a = std::vector<std::string>(),
            "text_marks"_a = std::vector<std::string>(), "trim"_a = true)
        .def("read", &csv_table, "data"_a, "Whole rows as arrays, or None if they are not plain.");
    constexpr auto arrays = nb::rv_policy::automatic;  // they are new, and not a part of the rows
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
                    "tag_text"_a, "tag_ends"_a, "offset"_a, "Rows from the arrays that they consist of.")
        .def("select", &selected, "mask"_a, "The rows where the mask is true; names keep their numbers.");
    nb::class_<PyReader<VwReader>>(m, "VwReader")
        .def(nb::init<std::vector<std::string>, std::vector<std::string>>(), "ignore"_a = std::vector<std::string>(),
             "only"_a = std::vector<std::string>())
        .def("read", &PyReader<VwReader>::read, "data"_a, "last"_a, "The complete lines of a chunk.")
        .def_prop_ro("idle", [](PyReader<VwReader>& self) {
            const nb::gil_scoped_release release;
            const std::lock_guard guard(self.lock);
            return self.reader.idle();
        });
    nb::class_<PyReader<LibsvmReader>>(m, "LibsvmReader")
        .def(nb::init<bool>(), "zero_based"_a)
        .def("read", &PyReader<LibsvmReader>::read, "data"_a, "last"_a, "The complete lines of a chunk.")
        .def_prop_rw(
            "highest",
            [](PyReader<LibsvmReader>& self) {
                const LibsvmReader::Highest highest = unlocked_get([&] {
                    const std::lock_guard guard(self.lock);
                    return self.reader.highest();
                });
                return nb::make_tuple(highest.next, highest.dense);
            },
            [](PyReader<LibsvmReader>& self, const std::pair<std::uint64_t, bool>& highest) {
                unlocked_get([&] {
                    const std::lock_guard guard(self.lock);
                    self.reader.go_on_from({highest.first, highest.second});
                    return 0;
                });
            });
    m.def(
        "row_end",
        [](const nb::bytes& data, char delimiter, bool first) {
            return unlocked_get([&] { return row_end(data.c_str(), data.size(), delimiter, first); });
        },
        "data"_a, "delimiter"_a, "first"_a, "Where the last whole row of CSV ends, or the first; or 0.");
    m.def("written_numbers", &written_numbers, "ends"_a, "text"_a, "form"_a, "marks"_a,
          "The numbers that texts stand for, and whether each is one (0), missing (1) or something else (2).");
    m.def("row_places", &row_places, "data"_a, "delimiter"_a, "comment"_a, "every"_a, "since"_a,
          "How many rows a text of whole rows has, and places among them.");
}

}  // namespace unitless
