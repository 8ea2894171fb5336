"""The type of the labels is determined and reported before the first row is learned."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import unitless as ul
from unitless.cli import main as command
from unitless.data.labels import Target, labels_of
from unitless.data.spellings import spellings
from unitless.training import fit

QUICK: dict[str, Any] = {"model_type": "linear", "passes": 1}


def table(labels: list[Any], seed: int = 0) -> pd.DataFrame:
    x = np.random.default_rng(seed).normal(size=len(labels))
    return pd.DataFrame({"x": x, "y": labels})


def ways(frame: pd.DataFrame, folder: Path) -> dict[str, Any]:
    """The same table in a file of each kind, as a frame, as mappings, and as an array with separate labels."""
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    rows = [{k: None if pd.isna(v) else v for k, v in row.items()} for row in frame.to_dict("records")]
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {
        "csv": (str(folder / "t.csv"), "y"),
        "parquet": (str(folder / "t.parquet"), "y"),
        "json": (str(folder / "t.jsonl"), "y"),
        "frame": (frame, "y"),
        "mappings": (rows, "y"),
        "list": (frame[["x"]].to_numpy(), frame["y"].tolist()),
        "array": (frame[["x"]].to_numpy(), frame["y"].to_numpy()),
    }


WAYS = ("csv", "parquet", "json", "frame", "mappings", "list", "array")
BLANKS = ["yes", " yes", "yes ", "no", "no  ", "\tno"] * 20


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shuffle", [True, False])
def test_blanks_around_labels_do_not_matter(way: str, shuffle: bool, tmp_path: Path) -> None:
    source, target = ways(table(BLANKS), tmp_path)[way]
    result = ul.train(source, target, shuffle=shuffle, **QUICK)
    assert (result.details.target.task, result.details.target.classes) == ("binary", ["no", "yes"])
    assert result.details.learned == len(BLANKS)


def test_blanks_around_labels_do_not_matter_when_scoring(tmp_path: Path) -> None:
    plain, blanks = table([label.strip() for label in BLANKS]), table(BLANKS)
    model = ul.train(plain, "y", **QUICK).model
    blanks.to_csv(tmp_path / "blanks.csv", index=False)
    expected = ul.evaluate(model, plain).metrics
    assert ul.evaluate(model, str(tmp_path / "blanks.csv")).metrics == expected
    assert ul.evaluate(model, blanks).metrics == expected
    several = ul.train(plain.assign(y=plain["y"] + pd.Series(["a", "b"] * 60)), "y", **QUICK).model
    spaced = blanks.assign(y=plain["y"] + pd.Series(["a", "b  "] * 60))
    assert ul.evaluate(several, spaced).metrics == ul.evaluate(several, plain.assign(y=spaced["y"].str.strip())).metrics


def test_a_model_that_learned_labels_with_blanks_still_knows_them() -> None:
    target = Target.read({"task": "binary", "classes": ["no ", "yes "], "number": False, "rest": False})
    labels = ul.data.labels.labels_of(["yes", "no", " yes"])
    assert not target.unknown(labels).any()
    assert target.numbers(labels, ul.data.sources.located_rows.Place("", "row", 1)).tolist() == [1, 0, 1]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("text", [True, False])
def test_rows_without_a_label_are_counted_and_not_learned(way: str, shuffle: bool, text: bool, tmp_path: Path) -> None:
    labels: list[Any] = (["a", "b", None, "a"] if text else [1.5, 2.5, np.nan, 3.5]) * 30
    source, target = ways(table(labels), tmp_path)[way]
    result = ul.train(source, target, shuffle=shuffle, **QUICK)
    assert (result.rows, result.details.unlabeled, result.details.learned) == (120, 30, 90)
    score = ul.evaluate(result.model, source, target=None if isinstance(target, str) else target)
    assert (score.scored, score.unlabeled) == (90, 30)


def test_pandas_own_missing_value_is_no_label() -> None:
    result = ul.train(np.arange(40.0)[:, None], pd.array([0, 1, pd.NA, 1] * 10, dtype="Int64"), **QUICK)
    assert (result.details.unlabeled, result.details.learned) == (10, 30)


@pytest.mark.parametrize("encoded", [False, True], ids=["plain", "dictionary"])
def test_missing_text_of_a_chunked_arrow_column_is_no_label(encoded: bool) -> None:
    parts = [pa.array(["a", None, "b", "b"] * 5), pa.array(["c", "b"] * 5)]
    labels = pa.chunked_array([part.dictionary_encode() if encoded else part for part in parts])
    found = labels_of(labels)
    assert found.present().tolist() == [value is not None for value in labels.to_pylist()]
    result = ul.train(np.arange(30.0)[:, None], labels, **QUICK)
    assert (result.details.unlabeled, result.details.learned) == (5, 25)


def test_arrow_labels_need_no_pandas() -> None:
    script = """
import sys
class NoPandas:
    def find_spec(self, name, *_):
        if name == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoPandas())
import pyarrow as pa
from unitless.data.labels import labels_of
for chunks in ([[1.5, None], [2.5]], [[1, 2, 3]], [["a", "b"], ["a"]]):
    assert len(labels_of(pa.chunked_array(chunks))) == 3
assert len(labels_of(pa.chunked_array([], pa.float64()))) == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_command_counts_rows_without_a_label(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, _ = ways(table(["a", "b", None, "a"] * 30), tmp_path)["csv"]
    for line in (["train", source, "--passes", "1"], ["compare", source, "--rules", "nag"]):
        assert command([*line, "--target", "y", "--model-type", "linear"]) == 0
        assert "30 without label" in capsys.readouterr().out


# ---------------------------------------------------------------------------------------------------- what is decided


def test_the_task_is_decided_by_all_rows_of_what_is_fitted() -> None:
    rare = ["no"] * 6000 + ["yes"] * 5990 + ["maybe"] * 10
    assert ul.train(table(rare), "y", **QUICK).details.target.task == "classes"
    numbers = [1, 2, 3] * 4000 + list(range(4, 30))
    assert ul.train(table(numbers), "y", **QUICK).details.target.task == "regression"
    followed = ul.train(table(["no", "yes"] * 50), "y", shuffle=False, **QUICK)
    assert followed.details.target.task == "binary"


def test_rows_to_be_skipped_do_not_decide_the_task() -> None:
    labels = ["no", "yes"] * 6000 + ["oops"]
    result = ul.train(table(labels), "y", reading=ul.Reading(on_error="skip"), **QUICK)
    assert result.details.target.task == "binary"


def raised(labels: list[Any], **options: Any) -> str:
    with pytest.raises(ul.InputError) as error:
        ul.train(table(labels), "y", **QUICK, **options)
    return str(error.value)


def test_one_value_is_an_error_before_learning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit.Fit, "_score", lambda *_: pytest.fail("it has learned"))
    assert raised(["a"] * 50) == (
        "the target has only one value, 'a', in all 50 rows of the data; a model needs at least two to tell apart"
    )
    assert raised(["a"] * 50 + [None]).startswith(
        "the target has only one value, 'a', in all 50 rows of the data with a label;"
    )
    assert raised([3.5] * 50) == (
        "the target has only one value, '3.5', in all 50 rows of the data; a model needs at least two to tell apart; "
        "to learn it as a number all the same, use task='regression'"
    )
    assert raised(["a"]).startswith("the target has only one value, 'a', in the only row of the data;")


def test_a_number_that_never_varies_is_learned_if_asked_for() -> None:
    result = ul.train(table([3.5] * 50), "y", task="regression", **QUICK)
    assert result.notes == ["the target is 3.5 in all rows: the model will always predict it"]


def test_few_rows_are_learned_with_a_warning() -> None:
    result = ul.train(table(["a", "b", "a"]), "y", **QUICK)
    assert result.notes == [
        "only 3 rows have a label in the data: too few to predict other rows well; do not rely on the model"
    ]


def test_a_text_or_an_id_is_no_target() -> None:
    assert raised([f"case {i}" for i in range(390)] + ["case 1"] * 10) == (
        "the target has 390 different values in 400 rows of the data; it looks like free text or an identifier "
        "('case 0', ...), which a model cannot predict; choose another column as target, or use task='classes' to "
        "learn each value as a class"
    )
    assert ul.train(table([f"case {i}" for i in range(60)]), "y", task="classes", **QUICK).details.learned == 60
    followed = raised([f"case {i}" for i in range(400)], shuffle=False)
    assert followed.startswith("the target has 400 different values in the first 400 labeled rows of the data; it")


def test_numbers_beside_one_other_text_are_no_classes() -> None:
    labels, rest = [f"{i}.5" for i in range(80)], "; give numbers, and nothing where the label is missing; "
    for others, said in (
        (["oops"], "nearly all of them are numbers, but one is 'oops'"),
        ([], "all of them are numbers"),
    ):
        rows = 80 + len(others)
        with pytest.raises(ul.InputError) as error:
            ul.train(np.arange(float(rows))[:, None], labels + others, **QUICK)
        assert str(error.value) == (
            f"the target is text and has {rows} different values in {rows} rows of the data; {said}{rest}to learn each "
            "value as a class, use task='classes'"
        )


def test_hundreds_of_classes_are_worth_a_word() -> None:
    result = ul.train(table([f"c{i % 120}" for i in range(480)]), "y", **{**QUICK, "model_type": "linear"})
    assert result.notes == [
        "the target has 120 classes, each with a model of its own: time and memory grow with their number"
    ]


def test_few_whole_numbers_are_classes_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = table([1 + i % 5 for i in range(200)])
    said = "classes: the target has 5 whole numbers, 1 to 5; use "
    assert ul.train(frame, "y", **QUICK).notes == [f"{said}task='regression' to predict a number"]
    assert ul.train(frame, "y", task="classes", **QUICK).notes == []
    frame.to_csv(tmp_path / "t.csv", index=False)
    for quiet in ([], ["--quiet"]):
        line = ["train", str(tmp_path / "t.csv"), "--target", "y", "--model-type", "linear", "--passes", "1", *quiet]
        assert command(line) == 0
        printed = capsys.readouterr()
        assert printed.out.count(f"- {said}--task regression to predict a number\n") == 1
        assert printed.err.count(f"note: {said}--task regression to predict a number") == (not quiet)
    assert command(["compare", str(tmp_path / "t.csv"), "--target", "y", "--model-type", "linear"]) == 0
    assert f"note: {said}--task regression" in capsys.readouterr().err


def test_a_note_about_labels_is_printed_before_the_first_loss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table([1 + i % 5 for i in range(200)]).to_csv(tmp_path / "t.csv", index=False)
    assert command(["train", str(tmp_path / "t.csv"), "--target", "y", "--model-type", "linear"]) == 0
    printed = capsys.readouterr().err
    assert printed.index("note: classes") < printed.index("since last")


# ---------------------------------------------------------------------------------------------------- two spellings


def test_labels_that_look_like_two_spellings_are_named_and_kept_apart() -> None:
    labels = ["Rad Flow"] * 60 + ["Rad.Flow"] * 5 + ["Bypass"] * 30 + ["Radiator Flow"]
    result = ul.train(table(labels), "y", **QUICK)
    assert result.notes == [
        "the labels 'Rad Flow' (60 rows) and 'Rad.Flow' (5 rows) look like two spellings of one; so do 'Rad Flow' (60 "
        "rows) and 'Radiator Flow' (1 row). They are learned as different labels; if they are the same, give them one "
        "spelling in the data"
    ]
    assert sorted(result.predictor.classes) == ["Bypass", "Rad Flow", "Rad.Flow", "Radiator Flow"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Yes", "yes"),
        ("rad flow", "Rad_Flow"),
        ("<=50K", "<=50K."),
        ("Fpv Open", "Flow Proportioning Valve Open"),
        ("rad flow", "Radiator Flow"),
    ],
)
def test_two_spellings_are_found(one: str, other: str) -> None:
    assert spellings(Counter({other: 2, one: 3, "something": 1})) == [(one, other)]


DIFFERENT = [("<=50K", ">50K"), ("a", "A"), ("A+", "A-", "A"), ("-1", "1"), ("1.5", "15"), ("low", "lowest")]
DIFFERENT += [("new car", "new"), ("Fpv Open", "Fpv Close"), ("class 1", "class 10")]


@pytest.mark.parametrize("labels", DIFFERENT)
def test_labels_that_differ_are_not_taken_for_spellings(labels: tuple[str, ...]) -> None:
    assert spellings(Counter(labels)) == []


def test_a_class_that_was_never_met_costs_no_more_than_scikit_learn_counts() -> None:
    model = ul.train(table(["a", "b", "c"] * 50), "y", **QUICK).model
    met, unmet = (ul.evaluate(model, table(labels)).metrics["log_loss"] for labels in (["a"] * 40, ["a"] * 39 + ["z"]))
    assert unmet < met + 36.05 / 40
