"""`train` on Spark gives the result of threads, whatever happens to workers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from test_training import trained
from training_data import Killer, digest, in_parts, table, write

if shutil.which("java") is None:
    pytest.skip("Spark needs Java", allow_module_level=True)
pytest.importorskip("pyspark", reason="Spark is not installed: make test-spark installs it")
from unitless.cluster.on_spark import SparkEngine


@pytest.fixture(scope="module")
def engine(clean: None) -> Iterator[SparkEngine]:
    with SparkEngine(2) as engine:
        yield engine


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("table"))


@pytest.mark.parametrize(("target", "model_type"), [("price", "trees"), ("class", "linear")])
def test_the_same_bits_as_in_threads(engine: SparkEngine, files: str, target: str, model_type: str) -> None:
    here, there = (trained(files, target, model_type=model_type, cluster=in_parts(backend=on)) for on in (None, engine))
    assert digest(there.model) == digest(here.model)
    assert there.metrics == here.metrics
    assert there.progressive == here.progressive


def test_workers_that_are_killed_in_every_round(engine: SparkEngine, files: str) -> None:
    killer = Killer(lambda command: "pyspark.daemon" in command or "pyspark/daemon" in command)
    result = trained(files, "dear", cluster=in_parts(backend=engine), progress=killer)
    assert killer.killed >= 1
    assert digest(result.model) == digest(trained(files, "dear").model)


def test_a_frame_that_lives_in_spark(engine: SparkEngine) -> None:
    sql = pytest.importorskip("pyspark.sql")
    whole = table()
    rows = whole.drop_columns(["heat", "town"]).to_pylist()
    frame = sql.SparkSession(engine._spark).createDataFrame([sql.Row(**row) for row in rows])
    there = trained(frame, cluster=in_parts(backend=engine))
    assert there.details.learned == whole.num_rows
    assert there.metrics["rmse"] < there.baseline["rmse"]
