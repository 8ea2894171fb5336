"""Fixtures that the tests of several commands use."""

from __future__ import annotations

import pathlib
import shutil

import pytest


@pytest.fixture
def folder(made: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A copy of the files of a module, in which a test works."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def prices(tmp_path: pathlib.Path) -> str:
    """A table of prices."""
    path = tmp_path / "prices.csv"
    rows = (f"{20 + k % 40},{'villa' if k % 3 else 'hut'},{1000 * (k % 40) + 500 * (k % 3)}" for k in range(3000))
    path.write_text("\n".join(["area,kind,price", *rows]) + "\n")
    return str(path)


@pytest.fixture
def wild(tmp_path: pathlib.Path) -> str:
    """A table whose unit changes so much that rules that depend on units diverge."""
    path = tmp_path / "wild.csv"
    path.write_text("\n".join(["x,y", *(f"{k % 9}{'e250' if k > 100 else ''},{k % 9 + 0.5}" for k in range(200))]))
    return str(path)
