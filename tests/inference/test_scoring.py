"""A model's metrics equal scikit-learn's for its predictions, for every kind of data."""

from __future__ import annotations

import json
import math
import pathlib
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn.metrics
from sources import mappings, set_chunk, write, write_all

import unitless as ul

ROWS = 3000
CITIES = ["Oslo", "Rome", "Bonn"]


def frame(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "size": rng.exponential(size=rows) * 100,
            "city": rng.choice(CITIES, rows),
            "new": rng.random(rows) < 0.3,
            "rooms": rng.integers(1, 6, rows),
            "note": [f"n{k % 4}" for k in range(rows)],
            "w": rng.integers(1, 4, rows) / 2,
        }
    )
    worth = table["size"] / 100 + 2 * (table["city"] == "Oslo") + rng.normal(size=rows)
    table["price"] = worth * 1000 + 500
    table["dear"] = np.where(worth > 2, "yes", "no")
    table["kind"] = np.where(worth > 3, "villa", np.where(worth > 1, "house", "hut"))
    return table


TRAIN, TEST = frame(), frame(seed=1)
FEATURES = ["size", "city", "new", "rooms"]


def trained(target: str, **options: Any) -> ul.TrainResult:
    return ul.train(TRAIN[[*FEATURES, target]], target, **options)


MODELS = {target: trained(target) for target in ("price", "dear", "kind")}
HINGE = trained("dear", loss="hinge")
MEANS = {"loss", "log_loss", "brier", "accuracy", "error_rate", "mse", "mae"}


@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_are_scored_as_scikit_learn_does(weighted: bool) -> None:
    result = MODELS["dear"]
    found = ul.evaluate(result, TEST, weight="w" if weighted else None)
    weight = TEST["w"] if weighted else np.ones(ROWS)
    predicted, truth = result.predict(TEST), TEST["dear"]
    chance = result.predict_proba(TEST)["yes"]
    sets = result.predict_interval(TEST, level=0.9)["set"]
    expected = {
        "coverage": np.average([label in one for label, one in zip(truth, sets, strict=True)], weights=weight),
        "set_size": np.average(sets.map(len), weights=weight),
        "accuracy": sklearn.metrics.accuracy_score(truth, predicted, sample_weight=weight),
        "error_rate": 1 - sklearn.metrics.accuracy_score(truth, predicted, sample_weight=weight),
        "precision": sklearn.metrics.precision_score(truth, predicted, pos_label="yes", sample_weight=weight),
        "recall": sklearn.metrics.recall_score(truth, predicted, pos_label="yes", sample_weight=weight),
        "f1": sklearn.metrics.f1_score(truth, predicted, pos_label="yes", sample_weight=weight),
        "log_loss": sklearn.metrics.log_loss(truth, chance, sample_weight=weight),
        "brier": sklearn.metrics.brier_score_loss(truth == "yes", chance, sample_weight=weight),
        "auc": sklearn.metrics.roc_auc_score(truth, chance, sample_weight=weight),
    }
    assert found.metrics.keys() == expected.keys()
    for name, value in expected.items():
        assert found.metrics[name] == pytest.approx(value, rel=1e-3 if name == "auc" else 1e-9)
    assert found.evaluation.loss == pytest.approx(expected["log_loss"])
    for label in ("no", "yes"):
        of = found.per_class[label]
        assert of["precision"] == pytest.approx(
            sklearn.metrics.precision_score(truth, predicted, pos_label=label, sample_weight=weight)
        )
        assert of["recall"] == pytest.approx(
            sklearn.metrics.recall_score(truth, predicted, pos_label=label, sample_weight=weight)
        )
        assert of["share"] == pytest.approx(np.average(truth == label, weights=weight))
    majority = max(np.average(truth == label, weights=weight) for label in ("no", "yes"))
    assert found.baseline["error_rate"] == pytest.approx(1 - majority)
    assert found.skill == pytest.approx(1 - found.metrics["error_rate"] / found.baseline["error_rate"])
    low, high = found.metrics_ci
    assert low < found.metrics["error_rate"] < high


def test_numbers_are_scored_as_scikit_learn_does() -> None:
    result = MODELS["price"]
    found = ul.evaluate(result, TEST)
    predicted, truth = result.predict(TEST), TEST["price"]
    assert found.metrics["rmse"] == pytest.approx(math.sqrt(sklearn.metrics.mean_squared_error(truth, predicted)))
    assert found.metrics["mse"] == pytest.approx(sklearn.metrics.mean_squared_error(truth, predicted))
    assert found.metrics["mae"] == pytest.approx(sklearn.metrics.mean_absolute_error(truth, predicted))
    assert found.metrics["r2"] == pytest.approx(sklearn.metrics.r2_score(truth, predicted))
    assert found.skill == pytest.approx(found.metrics["r2"])
    assert found.baseline["rmse"] == pytest.approx(truth.std(ddof=0))
    assert found._baseline_answer == pytest.approx(truth.mean())
    assert found.per_class == {}
    assert found.judged_by == "rmse"


def test_classes_are_scored_as_scikit_learn_does() -> None:
    result = MODELS["kind"]
    found = ul.evaluate(result, TEST)
    predicted, truth = result.predict(TEST), TEST["kind"]
    chances = result.predict_proba(TEST)[sorted(set(truth))]
    assert found.metrics["error_rate"] == pytest.approx(1 - sklearn.metrics.accuracy_score(truth, predicted))
    assert found.metrics["log_loss"] == pytest.approx(sklearn.metrics.log_loss(truth, chances.to_numpy()), rel=1e-6)
    precision, recall, _, _ = sklearn.metrics.precision_recall_fscore_support(
        truth, predicted, labels=result.predictor.classes
    )
    assert [of["precision"] for of in found.per_class.values()] == pytest.approx(list(precision))
    assert [of["recall"] for of in found.per_class.values()] == pytest.approx(list(recall))
    assert found._baseline_answer == truth.value_counts().idxmax()
    assert found.baseline["error_rate"] == pytest.approx(1 - truth.value_counts(normalize=True).max())


@pytest.mark.parametrize("target", MODELS)
def test_every_kind_of_table_gives_the_same_score(
    target: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, expected = MODELS[target], ul.evaluate(MODELS[target], TEST, by="note")
    path = tmp_path / "m.unitless"
    result.save(path)
    forms: dict[str, Any] = {**write_all(TEST, tmp_path), "polars": pl.from_pandas(TEST), "mappings": mappings(TEST)}
    for name, form in forms.items():
        found = ul.evaluate(path, form, by="note")
        assert found.metrics == pytest.approx(expected.metrics), name
        assert found.groups.keys() == expected.groups.keys()
        for group, one in found.groups.items():
            assert one.metrics == pytest.approx(expected.groups[group].metrics, nan_ok=True), (name, group)
    set_chunk(monkeypatch, 3000)
    for name in ("t.csv", "t.jsonl"):  # cut into many pieces
        found = ul.evaluate(str(path), forms[name], by="note")
        whole = ul.evaluate(result, forms[name])
        assert found.metrics == whole.metrics
        assert found.metrics == pytest.approx(expected.metrics)
        assert found.groups.keys() == expected.groups.keys()


def test_results_predictors_and_paths_are_evaluated_as_models(tmp_path: pathlib.Path) -> None:
    result = MODELS["dear"]
    before = result.model.examples
    result.save(tmp_path / "m.unitless")
    found = [ul.evaluate(one, TEST).metrics for one in (result, result.model, tmp_path / "m.unitless")]
    assert found[0] == found[1] == found[2]
    assert result.model.examples == before


def test_arrays_sparse_matrices_and_named_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) * [1, 1e3, 1e-3]
    y = X @ [1, 1e-3, 1e3] > 0
    result = ul.train(X[:1000], y[:1000], model_type="linear")  # other models take no sparse matrices
    for rows in (X[1000:], sp.csr_matrix(X[1000:]), X[1000:].tolist()):
        found = ul.evaluate(result, rows, target=y[1000:], by=(np.arange(1000) % 3).tolist(), weight=np.full(1000, 2.0))
        assert found.metrics["error_rate"] == pytest.approx(np.mean((result.model.predict(X[1000:]) > 0) != y[1000:]))
        assert list(found.groups) == ["0", "1", "2"]
        assert found.evaluation.weight == 2000
    by_name = [{"a": a, "b": b, "c": c, "y": bool(label)} for (a, b, c), label in zip(X.tolist(), y, strict=True)]
    named = ul.train(by_name[:1000], "y")
    assert ul.evaluate(named, iter(by_name[1000:])).metrics["error_rate"] < 0.1


def test_vw_text_is_scored_by_its_own_labels_and_weights(tmp_path: pathlib.Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    labels = np.where(x + 0.3 * rng.normal(size=600) > 0, 1, -1)
    lines = [
        f"{label} {1 + k % 2} | x:{value!r}" for k, (label, value) in enumerate(zip(labels, x.tolist(), strict=True))
    ]
    path = write(tmp_path / "a.vw", "\n".join([*lines, " | x:1"]) + "\n")
    result = ul.train(path)
    found = ul.evaluate(result, path)
    assert (found.scored, found.unlabeled) == (600, 1)
    wrong = (result.model.predict([{"x": value} for value in x.tolist()]) > 0) != (labels > 0)
    assert found.metrics["error_rate"] == pytest.approx(np.average(wrong, weights=1 + np.arange(600) % 2))
    with pytest.raises(ul.OptionError, match=r"by names a column; .*a\.vw has none"):
        ul.evaluate(result, path, by="x")


@pytest.mark.parametrize(("kind", "loss"), [("Learner", "logistic"), ("Learner", "squared"), ("OneVsAll", "logistic")])
def test_a_model_that_was_not_made_by_train_is_scored_on_arrays(kind: str, loss: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    score = X @ [1.0, -2.0]
    y: Any = score if loss == "squared" else np.where(score > 0, 1, -1)
    model: Any = ul.Learner(loss=loss) if kind == "Learner" else ul.OneVsAll()
    model.learn(X, y)
    evaluation = ul.metrics.Evaluation(model)
    evaluation.add(model.predict(X), y)
    found = ul.evaluate(model, X, target=y)
    assert found.metrics == pytest.approx(evaluation.metrics)
    assert found.metrics_ci == pytest.approx(evaluation.hold_out_interval())
    with pytest.raises(ul.OptionError, match="not made by train"):
        ul.evaluate(model, pd.DataFrame(X), target=y)


@pytest.mark.parametrize("by", ["city", "new", "rooms", "note", "w", "dear"])
def test_groups_are_the_scores_of_their_rows_and_add_up_to_the_whole(by: str) -> None:
    result = MODELS["dear"]
    found = ul.evaluate(result, TEST, by=by)
    assert found.by == by
    assert sum(one.rows for one in found.groups.values()) == ROWS
    total = sum(one.weight * one.metrics["error_rate"] for one in found.groups.values())
    assert total / ROWS == pytest.approx(found.metrics["error_rate"])
    sizes = [one.weight for one in found.groups.values()]
    assert sizes == sorted(sizes, reverse=True)
    assert found.others is None
    words = TEST[by].map(lambda value: str(value).lower() if by == "new" else str(value).removesuffix(".0"))
    assert set(found.groups) == set(words)
    for name, one in found.groups.items():
        alone = ul.evaluate(result, TEST[words == name])
        assert one.metrics == pytest.approx(alone.metrics, nan_ok=True)
        assert one.metrics_ci == pytest.approx(alone.metrics_ci)


def test_many_groups_are_the_largest_and_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    table = TEST.assign(id=[f"i{k}" if k % 2 else f"g{k % 8}" for k in range(ROWS)])
    for most in (10_000, 60):
        monkeypatch.setattr("unitless.inference.evaluate.MOST_GROUPS", most)
        for result in (MODELS["price"], MODELS["dear"], MODELS["kind"], HINGE):
            found = ul.evaluate(result, table, by="id")
            assert len(found.groups) == 50
            assert list(found.groups)[:4] == ["g0", "g2", "g4", "g6"]
            assert found.others is not None
            parts = [*found.groups.values(), found.others]
            assert sum(one.rows for one in parts) == ROWS
            means = MEANS & found.metrics.keys()
            assert means & {"loss", "log_loss", "mse"}
            for name in means:
                total = sum(one.weight * one.metrics[name] for one in parts) / ROWS
                assert total == pytest.approx(found.metrics[name]), name
            if most == 10_000:
                rest = ul.evaluate(result, table[~table["id"].isin(list(found.groups))])
                assert found.others.metrics == pytest.approx(rest.metrics)


def test_rows_without_a_group_are_a_group() -> None:
    table = TEST.assign(note=[None if k % 3 else "a" for k in range(ROWS)])
    found = ul.evaluate(MODELS["price"], table, by="note")
    assert list(found.groups) == [None, "a"]


def test_labels_may_be_in_another_column_or_array(tmp_path: pathlib.Path) -> None:
    result = MODELS["price"]
    other = TEST.rename(columns={"price": "sold_for"})
    expected = ul.evaluate(result, TEST).metrics
    assert ul.evaluate(result, other, target="sold_for").metrics == expected
    assert ul.evaluate(result, other, target=other["sold_for"]).metrics == expected
    beside = ul.train(TRAIN[FEATURES], TRAIN["dear"])
    table = write(tmp_path / "t.csv", TEST.to_csv(index=False))
    assert ul.evaluate(beside, TEST[FEATURES], target=TEST["dear"]).metrics["error_rate"] < 0.3
    assert ul.evaluate(beside, table, target="dear").metrics == pytest.approx(ul.evaluate(MODELS["dear"], TEST).metrics)
    with pytest.raises(ul.OptionError, match="labels given separately"):
        ul.evaluate(beside, TEST[FEATURES])


def test_sample_weights_default_to_the_column_of_the_training() -> None:
    result = ul.train(TRAIN[[*FEATURES, "w", "price"]], "price", weight="w")
    weighted, plain = ul.evaluate(result, TEST), ul.evaluate(result, TEST, weight=False)
    assert weighted.evaluation.weight == TEST["w"].sum()
    assert plain.evaluation.weight == ROWS
    assert ul.evaluate(result, TEST, weight=TEST["w"].to_numpy()).metrics == weighted.metrics
    without = TEST.drop(columns="w")
    assert ul.evaluate(result, without, weight=False).metrics == plain.metrics
    with pytest.raises(ul.InputError, match="no column 'w', which holds the weights"):
        ul.evaluate(result, without)


def test_a_feature_can_be_the_weight(tmp_path: pathlib.Path) -> None:
    found = ul.evaluate(MODELS["price"], TEST, weight="rooms")
    assert found.evaluation.weight == TEST["rooms"].sum()
    for name, path in write_all(TEST, tmp_path).items():
        assert ul.evaluate(MODELS["price"], path, weight="rooms").metrics == pytest.approx(found.metrics), name


def test_rows_without_label_are_counted_and_others_an_error_or_skipped(tmp_path: pathlib.Path) -> None:
    table = TEST.assign(dear=[None if k in (7, 9) else label for k, label in enumerate(TEST["dear"])])
    table.loc[11, "w"] = np.inf
    table.loc[12, "w"] = -1.0
    path = write(tmp_path / "t.csv", table.to_csv(index=False))
    result = MODELS["dear"]
    with pytest.raises(ul.InputError, match=r"row 12: weight is inf"):
        ul.evaluate(result, path, weight="w")
    for source in (table, path):
        found = ul.evaluate(result, source, weight="w", reading=ul.Reading(on_error="skip"))
        assert (found.scored, found.skipped, found.unlabeled) == (ROWS - 4, 2, 2)
        assert len(found.skipped_rows) == 2
        rows = [k for k in range(ROWS) if k not in (7, 9, 11, 12)]
        assert found.metrics == pytest.approx(ul.evaluate(result, TEST.iloc[rows], weight="w").metrics)


def test_a_class_that_the_model_has_never_met_counts_as_wrong() -> None:
    for target in ("dear", "kind"):
        result = MODELS[target]
        known = ul.evaluate(result, TEST.iloc[100:]).metrics["error_rate"]
        found = ul.evaluate(result, TEST.assign(**{target: ["strange"] * 100 + TEST[target].tolist()[100:]}))
        assert found.unknown == 100
        assert found.unknown_labels == ["strange"]
        assert found.metrics["error_rate"] == pytest.approx((100 + known * (ROWS - 100)) / ROWS)
        assert all(math.isfinite(value) for value in found.metrics.values())
        assert found.baseline["error_rate"] > 0
        with pytest.raises(ul.InputError, match="no label is a class of the model: the labels are 'x'"):
            ul.evaluate(result, TEST.assign(**{target: "x"}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "colour"}, "by: there is no column 'colour'"),
        ({"target": "cost"}, "no column 'cost' with the labels at row 1$"),
        ({"reading": {"delimiter": ";"}}, "reading is a dict; it must be a ul.Reading"),
        ({"weight": True}, "weight is True"),
        ({"target": "size"}, "target is 'size', which is a feature of the model"),
        ({"by": ["a"]}, "by has 1 values"),
        ({"target": [1.0]}, "target has 1 values"),
    ],
)
def test_data_that_do_not_fit_the_model_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ul.Error, match=message):
        ul.evaluate(MODELS["price"], TEST, **options)
    with pytest.raises(ul.OptionError, match="delimiter is ';;'"):
        ul.evaluate(MODELS["price"], TEST, reading=ul.Reading(delimiter=";;"))


def test_data_of_another_kind_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ul.OptionError, match="the model was trained on tables"):
        ul.evaluate(MODELS["price"], np.zeros((3, 4)), target=[1, 2, 3])
    with pytest.raises(
        ul.InputError, match=r"no column 'price' with the labels.*; if another column has them, name it: target='NAME'"
    ):
        ul.evaluate(MODELS["price"], TEST.drop(columns="price"))
    with pytest.raises(ul.InputError, match="no row that can be evaluated: no row has a label in the column 'price'"):
        ul.evaluate(MODELS["price"], TEST.assign(price=np.nan))
    with pytest.raises(ul.OptionError, match="give the labels separately from the data"):
        ul.evaluate(ul.train(np.eye(5), np.arange(5) / 3), np.eye(5))
    with pytest.raises(ul.OptionError, match="int has no model; give a model, a model file"):
        ul.evaluate(3, TEST)
    with pytest.raises(ul.OptionError, match="for files, target must be the name of a column"):
        ul.evaluate(MODELS["price"], write(tmp_path / "t.csv", TEST.to_csv()), target=TEST["price"])


@pytest.mark.parametrize("target", MODELS)
def test_all_of_it_is_json_and_can_be_drawn(target: str, tmp_path: pathlib.Path) -> None:
    found = ul.evaluate(MODELS[target], TEST, by="rooms")
    plain = json.loads(json.dumps(found.asdict(), allow_nan=False))
    assert plain["scored"] == ROWS
    assert plain["metrics"] == pytest.approx(found.metrics)
    assert [one["group"] for one in plain["groups"]] == list(found.groups)
    assert plain["skill"] == found.skill
    assert "3,000 rows" in repr(found)
    found.plot(tmp_path / "score.svg")
    assert (tmp_path / "score.svg").read_bytes().startswith(b"<?xml")


def test_progress_is_reported() -> None:
    told: list[int] = []

    class Watch:
        def opened(self, evaluator: Any) -> None:
            told.append(evaluator.progress.rows)

        __call__ = opened

    ul.evaluate(MODELS["price"], TEST, progress=Watch())
    assert told[0] == 0
    assert told[-1] == ROWS


def test_losses_that_are_not_squared_are_compared_by_themselves() -> None:
    result = trained("price", loss="quantile")
    found = ul.evaluate(result, TEST)
    assert found.judged_by == "loss"
    assert found._baseline_answer == pytest.approx(TEST["price"].median(), rel=0.01)
    assert found.skill == pytest.approx(1 - found.metrics["loss"] / found.baseline["loss"])


@pytest.mark.parametrize(
    "options",
    [{}, {"loss": "quantile", "quantile": 0.75}, {"loss": "poisson", "reading": ul.Reading(offset="log_days")}],
)
def test_train_and_evaluate_give_the_baseline_the_same_name(options: dict[str, Any]) -> None:
    """The same words, whatever the loss; only the constants differ, because the rows do."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=500), "log_days": rng.normal(size=500), "y": rng.poisson(40, 500)})
    trained = ul.train(frame, "y", model_type="linear", ensemble=False, progress=False, **options)
    evaluated = ul.evaluate(trained.predictor, frame)
    without_numbers = [re.sub(r"[\d.]+,? ?", "", one.baseline_name) for one in (trained, evaluated)]
    assert without_numbers[0] == without_numbers[1]
    assert without_numbers[0].endswith("with the offset") == ("reading" in options)
