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


def test_two_columns_that_each_give_the_label_away_do_not_hide_each_other() -> None:
    frame = table()
    frame["churned"] = np.where(frame.age + 10 * frame.noise > 40, "yes", "no")
    frame["status"] = frame.churned.map({"yes": "closed", "no": "open"})
    frame["flag"] = (frame.churned == "yes").astype(int)
    (note,) = leaks(frame.drop(columns="noise"), "churned")
    assert "each of the columns 'status' and 'flag' alone predicts" in note
    assert "ignore='status' and ignore='flag'" in note
    frame["dollars"], frame["euros"] = (numbers(frame, 1.0) * rate for rate in (1.0, 0.92))
    frame["pounds"] = (frame.dollars * 0.8).round(2)
    (note,) = leaks(frame.drop(columns=["noise", "churned", "status", "flag"]), "dollars")
    assert "each of the columns 'euros' and 'pounds' alone predicts" in note


def test_a_sum_is_found_if_one_part_alone_predicts_nearly_all_of_it() -> None:
    frame = table()
    rng, busy = np.random.default_rng(5), np.exp(0.03 * frame.age)
    frame["casual"], frame["registered"] = rng.poisson(5 * busy), rng.poisson(60 * busy)
    frame["count"] = frame.casual + frame.registered
    (note,) = leaks(frame, "count")
    assert "columns 'casual' and 'registered' alone predict" in note


def test_two_columns_whose_product_is_the_label_are_named() -> None:
    frame, rng = table(), np.random.default_rng(6)
    frame["unit_price"], frame["quantity"] = rng.gamma(3, 100, ROWS).round(2), rng.integers(1, 30, ROWS)
    frame["total"] = frame.unit_price * frame.quantity
    (note,) = leaks(frame, "total")
    assert "columns 'unit_price' and 'quantity' alone predict" in note


def test_two_numbers_of_which_the_larger_one_is_the_label_are_named() -> None:
    frame, rng = table(), np.random.default_rng(7)
    frame["paid"] = rng.gamma(3, 100, ROWS)
    frame["due"] = frame.paid + rng.normal(0, 50, ROWS)
    frame["overdue"] = frame.due > frame.paid
    (note,) = leaks(frame, "overdue")
    assert "columns 'paid' and 'due' alone predict" in note


def test_a_number_that_is_zero_for_one_class_is_named() -> None:
    frame = table()
    frame["churned"] = np.where(frame.age + 10 * frame.noise > 40, "yes", "no")
    refund = np.random.default_rng(8).gamma(2, 10, ROWS)
    (note,) = leaks(frame.assign(refund=np.where(frame.churned == "yes", refund, 0)).drop(columns="noise"), "churned")
    assert "column 'refund' alone predicts" in note


def small(rows: int) -> pd.DataFrame:
    frame = table()[:rows]
    return frame.assign(churned=np.where(frame.age + 10 * frame.noise > 40, "yes", "no")).drop(columns="noise")


@pytest.mark.parametrize("rows", [100, 160, 240])
def test_small_tables_are_looked_at_too(rows: int) -> None:
    frame = small(rows)
    frame["status"] = frame.churned.map({"yes": "closed", "no": "open"})
    (note,) = leaks(frame, "churned")
    assert "column 'status' alone predicts" in note
    assert leaks(frame.drop(columns="status"), "churned") == []


def test_a_noisy_estimate_of_the_label_is_named_in_a_small_table() -> None:
    frame = table()[:150]
    frame["y"] = numbers(frame, 1.0)
    frame["estimate"] = frame.y + 100 * np.random.default_rng(1).normal(size=150)
    (note,) = leaks(frame.drop(columns="noise"), "y")
    assert "column 'estimate' alone predicts" in note


def test_a_table_of_a_few_rows_many_times_has_no_leak() -> None:
    """Every column with different values in different rows tells which row it is."""
    frame = pd.concat([table()[:10]] * 50).sample(frac=1, random_state=0)
    assert leaks(frame.assign(y=lambda rows: rows.age * rows.noise), "y") == []


def test_one_far_label_makes_no_leak() -> None:
    """The mean of the learned labels is then useless, so that every column does far better than it."""
    frame = table()
    frame["y"] = numbers(frame, 1.0)
    frame.loc[5, "y"] = 1e12
    assert leaks(frame.drop(columns="noise"), "y") == []


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


def honest_tables(seed: int) -> dict[str, pd.DataFrame]:
    """Tables whose target is y."""
    frame = table(seed)
    features = frame.drop(columns="noise")
    return {
        "noisy numbers": features.assign(y=numbers(frame, 0.3)),
        "two classes, one strong column": features.assign(y=frame.age + 2 * frame.noise > 40),
        "classes by two columns": frame.assign(y=np.select([frame.city == "Zug", frame.age > 40], ["a", "b"], "c")),
    }


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 5))])
@pytest.mark.parametrize("name", honest_tables(0))
def test_no_column_of_an_honest_table_is_named(name: str, seed: int) -> None:
    assert leaks(honest_tables(seed)[name], "y") == []


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
