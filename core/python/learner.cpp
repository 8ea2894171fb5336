// The learner as a Python class.

#include "python/learner.hpp"

#include "encoding/dense_source.hpp"
#include "encoding/named_source.hpp"
#include "encoding/sparse_source.hpp"
#include "encoding/table_source.hpp"
#include "python/kernels.hpp"
#include "python/options.hpp"
#include "text/text_rows.hpp"

using namespace nanobind::literals;

namespace unitless {
namespace {

using Numbers = std::optional<Doubles>;

// Learns rows of any kind without the interpreter's lock. Each kind of input has a `Source`.
template <class Source, class Input>
NewDoubles learn(PyLearner& self, const Input& input, const Doubles& y, const Numbers& weight, std::size_t new_classes,
                 const Numbers& offset) {
    Source rows(input);
    const GivenLabels given(rows.rows(), y, weight, new_classes, offset);
    return unlocked([&](Results& results) { self.learner.learn(rows, given, results); });
}

template <class Source, class Input>
NewDoubles predict(PyLearner& self, const Input& input, bool extrapolate, const Numbers& offset) {
    Source rows(input);
    const ByRow offsets("offset", offset, rows.rows());
    return unlocked(
        [&](Results& results) { self.learner.predict(rows, {.extrapolate = extrapolate}, offsets.data(), results); });
}

}  // namespace

void define_learner(nb::module_& m) {
    NumpyScalars::load();
    nb::class_<TableColumns>(m, "TableColumns")
        .def(nb::init<const std::vector<std::string>&, const std::vector<std::string>&, const std::string&,
                      const std::vector<std::string>&, bool>(),
             "names"_a, "kinds"_a, "missing"_a, "marks"_a, "trim"_a);
    nb::class_<WaitingErrors>(m, "WaitingErrors")
        .def(nb::init<>())
        .def("add", [](WaitingErrors& self, const Doubles& scores, double truth,
                       double weight) { return self.add(scores.data(), scores.size(), truth, weight); })
        .def("add", [](WaitingErrors& self, double score, double truth,
                       double weight) { return self.add(&score, 1, truth, weight); })
        .def("rows", &WaitingErrors::rows)
        .def("take", &WaitingErrors::take)
        .def("__len__", &WaitingErrors::size);
    nb::class_<PyLearner> learner(m, "Learner");
    define_merging(m, learner);
    learner
        .def("__init__",
             [](PyLearner* self, const nb::kwargs& options) {
                 new (self) PyLearner(setup_of(options), kernel_by_name(nb::cast<std::string>(options["kernel"])));
             })
        .def("learn_one", &PyLearner::learn_one, "x"_a.none(), "y"_a.none(), "weight"_a.none() = 1.0,
             "offset"_a.none() = 0.0,
             "Learn from one mapping of names to numbers; gives the prediction made before the update.")
        .def("predict_one", &PyLearner::predict_one, "x"_a.none(), "offset"_a.none() = 0.0, nb::kw_only(),
             "extrapolate"_a = false, "The prediction for one mapping of names to numbers; changes nothing.")
        .def("_learn_features", &PyLearner::learn_features, "x"_a.none(), "y"_a.none(), "weight"_a.none() = 1.0,
             "offset"_a.none() = 0.0)
        .def("_predict_features", &PyLearner::predict_features, "x"_a.none(), "offset"_a.none() = 0.0,
             "extrapolate"_a = false)
        .def("_learn_one_wide", &PyLearner::learn_one_wide, "x"_a.none(), "y"_a.none(), "weight"_a.none(),
             "new_classes"_a = 0, "offset"_a.none() = 0.0)
        .def("_predict_one_wide", &PyLearner::predict_one_wide, "x"_a.none(), "extrapolate"_a, "offset"_a.none() = 0.0)
        .def("_learn_noting", &PyLearner::learn_noting)
        .def("_learn_side", &PyLearner::learn_side)
        .def("_predict_shares", &PyLearner::predict_shares)
        .def("_learn_class_noting", &PyLearner::learn_class_noting)
        .def("_predict_class_shares", &PyLearner::predict_class_shares)
        .def("_learn_class", &PyLearner::learn_class, "x"_a.none(), "y"_a.none(), "weight"_a.none(), "numbers"_a)
        .def("_learn_row", &PyLearner::learn_row_of_table, "columns"_a, "row"_a.none(), "y"_a.none(),
             "weight"_a.none() = 1.0, "offset"_a.none() = 0.0,
             "Learn from a row of a table; gives the prediction made before the update. None if the row has to be read "
             "with more care: then nothing has changed.")
        .def("_learn_row_wide", &PyLearner::learn_row_of_table_wide, "columns"_a, "row"_a.none(), "y"_a.none(),
             "weight"_a.none() = 1.0, "new_classes"_a = 0)
        .def(
            "_predict_row",
            [](PyLearner& self, TableColumns& columns, nb::handle row, bool extrapolate, double offset) -> nb::object {
                RowResult score;
                if (!self.predict_table_row(columns, row, extrapolate, offset, score)) return nb::none();
                return nb::float_(*score.data());
            },
            "columns"_a, "row"_a.none(), "extrapolate"_a = false, "offset"_a = 0.0,
            "The prediction for a row of a table; None if it has to be read with more care.")
        .def(
            "_predict_row_wide",
            [](PyLearner& self, TableColumns& columns, nb::handle row, bool extrapolate) -> nb::object {
                RowResult scores;
                if (!self.predict_table_row(columns, row, extrapolate, 0.0, scores)) return nb::none();
                return scores.array();
            },
            "columns"_a, "row"_a.none(), "extrapolate"_a = false)
        .def(
            "_winner_of_row",
            [](PyLearner& self, TableColumns& columns, nb::handle row, bool extrapolate) -> nb::object {
                RowResult scores;
                if (!self.predict_table_row(columns, row, extrapolate, 0.0, scores)) return nb::none();
                return nb::int_(scores.largest());
            },
            "columns"_a, "row"_a.none(), "extrapolate"_a = false, "The place of the class with the largest score.")
        .def("_word_features", &PyLearner::word_features, "column"_a, "text"_a, "ngrams"_a)
        .def("_access_rows_with", &PyLearner::access_rows_with, "access"_a.none())
        .def("_learn_named", &PyLearner::learn_named, "rows"_a, "y"_a, "weight"_a.none(), "new_classes"_a = 0,
             "offset"_a.none() = nb::none())
        .def(
            "_learn_dense",
            [](PyLearner& self, const Matrix& x, const Doubles& y, const Numbers& weight, std::size_t new_classes,
               const Numbers& offset) {
                std::vector<Column> columns;
                return learn<DenseSource>(self, dense_rows(x, columns), y, weight, new_classes, offset);
            },
            "x"_a, "y"_a, "weight"_a.none(), "new_classes"_a = 0, "offset"_a.none() = nb::none())
        .def(
            "_predict_dense",
            [](PyLearner& self, const Matrix& x, bool extrapolate, const Numbers& offset) {
                std::vector<Column> columns;
                return predict<DenseSource>(self, dense_rows(x, columns), extrapolate, offset);
            },
            "x"_a, "extrapolate"_a, "offset"_a.none() = nb::none())
        .def(
            "_learn_compressed",
            [](PyLearner& self, const Doubles& values, const Indices& indices, const Indices& row_starts,
               std::size_t columns, const Doubles& y, const Numbers& weight, std::size_t new_classes,
               const Numbers& offset) {
                const SparseRows rows = sparse_rows(values, indices, row_starts, columns);
                return learn<SparseSource>(self, rows, y, weight, new_classes, offset);
            },
            "values"_a, "indices"_a, "row_starts"_a, "columns"_a, "y"_a, "weight"_a.none(), "new_classes"_a = 0,
            "offset"_a.none() = nb::none())
        .def(
            "_predict_compressed",
            [](PyLearner& self, const Doubles& values, const Indices& indices, const Indices& row_starts,
               std::size_t columns, bool extrapolate, const Numbers& offset) {
                const SparseRows rows = sparse_rows(values, indices, row_starts, columns);
                return predict<SparseSource>(self, rows, extrapolate, offset);
            },
            "values"_a, "indices"_a, "row_starts"_a, "columns"_a, "extrapolate"_a, "offset"_a.none() = nb::none())
        .def(
            "_learn_table",
            [](PyLearner& self, const std::vector<std::string>& names, const nb::list& columns, bool missing,
               bool indicators, bool whole, const Doubles& y, const Numbers& weight, std::size_t new_classes,
               const Numbers& offset) {
                const TableArrays arrays(names, columns, y.shape(0), missing, indicators, whole);
                return learn<TableSource>(self, arrays.table, y, weight, new_classes, offset);
            },
            "names"_a, "columns"_a, "missing"_a, "indicators"_a, "whole"_a, "y"_a, "weight"_a.none(),
            "new_classes"_a = 0, "offset"_a.none() = nb::none())
        .def(
            "_predict_table",
            [](PyLearner& self, const std::vector<std::string>& names, const nb::list& columns, bool missing,
               bool indicators, std::size_t rows, bool extrapolate, const Numbers& offset) {
                const TableArrays arrays(names, columns, rows, missing, indicators);
                return predict<TableSource>(self, arrays.table, extrapolate, offset);
            },
            "names"_a, "columns"_a, "missing"_a, "indicators"_a, "rows"_a, "extrapolate"_a,
            "offset"_a.none() = nb::none())
        .def(
            "_learn_rows",
            [](PyLearner& self, const TextRows& rows, const Doubles& y, const Numbers& weight, std::size_t new_classes,
               const Numbers& offset) {
                return learn<NamedSource>(self, rows.features, y, weight, new_classes, offset);
            },
            "rows"_a, "y"_a, "weight"_a.none(), "new_classes"_a = 0, "offset"_a.none() = nb::none())
        .def(
            "_predict_rows",
            [](PyLearner& self, const TextRows& rows, bool extrapolate, const Numbers& offset) {
                return predict<NamedSource>(self, rows.features, extrapolate, offset);
            },
            "rows"_a, "extrapolate"_a, "offset"_a.none() = nb::none())
        .def(
            "_loss",
            [](const PyLearner& self, int which, const Doubles& p, const Doubles& y, const Doubles& tau) {
                constexpr int change = 2;  // only this one uses tau
                if (which < 0 || which > change)
                    throw InputError("a loss has a value (0), a slope (1) and a change (2)");
                check_length("y", y.size(), p.size());
                if (which == change || tau.size()) check_length("tau", tau.size(), p.size());
                return unlocked(p.shape(0), [&](double* out) {
                    self.learner.loss(which, p.data(), y.data(), tau.data(), p.shape(0), out);
                });
            },
            "which"_a, "p"_a, "y"_a, "tau"_a)
        .def(
            "_score",
            [](const PyLearner& self, const Doubles& p, const Booleans& positive, const Numbers& weight,
               const Sums& sums, const Sums& bins) {
                if (positive.size() != p.size() || (weight && weight->size() != p.size()) ||
                    sums.size() != TwoClassSums::count || bins.size() != TwoClassSums::bins)
                    throw InputError("scores, labels, weights or sums have wrong lengths");
                const Released release;
                self.learner.score(p.data(), positive.data(), weight ? weight->data() : nullptr, p.size(),
                                   {sums.data(), bins.data()});
            },
            "p"_a, "positive"_a, "weight"_a.none(), "sums"_a, "bins"_a,
            "Adds up what logistic predictions come to, row after row: loss, errors, Brier score, weight, its square; "
            "and how often which score came.")
        .def("_snapshot", &snapshot, "slots"_a = true)
        .def("_restore", &restore, "snapshot"_a)
        .def("_remembered", [](const PyLearner& self) { return unlocked_get([&] { return self.learner.snapshot(); }); })
        .def(
            "_restore", [](PyLearner& self, const Snapshot& from) { self.load(from); }, "remembered"_a)
        .def_prop_rw(
            "_keeps_average",
            [](const PyLearner& self) { return unlocked_get([&] { return self.learner.keeps_average(); }); },
            [](PyLearner& self, bool average) {
                const Released release;
                self.learner.keep_average(average);
            })
        .def_prop_rw(
            "_chooses_rates",
            [](const PyLearner& self) { return unlocked_get([&] { return self.learner.chooses_rates(); }); },
            [](PyLearner& self, bool choose) {
                const Released release;
                self.learner.choose_rates(choose);
            })
        .def(
            "_keep_rates",
            [](PyLearner& self, bool keep) {
                const Released release;
                self.learner.keep_rates(keep);
            },
            "keep"_a)
        .def(
            "_hold_scales",
            [](PyLearner& self, bool hold) {
                const Released release;
                self.learner.hold_scales(hold);
            },
            "hold"_a)
        .def(
            "_begin_judging",
            [](PyLearner& self, const Doubles& y, const Numbers& weight, const Numbers& offset) {
                const GivenLabels given(y.size(), y, weight, 0, offset);
                const Released release;
                self.learner.begin_judging(given, y.size());
            },
            "y"_a, "weight"_a.none(), "offset"_a.none() = nb::none())
        .def("_end_judging",
             [](PyLearner& self) {
                 const Released release;
                 self.learner.end_judging();
             })
        .def("_prune_rates",
             [](PyLearner& self) {
                 const Released release;
                 self.learner.prune_rates();
             })
        .def("_keep_leaders",
             [](PyLearner& self) {
                 const Released release;
                 self.learner.keep_leaders();
             })
        .def_prop_ro("nbytes", [](const PyLearner& self) { return unlocked_get([&] { return self.learner.bytes(); }); })
        .def_prop_ro("total_weight",
                     [](const PyLearner& self) { return unlocked_get([&] { return self.learner.clock().t; }); })
        .def_prop_ro("examples",
                     [](const PyLearner& self) { return unlocked_get([&] { return self.learner.clock().examples; }); })
        .def_prop_ro("limited_labels",
                     [](const PyLearner& self) { return unlocked_get([&] { return self.learner.limited_labels(); }); });
}

}  // namespace unitless
