"""Shapes: which options go with them, what a model says of its shape, and what its file keeps of it."""

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
    """A file with other content, whose digest matches."""
    header, content = {**header_of(data), **changes}, {**safetensors.numpy.load(data), **(arrays or {})}
    header = {name: value for name, value in header.items() if name != "digest" and value != "left out"}
    header["digest"] = model_file._digest(header, content)
    return safetensors.numpy.save(content, {"unitless": json.dumps(header)})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"shape": "round"},
            "shape is 'round'; it must be one of 'linear', 'curves', 'trees', 'auto', 'curves only'",
        ),
        ({"shape": None}, "shape is None; it must be one of 'linear', 'curves', 'trees', 'auto', 'curves only'"),
        (
            {"shape": "trees", "bits": 10},
            "hashed features have no columns, which shape='trees' needs: leave out either bits or shape",
        ),
        (
            {"shape": "curves", "order": "vw"},
            "order='vw' is for linear models; leave it out, or leave out shape='curves'",
        ),
        (
            {"shape": "trees", "clip": "vw"},
            "clip='vw' is for linear models; leave it out, or leave out shape='trees'",
        ),
        (
            {"shape": "curves only", "interactions": 2},
            "shape='curves only' sees only the order of a column's numbers, which products do not keep: leave out "
            "interactions, or take shape='curves'",
        ),
    ],
)
def test_what_does_not_go_with_a_shape_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ul.OptionError) as caught:
        ul.Learner(**options)
    assert str(caught.value) == message


@pytest.mark.parametrize("shape", ["curves", "trees", "auto"])
def test_products_go_with_shapes_that_have_linear_terms(shape: Any) -> None:
    assert ul.Learner(shape=shape, interactions=2).options.shape == shape


@pytest.mark.parametrize("options", [{"bits": 8}, {"order": "vw"}, {"clip": "vw"}])
def test_auto_is_linear_with_what_only_linear_models_have(options: dict[str, Any]) -> None:
    model = ul.Learner(shape="auto", **options)
    assert model.settled_shape == "linear"
    assert model.options.core()["shape"] == "linear"


@pytest.mark.parametrize("shape", ["curves", "trees", "auto", "curves only"])
def test_a_sweep_is_linear(shape: str) -> None:
    with pytest.raises(ul.OptionError) as caught:
        ul.Sweep(shape=shape)
    assert str(caught.value) == (
        f"shape is {shape!r}; a sweep compares the rates of one linear model, and other shapes choose their rates by "
        "themselves"
    )
    assert ul.Sweep(shape="linear").options.shape == "linear"


def test_a_model_is_linear_if_no_shape_is_asked_for() -> None:
    assert ul.Learner().settled_shape == ul.OneVsAll().settled_shape == ul.Sweep().settled_shape == "linear"


@pytest.mark.parametrize("kind", ["Learner", "OneVsAll"])
def test_auto_is_settled_by_the_first_row(kind: str) -> None:
    fresh = ul.Learner(shape="auto") if kind == "Learner" else ul.OneVsAll(shape="auto")
    assert fresh.settled_shape is None
    model = learned(kind, shape="auto")
    assert model.settled_shape in ("linear", "trees")
    if kind == "Learner":
        assert ("importance counts curves and trees too" in model._repr_html_()) == (model.settled_shape != "linear")
    assert f"): {model.settled_shape}, " in repr(model)
    assert f">{model.settled_shape}<" in model._repr_html_()


def test_a_model_that_goes_back_to_its_beginning_settles_anew() -> None:
    model = ul.Learner(shape="auto")
    before = model._remembered()
    model.learn(*stream(rows=10))
    assert model.settled_shape is not None
    model._go_back(before)
    assert model.settled_shape is None


@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_says_which_shape_it_was_asked_to_have(shape: Any) -> None:
    model = learned(shape=shape)
    assert (f"shape={shape!r}" in repr(model)) == (shape != "linear")
    assert shape in (model.settled_shape, "auto")


@pytest.mark.parametrize("kind", ["Learner", "OneVsAll"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_a_copy_goes_on_as_the_original(kind: str, shape: Any, rate: Any) -> None:
    X, _ = stream(rows=50, seed=7, features=4)
    model = learned(kind, shape=shape, learning_rate=rate)
    for copy in (model.copy(), pickle.loads(pickle.dumps(model))):
        assert copy.options == model.options
        assert copy.settled_shape == model.settled_shape
        assert copy.predict(X).tobytes() == model.predict(X).tobytes()
        assert model_file.to_bytes(copy) == model_file.to_bytes(model)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_before_its_first_row_can_be_kept(shape: Any) -> None:
    model = ul.Learner(shape=shape)
    assert model.copy().settled_shape == model.settled_shape
    X, y = stream(rows=30)
    assert model.copy().learn(X, y).tobytes() == model.learn(X, y).tobytes()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_goes_back_to_what_it_remembers(shape: Any) -> None:
    model = learned(shape=shape)
    before, state = model_file.to_bytes(model), model._remembered()
    model.learn(*stream(rows=50, seed=3, features=4))
    assert model_file.to_bytes(model) != before
    model._go_back(state)
    assert model_file.to_bytes(model) == before


@pytest.mark.parametrize("shape", SHAPES)
def test_a_file_has_the_shape_that_was_asked_for_and_the_one_that_was_settled(shape: Any) -> None:
    model = learned(shape=shape)
    header = header_of(model_file.to_bytes(model))
    assert (header["options"]["shape"], header["settled"]) == (shape, model.settled_shape)


def test_arrays_of_a_shape_go_into_the_file_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    model, arrays = learned(shape="trees"), {"curve_columns": np.arange(3.0), "mixture": np.zeros(0)}
    state = {**model._snapshot(), "shape": {"settled": "trees", **arrays}}
    monkeypatch.setattr(Model, "_snapshot", lambda self, slots=True: state)
    data = model_file.to_bytes(model)
    monkeypatch.undo()
    assert {f"shape.{name}" for name in arrays} <= set(safetensors.numpy.load(data))
    seen = []
    monkeypatch.setattr(Model, "_restore", lambda self, state: seen.append(state["shape"]))
    model_file.from_bytes(data)
    assert seen[0]["settled"] == "trees"
    assert {name: array.tolist() for name, array in seen[0].items() if name != "settled"} == {
        name: array.tolist() for name, array in arrays.items()
    }


@pytest.mark.parametrize(
    ("shape", "arrays", "changes"),
    [
        ("trees", {}, {"settled": "curves"}),
        ("trees", {}, {"settled": "linear"}),
        ("trees", {}, {"settled": None}),
        ("trees", {}, {"settled": "left out"}),
        ("trees", {}, {"settled": ["trees"]}),
        ("linear", {}, {"settled": "trees"}),
        ("linear", {}, {"settled": None}),
        ("linear", {}, {"company": "newton"}),
        ("linear", {}, {"company": None}),
        ("linear", {"shape.x": np.zeros(1)}, {}),
        ("auto", {}, {"settled": None}),
        ("auto", {}, {"settled": "auto"}),
        ("auto", {}, {"settled": "curves only"}),
        ("auto", {"shape.x": np.zeros(1)}, {"settled": "linear"}),
        ("trees", {"shape.x": np.zeros(1, np.float32)}, {}),
        ("trees", {"shape.x": np.zeros(1, np.uint32)}, {}),
        ("trees", {"shape.x": np.zeros((1, 1))}, {}),
        ("trees", {"shape.": np.zeros(1)}, {}),
        ("trees", {"shape.settled": np.zeros(1)}, {}),
        ("trees", {"shape.a b": np.zeros(1)}, {}),
        ("trees", {f"shape.{'x' * 65}": np.zeros(1)}, {}),
        ("trees", {f"shape.x{k}": np.zeros(1) for k in range(1025)}, {}),
        ("trees", {"shapes": np.zeros(1)}, {}),
    ],
)
def test_a_forged_shape_is_refused(shape: Any, arrays: dict[str, Any], changes: dict[str, Any]) -> None:
    data = model_file.to_bytes(learned(shape=shape))
    with pytest.raises(ul.ModelFileError):
        model_file.from_bytes(forged(data, arrays, **changes))


def beyond_the_columns(shape: dict[str, Any]) -> None:
    """Trees that ask for a column that rows do not have."""
    shape["curve.leaves"] = np.append(shape["curve.leaves"], np.zeros(900))
    shape["tree.column"] = np.where(np.isfinite(shape["tree.low"]), 900.0, 0.0)


def text_while_drawing(shape: dict[str, Any]) -> None:
    facts = shape["tree.facts"].reshape(-1, 6).copy()
    facts[:, 2], facts[:, 5] = 2.0, 1.0
    shape["tree.facts"] = facts.ravel()


@pytest.mark.parametrize("forge", [beyond_the_columns, text_while_drawing])
def test_trees_that_would_read_beyond_a_row_are_refused(forge: Any) -> None:
    X = np.random.default_rng(0).normal(size=(300, 4))
    model = ul.Learner(shape="trees")
    model.learn(X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2])
    state = model._snapshot()
    assert np.isfinite(state["shape"]["tree.low"]).any()
    forge(state["shape"])
    with pytest.raises(ul.InputError):
        ul.Learner(shape="trees")._restore(state)


def test_a_damaged_array_of_a_shape_is_noticed() -> None:
    data = forged(model_file.to_bytes(learned(shape="trees")), {"shape.x": np.arange(5.0)})
    header, arrays = header_of(data), safetensors.numpy.load(data)
    arrays["shape.x"][2] = 7.0
    with pytest.raises(ul.ModelFileError, match="digest"):
        model_file.from_bytes(safetensors.numpy.save(arrays, {"unitless": json.dumps(header)}))


@pytest.mark.parametrize("kind", ["Learner", "OneVsAll"])
@pytest.mark.parametrize("shape", ["curves", "trees", "curves only"])
def test_only_linear_models_become_estimators(kind: str, shape: Any) -> None:
    model = learned(kind, shape=shape)
    advice = "yet; a model that is made with shape='linear' and experts='none' can"
    for what, action in (("exported to scikit-learn", lambda: ul.to_sklearn(model)),):
        with pytest.raises(ul.OptionError) as caught:
            action()
        assert str(caught.value) == f"a model of shape {shape!r} cannot be {what} {advice}"


def test_auto_that_became_linear_can_do_what_linear_models_can() -> None:
    rows = [({"a": 1.0, "b": 2.0}, 1.0), ({"a": 2.0}, 3.0)]
    models = [ul.Learner(shape="auto", bits=6), ul.Learner(shape="auto", bits=6)]
    for model, (x, y) in zip(models, rows, strict=True):
        model.learn_one(x, y)
    merged = ul.merge(models)
    assert merged.settled_shape == "linear"
    assert merged.examples == 2


def test_models_that_have_learned_nothing_are_merged_without_settling_their_shape() -> None:
    merged = ul.merge([ul.Learner(shape="auto"), ul.Learner(shape="auto")])
    assert merged.settled_shape is None


@pytest.mark.parametrize("shape", SHAPES)
def test_weights_are_those_of_the_linear_model(shape: Any) -> None:
    model = learned(shape=shape)
    assert set(model.weights) == set(model.scales)
    assert set(model.importance) == {"(bias)", 0, 1, 2, 3}
    assert model.learning_rate == 0.5


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rate", [0.5, "auto"])
def test_a_model_that_has_learned_nothing_predicts(shape: Any, rate: Any) -> None:
    assert ul.Learner(shape=shape, learning_rate=rate).predict([[1.0, 2.0]]).tolist() == [0.0]
    assert ul.Learner(shape=shape, learning_rate=rate).predict_one({"a": 1.0}) == 0.0
    assert ul.OneVsAll(["a", "b"], shape=shape, learning_rate=rate).predict([[1.0, 2.0]]).tolist() == [[0.0, 0.0]]
