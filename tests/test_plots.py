"""Plots: figures show their data, use no global state, and are saved completely or not at all."""

from __future__ import annotations

import itertools
import math
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from streams import stream

import unitless as ul
from unitless import figures
from unitless.metrics import Moment, progressive


def moments(losses: list[float], error_rate: float | None = None) -> list[Moment]:
    return [Moment(2**i, float(2**i), loss, loss, error_rate) for i, loss in enumerate(losses)]


def texts(panel: object) -> list[str]:
    """The names of the lines, which are written at the right of the axis."""
    return [text.get_text() for text in panel.texts]  # type: ignore[attr-defined]


def test_progress_of_classes_has_loss_and_error() -> None:
    X, y = stream("logistic", rows=500, features=4)
    result = progressive(ul.Learner(loss="logistic"), X, y)
    figure = figures.progress({"nag": result.curve, "again": result.history}, "log loss", "Title")
    loss, error = figure.axes
    assert loss.get_xscale() == "log"
    assert loss.get_ylabel() == "progressive log loss"
    assert texts(loss)[0] == f"nag  {result.curve[-1].loss:.3g}"
    assert texts(error)[1].startswith("again  ")
    assert texts(error)[1].endswith("%")
    x, shown = loss.get_lines()[0].get_data()
    assert x[0] >= 500 ** (1 / 3) - 1
    np.testing.assert_array_equal(shown, [m.loss for m in result.curve][-len(shown) :])
    assert [text.get_text() for text in figure.texts] == ["Title"]


def test_progress_of_numbers_has_one_panel() -> None:
    assert len(figures.progress({"a": moments([4, 3, 2])}, "squared loss", "").axes) == 1


@pytest.mark.parametrize("curves", [{}, {"a": []}, {"a": moments([math.nan])}, {"a": moments([1.0]), "b": []}])
def test_nothing_to_show_is_no_error(curves: dict[str, list[Moment]], tmp_path: pathlib.Path) -> None:
    figures.save(figures.progress(curves, "loss", ""), tmp_path / "a.png")
    figures.save(figures.sweep({name: {} for name in curves}, "loss", ""), tmp_path / "b.png")


def test_many_lines_are_distinguishable() -> None:
    figure = figures.progress({str(i): moments([2, 1]) for i in range(25)}, "loss", "")
    looks = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].get_lines()}
    assert len(looks) == 25


def test_a_sweep_marks_the_best_rates() -> None:
    losses = {"nag": {0.1: 3.0, 1.0: 1.0, 10.0: 2.0}, "gd": {1.0: math.inf, 0.1: 1.5}, "ag": {1.0: math.nan}}
    (panel,) = figures.sweep(losses, "loss", "").axes
    assert texts(panel) == ["nag  1 at rate 1", "gd  1.5 at rate 0.1", "ag  diverged"]
    marks = [tuple(map(float, np.ravel(line.get_data()))) for line in panel.get_lines() if line.get_marker() == "o"]
    assert marks == [(1.0, 1.0), (0.1, 1.5)]
    assert panel.get_yscale() == "linear"


def test_a_diverged_curve_does_not_flatten_the_others() -> None:
    wide = {"gd": {0.1: 1.0, 1.0: 2.0, 2.0: 1e3, 3.0: 1e30}}
    (panel,) = figures.sweep(wide, "loss", "").axes
    assert panel.get_yscale() == "log"
    assert panel.get_ylim()[1] <= 1e4
    some = {"nag": {10.0**i: 1 + i / 10 for i in range(8)}, "gd": {1.0: 90.0}}
    (panel,) = figures.sweep(some, "loss", "").axes
    assert panel.get_yscale() == "linear"
    assert panel.get_ylim()[1] < 5


def test_names_of_lines_do_not_overlap_and_cover_no_line() -> None:
    figure = figures.progress({str(i): moments([2, 1]) for i in range(8)}, "loss", "")
    (panel,) = figure.axes
    figure.draw_without_rendering()
    boxes = sorted((text.get_window_extent() for text in panel.texts), key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 + 0.5 for below, above in itertools.pairwise(boxes))
    assert min(box.x0 for box in boxes) > panel.get_window_extent().x1


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")])
def test_the_suffix_decides_the_kind_of_picture(name: str, start: bytes, tmp_path: pathlib.Path) -> None:
    figures.save(figures.sweep({"a": {1.0: 1.0}}, "loss", ""), tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a.jpg", "a", "a.png.gz"])
def test_other_kinds_are_refused(name: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(ul.OptionError, match=r"must end in \.png, \.svg, \.pdf"):
        figures.save(figures.sweep({}, "loss", ""), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_picture_that_cannot_be_drawn_leaves_the_old_one(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"old")
    figure = figures.sweep({"a": {1.0: 1.0}}, "loss", "$\\frac{$")  # a plain text, no formula
    with pytest.raises(ValueError, match="frac"):
        figures.save(figure, path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ul.OptionError, match=r"pip install 'unitless\[plot\]'"):
        figures.sweep({}, "loss", "")


def test_matplotlib_is_imported_when_it_is_used_and_pyplot_never() -> None:
    program = (
        "import sys; from unitless import figures; assert 'matplotlib' not in sys.modules;"
        "figures.sweep({}, '', ''); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def curved(classes: bool = False) -> ul.Learner | ul.OneVsAll:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5)) * [1, 1e3, 1, 1, 1]
    y = np.abs(X[:, 0])
    model = ul.OneVsAll(model_type="curves") if classes else ul.Learner(model_type="curves")
    model.learn(X, np.digitize(y, [0.5, 1]).tolist() if classes else y)
    return model


def test_curves_have_a_panel_for_each_column(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "curves.png"
    axes = ul.plot.curves(curved(), path)
    assert path.stat().st_size > 10_000
    assert axes[0].get_title() == "0"
    assert sorted(panel.get_title() for panel in axes) == ["0", "1", "2", "3", "4"]
    assert len({panel.get_ylim() for panel in axes}) == 1
    assert len(ul.plot.curves(curved(), tmp_path / "two.png", most=2)) == 2


def test_curves_of_classes_have_a_line_each() -> None:
    axes = ul.plot.curves(curved(classes=True))
    (legend,) = axes[0].figure.legends
    assert sorted(text.get_text() for text in legend.get_texts()) == ["0", "1", "2"]
    assert len(axes[0].get_lines()) == 3
    assert len(ul.plot.curves(curved(classes=True), label=1)[0].get_lines()) == 1


def test_there_are_no_curves_of_linear_models() -> None:
    model = ul.Learner()
    model.learn([[1.0]], [1.0])
    with pytest.raises(ul.OptionError, match="a linear model has no curves"):
        ul.plot.curves(model)
    with pytest.raises(ul.OptionError, match=r"^int has no model; give a model, a model file"):
        ul.plot.curves(3)
    with pytest.raises(ul.OptionError, match="no classes of its own"):
        ul.plot.curves(curved(), label="a")


def test_curves_of_a_model_that_has_learned_little() -> None:
    for rows in (0, 1, 40):
        model = ul.Learner(model_type="trees")
        model.learn(np.arange(2.0 * rows).reshape(rows, 2), np.arange(float(rows)))
        ul.plot.curves(model)
