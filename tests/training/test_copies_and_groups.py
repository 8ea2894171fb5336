"""Copies of a row, and rows of one group, are on one side of the hold-out; otherwise nothing changes."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sources
from sources import command

import unitless as ul
from unitless import inputs
from unitless.data import Batch, Reader, ReadOptions, open_source
from unitless.data.rows.shuffle import Shuffle
from unitless.sklearn import UnitlessRegressor
from unitless.sklearn.rows import RandomRows


def noisy(rows: int, seed: int = 0) -> pd.DataFrame:
    """Rows that a model of trees can learn by heart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] + rng.normal(size=rows)
    return pd.DataFrame(X, columns=list("abcdef")).assign(kind=rng.integers(0, 5, rows).astype(str), y=y)


def mixed(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.sample(frac=1, random_state=1, ignore_index=True)


def twice(frame: pd.DataFrame) -> pd.DataFrame:
    return mixed(pd.concat([frame, frame]))


def patients(rows: int = 6000, groups: int = 300, effect: float = 3.0) -> pd.DataFrame:
    """Rows of patients, which differ by an effect that only new rows of the same patient share."""
    rng = np.random.default_rng(4)
    patient = rng.integers(0, groups, rows)
    frame = pd.DataFrame(rng.normal(size=(rows, 4)), columns=list("abcd"))
    frame["patient_id"] = [f"P{k:05d}" for k in patient]
    frame["age"] = rng.normal(size=groups)[patient]
    return frame.assign(y=frame.a + effect * rng.normal(size=groups)[patient] + rng.normal(size=rows))


def read(source: Any, **options: Any) -> list[Batch]:
    beside = {name: options.pop(name) for name in ("target", "groups") if not isinstance(options.get(name, ""), str)}
    known = ReadOptions(**options)
    return list(Reader(open_source(source, known), known, target=beside.get("target")).batches())


def held(batches: list[Batch], memory: int = 1 << 30, seed: int = 3) -> tuple[list[str], list[str], Shuffle]:
    """The places of the held-out rows and of the learned rows."""
    with Shuffle(seed, memory, held=lambda rows: rows // 10) as rows:
        for batch in batches:
            rows.add(batch)
        rows.seal()
        first = rows.rows - rows.held.count
        last, learned = (
            [batch.place(k) for batch in rows.batches(*span) for k in range(batch.rows)]
            for span in ((first, rows.rows), (0, rows.learned))
        )
        return last, learned, rows


# ---------------------------------------------------------------------------------------------------- copies


@pytest.mark.parametrize("form", ["twice", "some many times"])
def test_the_metrics_of_a_table_with_copies_are_those_of_new_rows(form: str) -> None:
    frame = noisy(3000)
    table = twice(frame) if form == "twice" else mixed(pd.concat([frame, *[frame[:30]] * 60]))
    result = ul.train(table, "y")
    copies = len(table) - len(frame)
    assert result.details.duplicates == result.asdict()["duplicates"] == copies
    assert f"{copies:,} rows are copies of other rows" in str(list(result.notes))
    assert f"duplicates  {copies:,} rows" in str(result)
    new = ul.evaluate(result.model, noisy(20_000, seed=9)).metrics["rmse"]
    assert result.metrics_ci[0] < new < result.metrics_ci[1]
    order = np.random.default_rng(0).permutation(len(table))
    learned, last = table.iloc[order[: -len(order) // 10]], table.iloc[order[-len(order) // 10 :]]
    by_heart = ul.train(learned, "y", passes=10).model
    naive = ul.evaluate(by_heart, last).metrics["rmse"]  # of rows whose copies were learned
    assert naive < result.metrics_ci[0]


def test_no_copy_of_a_held_out_row_is_learned() -> None:
    frame = twice(noisy(1000))
    last, learned, rows = held(read(frame, target="y"))
    keys = {f"row {k + 1}": row for k, row in enumerate(map(str, frame.to_numpy().tolist()))}
    assert rows.held.copied
    assert rows.held.duplicates == 1000
    assert len({keys[place] for place in last}) == len(last) == rows.held.count == 100
    assert not {keys[place] for place in last} & {keys[place] for place in learned}
    assert len(learned) == 2000 - 200 == rows.learned


def test_without_copies_the_last_rows_of_the_random_order_are_held_out() -> None:
    batches = read(noisy(1000), target="y")
    with Shuffle(3, 1 << 30) as plain:
        for batch in batches:
            plain.add(batch)
        plain.seal()
        order = [batch.place(k) for batch in plain.batches() for k in range(batch.rows)]
    last, learned, rows = held(batches)
    assert [*learned, *last] == order
    assert (rows.held.count, rows.held.aside, rows.held.duplicates) == (100, 0, 0)


def test_equal_rows_of_a_table_with_few_possible_rows_are_no_copies() -> None:
    """If all first-class passengers who survived were held out, no model could predict them."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({name: rng.integers(0, 4, 4000).astype(str) for name in "abcde"})
    frame = X.assign(y=np.where(rng.random(4000) < 0.2 + 0.6 * (X.a > "1"), "yes", "no"))
    result = ul.train(frame, "y")
    assert result.details.duplicates is not None
    assert result.details.duplicates > 2000
    assert result.details.held_out == 400
    assert list(result.notes) == []
    assert result.metrics_ci[0] < 0.2 < result.metrics_ci[1]
    few = pd.DataFrame({"a": np.arange(1000) % 2, "b": np.arange(1000) // 2 % 2}).assign(y=lambda d: d.a ^ d.b)
    assert ul.train(few, "y").metrics["accuracy"] == 1.0


def test_every_format_and_any_memory_holds_out_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = twice(sources.table(1200))
    expected = [place.rpartition("row ")[2] for place in held(read(frame, target="y"))[0]]
    assert 80 < len(expected) < 130
    sources.set_chunk(monkeypatch, 3000)
    for name, source in {**sources.write_all(frame, tmp_path), "frame": frame}.items():
        for memory in (1 << 30, 80_000):
            last, _, rows = held(read(source, target="y"), memory)
            unit = "line " if "json" in name else "row "
            assert [place.rpartition(unit)[2] for place in last] == expected, (name, memory)
            assert rows.held.copied


def test_rows_of_every_kind_are_compared() -> None:
    rng = np.random.default_rng(3)
    X = np.where(rng.random((600, 8)) < 0.5, 0.0, rng.normal(size=(600, 8)))
    X, y = np.concatenate([X, X])[::-1], np.tile(np.arange(600.0), 2)[::-1]
    mappings = [{f"n{j}": x for j, x in enumerate(row)} | {"y": y[k]} for k, row in enumerate(X.tolist())]
    expected = held(read(X, target=y))[0]
    for source in (X.astype(np.float64, order="F"), scipy.sparse.csr_matrix(X)):
        assert held(read(source, target=y))[0] == expected
    assert held(read(mappings, target="y"))[0] == expected


def test_named_text_has_copies_too(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    lines = [f"{k} | a:{x:.4f} b:{z:.4f} c{k % 7}" for k, (x, z) in enumerate(rng.normal(size=(400, 2)))]
    path = sources.write(tmp_path / "t.vw", "\n".join([*lines, *lines]) + "\n")
    for memory in ("1GB", "1MiB"):
        assert ul.train(path, memory=memory).details.duplicates == 400


def test_the_model_of_a_table_that_is_larger_than_the_memory_is_the_same(tmp_path: Path) -> None:
    path = str(tmp_path / "twice.csv")
    twice(noisy(10_000)).to_csv(path, index=False)
    models = []
    for memory in ("1GB", "1.3MB"):
        result = ul.train(path, "y", passes=1, memory=memory, model_type="linear")
        models.append((sources.content(result.model), result.metrics, result.details.duplicates))
        assert ("temporary file" in result.details.shuffled) == (memory != "1GB")
    assert models[0] == models[1]
    assert models[0][2] == 10_000


def test_rows_that_are_too_many_to_be_compared_are_noted() -> None:
    result = ul.train(noisy(40_000), "y", passes=1, memory="1MiB", model_type="linear")
    assert result.details.duplicates is None
    assert "too many rows to look for copies" in str(list(result.notes))


@pytest.mark.parametrize("weighted", [False, True])
def test_estimators_hold_copies_out_together(weighted: bool) -> None:
    frame = noisy(1500)
    data = read(frame, target="y")[0]
    assert data.labels is not None
    both = np.tile(np.arange(1500), 2)
    assert isinstance(data.data, inputs.Frame)
    weight = np.where(both == 7, 0.0, 1.0) if weighted else None
    shuffled = RandomRows.shuffled(inputs.pick(data.data, both), data.labels.take(both), weight, 0, lambda n: n // 10)
    assert shuffled.rows == 3000 - 2 * weighted
    last = [k for batch in shuffled.batches(shuffled.rows - shuffled.held) for k in batch.place.numbers]
    learned = [k for batch in shuffled.batches(0, shuffled.learned) for k in batch.place.numbers]
    assert len({both[k] for k in last}) == len(last) > 100
    assert not {both[k] for k in last} & {both[k] for k in learned}
    fitted = UnitlessRegressor().fit(frame.drop(columns="y"), frame.y)
    assert fitted.predict(frame.drop(columns="y")).shape == (1500,)


# ---------------------------------------------------------------------------------------------------- groups


def test_rows_of_a_group_are_on_one_side() -> None:
    frame = patients(2000, 60)
    batches = read(frame, target="y", groups="patient_id")
    last, learned, rows = held(batches)
    of = {f"row {k + 1}": name for k, name in enumerate(frame.patient_id)}
    groups = {of[place] for place in last}
    assert not groups & {of[place] for place in learned}
    assert len(groups) + len({of[place] for place in learned}) == 60
    assert rows.held.groups == (60, len(groups))
    assert 150 < len(last) <= 200
    for memory in (60_000, 10_000):
        assert held(batches, memory)[:2] == (last, learned)


def test_the_metrics_with_groups_are_those_of_new_groups() -> None:
    frame = patients()
    known = frame.patient_id < "P00250"
    result = ul.train(frame[known], "y", groups="patient_id")
    assert "patient_id" not in result.model.scales
    assert result.details.groups == result.asdict()["groups"] == 250
    assert result.details.held_out_groups == result.asdict()["held_out_groups"] > 15
    assert f"{result.details.held_out_groups} of 250 groups" in result.metrics_on
    assert "groups      250 of column 'patient_id'" in str(result)
    assert "'patient_id': groups" in str(list(result.column_report))
    new = ul.evaluate(result.model, frame[~known]).metrics["rmse"]
    assert result.metrics["rmse"] == pytest.approx(new, rel=0.25)
    assert ul.train(frame[known], "y").metrics["rmse"] < 0.7 * new
    assert len(result.predict(frame.drop(columns=["y", "patient_id"]))) == len(frame)  # it needs no groups


def test_groups_are_the_same_in_every_format_and_as_values(tmp_path: Path) -> None:
    frame = patients(1500, 50).round(6).assign(patient_id=lambda d: d.patient_id.str[1:].astype(int))
    paths = {"csv": str(tmp_path / "t.csv"), "parquet": str(tmp_path / "t.parquet"), "json": str(tmp_path / "t.jsonl")}
    frame.to_csv(paths["csv"], index=False)
    frame.to_parquet(paths["parquet"])
    frame.to_json(paths["json"], orient="records", lines=True, double_precision=15)
    expected = ul.train(frame, "y", groups="patient_id", model_type="linear")
    for source in paths.values():
        found = ul.train(source, "y", groups="patient_id", model_type="linear")
        assert found.metrics == pytest.approx(expected.metrics, rel=1e-9)
    others = frame.drop(columns="patient_id")
    for groups in (frame.patient_id, frame.patient_id.to_numpy(), list(map(str, frame.patient_id))):
        found = ul.train(others, "y", groups=groups, model_type="linear")
        assert found.metrics == expected.metrics
        assert found.details.groups == 50
    array = others.drop(columns="y").to_numpy()
    found = ul.train(array, frame.y, groups=frame.patient_id, model_type="linear")
    assert (found.details.groups, found.details.held_out) == (50, expected.details.held_out)
    rows = frame.to_dict("records")
    found = ul.train(rows, "y", groups="patient_id", model_type="linear")
    assert (found.details.groups, found.details.held_out) == (50, expected.details.held_out)


def test_a_row_without_a_group_is_a_group_of_its_own() -> None:
    frame = patients(1000, 40)
    frame.loc[:99, "patient_id"] = None
    assert ul.train(frame, "y", groups="patient_id", model_type="linear").details.groups == 140


def test_rows_without_a_group_are_counted_and_noted() -> None:
    frame = patients(1000, 40)
    frame.loc[:99, "patient_id"] = None
    result = ul.train(frame, "y", groups="patient_id", model_type="linear")
    assert result.details.ungrouped == 100
    assert "140 of column 'patient_id', 100 of them rows without a group" in str(result)
    assert [note for note in result.notes if "100 rows have no group" in note]
    whole = ul.train(patients(1000, 40), "y", groups="patient_id", model_type="linear")
    assert not [note for note in whole.notes if "no group" in note]


def test_the_groups_of_held_out_rows_are_in_their_order() -> None:
    frame = patients(2000, 60)
    for memory in (1 << 30, 10_000):
        last, _, rows = held(read(frame, target="y", groups="patient_id"), memory)
        names = [frame.patient_id[int(place.rpartition("row ")[2]) - 1] for place in last]
        assert rows.held.group_of is not None
        assert len(set(zip(names, rows.held.group_of.tolist(), strict=True))) == len(set(names))


def test_the_confidence_interval_counts_groups_and_not_rows() -> None:
    contained = by_rows = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        group = rng.integers(0, 60, 1200)
        frame = pd.DataFrame(rng.normal(size=(1200, 3)), columns=list("abc")).assign(group=group)
        frame["y"] = frame.a + 3 * rng.normal(size=60)[group] + rng.normal(size=1200)
        result = ul.train(frame, "y", groups="group", model_type="linear", random_state=seed)
        low, high = result.details.measured.hold_out_interval()
        truth = np.sqrt(3**2 + 1**2)  # for new groups, whatever was learned
        contained += result.metrics_ci[0] < truth < result.metrics_ci[1]
        by_rows += low < truth < high
        assert result.metrics_ci[0] < low
        assert result.metrics_ci[1] > high
    assert contained >= 10
    assert by_rows <= 8


def test_one_held_out_group_is_worth_one_row() -> None:
    frame = patients(1000, 2, effect=0.0)
    result = ul.train(frame, "y", groups="patient_id", model_type="linear")
    assert result.details.held_out_groups == 1
    assert result.metrics_ci[1] > 2 * result.metrics["rmse"]


def test_a_table_of_a_few_rows_many_times_is_noted() -> None:
    few = mixed(pd.concat([noisy(100)] * 50))
    (note,) = (one for one in ul.train(few, "y", model_type="linear").notes if "are different" in one)
    assert "only 100 of 5,000 rows are different" in note
    rng = np.random.default_rng(2)
    X = pd.DataFrame({name: rng.integers(0, 3, 4000).astype(str) for name in "abc"})
    possible = X.assign(y=np.where(rng.random(4000) < 0.2 + 0.6 * (X.a > "1"), "yes", "no"))
    assert not [one for one in ul.train(possible, "y", model_type="linear").notes if "are different" in one]


def test_an_interrupted_training_with_groups_goes_on(tmp_path: Path) -> None:
    path, model = str(tmp_path / "t.csv"), str(tmp_path / "m.unitless")
    patients(3000, 60).to_csv(path, index=False)
    whole = ul.train(path, "y", groups="patient_id", model_type="linear")

    def stop(training: Any) -> None:
        if training.progress.passes == 1 and training.progress.rows:
            signal.raise_signal(signal.SIGINT)

    part = ul.train(path, "y", groups="patient_id", model_type="linear", output=model, progress=stop)
    assert part.details.interrupted
    with pytest.raises(ul.OptionError, match="groups"):
        ul.train(path, "y", resume=model)
    rest = ul.train(path, "y", groups="patient_id", resume=model)
    assert rest.metrics == whole.metrics
    assert sources.content(rest.model) == sources.content(whole.model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": "patient"}, "there is no column 'patient'; did you mean 'patient_id'"),
        ({"groups": "y"}, "which is the target"),
        ({"groups": "patient_id", "shuffle": False}, "held out at random"),
    ],
)
def test_groups_that_are_impossible_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ul.OptionError, match=message):
        ul.train(patients(300), "y", **options)


def test_groups_of_other_data_that_are_impossible_are_errors(tmp_path: Path) -> None:
    frame = patients(300)
    with pytest.raises(ul.OptionError, match="no column 'patient'"):
        ul.train(frame.to_dict("records"), "y", groups="patient")
    with pytest.raises(ul.OptionError, match="same for all rows"):
        ul.train(frame.assign(patient_id="one"), "y", groups="patient_id")
    with pytest.raises(ul.OptionError, match="stream"):
        ul.train(iter(frame.to_dict("records")), "y", groups="patient_id")
    with pytest.raises(ul.OptionError, match="format names labels"):
        ul.train(sources.write(tmp_path / "t.vw", "1 | a:1\n2 | a:2\n"), groups="a")
    with pytest.raises(ul.InputError, match="groups has"):
        ul.train(frame, "y", groups=[1, 2])


def test_the_command_has_groups(tmp_path: Path) -> None:
    path = str(tmp_path / "t.csv")
    patients(1000, 50).to_csv(path, index=False)
    run = command("train", path, "--target", "y", "--groups", "patient_id", "--model-type", "linear")
    assert run.returncode == 0
    assert "50 of column 'patient_id'" in run.stdout
    assert "of 50 groups" in run.stdout


def test_partitions_hold_out_copies_and_groups_together() -> None:
    cluster = ul.Cluster("local", partitions=3, sync_rounds=2)
    result = ul.train(twice(noisy(1500)), "y", cluster=cluster, passes=1, model_type="linear")
    assert (result.details.duplicates, result.details.held_out) == (1500, 150)
    assert result.model.examples == 3000
    result = ul.train(patients(2000, 50), "y", groups="patient_id", cluster=cluster, passes=1, model_type="linear")
    assert result.details.groups == 50
    assert f"{result.details.held_out_groups} of 50 groups" in result.metrics_on


# ---------------------------------------------------------------------------------------------------- the note


def suggested(frame: pd.DataFrame) -> bool:
    return "groups='patient_id'" in str([str(note) for note in ul.train(frame, "y").notes])


def test_groups_are_suggested_where_new_ones_are_predicted_far_worse() -> None:
    assert suggested(patients(6000, 300))
    assert suggested(patients(6000, 300).assign(y=lambda d: np.where(d.y > 0, "yes", "no")))


def test_few_patients_with_many_rows_each_suggest_groups() -> None:
    assert suggested(patients(3000, 40))
    assert suggested(patients(20_000, 40))


@pytest.mark.parametrize("groups", [30, 300, 2000])
def test_groups_that_make_no_difference_are_not_suggested(groups: int) -> None:
    assert not suggested(patients(6000, groups, effect=0.0))


def test_a_column_that_is_no_identifier_does_not_suggest_groups() -> None:
    result = ul.train(patients(6000, 300).rename(columns={"patient_id": "street"}), "y")
    assert "groups" not in str([str(note) for note in result.notes])
