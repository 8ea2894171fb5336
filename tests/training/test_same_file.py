"""A model file depends only on the data and the options."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sources import write

import unitless as ul
from unitless.data.read_options import ReadOptions
from unitless.data.sources.file_identity import PIECE, PIECES, identity_of, label_of
from unitless.data.sources.files import File, find
from unitless.data.sources.open_data import open_source
from unitless.models import file as model_file

TIMES = re.compile(r"second|time|when|created|clock", re.IGNORECASE)


def frame(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    word = rng.choice(["red", "green", "blue", "grey"], rows)
    size, heat = rng.gamma(2.0, 1e-4, rows), rng.normal(300.0, 20.0, rows)
    price = 4e4 * size + np.sin(heat / 10) + (word == "red") + 0.1 * rng.normal(size=rows)
    found = pd.DataFrame({"size": size, "heat": heat, "word": word, "price": price})
    found.loc[::17, "heat"] = np.nan
    found["class"] = np.array(["low", "middle", "high"])[np.digitize(price, [0.0, 1.5])]
    return found


FRAME = frame()
TEXT = FRAME.to_csv(index=False).replace("\n", "\nbroken,row\n", 1)  # a skipped row with a known place
# The program that trains in a separate process. Arguments: the folder, the model file, the number of threads.
SCRIPT = """
import json, sys
import unitless as ul
folder, model, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
reading, cluster = ul.Reading(on_error="skip", **options.pop("reading")), options.pop("cluster", None)
cluster = None if cluster is None else ul.Cluster(**cluster)
files, target = f"{folder}/{options.pop('files')}", options.pop("target")
ul.train(files, target, output=model, reading=reading, cluster=cluster, **options)
"""
WAYS: dict[str, dict[str, Any]] = {
    "fitted": {"files": "a.csv", "target": "price", "reading": {"ignore": "class"}},
    "classes": {
        "files": "a.csv",
        "target": "class",
        "reading": {"ignore": "price"},
        "passes": 2,
        "model_type": "linear",
    },
    "followed": {"files": "a.csv", "target": "price", "reading": {"ignore": "class"}, "shuffle": False},
    "in columns": {
        "files": "a.parquet",
        "target": "price",
        "reading": {"ignore": "class"},
        "model_type": "trees",
        "ensemble": False,
    },
    "several files": {
        "files": "year=*/*.csv",
        "target": "price",
        "reading": {"ignore": "class"},
        "model_type": "linear",
    },
    "in parts": {
        "files": "year=*/*.csv",
        "target": "price",
        "reading": {"ignore": "class"},
        "cluster": {"partitions": 2, "sync_rounds": 2},
        "passes": 1,
    },
}


def data(folder: Path) -> Path:
    write(folder / "a.csv", TEXT)
    FRAME.to_parquet(folder / "a.parquet", row_group_size=700)
    for year in (2020, 2021):
        part = FRAME[(year - 2020) * 1500 : (year - 2019) * 1500]
        write(folder / f"year={year}" / "part.csv", part.to_csv(index=False))
    return folder


def content(file: Path) -> bytes:
    """The content of a model file, decompressed."""
    return model_file.to_bytes(model_file.load(file))


def header(file: Path) -> dict[str, Any]:
    stored = content(file)
    length = int.from_bytes(stored[:8], "little")
    return json.loads(json.loads(stored[8 : 8 + length])["__metadata__"]["unitless"])  # type: ignore[no-any-return]


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("way", WAYS)
def test_other_folders_times_threads_and_hash_seeds_give_the_same_bytes(way: str, tmp_path: Path) -> None:
    found = []
    for number, place in enumerate(("one", "quite/another place")):
        folder = data(tmp_path / place)
        workers = {"cluster": {**WAYS[way]["cluster"], "workers": 1 + number}} if way == "in parts" else {}
        arguments = [str(folder), str(tmp_path / f"{number}.unitless"), json.dumps({**WAYS[way], **workers})]
        settings = {"PYTHONHASHSEED": str(1 + number), "UNITLESS_THREADS": str(1 + 2 * number)}
        command = [sys.executable, "-c", SCRIPT, *arguments]
        subprocess.run(command, check=True, timeout=120, capture_output=True, env={**os.environ, **settings})
        found.append(tmp_path / f"{number}.unitless")
    first, second = (file.read_bytes() for file in found)
    assert first == second
    for part in ("quite", "another place", tmp_path.name, "seconds"):
        assert part.encode() not in content(found[0])
    assert not [key for key in keys(header(found[0])) if TIMES.search(key)]
    names = [name for name, size, digest in header(found[0])["training"]["source"] if size and digest]
    several = ["year=2020/part.csv", "year=2021/part.csv"]
    assert names == (several if "*" in WAYS[way]["files"] else [WAYS[way]["files"]])


def test_a_run_that_was_interrupted_ends_with_the_same_bytes(tmp_path: Path) -> None:
    path, whole, killed = write(tmp_path / "a.csv", TEXT), tmp_path / "whole", tmp_path / "killed"
    skip = ul.Reading(on_error="skip")
    options: dict[str, Any] = {"reading": ul.Reading(on_error="skip", ignore="class"), "shuffle": False}

    def stop(run: Any) -> None:
        if run.progress.rows >= 1000:
            raise KeyboardInterrupt

    ul.train(path, "price", output=whole, **options)
    with pytest.raises(KeyboardInterrupt):
        ul.train(path, "price", output=killed, checkpoint=500, progress=stop, **options)
    assert not header(killed)["training"]["progress"]["done"]
    for part in (str(tmp_path), "seconds"):
        assert part.encode() not in content(killed)
    ul.train(path, resume=killed, output=killed, reading=skip, shuffle=False)
    assert killed.read_bytes() == whole.read_bytes()


def test_times_are_in_the_result(tmp_path: Path) -> None:
    result = ul.train(FRAME, "price", reading=ul.Reading(ignore="class"), model_type="linear")
    assert result.seconds > 0
    assert result.asdict()["rows_per_second"] > 0
    result.report(tmp_path / "report.html")
    assert f"{result.seconds:.2f} s" in (tmp_path / "report.html").read_text()


def test_merged_models_are_the_same_too(tmp_path: Path) -> None:
    found = []
    for place in ("one", "two"):
        folder = data(tmp_path / place)
        parts = [
            ul.train(
                folder / f"year={year}",
                "price",
                reading=ul.Reading(ignore=["class", "year"]),
                model_type="linear",
                ensemble=False,
            ).model
            for year in (2020, 2021)
        ]
        ul.merge(parts).save(tmp_path / place / "merged.unitless")
        found.append((tmp_path / place / "merged.unitless").read_bytes())
    assert found[0] == found[1]
    assert b"seconds" not in found[0]


# ------------------------------------------------------------------------------------------------ digests


def test_a_digest_of_a_large_file_reads_pieces_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = np.random.default_rng(0).bytes(10 * PIECES * PIECE)
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    read: list[int] = []

    class Counting:
        def __init__(self, file: File) -> None:
            self._file = open(file.path, "rb")  # noqa: SIM115

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None:
            self._file.close()

        def seek(self, place: int) -> None:
            self._file.seek(place)

        def read(self, size: int) -> bytes:
            read.append(size)
            return self._file.read(size)

    monkeypatch.setattr(File, "open", lambda file: Counting(file))  # noqa: PLW0108  (a class is no method)
    name, size, digest = identity_of(File(str(path)))
    assert (name, size) == ("a.csv", len(content))
    assert sum(read) == PIECES * PIECE
    for place in (0, len(content) - 1):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        assert identity_of(File(str(path)))[2] != digest


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/home/me/secret/a.csv", "a.csv"),
        ("a.csv", "a.csv"),
        ("/data/year=2020/month=01/part.csv", "year=2020/month=01/part.csv"),
        ("s3://bucket/folder/a.parquet", "a.parquet"),
        ("-", "-"),
    ],
)
def test_stored_names_do_not_contain_folders(path: str, label: str) -> None:
    assert label_of(path) == label


def test_addresses_with_passwords_are_not_stored(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", TEXT)
    (file,) = find(f"file://{tmp_path}/a.csv")
    assert identity_of(file) == identity_of(File(str(tmp_path / "a.csv")))


def test_files_in_archives_are_recognized_without_being_unpacked_twice(tmp_path: Path) -> None:
    found = []
    for number, text in enumerate((TEXT, TEXT, TEXT.replace("red", "rot"))):
        path = tmp_path / str(number) / "a.zip"
        path.parent.mkdir()
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo("inner/a.csv", (2000 + number, 1, 1, 0, 0, 0)), text)
        found.append(open_source(str(path), ReadOptions()).identity)
    assert found[0] == found[1] != found[2]
    assert found[0][0][0] == "a.csv"
