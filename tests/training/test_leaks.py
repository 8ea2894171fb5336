"""A column that gives the target away is reported in the notes, and no other column is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.cli import main

ROWS = 1500


def table(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, ROWS),
            "income": rng.gamma(2, 2e4, ROWS),
            "city": rng.choice(["Bern", "Basel", "Zug"], ROWS),
            "noise": rng.normal(size=ROWS),
        }
    )


def leaks(frame: pd.DataFrame, target: str, **options: Any) -> list[str]:
    result = ul.train(frame, target, progress=False, **options)
    return [note for note in result.notes if "almost without error" in note]


def numbers(frame: pd.DataFrame, noise: float) -> pd.Series:
    return 100 * frame.age + 0.05 * frame.income + noise * frame.noise * 1000


def test_a_copy_of_the_label_is_reported_with_the_option_to_ignore_it() -> None:
    frame = table()
    frame["churned"] = np.where(frame.age + 10 * frame.noise > 40, "yes", "no")
    frame["status"] = frame.churned.map({"yes": "closed", "no": "open"})
    (note,) = leaks(frame.drop(columns="noise"), "churned")
    assert "column 'status' alone predicts" in note
    assert "ignore='status'" in note
    assert leaks(frame.drop(columns=["noise", "status"]), "churned") == []


def test_the_label_in_another_unit_is_named() -> None:
    frame = table()
    frame["dollars"] = numbers(frame, 1.0)
    frame["euros"] = frame.dollars * 0.92 + 3
    (note,) = leaks(frame.drop(columns="noise"), "dollars")
    assert "column 'euros' alone predicts" in note


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_two_columns_whose_sum_or_difference_is_the_label_are_named(sign: float) -> None:
    frame = table()
    rng = np.random.default_rng(1)
    frame["net"], frame["tax"] = rng.gamma(3, 100, ROWS), rng.gamma(2, 60, ROWS)
    frame["total"] = frame.net + sign * frame.tax
    (note,) = leaks(frame, "total")
    assert "columns 'net' and 'tax' alone predict" in note
    assert "ignore='net' or ignore='tax'" in note


def test_a_code_with_digits_of_the_class_is_named() -> None:
    frame = table()
    frame["kind"] = np.digitize(frame.age + 20 * frame.noise, [30, 50])
    frame["code"] = 10 * frame.kind + np.random.default_rng(2).integers(0, 9, ROWS)
    (note,) = leaks(frame.drop(columns="noise"), "kind")
    assert "'code'" in note


def orders() -> pd.DataFrame:
    frame, rng = table(), np.random.default_rng(3)
    frame["ordered"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, ROWS), "D")
    frame["promised"] = frame.ordered + pd.to_timedelta(rng.integers(3, 10, ROWS), "D")
    frame["delivered"] = frame.ordered + pd.to_timedelta(rng.integers(1, 14, ROWS), "D")
    return frame


def test_a_date_that_only_rows_of_one_class_have_is_named() -> None:
    frame = orders().drop(columns=["promised", "delivered"])
    frame["lost"] = np.where(frame.age + 10 * frame.noise > 40, "yes", "no")
    frame["closed"] = (frame.ordered + pd.Timedelta(90, "D")).where(frame.lost == "yes")
    (note,) = leaks(frame.drop(columns="noise"), "lost")
    assert "column 'closed' alone predicts" in note


def test_two_dates_between_which_the_time_is_the_label_are_named() -> None:
    frame = orders()
    frame["late"] = np.where(frame.delivered > frame.promised, "yes", "no")
    (note,) = leaks(frame, "late")
    assert "columns 'promised' and 'delivered' alone predict" in note
    frame["late"] = np.where(frame.age + 10 * np.random.default_rng(4).normal(size=ROWS) > 40, "yes", "no")
    assert leaks(frame, "late") == []


def honest_tables() -> dict[str, tuple[pd.DataFrame, str]]:
    found: dict[str, tuple[pd.DataFrame, str]] = {}
    for seed in range(5):
        frame = table(seed)
        found[f"noisy numbers {seed}"] = (frame.assign(y=numbers(frame, 0.3)).drop(columns="noise"), "y")
        frame["y"] = frame.age + 2 * frame.noise > 40
        found[f"two classes, one strong column {seed}"] = (frame.drop(columns="noise"), "y")
        frame["y"] = np.select([frame.city == "Zug", frame.age > 40], ["a", "b"], "c")
        found[f"classes by two columns {seed}"] = (frame, "y")
    return found


@pytest.mark.parametrize("name", honest_tables())
def test_no_column_of_an_honest_table_is_named(name: str) -> None:
    frame, target = honest_tables()[name]
    assert leaks(frame, target) == []


def test_tables_of_scikit_learn_have_no_leak() -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    for name in ("iris", "wine", "breast_cancer", "diabetes"):
        frame = getattr(datasets, f"load_{name}")(as_frame=True).frame
        assert leaks(frame, "target") == [], name


def test_the_command_line_prints_the_note_with_its_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = table()
    frame["churned"] = np.where(frame.age + 10 * frame.noise > 40, "yes", "no")
    frame["status"] = frame.churned.map({"yes": "closed", "no": "open"})
    frame.drop(columns="noise").to_csv(tmp_path / "rows.csv", index=False)
    assert main(["train", str(tmp_path / "rows.csv"), "--target", "churned"]) == 0
    assert "--ignore status" in " ".join(capsys.readouterr().out.split())


def test_looking_for_leaks_changes_no_bit_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table()
    frame["dollars"] = numbers(frame, 1.0)
    frame["euros"] = frame.dollars * 0.92
    looked = ul.train(frame, "dollars", progress=False)
    monkeypatch.setattr("unitless.training.fit.find_leak", lambda *_: None)
    plain = ul.train(frame, "dollars", progress=False)
    assert looked.model.predict(frame).tobytes() == plain.model.predict(frame).tobytes()
    assert looked.metrics == plain.metrics
