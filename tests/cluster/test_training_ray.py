"""`train` on Ray gives the result of threads, whatever happens to workers."""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Iterator

import pytest
from test_training import trained
from training_data import Killer, digest, in_parts, table, write

import unitless as ul

ray = pytest.importorskip("ray")
from unitless.cluster.on_ray import RayEngine  # noqa: E402


@pytest.fixture(scope="module")
def engine(clean: None) -> Iterator[RayEngine]:
    with RayEngine(2) as engine:
        yield engine


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("table"))


@pytest.mark.parametrize(("target", "model_type"), [("price", "trees"), ("class", "linear")])
def test_the_same_bits_as_in_threads(engine: RayEngine, files: str, target: str, model_type: str) -> None:
    here, there = (trained(files, target, model_type=model_type, cluster=in_parts(backend=on)) for on in (None, engine))
    assert digest(there.model) == digest(here.model)
    assert there.metrics == here.metrics
    assert there.progressive == here.progressive


def test_workers_that_are_killed_in_every_round(engine: RayEngine, files: str) -> None:
    killer = Killer(lambda command: command.startswith(("ray::_carry_out", "ray::_combine", "ray::IDLE ")))
    result = trained(files, "dear", cluster=in_parts(backend=engine), progress=killer)
    assert killer.killed >= 2
    assert digest(result.model) == digest(trained(files, "dear").model)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # deprecated settings of Ray
def test_a_dataset_that_lives_in_ray(engine: RayEngine) -> None:
    whole = table()
    there = trained(ray.data.from_arrow([whole.slice(0, 2500), whole.slice(2500)]), cluster=in_parts(backend=engine))
    assert there.details.learned == whole.num_rows
    assert there.metrics["rmse"] < there.baseline["rmse"]


def test_text_that_names_its_features(engine: RayEngine, tmp_path: pathlib.Path) -> None:
    rows = table().select(["size", "count", "price"]).to_pylist()
    path = tmp_path / "t.vw"
    path.write_text("".join(f"{row['price']} | size:{row['size']} count:{row['count']}\n" for row in rows))
    here, there = (ul.train(str(path), cluster=in_parts(backend=on, partitions=2), passes=1) for on in (None, engine))
    assert digest(there.model) == digest(here.model)


def test_errors_name_file_and_row(engine: RayEngine, tmp_path: pathlib.Path) -> None:
    lines = [f"{k % 7},{k % 5}" for k in range(5000)]
    lines[4200] = "3,4,many"
    (tmp_path / "t.csv").write_text("\n".join(["a,y", *lines]) + "\n")
    with pytest.raises(ul.InputError, match=r"t\.csv, row 4201"):
        ul.train(
            str(tmp_path / "t.csv"),
            "y",
            cluster=in_parts(backend=engine, partitions=2, sync_rounds=2),
            task="regression",
        )


COMMAND = [sys.executable, "-m", "unitless", "train"]


def test_the_command(clean: None, files: str, tmp_path: pathlib.Path) -> None:
    model = tmp_path / "m.unitless"
    options = ["--target", "price", "--ignore", "dear,class", "--model-type", "linear", "--passes", "1", "--seed", "5"]
    options += ["--backend", "ray", "--workers", "2", "--partitions", "3", "--sync-rounds", "2", "--output", str(model)]
    done = subprocess.run([*COMMAND, files, *options], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert [line.split()[0] for line in done.stderr.splitlines()[1:4]] == ["round", "1", "2"]
    assert digest(ul.load(model)) == digest(trained(files, model_type="linear").model)
