"""`train` in partitions, in threads of this process."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest
from pyarrow import csv, parquet
from training_data import PLAN, ROWS, digest, in_parts, table, write

import unitless as ul
from unitless.cli import main
from unitless.cluster.local import LocalEngine

OTHERS = {"price": ["dear", "class"], "dear": ["price", "class"], "class": ["price", "dear"]}


def trained(source: Any, target: str = "price", **options: Any) -> Any:
    return ul.train(source, target, reading=ul.Reading(ignore=OTHERS[target]), **{**PLAN, "passes": 1, **options})


@pytest.fixture
def files(tmp_path: pathlib.Path) -> str:
    return write(tmp_path)


@pytest.mark.parametrize("target", ["price", "dear", "class"])
@pytest.mark.parametrize("model_type", ["linear", "trees"])
def test_the_number_of_workers_does_not_matter(files: str, target: str, model_type: Any) -> None:
    one, two = (trained(files, target, model_type=model_type, cluster=in_parts(workers=workers)) for workers in (1, 2))
    assert digest(one.model) == digest(two.model)
    assert one.metrics == two.metrics
    assert one.progressive == two.progressive
    assert one.model_type == model_type
    assert one.model.examples == one.details.learned == ROWS
    assert one.round_log[0].partitions == 3
    assert len(one.round_log) == 3  # the last round learns the held-out rows
    assert 0 < one.max_staleness < ROWS / 2
    # With the same seed, the same rows are held out; scores on different rows would differ too much for the comparison.
    alone = ul.train(
        files,
        target,
        reading=ul.Reading(ignore=OTHERS[target]),
        passes=1,
        model_type=model_type,
        random_state=PLAN["random_state"],
    )
    key = "rmse" if target == "price" else "log_loss"
    assert one.metrics[key] < (1.3 if model_type == "linear" else 2.5) * alone.metrics[key]
    assert one.metrics[key] < one.baseline[key]


def test_every_given_row_is_learned(files: str, tmp_path: pathlib.Path) -> None:
    model = tmp_path / "m.unitless"
    result = trained(files, output=model)
    loaded = ul.Predictor(model)
    frame = table(50, seed=1)
    assert loaded.predict(frame) == pytest.approx(list(result.predict(frame)))
    assert result.details.held_out == pytest.approx(ROWS / 10, rel=0.2)
    assert "dealt to 3 partitions, 2 rounds" in result.details.shuffled
    result.report(tmp_path / "report.html")
    assert result.asdict()["max_staleness"] == result.max_staleness


def test_frames_arrays_and_files_of_all_formats(tmp_path: pathlib.Path) -> None:
    whole = table()
    plain = whole.select(["size", "count", "price"])
    csv.write_csv(plain, tmp_path / "t.csv")
    (tmp_path / "t.jsonl").write_text("".join(f"{row}\n".replace("'", '"') for row in plain.to_pylist()))
    with (tmp_path / "t.vw").open("w") as text:
        text.writelines(f"{row['price']} | size:{row['size']} count:{row['count']}\n" for row in plain.to_pylist())
    columns = np.column_stack([plain["size"], plain["count"]])
    options: dict[str, Any] = {**PLAN, "passes": 1, "model_type": "linear"}
    frame = ul.train(plain, "price", **options)
    from_csv = ul.train(str(tmp_path / "t.csv"), "price", **options)
    from_json = ul.train(str(tmp_path / "t.jsonl"), "price", **options)
    arrays = ul.train(columns, np.array(plain["price"]), **options)
    vw = ul.train(str(tmp_path / "t.vw"), **options)
    mappings = ul.train(plain.to_pylist(), "price", **options)
    for result in (frame, from_csv, from_json, arrays, vw, mappings):
        assert result.metrics["rmse"] < 0.9 * result.baseline["rmse"]
        assert result.model.examples == ROWS
    pandas = pytest.importorskip("pandas")
    assert digest(ul.train(plain.to_pandas(), "price", **options).model) == digest(frame.model)
    assert pandas


def test_options_of_learners(files: str) -> None:
    for options in (
        {"bits": 10, "model_type": "linear"},
        {"interactions": [("size", "heat")], "model_type": "linear"},
        {"center": False, "model_type": "linear"},
        {"rule": "snag", "model_type": "linear"},
        {"learning_rate": 0.5, "model_type": "linear"},
        {"model_type": "curves"},
        {"model_type": "curves only"},
        {"loss": "quantile", "quantile": 0.9},
        {"weight": "count"},
    ):
        result = trained(files, **options)
        assert result.metrics, options
        assert result.details.learned > 0


def test_passes_until_they_do_not_help(files: str) -> None:
    once, often = trained(files, model_type="linear"), trained(files, model_type="linear", passes=None)
    assert often.passes > 1
    held = often.details.held_out
    assert often.model.examples == often.passes * (ROWS - held) + held
    assert often.metrics["rmse"] <= 1.02 * once.metrics["rmse"]


def test_one_worker_alone_on_the_command_line_is_ordinary_training(
    files: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, more in enumerate(([], ["--workers", "1"])):
        words = ["train", files, "--target", "price", "--ignore", "dear,class", "--passes", "1", "--json", *more]
        assert main([*words, "--output", str(tmp_path / f"{number}.unitless")]) == 0
        assert json.loads(capsys.readouterr().out)["round_log"] == []
    assert (tmp_path / "0.unitless").read_bytes() == (tmp_path / "1.unitless").read_bytes()


INTERRUPTED = """
import os, signal, sys
sys.path.insert(0, {folder!r})
import unitless as ul
from test_training import trained
from training_data import in_parts

def kill(run):
    if len(run.round_log) == {round}:
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    trained({files!r}, {target!r}, passes=2, cluster=in_parts(workers=2), checkpoint={checkpoint!r}, progress=kill)
"""


@pytest.mark.parametrize(("target", "after"), [("price", 1), ("class", 3)])
def test_a_driver_that_is_killed_is_taken_up_again(files: str, tmp_path: pathlib.Path, target: str, after: int) -> None:
    checkpoint = str(tmp_path / "kept.unitless")
    here = str(pathlib.Path(__file__).parent)
    script = INTERRUPTED.format(folder=here, files=files, target=target, round=after, checkpoint=checkpoint)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    whole = trained(files, target, passes=2)
    again = ul.train(
        files,
        **{**PLAN, "cluster": in_parts(workers=1)},
        passes=2,
        resume=checkpoint,
        reading=ul.Reading(ignore=OTHERS[target]),
    )
    assert digest(again.model) == digest(whole.model)
    assert again.metrics == whole.metrics
    assert again.progressive == whole.progressive


@pytest.mark.parametrize(
    ("count", "held_whole"), [(1, True), (1, False), (10, True), (10, False), (11, True), (11, False), (1000, False)]
)
def test_a_checkpoint_is_taken_up_whatever_the_number_of_files(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, count: int, held_whole: bool
) -> None:
    if not held_whole:
        monkeypatch.setattr("unitless.cluster.whole_data.MOST", 0)
    whole = table()
    for number in range(count):
        part = whole.slice(number * ROWS // count, (number + 1) * ROWS // count - number * ROWS // count)
        csv.write_csv(part, tmp_path / f"part{number:04}.csv")
    files, checkpoint = str(tmp_path / "part*.csv"), str(tmp_path / "kept.unitless")

    def stop(run: Any) -> None:
        if len(run.round_log) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    options = {"model_type": "linear", "ensemble": False}
    assert trained(
        files, cluster=in_parts(workers=2), checkpoint=checkpoint, progress=stop, **options
    ).details.interrupted
    resumed = ul.train(
        files,
        reading=ul.Reading(ignore=OTHERS["price"]),
        resume=checkpoint,
        **{**PLAN, "passes": 1, "cluster": in_parts(workers=2)},
    )
    assert digest(resumed.model) == digest(trained(files, cluster=in_parts(workers=2), **options).model)


def test_going_on_takes_the_same_plan(files: str, tmp_path: pathlib.Path) -> None:
    checkpoint = str(tmp_path / "kept.unitless")

    def stop(run: Any) -> None:
        if len(run.round_log) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    stopped = trained(files, checkpoint=checkpoint, progress=stop)
    assert stopped.details.interrupted
    for other in ({"cluster": in_parts(partitions=2)}, {"cluster": in_parts(sync_rounds=3)}):
        with pytest.raises(ul.OptionError, match="other data, partitions, rounds"):
            ul.train(
                files, reading=ul.Reading(ignore=OTHERS["price"]), resume=checkpoint, **{**PLAN, "passes": 1, **other}
            )
    with pytest.raises(ul.OptionError, match="resume it in the same way"):
        ul.train(files, reading=ul.Reading(ignore=OTHERS["price"]), resume=checkpoint, passes=1, random_state=5)
    done = ul.train(files, reading=ul.Reading(ignore=OTHERS["price"]), resume=checkpoint, **PLAN, passes=1)
    assert digest(done.model) == digest(trained(files).model)


def test_errors_name_file_and_row_of_the_data(tmp_path: pathlib.Path) -> None:
    plain = table().select(["size", "count", "price"])
    csv.write_csv(plain, tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    lines[4321] = "0.001,7,1.0,many"
    (tmp_path / "b.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(ul.InputError, match=r"b\.csv, row 4321") as found:
        ul.train([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")], "price", **PLAN)
    assert found.value.row == 4321
    skipping = ul.train(
        str(tmp_path / "b.csv"), "price", **PLAN, passes=1, reading=ul.Reading(on_error="skip"), model_type="linear"
    )
    assert skipping.details.skipped == 1
    assert "row 4321" in skipping.details.skipped_rows[0]


def test_other_units_in_one_file_are_noticed(tmp_path: pathlib.Path) -> None:
    for number in range(3):
        part = table(2000, seed=number)
        if number == 1:
            part = part.set_column(0, "size", pa.compute.multiply(part["size"], 1000.0))
        parquet.write_table(part, tmp_path / f"{number}.parquet")
    result = trained(str(tmp_path), passes=1, model_type="linear")
    notes = [str(note) for note in result.notes if "'size'" in str(note)]
    assert len(notes) == 1
    assert "1.parquet" in notes[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster": ul.Cluster(backend="hadoop")}, "it must be local, ray, dask or spark"),
        ({"shuffle": False}, "cannot be done in parts"),
        ({"checkpoint": 100}, "file that keeps each round"),
    ],
)
def test_bad_options(files: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ul.OptionError, match=message):
        trained(files, **options)


@pytest.mark.parametrize("outlier", [1e6, 1e10])
def test_one_outlier_does_not_spoil_centered_columns(outlier: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 3))
    y = X @ [1.0, 2.0, -1.0] + 0.1 * rng.normal(size=len(X))
    X[5000] = [outlier, 0, 0]
    result = ul.train(X, y, model_type="linear", **PLAN, passes=1)
    clean = np.abs(X[:, 0]) < 100
    assert np.mean((result.model.predict(X[clean]) - y[clean]) ** 2) < 2.0  # the first column is lost


def test_a_finished_model_learns_more_in_parts(files: str) -> None:
    first = trained(files, model_type="linear")
    again = ul.train(files, resume=first.model.copy(), **PLAN, passes=1, reading=ul.Reading(ignore=OTHERS["price"]))
    assert again.model.examples == 2 * ROWS
    assert again.model.total_weight == pytest.approx(2 * ROWS)


@pytest.mark.parametrize(
    "options", [{"holdout": 0}, {"learn_holdout": False}, {"cluster": in_parts(partitions=5, sync_rounds=1)}]
)
@pytest.mark.parametrize("model_type", ["linear", "trees"])
def test_saved_models_can_be_loaded(
    files: str, tmp_path: pathlib.Path, options: dict[str, Any], model_type: str
) -> None:
    result = trained(files, model_type=model_type, output=tmp_path / "m", **options)
    loaded = ul.load(tmp_path / "m")
    assert digest(loaded) == digest(result.model)
    assert loaded.total_weight == pytest.approx(loaded.examples)


def test_a_constant_target() -> None:
    X = np.random.default_rng(0).normal(size=(3000, 2))
    result = ul.train(X, np.full(3000, 5.0), task="regression", **PLAN, passes=1)
    assert np.allclose(result.model.predict(X), 5.0)


def test_data_that_has_changed_is_read_again(tmp_path: pathlib.Path) -> None:
    X = np.random.default_rng(0).normal(size=(4000, 2))
    y = X @ [1.0, 2.0]
    other = y.copy()
    other[100:-100] *= -1
    with LocalEngine(2) as engine:
        models = [
            ul.train(X, t, model_type="linear", **{**PLAN, "cluster": in_parts(backend=engine)}, passes=1).model
            for t in (y, other)
        ]
    assert np.mean((models[0].predict(X) - y) ** 2) < 0.1
    assert np.mean((models[1].predict(X) - other) ** 2) < 1.0


def test_a_label_that_only_few_rows_have(tmp_path: pathlib.Path) -> None:
    labels = ["no"] * 60_000
    labels[31_007] = "yes"
    result = ul.train(pa.table({"x": np.arange(60_000.0), "y": labels}), "y", **PLAN, passes=1, model_type="linear")
    assert result.details.target.classes == ["no", "yes"]


def test_streams_cannot_be_dealt_out() -> None:
    with pytest.raises(ul.InputError, match="can be read only once"):
        ul.train(iter([{"a": 1.0, "y": 2.0}]), "y", cluster=in_parts(workers=2))


@pytest.mark.skipif("UNITLESS_DATA" not in os.environ, reason="needs UNITLESS_DATA, a folder with the large datasets")
def test_real_files_cut_in_their_order(tmp_path: pathlib.Path) -> None:
    bank = parquet.read_table(pathlib.Path(os.environ["UNITLESS_DATA"]) / "bank.parquet")
    size = -(-bank.num_rows // 16)
    for number in range(16):
        csv.write_csv(_plain(bank.slice(number * size, size)), tmp_path / f"{number:02}.csv")
    result = ul.train(
        str(tmp_path), "label", cluster=in_parts(partitions=16, sync_rounds=8), passes=1, model_type="linear"
    )
    assert result.round_log[0].partitions == 5  # a thousand rows for each in a round
    assert result.metrics["log_loss"] < 0.26


def _plain(table: pa.Table) -> pa.Table:
    """The frame without dictionaries, which CSV cannot represent."""
    return pa.table(
        {
            name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )


def test_small_tables_have_fewer_partitions() -> None:
    result = ul.train(
        table(1500), "price", reading=ul.Reading(ignore=OTHERS["price"]), cluster=ul.Cluster(workers=2), passes=1
    )
    assert result.round_log[0].partitions == 1
    tiny = ul.train(
        table(20), "price", reading=ul.Reading(ignore=OTHERS["price"]), cluster=ul.Cluster(workers=2), passes=1
    )
    assert tiny.details.learned == 20
