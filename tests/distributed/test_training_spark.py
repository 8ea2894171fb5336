"""`train` on Spark gives what it gives in threads, whatever happens to workers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from test_training import trained
from training_data import Killer, digest, table, write

if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)
pytest.importorskip("pyspark", reason="Spark is not installed: make test-spark installs it")
from unitless.distributed.on_spark import SparkEngine


@pytest.fixture(scope="module")
def engine(clean: None) -> Iterator[SparkEngine]:
    with SparkEngine(2) as engine:
        yield engine


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("table"))


@pytest.mark.parametrize(("target", "shape"), [("price", "trees"), ("class", "linear")])
def test_the_same_bits_as_in_threads(engine: SparkEngine, files: str, target: str, shape: str) -> None:
    here, there = (trained(files, target, shape=shape, on=on) for on in (None, engine))
    assert digest(there.model) == digest(here.model)
    assert there.score == here.score
    assert there.metrics == here.metrics


def test_workers_that_are_killed_in_every_round(engine: SparkEngine, files: str) -> None:
    killer = Killer(lambda command: "pyspark.daemon" in command or "pyspark/daemon" in command)
    result = trained(files, "dear", on=engine, progress=killer)
    assert killer.killed >= 1
    assert digest(result.model) == digest(trained(files, "dear").model)


def test_a_frame_that_lives_in_spark(engine: SparkEngine) -> None:
    sql = pytest.importorskip("pyspark.sql")
    whole = table()
    rows = whole.drop_columns(["heat", "town"]).to_pylist()
    frame = sql.SparkSession(engine._spark).createDataFrame([sql.Row(**row) for row in rows])
    there = trained(frame, on=engine)
    assert there.learned == whole.num_rows
    assert there.score["rmse"] < there.baseline["rmse"]
