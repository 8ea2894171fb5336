"""Engines by name, the options of `train` that choose one, and modules with the names of libraries."""

from __future__ import annotations

import pathlib
import sys
import types
from typing import Any

import pytest

import unitless as ul
from unitless.cli import main
from unitless.cluster import on_dask, request
from unitless.cluster.engines import engine_for
from unitless.cluster.local import LocalEngine


def test_engines_by_name() -> None:
    with engine_for(None, 2) as engine:
        assert isinstance(engine, LocalEngine)
        assert engine.slots == 2
    with LocalEngine(1) as mine:
        with engine_for(mine) as engine:
            assert engine is mine
        assert mine.get(mine.put(1)) == 1  # it is still open
        with pytest.raises(ul.OptionError, match="workers is the backend's own"), engine_for(mine, 2):
            pass


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"backend": "hadoop"}, r"^backend is 'hadoop'; it must be local, ray, dask or spark$"),
        ({"address": "a:1"}, r"^address is that of a cluster; give its kind with backend; ray, dask or spark$"),
        ({"backend": "local", "address": "a:1"}, "give its kind"),
        ({"partitions": 0}, r"^partitions is 0; it must be a whole number, 1 or more$"),
        ({"sync_rounds": 1.5}, r"^sync_rounds is 1\.5; it must be"),
        ({"workers": True}, r"^workers is True; it must be"),
    ],
)
def test_options_that_are_wrong(given: dict[str, Any], message: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 20)
    with pytest.raises(ul.OptionError, match=message):
        ul.train(tmp_path / "a.csv", "y", cluster=ul.Cluster(**given))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The arguments of the calls of distributed training."""
    calls: list[Any] = []
    monkeypatch.setattr(request, "run", lambda *given: calls.append(given))
    return calls


def test_train_hands_the_cluster_on(asked: list[Any]) -> None:
    cluster = ul.Cluster(backend="ray", address="auto")
    ul.train("a.csv", "y", checkpoint="kept.unitless", random_state=3, cluster=cluster)
    (source, target, _, _, _, plan, _), given, checkpoint, _ = asked.pop()
    assert (source, target, given, checkpoint) == ("a.csv", "y", cluster, "kept.unitless")
    assert (plan.passes, plan.random_state) == (1, 3)


def test_a_client_of_dask_is_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = []

    class Recorded(LocalEngine):
        def __init__(self, client: Any) -> None:
            clients.append(client)
            super().__init__(1)

    monkeypatch.setattr(on_dask, "DaskEngine", Recorded)
    client = types.SimpleNamespace(nthreads=dict)
    with engine_for(client) as engine:
        assert isinstance(engine, Recorded)
    assert clients == [client]


def test_the_command_line_hands_its_options_on(asked: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*given: Any) -> None:
        asked.append(given)
        raise ul.InputError("enough")

    monkeypatch.setattr(request, "run", stop)
    words = "--backend dask --partitions 16 --sync-rounds 4 --workers 3 --address tcp://a:1 --checkpoint kept.unitless"
    monkeypatch.setattr(sys, "argv", ["unitless", "train", "a.csv", "--target", "y", *words.split()])
    assert main() == 1
    assert asked[0][1:3] == (ul.Cluster("dask", 16, 4, 3, "tcp://a:1"), "kept.unitless")
