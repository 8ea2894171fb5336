"""unitless inspect: what a model has learned, and the reasons for a prediction."""

from __future__ import annotations

import csv
import io
import json
import os
import pathlib
from typing import Any

import numpy as np
import pytest

import unitless as ul
from unitless.cli import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A file of people, and models of it."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:  # outputs show file names as they were given
        patch.chdir(folder)
        rng = np.random.default_rng(0)
        lines = ["age,job,day,answer,size"]
        for _ in range(300):
            age, job = int(rng.integers(20, 70)), ["clerk", "pilot", "cook"][int(rng.integers(3))]
            answer = "yes" if age > 45 and job == "pilot" else "no" if age < 40 else "may be"
            lines.append(f"{age},{job},2024-0{1 + age % 9}-11,{answer},{age * 3 + len(job)}")
        pathlib.Path("people.csv").write_text("\n".join(lines) + "\n")
        ul.train("people.csv", "size", reading=ul.Reading(ignore=["answer", "day"]), output="size.unitless")
        ul.train("people.csv", "answer", reading=ul.Reading(ignore="day"), output="answer.unitless")
    return folder


def said(capsys: Capture, *arguments: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(["inspect", *arguments]) == code
    out, err = capsys.readouterr()
    return out, err


def test_features_come_by_effect_with_the_models_weights(folder: pathlib.Path, capsys: Capture) -> None:
    rows = list(csv.DictReader(io.StringIO(said(capsys, "size.unitless", "--csv", "--all")[0])))
    model = ul.load("size.unitless")
    assert {row["feature"]: float(row["weight"]) for row in rows} == {
        name: weight for name, weight in model.weights.items() if name != "(bias)"
    }
    assert all(float(row["effect"]) == model.importance[row["feature"]] for row in rows)
    assert all(float(row["scale"]) == model.scales[row["feature"]] for row in rows)
    effects = [float(row["effect"]) for row in rows]
    assert effects == sorted(effects, reverse=True)
    assert len(list(csv.DictReader(io.StringIO(said(capsys, "size.unitless", "--csv", "--top", "2")[0])))) == 2


def test_of_classes_the_largest_effect_is_shown_with_its_class(folder: pathlib.Path, capsys: Capture) -> None:
    model = ul.load("answer.unitless")
    for row in json.loads(said(capsys, "answer.unitless", "--json", "--all")[0])["features"]:
        by_class = {label: of[row["feature"]] for label, of in model.importance.items()}
        assert row["effect"] == max(by_class.values())
        assert by_class[row["class"]] == row["effect"]
        assert row["weight"] == model.weights[row["class"]][row["feature"]]
    rows = json.loads(said(capsys, "answer.unitless", "--json", "--class", "may be")[0])["features"]
    assert {row["class"] for row in rows} == {"may be"}
    assert rows[0]["weight"] == model.weights["may be"][rows[0]["feature"]]
    assert "there is no class 'never'" in said(capsys, "answer.unitless", "--class", "never", code=2)[1]
    assert "--class is for" in said(capsys, "size.unitless", "--class", "no", code=2)[1]


def test_the_table_describes_the_model(folder: pathlib.Path, capsys: Capture) -> None:
    out, err = said(capsys, "size.unitless")
    for part in (
        "regression",
        "300 rows of people.csv",
        "rule nag",
        "job=pilot",
        "Importance of columns, on 28 held-out rows",  # of the 60, those that are not copies of others
        "effect",
    ):
        assert part in out
    assert err == ""
    about = json.loads(said(capsys, "answer.unitless", "--json")[0])
    assert about["classes"] == ul.load("answer.unitless").classes
    assert about["examples"] >= about["training"]["rows"] == 300


def test_interrupted_training_is_reported(folder: pathlib.Path, capsys: Capture) -> None:
    model = ul.load("size.unitless")
    model._training["progress"].update(done=False, rows=120)
    model.save("half.unitless")
    assert "interrupted after 120 rows" in said(capsys, "half.unitless")[0]


@pytest.mark.parametrize("name", ["size", "answer"])
@pytest.mark.parametrize("interactions", [None, 2])
def test_an_explanation_adds_up_to_the_prediction(
    folder: pathlib.Path, capsys: Capture, name: str, interactions: Any
) -> None:
    target = {"size": "size", "answer": "answer"}[name]
    ul.train("people.csv", target, reading=ul.Reading(dates="parts"), interactions=interactions, output="m.unitless")
    main(["predict", "m.unitless", "people.csv", "--scores", "--format-out", "jsonl"])
    line = json.loads(capsys.readouterr().out.splitlines()[16])
    why = json.loads(said(capsys, "m.unitless", "--data", "people.csv", "--row", "17", "--json")[0])
    score = line["score"] if name == "size" else line[f"score_{why['class']}"]
    assert why["base_value"] + sum(part["contribution"] for part in why["contributions"]) == pytest.approx(why["score"])
    assert why["limited"] == pytest.approx(score, rel=1e-9)
    assert why["prediction"] == line["prediction"]


def test_a_row_in_json_is_read_as_the_table_was(folder: pathlib.Path, capsys: Capture) -> None:
    ul.train("people.csv", "size", reading=ul.Reading(dates="parts"), output="m.unitless")
    with open("people.csv") as file:
        row: dict[str, Any] = list(csv.DictReader(file))[4]
    row["age"] = int(row["age"])
    one = said(capsys, "m.unitless", "--data", "people.csv", "--row", "5", "--json")[0]
    assert said(capsys, "m.unitless", "--explain", json.dumps(row), "--json")[0] == one


def test_a_limit_is_reported(folder: pathlib.Path, capsys: Capture) -> None:
    (folder / "line.csv").write_text("x,z,y\n" + "".join(f"{i % 50},{i % 7},{2 * (i % 50)}\n" for i in range(2000)))
    ul.train("line.csv", "y", rule="ag", model_type="linear", output="line.unitless")
    out, _ = said(capsys, "line.unitless", "--explain", '{"x": 1000}')
    assert "beyond the labels seen in training: the model keeps to 98.0" in out
    assert "prediction  98.0" in out


def test_models_of_the_library_are_read_too(folder: pathlib.Path, capsys: Capture) -> None:
    model = ul.Learner(interactions=2)
    model.learn([[1.0, 2.0], [2.0, 0.5]], [1.0, 2.0])
    model.save("library.unitless")
    out, _ = said(capsys, "library.unitless")
    assert "0*1" in out
    why = json.loads(said(capsys, "library.unitless", "--explain", "[1, 2]", "--json")[0])
    assert why["prediction"] == pytest.approx(model.predict([[1, 2]])[0])
    sweep = ul.Sweep([0.1, 1.0])
    sweep.learn([[1.0], [2.0]], [1.0, 2.0])
    sweep.save("sweep.unitless")
    assert "sweep" in said(capsys, "sweep.unitless")[1]
    ul.OneVsAll().save("empty.unitless")
    said(capsys, "empty.unitless")


def test_wrong_questions_get_answers(folder: pathlib.Path, capsys: Capture) -> None:
    assert "this is not valid JSON" in said(capsys, "size.unitless", "--explain", "{age: 3}", code=1)[1]
    assert "'age' is 'old'" in said(capsys, "size.unitless", "--explain", '{"age": "old"}', code=1)[1]
    assert "no row 999" in said(capsys, "size.unitless", "--data", "people.csv", "--row", "999", code=1)[1]
    assert "--data needs --row" in said(capsys, "size.unitless", "--data", "people.csv", code=2)[1]
    assert "--row needs --data" in said(capsys, "size.unitless", "--row", "3", code=2)[1]
    assert (
        "has no feature 'shoe'; it was ignored"
        in said(capsys, "size.unitless", "--explain", '{"age": 30, "shoe": 1}')[1]
    )
    assert "this is not a model file of unitless" in said(capsys, "people.csv", code=1)[1]


def test_names_of_any_length_make_lines_of_a_bounded_one(
    capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    m = ul.Learner(interactions=2)
    names = ["x" * 20_000 + "end", "y" * 30_000, "\x1b[2J\n\ttab"]
    m.learn([dict.fromkeys(names, 1.0 + k % 3) for k in range(20)], [float(k % 5) for k in range(20)])
    path = str(tmp_path / "long.unitless")
    m.save(path)
    for words in ([], ["--all"], ["--explain", json.dumps(dict.fromkeys([*names, "z" * 9_000], 1.0))]):
        assert main(["inspect", path, *words]) == 0
        out, err = capsys.readouterr()
        assert max(map(len, (out + err).splitlines())) < 500
        assert "\x1b" not in out + err
        assert "xend" in out
    assert main(["inspect", path, "--all", "--json"]) == 0
    assert len(capsys.readouterr().out) < 10 * os.path.getsize(path)
