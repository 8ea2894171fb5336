"""A notebook shows a bar while a model is trained, compared, swept or scored; nothing else does."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unitless as ul
from unitless.presentation import notebook_bar

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 3))
Y = X[:, 0] > 0


class Handle:
    def __init__(self, shown: list[str]) -> None:
        self._shown = shown

    def update(self, page: str) -> None:
        self._shown.append(page)


def notebook(monkeypatch: pytest.MonkeyPatch, kernel: object | None) -> list[str]:
    """Record the displays that a notebook would receive."""
    shown: list[str] = []

    def display(page: str, display_id: bool) -> Handle:
        assert display_id
        shown.append(page)
        return Handle(shown)

    ipython, pages = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    vars(ipython)["get_ipython"] = lambda: types.SimpleNamespace(kernel=kernel)
    vars(pages).update(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", pages)
    monkeypatch.setattr(notebook_bar, "_PATIENCE", 0.0)
    monkeypatch.setattr(notebook_bar, "_PAUSE", 0.0)
    return shown


WORK: dict[str, Callable[..., Any]] = {
    "train": lambda **more: ul.train(X, Y, model_type="linear", passes=2, **more),
    "follow": lambda **more: ul.train(X, Y, model_type="linear", shuffle=False, **more),
    "partitions": lambda **more: ul.train(X, Y, model_type="linear", cluster=ul.Cluster(workers=2), **more),
    "compare": lambda **more: ul.compare(X, Y, ["nag", "ng"], model_type="linear", **more),
    "sweep": lambda **more: ul.sweep(X, Y, ["nag"], rates=[0.1, 1.0], **more),
    "score": lambda **more: ul.evaluate(ul.train(X, Y, model_type="linear", progress=False), X, target=Y, **more),
}


@pytest.mark.parametrize("name", WORK)
def test_a_notebook_shows_a_bar_and_then_the_count(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = notebook(monkeypatch, kernel=object())
    WORK[name]()
    assert shown
    assert "rows/s" in shown[0]
    assert "rows in " in shown[-1]
    assert all("<script" not in page for page in shown)


@pytest.mark.parametrize("name", ["train", "compare", "sweep", "score"])
def test_it_is_not_shown_if_it_is_not_wanted_or_somebody_else_watches(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = notebook(monkeypatch, kernel=object())
    WORK[name](progress=False)
    told: list[Any] = []
    WORK[name](progress=told.append)
    assert told
    assert not shown


def test_a_terminal_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = notebook(monkeypatch, kernel=None)
    WORK["train"]()
    assert not shown


def test_quick_work_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = notebook(monkeypatch, kernel=object())
    monkeypatch.setattr(notebook_bar, "_PATIENCE", 1e9)
    WORK["train"]()
    assert not shown


def test_the_count_stays_when_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = notebook(monkeypatch, kernel=object())
    rows = ({"a": 1.0, "y": k % 2 if k < 2999 else "?"} for k in range(3000))
    with pytest.raises(ul.InputError):
        ul.train(rows, "y", model_type="linear")
    assert not shown or "rows in " in shown[-1]
