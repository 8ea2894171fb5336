"""Engines by their names, the options of `train` that choose one, and the modules that are called like libraries."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import types
from typing import Any

import pytest

import unitless as ul
import unitless.dask
import unitless.ray
import unitless.spark
from unitless.cli import main
from unitless.distributed import on_dask, train
from unitless.distributed.engine import Engine
from unitless.distributed.engines import engine_for
from unitless.distributed.local import LocalEngine
from unitless.distributed.train import Parts


def test_engines_by_name() -> None:
    with engine_for(None, 2) as engine:
        assert isinstance(engine, LocalEngine)
        assert engine.slots == 2
    with LocalEngine(1) as mine:
        with engine_for(mine) as engine:
            assert engine is mine
        assert mine.get(mine.put(1)) == 1  # it is still open
        with pytest.raises(ul.OptionError, match="workers is the engine's own"), engine_for(mine, 2):
            pass


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"on": "hadoop"}, r"^on is 'hadoop'; it must be local, ray, dask or spark$"),
        ({"address": "a:1"}, r"^address is that of a cluster; say of which kind with on; ray, dask or spark$"),
        ({"on": "local", "address": "a:1"}, "say of which kind"),
        ({"shards": 0}, r"^shards is 0; it must be a whole number, 1 or more$"),
        ({"rounds": 1.5}, r"^rounds is 1\.5; it must be"),
        ({"workers": True}, r"^workers is True; it must be"),
    ],
)
def test_options_that_are_wrong(given: dict[str, Any], message: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 20)
    with pytest.raises(ul.OptionError, match=message):
        ul.train(tmp_path / "a.csv", "y", **given)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What distributed training was asked to do."""
    calls: list[Any] = []
    monkeypatch.setattr(train, "run", lambda *given: calls.append(given))
    return calls


def test_one_of_its_options_asks_for_training_in_parts(asked: list[Any]) -> None:
    for given in ({"on": "ray"}, {"shards": 3}, {"rounds": 2}, {"workers": 2}, {"address": "a:1"}):
        ul.train("a.csv", "y", checkpoint="kept.unitless", **given)
        (source, target, *_), parts, _, _ = asked.pop()
        assert (source, target, parts) == ("a.csv", "y", Parts(checkpoint="kept.unitless", **given))


def test_modules_of_the_engines_ask_for_the_same(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    unitless.ray.train("a.csv", "y", address="auto", checkpoint="kept.unitless", seed=3)
    (_, _, _, _, _, plan, _), parts, _, _ = asked.pop()
    assert parts == Parts("ray", 64, 8, None, "auto", "kept.unitless")
    assert (plan.passes, plan.seed) == (1, 3)
    clients = []

    class Recorded(LocalEngine):
        def __init__(self, client: Any) -> None:
            clients.append(client)
            super().__init__(1)

    monkeypatch.setattr(on_dask, "DaskEngine", Recorded)
    client = types.SimpleNamespace(nthreads=dict)
    unitless.dask.train(client, "a.csv", "y", shards=4)
    _, parts, _, _ = asked.pop()
    assert isinstance(parts.on, Engine)
    assert (clients, parts.shards, parts.rounds) == ([client], 4, 8)
    with pytest.raises(ul.OptionError, match="client is a Dask client"):
        unitless.dask.train("a.csv", "y")


def test_the_command_line_hands_its_options_on(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: Any) -> None:
        asked.append(given)
        raise ul.InputError("enough")

    monkeypatch.setattr(train, "run", stop)
    words = "--on dask --shards 16 --rounds 4 --workers 3 --address tcp://a:1 --checkpoint kept.unitless"
    monkeypatch.setattr(sys, "argv", ["unitless", "train", "a.csv", "--target", "y", *words.split()])
    assert main() == 1
    assert asked[0][1] == Parts("dask", 16, 4, 3, "tcp://a:1", "kept.unitless")


def test_libraries_are_found_beside_the_modules_of_their_names() -> None:
    script = """
import unitless.ray, unitless.dask, unitless.spark
import sys
assert not {"ray", "dask", "distributed", "pyspark"} & set(sys.modules)
import unitless.distributed.on_ray as on_ray, unitless.distributed.on_dask as on_dask
assert on_ray.ray is not unitless.ray and on_ray.ray.__version__
assert on_dask.dask is not unitless.dask and on_dask.dask.__version__
"""
    subprocess.run([sys.executable, "-c", script], check=True)
