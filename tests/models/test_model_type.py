"""Model types: the options that go with them, what a model reports of its model_type, and what its file stores."""

from __future__ import annotations

import json
import pickle
import struct
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from streams import stream

import unitless as ul
from unitless.models import file as model_file
from unitless.models.model import Model

SHAPES = ("linear", "curves", "trees", "auto", "curves only")


def learned(kind: str = "Learner", rows: int = 200, **options: Any) -> Any:
    X, y = stream(rows=rows, features=4)
    model = ul.Learner(**options) if kind == "Learner" else ul.OneVsAll(**options)
    model.learn(X, y if kind == "Learner" else np.array(["low", "middle", "high"])[np.digitize(y, [-1, 1])])
    return model


def header_of(data: bytes) -> dict[str, Any]:
    length = struct.unpack("<Q", data[:8])[0]
    header: dict[str, Any] = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["unitless"])
    return header


def forged(data: bytes, arrays: dict[str, Any] | None = None, **changes: Any) -> bytes:
    """A file with other content and a matching digest."""
    header, content = {**header_of(data), **changes}, {**safetensors.numpy.load(data), **(arrays or {})}
    header = {name: value for name, value in header.items() if name != "digest" and value != "left out"}
    header["digest"] = model_file._digest(header, content)
    return safetensors.numpy.save(content, {"unitless": json.dumps(header)})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"model_type": "round"},
            "model_type is 'round'; it must be one of 'linear', 'curves', 'trees', 'auto', 'curves only'",
        ),
        (
            {"model_type": None},
            "model_type is None; it must be one of 'linear', 'curves', 'trees', 'auto', 'curves only'",
        ),
        (
            {"model_type": "trees", "bits": 10},
            "hashed features have no columns, which model_type='trees' needs: leave out either bits or model_type",
        ),
        (
            {"model_type": "curves", "order": "vw"},
            "order='vw' is for linear models; leave it out, or leave out model_type='curves'",
        ),
        (
            {"model_type": "trees", "clip": "vw"},
            "clip='vw' is for linear models; leave it out, or leave out model_type='trees'",
        ),
        (
            {"model_type": "curves only", "average": True},
            "model_type='curves only' has no weights that are averaged: leave out average=True, or take "
            "model_type='curves'",
        ),
        (
            {"model_type": "curves only", "interactions": 2},
            "model_type='curves only' sees only the order of a column's numbers, which products do not keep: leave out "
            "interactions, or take model_type='curves'",
        ),
    ],
)
def test_options_that_a_model_type_lacks_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ul.OptionError) as caught:
        ul.Learner(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize("model_type", ["curves", "trees", "auto"])
def test_products_go_with_shapes_that_have_linear_terms(model_type: Any) -> None:
    assert ul.Learner(model_type=model_type, interactions=2).options.model_type == model_type


@pytest.mark.parametrize("options", [{"bits": 8}, {"order": "vw"}, {"clip": "vw"}])
def test_auto_is_linear_with_what_only_linear_models_have(options: dict[str, Any]) -> None:
    model = ul.Learner(model_type="auto", **options)
    assert model.model_type == "linear"
    assert model.options.core()["model_type"] == "linear"


@pytest.mark.parametrize("model_type", ["curves", "trees", "auto", "curves only"])
def test_a_sweep_is_linear(model_type: str) -> None:
    with pytest.raises(ul.OptionError) as caught:
        ul.Sweep(model_type=model_type)
    assert str(caught.value) == (
        f"model_type is {model_type!r}; a sweep compares the rates of one linear model, and other model types "
        "choose their rates by themselves"
    )
    assert ul.Sweep(model_type="linear").options.model_type == "linear"


def test_a_model_is_linear_if_no_shape_is_asked_for() -> None:
    assert ul.Learner().model_type == ul.OneVsAll().model_type == ul.Sweep().model_type == "linear"


@pytest.mark.parametrize("kind", ["Learner", "OneVsAll"])
def test_auto_is_settled_by_the_first_row(kind: str) -> None:
    fresh = ul.Learner(model_type="auto") if kind == "Learner" else ul.OneVsAll(model_type="auto")
    assert fresh.model_type is None
    model = learned(kind, model_type="auto")
    assert model.model_type in ("linear", "trees")
    if kind == "Learner":
        assert ("effects count curves and trees too" in model._repr_html_()) == (model.model_type != "linear")
    assert f"): {model.model_type}, " in repr(model)
    assert f">{model.model_type}<" in model._repr_html_()


def test_a_model_that_goes_back_to_its_beginning_settles_anew() -> None:
    model = ul.Learner(model_type="auto")
    before = model._remember()
    model.learn(*stream(rows=10))
    assert model.model_type is not None
    model._go_back(before)
    assert model.model_type is None


@pytest.mark.parametrize("model_type", SHAPES)
def test_a_model_reports_the_requested_model_type(model_type: Any) -> None:
    model = learned(model_type=model_type)
    assert (f"model_type={model_type!r}" in repr(model)) == (model_type != "linear")
    assert model_type in (model.model_type, "auto")


@pytest.mark.parametrize("kind", ["Learner", "OneVsAll"])
@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_a_copy_goes_on_as_the_original(kind: str, model_type: Any, rate: Any) -> None:
    X, _ = stream(rows=50, seed=7, features=4)
    model = learned(kind, model_type=model_type, learning_rate=rate)
    for copy in (model.copy(), pickle.loads(pickle.dumps(model))):
        assert copy.options == model.options
        assert copy.model_type == model.model_type
        assert copy.predict(X).tobytes() == model.predict(X).tobytes()
        assert model_file.to_bytes(copy) == model_file.to_bytes(model)


@pytest.mark.parametrize("model_type", SHAPES)
def test_a_model_before_its_first_row_can_be_kept(model_type: Any) -> None:
    model = ul.Learner(model_type=model_type)
    assert model.copy().model_type == model.model_type
    X, y = stream(rows=30)
    assert model.copy().learn(X, y).tobytes() == model.learn(X, y).tobytes()


@pytest.mark.parametrize("model_type", SHAPES)
def test_a_model_goes_back_to_what_it_remembers(model_type: Any) -> None:
    model = learned(model_type=model_type)
    before, state = model_file.to_bytes(model), model._remember()
    model.learn(*stream(rows=50, seed=3, features=4))
    assert model_file.to_bytes(model) != before
    model._go_back(state)
    assert model_file.to_bytes(model) == before


@pytest.mark.parametrize("model_type", SHAPES)
def test_a_file_stores_the_requested_and_the_chosen_model_type(model_type: Any) -> None:
    model = learned(model_type=model_type)
    header = header_of(model_file.to_bytes(model))
    assert (header["options"]["model_type"], header["settled"]) == (model_type, model.model_type)


def test_arrays_of_a_shape_go_into_the_file_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    model, arrays = learned(model_type="trees"), {"curve_columns": np.arange(3.0), "mixture": np.zeros(0)}
    state = {**model._snapshot(), "form": {"settled": "trees", **arrays}}
    monkeypatch.setattr(Model, "_snapshot", lambda self, slots=True: state)
    data = model_file.to_bytes(model)
    monkeypatch.undo()
    assert {f"form.{name}" for name in arrays} <= set(safetensors.numpy.load(data))
    seen = []
    monkeypatch.setattr(Model, "_restore", lambda self, state: seen.append(state["form"]))
    model_file.from_bytes(data)
    assert seen[0]["settled"] == "trees"
    assert {name: array.tolist() for name, array in seen[0].items() if name != "settled"} == {
        name: array.tolist() for name, array in arrays.items()
    }


@pytest.mark.parametrize(
    ("model_type", "arrays", "changes"),
    [
        ("trees", {}, {"settled": "curves"}),
        ("trees", {}, {"settled": "linear"}),
        ("trees", {}, {"settled": None}),
        ("trees", {}, {"settled": "left out"}),
        ("trees", {}, {"settled": ["trees"]}),
        ("linear", {}, {"settled": "trees"}),
        ("linear", {}, {"settled": None}),
        ("linear", {}, {"ensemble": "newton"}),
        ("linear", {}, {"ensemble": None}),
        ("linear", {"form.x": np.zeros(1)}, {}),
        ("auto", {}, {"settled": None}),
        ("auto", {}, {"settled": "auto"}),
        ("auto", {}, {"settled": "curves only"}),
        ("auto", {"form.x": np.zeros(1)}, {"settled": "linear"}),
        ("trees", {"form.x": np.zeros(1, np.float32)}, {}),
        ("trees", {"form.x": np.zeros(1, np.uint32)}, {}),
        ("trees", {"form.x": np.zeros((1, 1))}, {}),
        ("trees", {"form.": np.zeros(1)}, {}),
        ("trees", {"form.settled": np.zeros(1)}, {}),
        ("trees", {"form.a b": np.zeros(1)}, {}),
        ("trees", {f"form.{'x' * 65}": np.zeros(1)}, {}),
        ("trees", {f"form.x{k}": np.zeros(1) for k in range(1025)}, {}),
        ("trees", {"forms": np.zeros(1)}, {}),
    ],
)
def test_a_forged_shape_is_refused(model_type: Any, arrays: dict[str, Any], changes: dict[str, Any]) -> None:
    data = model_file.to_bytes(learned(model_type=model_type))
    with pytest.raises(ul.ModelFileError):
        model_file.from_bytes(forged(data, arrays, **changes))


def beyond_the_columns(form: dict[str, Any]) -> None:
    """Trees that split on a column that rows do not have."""
    form["curve.leaves"] = np.append(form["curve.leaves"], np.zeros(900))
    form["tree.column"] = np.where(np.isfinite(form["tree.low"]), 900.0, 0.0)


def text_while_drawing(form: dict[str, Any]) -> None:
    facts = form["tree.facts"].reshape(-1, 6).copy()
    facts[:, 2], facts[:, 5] = 2.0, 1.0
    form["tree.facts"] = facts.ravel()


@pytest.mark.parametrize("forge", [beyond_the_columns, text_while_drawing])
def test_trees_that_would_read_beyond_a_row_are_refused(forge: Any) -> None:
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = ul.Learner(model_type="trees")
    model.learn(X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2])
    state = model._snapshot()
    assert np.isfinite(state["form"]["tree.low"]).any()
    forge(state["form"])
    with pytest.raises(ul.InputError):
        ul.Learner(model_type="trees")._restore(state)


def test_a_damaged_array_of_a_shape_is_noticed() -> None:
    data = forged(model_file.to_bytes(learned(model_type="trees")), {"form.x": np.arange(5.0)})
    header, arrays = header_of(data), safetensors.numpy.load(data)
    arrays["form.x"][2] = 7.0
    with pytest.raises(ul.ModelFileError, match="digest"):
        model_file.from_bytes(safetensors.numpy.save(arrays, {"unitless": json.dumps(header)}))


@pytest.mark.parametrize("kind", ["Learner", "OneVsAll"])
@pytest.mark.parametrize("model_type", ["curves", "trees", "curves only"])
def test_only_linear_models_become_estimators(kind: str, model_type: Any) -> None:
    model = learned(kind, model_type=model_type)
    advice = "yet; a model that is made with model_type='linear' and ensemble=False can"
    for what, action in (("exported to scikit-learn", lambda: ul.to_sklearn(model)),):
        with pytest.raises(ul.OptionError) as caught:
            action()
        assert str(caught.value) == f"a model of model type {model_type!r} cannot be {what} {advice}"


def test_auto_that_became_linear_can_do_what_linear_models_can() -> None:
    rows = [({"a": 1.0, "b": 2.0}, 1.0), ({"a": 2.0}, 3.0)]
    models = [ul.Learner(model_type="auto", bits=6), ul.Learner(model_type="auto", bits=6)]
    for model, (x, y) in zip(models, rows, strict=True):
        model.learn_one(x, y)
    merged = ul.merge(models)
    assert merged.model_type == "linear"
    assert merged.examples == 2


def test_merging_empty_models_leaves_their_model_type_open() -> None:
    merged = ul.merge([ul.Learner(model_type="auto"), ul.Learner(model_type="auto")])
    assert merged.model_type is None


@pytest.mark.parametrize("model_type", SHAPES)
def test_weights_are_those_of_the_linear_model(model_type: Any) -> None:
    model = learned(model_type=model_type)
    assert set(model.weights) == set(model.scales)
    assert set(model.importance) == {"(bias)", 0, 1, 2, 3}
    assert model.learning_rate == 0.5


@pytest.mark.parametrize("model_type", SHAPES)
@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_a_model_that_has_learned_nothing_predicts(model_type: Any, rate: Any) -> None:
    assert ul.Learner(model_type=model_type, learning_rate=rate).predict([[1.0, 2.0]]).tolist() == [0.0]
    assert ul.Learner(model_type=model_type, learning_rate=rate).predict_one({"a": 1.0}) == 0.0
    assert ul.OneVsAll(["a", "b"], model_type=model_type, learning_rate=rate).predict([[1.0, 2.0]]).tolist() == [
        [0.0, 0.0]
    ]
