"""The functions of `ul.plot`: each draws on the given axis and returns it."""

from __future__ import annotations

import inspect
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import unitless as ul

mpl.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

FUNCTIONS = ul.plot.__all__


def table(numbers: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 600), "job": rng.choice(["clerk", "pilot", "cook"], 600)})
    y = frame["age"] / 10 + 3 * (frame["job"] == "pilot") + rng.normal(size=600)
    frame["y"] = y if numbers else np.where(y > 6, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def things() -> dict[str, Any]:
    two, number = ul.train(table(), "y", model_type="curves"), ul.train(table(numbers=True), "y", model_type="curves")
    return {
        "curves": two,
        "explanation": ul.explain(two, {"age": 33, "job": "pilot"}),
        "history": two,
        "importance": two,
        "precision_recall": two,
        "predictions": number,
        "reliability": two,
        "residuals": ul.evaluate(number, table(numbers=True)),
        "roc": ul.evaluate(two, table()),
        "sweep": ul.sweep(table(), "y", ["nag", "ag"], rates=[0.1, 1.0]),
    }


@pytest.fixture
def axis() -> Axes:
    return Figure().subplots()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_draws_on_the_axis_that_it_is_given_and_gives_it_back(name: str, things: dict[str, Any], axis: Axes) -> None:
    open_before = pyplot.get_fignums()
    assert getattr(ul.plot, name)(things[name], ax=axis) is axis
    assert axis.has_data()
    assert axis.get_xlabel()
    assert pyplot.get_fignums() == open_before


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "curves"])
def test_without_an_axis_it_makes_a_figure_that_notebooks_show(name: str, things: dict[str, Any]) -> None:
    drawn = getattr(ul.plot, name)(things[name])
    assert isinstance(drawn, Axes)
    assert [pyplot.figure(number) for number in pyplot.get_fignums()] == [drawn.get_figure()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_have_the_same_signature(name: str) -> None:
    first, *others = inspect.signature(getattr(ul.plot, name)).parameters.values()
    assert first.kind is first.POSITIONAL_OR_KEYWORD
    named = {one.name: one for one in others if one.kind is one.KEYWORD_ONLY}
    assert named["ax"].default is None
    assert [one.name for one in others if one.name not in named] == (["path"] if name == "curves" else [])


def test_every_function_of_the_module_is_tested(things: dict[str, Any]) -> None:
    assert sorted(things) == sorted(FUNCTIONS) == dir(ul.plot)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_cannot_be_drawn_is_refused_before_a_figure_is_made(name: str) -> None:
    with pytest.raises(ul.OptionError, match=r"^int (has|is|cannot)"):
        getattr(ul.plot, name)(3)
    assert not pyplot.get_fignums()


def test_histories_of_several_are_drawn_together(things: dict[str, Any], axis: Axes) -> None:
    compared = ul.compare(table(), "y", ["nag", "ng"], model_type="linear")
    ul.plot.history({"curves": things["history"], "linear": compared}, ax=axis, metric="error_rate")
    names = [text.get_text().partition("  ")[0] for text in axis.texts]
    assert names == ["curves", "linear nag", "linear ng"]
    with pytest.raises(ul.OptionError, match="numbers are predicted, not classes"):
        ul.plot.history(things["predictions"], metric="error_rate")
    with pytest.raises(ul.OptionError, match="metric is 'auc'; it must be one of 'loss', 'error_rate', 'since_last'"):
        ul.plot.history(things["history"], metric="auc")  # type: ignore[arg-type]


def test_an_explanation_ends_at_its_score(things: dict[str, Any], axis: Axes) -> None:
    why = things["explanation"]
    ul.plot.explanation(why, ax=axis)
    bars = list(axis.patches)
    assert bars[0].get_x() == pytest.approx(why.base_value)
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(why.score)
    low, high = axis.get_xlim()
    assert all(low < edge < high for bar in bars for edge in (bar.get_x(), bar.get_x() + bar.get_width()))
    few = Figure().subplots()
    ul.plot.explanation(why, ax=few, most=1)
    assert [text.get_text() for text in few.get_yticklabels()][1] == "(1 others)"


def test_several_models_are_distinguishable_on_one_axis(things: dict[str, Any], axis: Axes) -> None:
    for name in ("first", "second"):
        ul.plot.roc(things["roc"], ax=axis, name=name)
    handles, labels = axis.get_legend_handles_labels()
    assert [label.partition("  AUC 0.")[0] for label in labels] == ["first", "second"]
    assert len({handle.get_color() for handle in handles}) == 2  # type: ignore[union-attr]


def test_one_curve_is_chosen_by_its_column(things: dict[str, Any], axis: Axes) -> None:
    assert ul.plot.curves(things["curves"], ax=axis, column="age").get_xlabel() == "age"
    with pytest.raises(ul.OptionError, match="column is 'wage', which has no curve; these have one: "):
        ul.plot.curves(things["curves"], column="wage")


def test_pictures_of_scores_name_their_requirements(things: dict[str, Any]) -> None:
    for name in ("roc", "precision_recall"):
        with pytest.raises(ul.OptionError, match="need"):
            getattr(ul.plot, name)(things["predictions"])
    with pytest.raises(ul.OptionError, match="numbers"):
        ul.plot.residuals(things["roc"])
    with pytest.raises(ul.OptionError, match="no row was held out"):
        ul.plot.roc(ul.train(table(), "y", model_type="linear", holdout=0))


def test_importance_of_classes_is_of_one_or_of_all(axis: Axes) -> None:
    frame = table().assign(y=lambda frame: frame["job"])
    model = ul.train(frame[["age", "job", "y"]], "y", model_type="linear").model
    ul.plot.importance(model, ax=axis, most=2)
    assert len(axis.patches) == 2
    ul.plot.importance(model, label="cook")
    with pytest.raises(ul.OptionError, match="there is no class 'baker';"):
        ul.plot.importance(model, label="baker")


def test_the_history_ends_with_the_progressive_metric(things: dict[str, Any], axis: Axes) -> None:
    (line,) = ul.plot.history(things["history"], ax=axis, metric="error_rate").get_lines()
    result = things["history"]
    assert line.get_xdata()[-1] == result.details.evaluation.examples == 500
    assert line.get_ydata()[-1] == pytest.approx(100 * result.progressive["error_rate"])
    assert line.get_label() == f"{100 * result.progressive['error_rate']:.3g}%"
