"""unitless merge: models of parts of the data become one model of all of it."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest

import unitless as ul
from unitless.cli import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Two files of people, and a model of each."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:  # outputs show file names as they were given
        patch.chdir(folder)
        rng = np.random.default_rng(0)
        for part in ("a", "b"):
            lines = ["age,job,answer,size"]
            for _ in range(400):
                age, job = int(rng.integers(20, 70)), ["clerk", "pilot", "cook"][int(rng.integers(3))]
                lines.append(f"{age},{job},{'yes' if age > 45 and job == 'pilot' else 'no'},{age * 3 + len(job)}")
            pathlib.Path(f"{part}.csv").write_text("\n".join(lines) + "\n")
            ul.train(f"{part}.csv", "answer", reading=ul.Reading(ignore="size"), output=f"{part}.unitless", passes=1)
    return folder


def said(capsys: Capture, *arguments: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(["merge", *arguments]) == code
    out, err = capsys.readouterr()
    return out, err


def test_the_merged_model_predicts_tables_as_the_library_merges(folder: pathlib.Path, capsys: Capture) -> None:
    said(capsys, "a.unitless", "b.unitless", "-o", "c.unitless")
    merged, parts = ul.load("c.unitless"), [ul.load("a.unitless"), ul.load("b.unitless")]
    assert merged.weights == ul.merge(parts).weights
    assert main(["predict", "c.unitless", "a.csv"]) == 0
    answers = [line.split(",")[2] for line in (folder / "a.csv").read_text().splitlines()[1:]]
    predicted = capsys.readouterr().out.splitlines()[1:]
    assert np.mean([a == b for a, b in zip(answers, predicted, strict=True)]) > 0.9


def test_rows_add_up_and_training_is_done(folder: pathlib.Path, capsys: Capture) -> None:
    out, _ = said(capsys, "a.unitless", "b.unitless", "-o", "c.unitless", "--json")
    assert json.loads(out)["examples"] == 800
    progress = ul.load("c.unitless")._training["progress"]
    assert (progress["rows"], progress["learned"], progress["done"]) == (800, 800, True)
    again = ul.train("a.csv", resume="c.unitless", passes=1)
    assert again.model.examples == 1200


def test_rounds_are_merged_from_their_base(folder: pathlib.Path, capsys: Capture) -> None:
    for part in ("a", "b"):
        ul.train(f"{part}.csv", resume="a.unitless", output=f"{part}2.unitless", passes=1)
    said(capsys, "a2.unitless", "b2.unitless", "--base", "a.unitless", "-o", "c.unitless")
    merged = ul.load("c.unitless")
    assert merged.examples == 1200
    assert merged._training["progress"]["rows"] == 1200
    assert next(ul.Predictor(merged).batches("b.csv")).values[0] in ("yes", "no")


def test_models_that_mean_other_things_are_not_merged(folder: pathlib.Path, capsys: Capture) -> None:
    def refused(**options: object) -> str:
        ul.train(
            "b.csv", **{"target": "answer", "reading": ul.Reading(ignore="size"), "output": "other.unitless", **options}
        )  # type: ignore[arg-type]
        return said(capsys, "a.unitless", "other.unitless", "-o", "c.unitless", code=1)[1]

    assert "one predicts 'answer', the other 'size'" in refused(target="size", reading=ul.Reading(ignore="answer"))
    assert "the positive label is 'yes' in one, 'no' in the other" in refused(positive="no")
    assert "only one of them has the column 'job'" in refused(reading=ul.Reading(ignore=["size", "job"]))
    assert "task binary, the other classes" in refused(task="classes")
    assert "differ in rule" in refused(rule="snag")
    assert not (folder / "c.unitless").exists()


def test_models_of_the_library_are_merged_too(folder: pathlib.Path, capsys: Capture) -> None:
    for name in ("x", "y"):
        model = ul.Learner()
        model.learn([[1.0], [2.0]], [1.0, 2.0])
        model.save(f"{name}.unitless")
    said(capsys, "x.unitless", "y.unitless", "-o", "z.unitless")
    assert ul.load("z.unitless").examples == 4
    assert "not made by train" in said(capsys, "x.unitless", "a.unitless", "-o", "z.unitless", code=1)[1]


def test_usage_is_checked_before_work(folder: pathlib.Path, capsys: Capture) -> None:
    assert "at least two" in said(capsys, "a.unitless", "-o", "c.unitless", code=1)[1]
    assert "no directory" in said(capsys, "a.unitless", "b.unitless", "-o", "nowhere/c.unitless", code=1)[1]
    assert "--output" in said(capsys, "a.unitless", "b.unitless", code=2)[1]
    assert (
        "there is no file 'none.unitless'" in said(capsys, "a.unitless", "none.unitless", "-o", "c.unitless", code=1)[1]
    )


def test_models_with_trees_are_merged_too(folder: pathlib.Path, capsys: Capture) -> None:
    for part in ("a", "b"):
        ul.train(
            f"{part}.csv",
            "answer",
            reading=ul.Reading(ignore="size"),
            output=f"{part}.unitless",
            passes=1,
            model_type="trees",
        )
    said(capsys, "a.unitless", "b.unitless", "-o", "c.unitless")
    merged = ul.load("c.unitless")
    assert (merged.model_type, merged.examples) == ("trees", 800)
    ul.train("a.csv", "answer", reading=ul.Reading(ignore="size"), output="a.unitless", passes=1, model_type="curves")
    _, err = said(capsys, "a.unitless", "b.unitless", "-o", "d.unitless", code=1)
    assert "the models differ in model_type: 'curves' and 'trees'" in err
