"""Model files are written completely or not at all, and every value in them is validated."""

from __future__ import annotations

import json
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from streams import stream

import unitless as ul
from unitless.models import file as model_file


def model(**options: object) -> ul.Learner:
    m = ul.Learner(**options)
    X, y = stream(features=5)
    m.learn(X, y)
    return m


DATA = model_file.to_bytes(model())


def forged(data: bytes = DATA, **changes: object) -> bytes:
    """A file with other content and a matching digest: only validation can refuse it."""
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["unitless"])
    arrays = safetensors.numpy.load(data)
    for key, value in changes.items():
        if key in arrays:
            arrays[key] = np.asarray(value)
        elif key in header["options"]:
            header["options"][key] = value
        else:
            header[key] = value
    header.pop("digest", None)
    header["digest"] = model_file._digest(header, arrays)
    return safetensors.numpy.save(arrays, {"unitless": json.dumps(header)})


def test_a_forgery_without_changes_is_a_model() -> None:
    assert model_file.from_bytes(forged()).weights == model().weights


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 0},
        {"version": 2},
        {"version": None},
        {"surprise": 1},
        {"kept": "averaged"},
        {"averaged_t": "0x1p-3"},
        {"next_look": 3},
        {"next_look": 0.0},
        {"average": np.ones(6)},
        {"average_scale": np.ones(6)},
        {"proven_scales": np.ones(1)},
        {"window_features": np.ones(1, np.uint32)},
        {"windows": np.ones(9)},
        {"suspended_at": "0x1p+60"},
        {"suspended_at": 1.0},
        {"missed": "-0x1p+0"},
        {"settled": "curves"},
        {"ensemble": "newton"},
        {"rule": "adam"},
        {"learning_rate": -1},
        {"options": {}},
        {"options": {"rule": "nag", "surprise": 1}},
        {"options": []},
        {"t": "nan"},
        {"t": "inf"},
        {"t": -1},
        {"N": None},
        {"label_min": "nan"},
        {"examples": -1},
        {"examples": 1.5},
        {"examples": 2**70},
        {"negative": 3},
        {"columns": -1},
        {"columns": 2**40},
        {"columns": 2},
        {"names": ["a", "b"]},
        {"columns": None, "names": ["a", "a", "b", "c", "d"]},
        {"columns": None, "names": [1, 2, 3, 4, 5]},
        {"columns": None, "names": "abcde"},
        {"scale": np.array([1.0, 0.0, 1.0, 1.0, 1.0, 1.0])},
        {"scale": np.array([1.0, np.nan, 1.0, 1.0, 1.0, 1.0])},
        {"scale": np.ones(6, np.float32)},
        {"scale": np.ones(5)},
        {"v": np.full(6, np.inf)},
        {"v": np.ones((6, 1))},
        {"H": -np.ones(6)},
        {"slots": np.array([0, 1, 2, 3, 4, 99], np.uint32)},
        {"slots": np.array([0, 1, 1, 3, 4, 5], np.uint32)},
        {"slots": np.array([0, 2, 1, 3, 4, 5], np.uint32)},
        {"slots": np.arange(6)},
        {"bits": 10},
        {"bits": 99},
        {"lane_heads": np.array([16], np.uint32)},
        {"lane_rates": np.array([1], np.uint32)},
        {"scores": np.zeros(6)},
        {"followed": np.zeros(1)},
        {"errors": np.zeros(1)},
        {"scale": np.array([5e-324, 1.0, 1.0, 1.0, 1.0, 1.0])},
        {"scale": np.array([2.0, 1.0, 1.0, 1.0, 1.0, 1.0])},
        {"bias": False},
        {"training": []},
        {"training": {}},
        {"quantile": float("inf")},
        {"center": True, "center_features": np.array([1, 5], np.uint32)},
    ],
    ids=str,
)
def test_a_file_made_to_mislead_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ul.ModelFileError):
        model_file.from_bytes(forged(**changes))


def test_a_file_of_another_format_is_refused_by_its_version() -> None:
    with pytest.raises(ul.ModelFileError, match="a model of format 2; this version of unitless reads format 1"):
        model_file.from_bytes(forged(version=2, surprise=None))


def test_a_file_has_all_options_of_a_learner_and_no_other() -> None:
    length = struct.unpack("<Q", DATA[:8])[0]
    header = json.loads(json.loads(DATA[8 : 8 + length])["__metadata__"]["unitless"])
    rare = {"n_trees": 64, "max_leaves": 256, "tree_patience": 0}  # named only where they are not the defaults
    assert header["options"] | rare == ul.Learner().options.asdict()
    without = {name: value for name, value in header["options"].items() if name != "l2"}
    for options in (without, {**header["options"], "surprise": 1}, header["options"] | rare):
        with pytest.raises(ul.ModelFileError, match=r"options|surprise"):
            model_file.from_bytes(forged(options=options))


def rich() -> ul.OneVsAll:
    rng = np.random.default_rng(0)
    m = ul.OneVsAll(interactions=2, center=True)
    m.learn(rng.normal(size=(60, 3)), np.array(["p", "q", "r"])[rng.integers(0, 3, 60)])
    return m


U32 = np.uint32


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "Surprise"},
        {"kind": "Learner"},
        {"open": 2},
        {"open": False},
        {"labels": ["p", "q"]},
        {"labels": ["p", "q", "q"]},
        {"labels": ["p", "q", None]},
        {"labels": "pqr"},
        {"labels": None},
        {"lane_heads": np.zeros(64, U32)},
        {"lane_rates": np.full(64, 99, U32)},
        {"lane_rates": np.zeros(64, U32)},
        {"scores": np.full(64 * 6, np.nan)},
        {"scores": np.full(64 * 6, -np.inf)},
        {"scores": np.zeros(12)},
        {"followed": np.zeros(1)},
        {"followed": np.full(4, -1.0)},
        {"errors": np.zeros(3)},
        {"target": np.zeros(3)},
        {"target": np.array([0, 0, 0, 0, -1.0])},
        {"target": np.array([7, 0, 0, 0, 0.0])},
        {"products": np.array([1, 2, 4, 1, 2, 5], U32)},
        {"products": np.array([0, 2, 4], U32)},
        {"products": np.array([1, 2, 4, 1, 3, 9], U32)},
        {"products": np.array([1, 2, 1], U32)},
        {"products": np.array([1, 2], U32)},
        {"center_features": np.array([0, 1, 2], U32)},
        {"center_features": np.array([1, 1, 2], U32)},
        {"center_features": np.array([1, 2, 9], U32)},
        {"center_kinds": np.array([0, 1, 2], U32)},
        {"center_means": np.full(6, np.nan)},
        {"center_means": np.full(6, -1.0)},
        {"center_means": np.zeros(4)},
        {"center": False},
        {"interactions": None},
        {"bits": 10},
        {"label_min": "inf", "label_max": "inf"},
    ],
    ids=" ".join,
)
def test_a_model_of_many_parts_made_to_mislead_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ul.ModelFileError):
        model_file.from_bytes(forged(model_file.to_bytes(rich()), **changes))


def test_a_forgery_of_many_parts_without_changes_is_a_model() -> None:
    assert model_file.to_bytes(model_file.from_bytes(forged(model_file.to_bytes(rich())))) == model_file.to_bytes(
        rich()
    )


@given(length=st.integers(0, len(DATA) - 1))
def test_a_truncated_file_is_refused(length: int) -> None:
    with pytest.raises(ul.ModelFileError):
        model_file.from_bytes(DATA[:length])


@given(position=st.integers(0, len(DATA) - 1), flip=st.integers(1, 255))
def test_an_altered_file_is_refused_or_unharmed(position: int, flip: int) -> None:
    altered = bytearray(DATA)
    altered[position] ^= flip
    try:
        m = model_file.from_bytes(bytes(altered))
    except ul.ModelFileError:
        return
    assert model_file.to_bytes(m) == DATA  # white space in the header


def merged_data() -> bytes:
    return model_file.to_bytes(ul.merge([model(center=True, learning_rate=0.5) for _ in range(2)]))


@pytest.mark.parametrize(
    "changes",
    [
        {"slopes": np.zeros(4)},
        {"slopes": np.full(5, np.nan)},
        {"slopes": np.zeros(5, np.float32)},
        {"center_kinds": np.zeros(5, np.uint32)},
    ],
    ids=str,
)
def test_slopes_that_no_merge_has_made_are_refused(changes: dict[str, object]) -> None:
    data = merged_data()
    assert len(model_file.from_bytes(forged(data))._snapshot()["slopes"]) == 5
    with pytest.raises(ul.ModelFileError, match=r"slopes|arrays of the wrong type"):
        model_file.from_bytes(forged(data, **changes))


@given(junk=st.binary(max_size=200))
def test_junk_is_refused(junk: bytes) -> None:
    with pytest.raises(ul.ModelFileError):
        model_file.from_bytes(junk)


def test_another_safetensors_file_is_refused() -> None:
    other = safetensors.numpy.save({"weight": np.ones(3)}, {"format": "pt"})
    with pytest.raises(ul.ModelFileError, match="this is not a model file of unitless"):
        model_file.from_bytes(other)


def test_the_message_names_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("shopping")
    with pytest.raises(ul.ModelFileError, match=r"notes\.txt: this is not a model file of unitless"):
        ul.load(path)
    with pytest.raises(ul.ModelFileError, match=r"there is no file .*missing"):
        ul.load(tmp_path / "missing")
    with pytest.raises(ul.ModelFileError, match="cannot write the model"):
        model().save(tmp_path / "no such folder" / "m.unitless")


def test_a_failed_save_leaves_the_old_model_and_no_litter(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.unitless"
    model().save(path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ul.ModelFileError, match="No space left on device"):
        model(rule="snag").save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.unitless"]


def test_a_damaged_pickle_is_refused() -> None:
    data = pickle.dumps(model())
    at = data.index(DATA) + len(DATA) - 3
    with pytest.raises(ul.ModelFileError, match="damaged"):
        pickle.loads(data[:at] + b"\xff" + data[at + 1 :])


def test_everything_survives_the_file(tmp_path: pathlib.Path) -> None:
    m = ul.Learner("snag", "quantile", 0.3, quantile=0.8, clip="labels", bias=False, importance_aware=False)
    m.learn([{"größe": 1.0, "b": 2.0}], [5.0])
    m.save(tmp_path / "m.unitless")
    same = ul.load(tmp_path / "m.unitless")
    assert same.options == m.options
    assert same.weights == m.weights
    assert same.scales == m.scales
    assert (same.examples, same.total_weight) == (1, 1.0)
    assert repr(same) == repr(m)


def test_a_large_hashed_model_is_small_on_disk_and_in_memory(tmp_path: pathlib.Path) -> None:
    m = ul.Learner(bits=24)
    assert m.nbytes < 33 * 2**24
    for j in range(100):
        m.learn_one({f"feature {j}": 1.0}, 1.0)
    m.save(tmp_path / "m.unitless")
    assert os.path.getsize(tmp_path / "m.unitless") < 10_000


def test_the_smallest_value_that_a_feature_can_have_is_a_scale(tmp_path: pathlib.Path) -> None:
    """A file with this scale is not forged: a learner accepts every number that is not zero."""
    m = ul.Learner()
    m.learn([[5e-324], [5e-324]], [1.0, 2.0])
    m.save(tmp_path / "m.unitless")
    same = ul.load(tmp_path / "m.unitless")
    assert same.scales == m.scales == {"(bias)": 1.0, 0: 5e-324}
    assert same.predict([[5e-324], [1.0]]).tolist() == m.predict([[5e-324], [1.0]]).tolist()


def test_a_sweep_of_many_rates_and_classes_needs_as_many_lanes() -> None:
    sweep = ul.Sweep([0.1, 1.0], classes=["a", "b"])
    data = model_file.to_bytes(sweep)
    rates, labels = [float.hex(0.5 + k) for k in range(2000)], [f"c{k}" for k in range(20_000)]
    start = time.process_time()
    with pytest.raises(ul.ModelFileError, match="lanes"):
        model_file.from_bytes(forged(data, rates=rates, labels=labels))
    assert time.process_time() - start < 2


def test_models_know_files_and_files_do_not_know_models() -> None:
    code = "import sys, unitless.models.file; print(*(m for m in sys.modules if m.startswith('unitless.models.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    known = {"file", "file_checks", "foreign", "kernels", "target_state"}
    assert set(done.stdout.split()) == {f"unitless.models.{name}" for name in known}


@pytest.mark.parametrize("made", [ul.Learner(), ul.OneVsAll(), ul.OneVsAll(["a", "b"]), ul.Sweep([0.1, 1.0])])
def test_a_subclass_is_saved_as_the_kind_of_model_that_it_is(made: Any) -> None:
    kind = type(made)
    made.__class__ = type("Own", (kind,), {})
    assert type(model_file.from_bytes(model_file.to_bytes(made))) is kind


@pytest.fixture(scope="module")
def trees() -> ul.Learner:
    rng = np.random.default_rng(0)
    model = ul.Learner(model_type="trees", learning_rate="auto")
    X = rng.normal(size=(2000, 4))
    model.learn(X, X[:, 0] * X[:, 1])
    return model


def test_a_file_of_trees_is_compressed_and_reads_as_before(trees: ul.Learner, tmp_path: pathlib.Path) -> None:
    trees.save(tmp_path / "m.unitless")
    loaded = ul.load(tmp_path / "m.unitless")
    assert model_file.to_bytes(loaded) == model_file.to_bytes(trees)
    assert (tmp_path / "m.unitless").stat().st_size < 0.5 * len(model_file.to_bytes(trees))


@pytest.mark.parametrize("compression", ["zstd", "xz", None])
@pytest.mark.parametrize("size", [1, 10**3, 2**33, 2**40, -1, "1"])
def test_a_compressed_file_with_a_wrong_size_is_refused(trees: ul.Learner, compression: Any, size: Any) -> None:
    packed = safetensors.numpy.load(model_file._packed(model_file.to_bytes(trees), compression or "xz"))
    header = {"version": 1, "size": size, "compression": compression}
    with pytest.raises(ul.ModelFileError):
        model_file.from_bytes(safetensors.numpy.save(packed, {"unitless": json.dumps(header)}))


@given(st.floats(0, 1), st.integers(1, 255))
def test_an_altered_compressed_file_is_refused(trees: ul.Learner, where: float, flip: int) -> None:
    data = bytearray(model_file._packed(model_file.to_bytes(trees), "zstd"))
    position = 300 + int(where * (len(data) - 301))
    data[position] ^= flip
    with pytest.raises(ul.ModelFileError):
        model_file.from_bytes(bytes(data))
