"""The download of the paper's datasets, from a server of our own that can misbehave."""

from __future__ import annotations

import dataclasses
import gzip
import json
import pathlib
import socket
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import uci

import unitless as ul
from unitless.errors import DatasetError, MissingDatasetError
from unitless.paper.experiments import archives, content, transfer
from unitless.paper.experiments.datasets import DATASETS, load
from unitless.paper.experiments.download import cache_directory, fetch
from unitless.paper.experiments.records import Dataset


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[uci.Server]:
    monkeypatch.setattr(transfer, "PAUSES", (0.0, 0.0))
    monkeypatch.delenv("UNITLESS_DATA", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with uci.serving() as running:
        monkeypatch.setenv("UNITLESS_UCI", running.url)
        yield running


def small(dataset: Dataset, rows: int = 200) -> pa.Table:
    """A table with the columns of a dataset, and numbers and words in them."""
    rng = np.random.default_rng(0)
    columns: dict[str, pa.Array] = {}
    for name in dataset.columns:
        if name == "label":
            low, high = dataset.labels
            columns[name] = pa.array(rng.integers(low, high + 1, rows))
        elif name in dataset.text_features:
            words = np.array(["unknown", "NA", "?", "with a blank at the end "])
            columns[name] = pa.array(words[rng.integers(0, 4, rows)]).dictionary_encode()
        elif name in dataset.fractional:
            columns[name] = pa.array(rng.normal(size=rows) * 100)
        else:
            columns[name] = pa.array(rng.integers(-100, 1000, rows))
    return pa.table(columns)


def put(server: uci.Server, monkeypatch: pytest.MonkeyPatch, key: str, whole: bool = True) -> pa.Table:
    """A small table as the dataset of this key, on the server and in the records; with `whole` its digest too."""
    dataset, table = DATASETS[key], small(DATASETS[key])
    scales = content.scales(table, dataset.features) if not dataset.text_features else np.ones(1)
    dataset = dataclasses.replace(
        dataset,
        rows=table.num_rows,
        original_rows=table.num_rows,
        digest=content.digest(table) if whole else None,
        printed_scale=(float(scales.min()), float(scales.max())),
    )
    monkeypatch.setitem(DATASETS, key, dataset)
    server.files["/" + dataset.archive] = uci.archive(dataset, uci.original_text(dataset, table))
    return table


@pytest.mark.parametrize("key", ["bank", "census", "covertype", "ctslice", "msd"])
def test_a_download_is_the_dataset(
    key: str, server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    table = put(server, monkeypatch, key)
    loaded = load(key, download=True, cache=tmp_path)
    assert content.digest(loaded.table) == content.digest(table)
    assert uci.names(tmp_path) == [f"{key}.parquet"]
    assert not loaded.is_sample


@pytest.mark.parametrize("key", ["bank", "census", "covertype"])
def test_the_whole_datasets_come_out_of_their_text_formats_and_archives(
    key: str, server: uci.Server, data_directory: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    dataset = DATASETS[key]
    table = pyarrow.parquet.read_table(data_directory / dataset.file)
    server.files["/" + dataset.archive] = uci.archive(dataset, uci.original_text(dataset, table))
    loaded = load(key, download=True, cache=tmp_path)
    for name in table.column_names:
        plain = pa.string() if name in dataset.text_features else pa.float64()
        assert loaded.table.column(name).cast(plain).equals(table.column(name).cast(plain)), name


def test_cached_files_are_not_downloaded_again(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "bank")
    load("bank", download=True, cache=tmp_path)
    assert len(server.requests) == 1
    load("bank", download=True, cache=tmp_path)
    load("bank", cache=tmp_path)
    fetch(DATASETS["bank"], cache=tmp_path)
    assert len(server.requests) == 1


def test_a_sample_does_not_do_for_a_download(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, data_directory: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "msd")
    assert load("msd", data_directory, cache=tmp_path).is_sample
    assert not load("msd", data_directory, download=True, cache=tmp_path).is_sample


def test_unexpected_content_is_refused_and_set_aside(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "bank")
    monkeypatch.setitem(DATASETS, "bank", dataclasses.replace(DATASETS["bank"], digest="0" * 64))
    with pytest.raises(DatasetError, match=r"not the Bank dataset.*values are different.*bank\.refused\.zip"):
        load("bank", download=True, cache=tmp_path)
    assert uci.names(tmp_path) == ["bank.refused.zip"]


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (b"<html>maintenance</html>", "damaged"),
        (uci.zipped_files({"bank.txt": b"x"}), "no file bank-full.csv"),
        (uci.zipped_files({"bank.zip": b"PK\x03\x04 and then nothing"}), "damaged"),
        (uci.zipped_files({"bank-full.csv": b"age;y\n1;no\n"}), "first line"),
    ],
)
def test_an_archive_without_the_dataset_is_refused(
    archive: bytes, reason: str, server: uci.Server, tmp_path: pathlib.Path
) -> None:
    server.files["/" + DATASETS["bank"].archive] = archive
    with pytest.raises(DatasetError, match=reason):
        load("bank", download=True, cache=tmp_path)
    assert uci.names(tmp_path) == ["bank.refused.zip"]


def test_a_transfer_that_breaks_off_goes_on_where_it_ended(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "bank")
    server.troubles = [("stop", 1000), ("stop", 500)]
    load("bank", download=True, cache=tmp_path)
    assert [asked for _, asked in server.requests] == [None, "bytes=1000-", "bytes=1500-"]


def test_a_later_call_goes_on_with_what_an_earlier_one_left(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "bank")
    server.troubles = [("stop", 1000), *[("stop", 0)] * 3]
    with pytest.raises(DatasetError, match=r"sent 1,000 of [\d,]+ bytes.*place bank-full\.csv"):
        load("bank", download=True, cache=tmp_path)
    assert uci.names(tmp_path) == ["bank.zip.part", "bank.zip.part.version"]
    seen: list[tuple[int, int | None]] = []
    load("bank", download=True, cache=tmp_path, progress=lambda there, total: seen.append((there, total)))
    assert server.requests[-1][1] == "bytes=1000-"
    size = len(server.files["/" + DATASETS["bank"].archive])
    assert seen[-1] == (size, size)
    assert uci.names(tmp_path) == ["bank.parquet"]


def test_a_part_of_an_older_file_is_thrown_away(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    path = "/" + DATASETS["bank"].archive
    server.files[path] = b"an older file " * 100
    server.troubles = [("stop", 1000), *[("stop", 0)] * 3]
    with pytest.raises(DatasetError):
        load("bank", download=True, cache=tmp_path)
    put(server, monkeypatch, "bank")
    load("bank", download=True, cache=tmp_path)


def test_a_server_without_ranges_sends_all_again(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "bank")
    server.ranges, server.troubles = False, [("stop", 1000)]
    load("bank", download=True, cache=tmp_path)
    assert len(server.requests) == 2


def test_a_server_that_always_stops_at_the_same_place_is_given_up(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "bank")
    server.ranges, server.troubles = False, [("stop", 1000)] * 50
    with pytest.raises(DatasetError, match="sent 1,000 of"):
        load("bank", download=True, cache=tmp_path)
    assert len(server.requests) == 4


def test_a_part_that_was_complete_is_taken(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "bank")
    (tmp_path / "bank.zip.part").write_bytes(server.files["/" + DATASETS["bank"].archive])
    load("bank", download=True, cache=tmp_path)
    assert len(server.requests) == 1


def test_a_part_that_is_too_long_is_thrown_away(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "bank")
    (tmp_path / "bank.zip.part").write_bytes(server.files["/" + DATASETS["bank"].archive] + b"more")
    load("bank", download=True, cache=tmp_path)
    assert [asked is None for _, asked in server.requests] == [False, True]


def test_a_moment_of_trouble_is_waited_out(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "bank")
    server.troubles = [("status", 500), ("status", 503)]
    load("bank", download=True, cache=tmp_path)
    assert len(server.requests) == 3


def test_lasting_trouble_is_an_error(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "bank")
    server.troubles = [("status", 503)] * 9
    with pytest.raises(DatasetError, match=r"127\.0\.0\.1:\d+ answered 503"):
        load("bank", download=True, cache=tmp_path)
    assert len(server.requests) == 3
    assert uci.names(tmp_path) == []


def test_a_file_that_is_not_there_is_asked_for_once(server: uci.Server, tmp_path: pathlib.Path) -> None:
    with pytest.raises(DatasetError, match=r"answered 404 .*222/bank\+marketing\.zip.*place bank-full\.csv"):
        load("bank", download=True, cache=tmp_path)
    assert len(server.requests) == 1


def test_no_network_is_one_clear_message(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("UNITLESS_UCI", f"http://127.0.0.1:{port}/mirror/")
    message = rf"no connection to 127\.0\.0\.1:{port} .*place covtype\.data or .* in {tmp_path}"
    with pytest.raises(ul.InputError, match=message):
        load("covertype", tmp_path / "none", download=True, cache=tmp_path)
    assert uci.names(tmp_path) == []


@pytest.mark.parametrize("base", ["file:///etc", "ftp://host/x", "nonsense"])
def test_only_http(base: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(DatasetError, match="http:// or https://"):
        fetch(DATASETS["bank"], cache=tmp_path, base_url=base)


def test_progress_is_reported_up_to_the_end(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr(transfer, "_PIECE", 1000)
    put(server, monkeypatch, "bank")
    size = len(server.files["/" + DATASETS["bank"].archive])
    seen: list[tuple[int, int | None]] = []
    load("bank", download=True, cache=tmp_path, progress=lambda there, total: seen.append((there, total)))
    assert seen == [(min(k, size), size) for k in range(1000, size + 1000, 1000)]


def test_an_interruption_leaves_no_half_file_in_place(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setattr(transfer, "_PIECE", 1000)
    put(server, monkeypatch, "bank")

    def stop(there: int, _total: int | None) -> None:
        if there >= 2000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load("bank", download=True, cache=tmp_path, progress=stop)
    assert uci.names(tmp_path) == ["bank.zip.part", "bank.zip.part.version"]
    with pytest.raises(MissingDatasetError):
        load("bank", cache=tmp_path)


def test_an_interruption_while_it_is_stored_costs_no_second_transfer(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "bank")

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(pyarrow.parquet, "write_table", stop)
        with pytest.raises(KeyboardInterrupt):
            load("bank", download=True, cache=tmp_path)
    assert uci.names(tmp_path) == ["bank.zip"]
    load("bank", download=True, cache=tmp_path)
    assert len(server.requests) == 1


def test_without_a_known_digest_a_later_change_is_noticed(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    table = put(server, monkeypatch, "msd", whole=False)
    load("msd", download=True, cache=tmp_path)
    assert uci.names(tmp_path) == ["msd.digest.json", "msd.parquet"]
    noted = json.loads((tmp_path / "msd.digest.json").read_text())
    assert noted["sha256"] == content.digest(table)
    assert noted["from"].startswith(server.url)
    load("msd", cache=tmp_path)
    swapped = table.take([1, 0, *range(2, table.num_rows)])
    pyarrow.parquet.write_table(swapped, tmp_path / "msd.parquet")
    with pytest.raises(DatasetError, match="changed since it was downloaded"):
        load("msd", cache=tmp_path)


def test_without_a_known_digest_the_range_is_checked(
    server: uci.Server, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    put(server, monkeypatch, "msd", whole=False)
    monkeypatch.setitem(DATASETS, "msd", dataclasses.replace(DATASETS["msd"], printed_scale=(60, 65_735)))
    with pytest.raises(DatasetError, match="Table 1 has 60"):
        load("msd", download=True, cache=tmp_path)


def test_shuttle_is_bundled_and_not_downloaded(server: uci.Server, tmp_path: pathlib.Path) -> None:
    assert load("shuttle", download=True, cache=tmp_path).source == "bundled with unitless"
    with pytest.raises(DatasetError, match="comes with the package"):
        fetch(DATASETS["shuttle"], cache=tmp_path)
    assert server.requests == []


def test_a_cache_that_cannot_be_made_is_an_error(server: uci.Server, tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DatasetError, match="cannot be stored"):
        fetch(DATASETS["bank"], cache=tmp_path / "file" / "cache")


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("UNITLESS_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "unitless"
    monkeypatch.setenv("UNITLESS_CACHE", str(tmp_path / "own"))
    assert cache_directory() == tmp_path / "own"
    assert cache_directory(tmp_path) == tmp_path


@pytest.mark.parametrize("name", ["bank-full.csv", "inner.gz"])
def test_an_archive_that_holds_too_much_is_refused_before_it_is_unpacked(
    name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MOST_UNPACKED", 3 << 20)
    archive = tmp_path / "bank.zip"
    archive.write_bytes(uci.zipped_files({"small.gz": gzip.compress(b"x" * (2 << 20)), name: bytes(4 << 20)}))
    folder = tmp_path / "unpacked"
    folder.mkdir()
    with pytest.raises(DatasetError, match="the archive contains more than 3,145,728 bytes"):
        archives.extract(archive, "bank-full.csv", folder)
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 3 << 20
