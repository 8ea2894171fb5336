"""Namespaces of VW text: the choice of namespaces, and their products."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from vowpalwabbit import Workspace

import unitless as ul
from unitless import _core
from unitless.cli import main
from unitless.cli.options import interactions

LINES = [
    "{label} |user age:3 tall |ad price:{x} age |ax z:3 | alone:2\n",
    "{label} |ad price:3 | user^age:{x} a:1\n",
    "{label} |user:2 age:{x} |b n:1 |b m:{x}\n",
]


def text(rows: int = 60, seed: int = 0) -> str:
    x = np.random.default_rng(seed).normal(size=rows).round(3).tolist()
    return "".join(LINES[i % 3].format(label=round(x[i] + i % 3, 3), x=x[i]) for i in range(rows))


def names_of(**chosen: Any) -> set[str]:
    rows = _core.VwReader(**chosen).read(text().encode(), True)
    assert set(rows.ids.tolist()) == set(range(len(rows.names)))  # names that are left out take no place
    return set(rows.names)


EVERY = {"user^age", "user^tall", "ad^price", "ad^age", "ax^z", "alone", "a", "b^n", "b^m"}


@pytest.mark.parametrize(
    ("ignore", "left"),
    [
        ([], EVERY),
        (["a"], EVERY - {"ad^price", "ad^age", "ax^z"}),
        (["ad"], EVERY - {"ad^price", "ad^age"}),
        (["a*"], EVERY - {"ad^price", "ad^age", "ax^z"}),
        (["a?", "b"], EVERY - {"ad^price", "ad^age", "ax^z", "b^n", "b^m"}),
        (["user^a*"], EVERY - {"user^age"}),
        (["*^age"], EVERY - {"user^age", "ad^age"}),
        (["*"], {"alone", "a"}),
        (["z", "alone"], EVERY),
    ],
)
def test_patterns_mean_namespaces(ignore: list[str], left: set[str]) -> None:
    assert names_of(ignore=ignore) == left
    assert names_of(only=ignore) == (EVERY - left if ignore else EVERY)


def test_ignored_namespaces_have_no_effect(tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.vw", tmp_path / "part.vw"
    whole.write_text(text())
    part.write_text(re.sub(r"\|a[^|\n]*", "", text()))
    expected = ul.train(str(part), shuffle=False).model
    for chosen in (
        {"reading": ul.Reading(ignore="a")},
        {"reading": ul.Reading(ignore=("ad", "ax"))},
        {"reading": ul.Reading(ignore="a*")},
    ):
        assert ul.train(str(whole), shuffle=False, **chosen).model.weights == expected.weights


@pytest.mark.parametrize("options", [{}, {"bits": 4}])
def test_a_model_leaves_out_the_same_when_it_predicts(tmp_path: Path, options: dict[str, Any]) -> None:
    whole, part = tmp_path / "whole.vw", tmp_path / "part.vw"
    whole.write_text(text())
    part.write_text(re.sub(r"\|a[^|\n]*", "", text()))
    predictor = ul.Predictor(ul.train(str(whole), reading=ul.Reading(ignore="a"), passes=1, **options).model)
    predicted = [list(map(float, next(predictor.batches(str(path))).scores)) for path in (whole, part)]
    assert predicted[0] == predicted[1]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("--ignore a", {"reading": ul.Reading(ignore="a")}), ("--keep u", {"reading": ul.Reading(only="u")})],
)
def test_the_same_is_left_out_as_in_vw(tmp_path: Path, theirs: str, ours: dict[str, Any]) -> None:
    lines = text().replace("user^age", "age")
    vw = Workspace(f"--quiet {theirs} --invert_hash {tmp_path / 'model.txt'}")
    for line in lines.splitlines():
        vw.learn(line)
    vw.finish()
    (tmp_path / "data.vw").write_text(lines)
    found = set(ul.train(str(tmp_path / "data.vw"), shuffle=False, **ours).model.weights)
    listed = re.findall(r"^(.+):\d+:", (tmp_path / "model.txt").read_text(), re.MULTILINE)
    assert found - {"(bias)"} == set(listed) - {"Constant", ""}


@pytest.mark.parametrize("letters", ["ua", "ab", "aa", "u:", "ub,ua"])
def test_products_of_namespaces_are_those_of_vw(tmp_path: Path, letters: str) -> None:
    lines = "".join(f"{i % 5} |user age:{i % 7} tall |ad price:{i % 3} |ax z:3 |b n | uhu:2 a\n" for i in range(40))
    asked = " ".join(f"-q {pair}" for pair in letters.split(","))
    vw = Workspace(f"--quiet {asked} --invert_hash {tmp_path / 'model.txt'} -b 24")
    for line in lines.splitlines():
        vw.learn(line)
    vw.finish()
    (tmp_path / "data.vw").write_text(lines)
    model = ul.train(str(tmp_path / "data.vw"), interactions=interactions(letters), task="regression", passes=1).model
    listed = re.findall(r"^(.+\*.+):\d+:", (tmp_path / "model.txt").read_text(), re.MULTILINE)
    theirs = {frozenset(name.split("*")) for name in listed}
    assert {frozenset(name.split("*")) for name in model.weights if "*" in name} == theirs


def test_names_that_are_not_there_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "data.vw"
    path.write_text(text())
    notes = [str(note) for note in ul.train(str(path), reading=ul.Reading(ignore=("usr", "b")), passes=1).notes]
    assert (
        f"ignore or only names 'usr', but {path} has no such namespace; give a namespace by its name, by its first "
        "letter, or with * for any letters"
    ) in notes
    assert not any(
        "namespace" in str(note) for note in ul.train(str(path), reading=ul.Reading(only=("user", "b")), passes=1).notes
    )


def test_a_table_has_no_namespaces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("age,bonus,y\n1,2,3\n2,3,1.5\n" * 20)
    assert main(["train", str(path), "--target", "y", "--interactions", "ab", "-q"]) == 1
    assert (
        "an interaction names 'a*^*', which the data does not have; it has 2 named columns" in capsys.readouterr().err
    )


def test_libsvm_has_no_namespaces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.svm"
    path.write_text("1 1:2\n2 1:3\n" * 20)
    assert main(["train", str(path), "--ignore", "1"]) == 2
    assert capsys.readouterr().err == (
        f"unitless: --ignore names columns; {path} has none: its format names labels and features\n"
    )


def test_the_bias_can_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.vw"
    path.write_text("1 | a:1\n-1 | a:2 b\n" * 20)
    assert main(["train", str(path), "--no-bias", "--passes", "1", "--output", str(tmp_path / "m"), "-q"]) == 0
    model = ul.load(tmp_path / "m")
    assert not model.options.bias
    assert set(model.weights) == {"a", "b"}
