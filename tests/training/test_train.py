"""Training: labels of every kind, weights, sorted files, hold-outs, bad rows; reports, and constant memory."""

from __future__ import annotations

import functools
import gzip
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sources import command, content, facts, json_lines, mappings, refused, set_chunk, table, train, write

import unitless as ul
from unitless.cli import main
from unitless.data.rows.random_order import hashes

PAIRS = [
    *(("0", "1"), ("-1", "1"), ("no", "yes"), ("No", "Yes"), ("false", "true"), ("False", "True"), ("n", "y")),
    *(("neg", "pos"), ("ham", "spam"), ("1", "2"), ("0.5", "1.5")),
]


def two_classes(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.normal(size=rows)
    return pd.DataFrame({"x": x, "z": rng.normal(size=rows), "k": (x > 0).astype(int)})


@functools.cache
def of_two_classes() -> ul.TrainResult:
    return train(two_classes(), "k")


def csv_of(frame: pd.DataFrame, pair: tuple[str, str]) -> str:
    return frame.assign(y=[pair[k] for k in frame["k"]]).drop(columns="k").to_csv(index=False)


# ------------------------------------------------------------------------------------------------ labels


@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "pandas", "mappings"])
def test_two_labels_of_any_kind_are_learned_alike_and_reported(
    pair: tuple[str, str], kind: str, tmp_path: Path
) -> None:
    frame, expected = two_classes(), of_two_classes()
    number, boolean = pair[0].strip("-.0123456789") == "", pair[0].lower() == "false"
    convert: Any = float if number else (lambda v: v.lower() == "true") if boolean else str
    told = pair if not boolean or kind == "csv" else ("false", "true")  # text stays as it is spelled
    held = frame.assign(y=[convert(pair[k]) for k in frame["k"]]).drop(columns="k")
    source: Any = {"pandas": held, "mappings": mappings(held)}.get(kind)
    if kind == "csv":
        source = write(tmp_path / "a.csv", csv_of(frame, pair))
    if kind == "jsonl":
        source = write(tmp_path / "a.jsonl", json_lines(held))
    center = False if kind == "mappings" else None
    result = train(source, "y", center=center)
    assert result.task == f"binary: is it {told[1]!r} (positive) or {told[0]!r} (negative)?"
    assert result.model.options.loss == "logistic"
    if kind != "mappings":
        assert result.metrics == expected.metrics
        assert result.model.weights == expected.model.weights
    predicted = [str(p) for p in result.predict(source)]
    right = [p.lower() == pair[k].lower() for p, k in zip(predicted, frame["k"], strict=True)]
    assert np.mean(right) > 0.9


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if "rue" not in pair[1]], ids="/".join)
def test_a_third_label_later_is_refused_with_its_place(
    pair: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    third = "7" if pair[0].strip("-.0123456789") == "" else "maybe"
    path = write(tmp_path / "a.csv", csv_of(two_classes(), pair) + f"1,2,{third}\n" + csv_of(two_classes(), pair)[6:])
    set_chunk(monkeypatch, 3000)
    with pytest.raises(ul.InputError, match=rf"a\.csv, row 401: .*'?{third}'?.*"):
        train(path, "y", shuffle=False)
    skipped = train(path, "y", reading=ul.Reading(on_error="skip"), shuffle=False)
    assert skipped.details.skipped == 1
    if pair[0].lower() != "false" and "." not in pair[0]:  # in random order it is one of the labels that decide
        assert train(path, "y").details.target.task == "classes"
    assert skipped.rows + skipped.details.skipped in (801, 802)
    assert "row 401" in skipped.details.skipped_rows[0]


@pytest.mark.parametrize("order", [1, -1], ids=["up", "down"])
@pytest.mark.parametrize("pair", PAIRS[:8], ids="/".join)
def test_files_sorted_by_label_train(
    pair: tuple[str, str], order: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = two_classes().sort_values("k", ascending=order > 0, kind="stable")
    path = write(tmp_path / "a.csv", csv_of(frame, pair))
    set_chunk(monkeypatch, 2000)  # the first piece has one label only
    result = train(path, "y", loss="logistic")
    assert result.details.target.task == "binary"
    assert [str(c).lower() for c in result.predictor.classes] == [p.lower() for p in pair]


@pytest.mark.parametrize("order", [1, -1], ids=["up", "down"])
@pytest.mark.parametrize("pair", [("False", "True"), ("-1", "1"), ("0", "1")], ids="/".join)
def test_sorted_labels_that_can_only_be_two_are_a_binary_task_unasked(
    pair: tuple[str, str], order: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = two_classes().sort_values("k", ascending=order > 0, kind="stable")
    path = write(tmp_path / "a.csv", csv_of(frame, pair))
    set_chunk(monkeypatch, 2000)
    assert ul.train(path, "y").details.target.task == "binary"


def test_the_positive_label_is_the_one_asked_for() -> None:
    frame = two_classes().assign(k=lambda f: f["k"].map({0: "ham", 1: "spam"}))
    result = ul.train(frame, "k", positive="ham")
    assert result.task == "binary: is it 'ham' (positive) or 'spam' (negative)?"
    assert result.predictor.classes == ["spam", "ham"]
    with pytest.raises(ul.OptionError, match=r"positive is 'egg', but the target is '(ham|spam)' or '(spam|ham)'"):
        ul.train(frame, "k", positive="egg")


def test_tasks_are_found_out_or_as_asked() -> None:
    x = np.arange(60.0)

    def task(y: Any, **options: Any) -> str:
        return ul.train(pd.DataFrame({"x": x, "y": y}), "y", **options).details.target.task

    assert task(x * 0.5) == "regression"
    assert task((x % 3).astype(int)) == "classes"
    assert task([f"c{k % 4}" for k in range(60)]) == "classes"
    assert task((x % 2).astype(int)) == "binary"
    assert task((x % 2).astype(int), loss="squared") == "regression"
    assert task((x % 2).astype(int), task="classes") == "classes"
    assert task((x % 3).astype(int), task="regression") == "regression"
    with pytest.raises(ul.InputError, match="more than two values"):
        task((x % 3).astype(int), task="binary")
    with pytest.raises(ul.OptionError, match="loss 'logistic' is for classes"):
        task(x * 0.5, loss="logistic", task="regression")
    with pytest.raises(
        ul.InputError, match=r"the target 'y' is text, such as 'c0'; regression predicts numbers; leave out task"
    ):
        task([f"c{k % 4}" for k in range(60)], task="regression")


@pytest.mark.parametrize("label", [float("inf"), float("-inf"), 1e308 * 10])
@pytest.mark.parametrize("kind", ["csv", "pandas", "mappings", "jsonl"])
def test_an_infinite_label_is_refused_with_its_place_or_skipped(label: float, kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(50.0), "y": np.arange(50) + 0.5})
    frame.loc[7, "y"] = label
    text = {"csv": frame.to_csv(index=False), "jsonl": json_lines(frame)}.get(kind, "")
    source: Any = frame if kind == "pandas" else mappings(frame) if kind == "mappings" else None
    source = source if source is not None else write(tmp_path / f"a.{kind}", text)
    with pytest.raises(
        ul.InputError, match=r"(row|line) 8: the target is|the target is -?inf at row 8; labels must be finite"
    ):
        ul.train(source, "y")
    assert ul.train(source, "y", reading=ul.Reading(on_error="skip")).details.skipped == 1


@pytest.mark.parametrize("kind", ["csv", "pandas", "mappings", "jsonl"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_a_row_without_label_is_counted_and_not_learned(kind: str, shuffle: bool, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": np.arange(50.0), "y": np.arange(50) + 0.5})
    frame.loc[7, "y"] = np.nan
    text = {"csv": frame.to_csv(index=False), "jsonl": json_lines(frame)}.get(kind, "")
    source: Any = frame if kind == "pandas" else mappings(frame) if kind == "mappings" else None
    source = source if source is not None else write(tmp_path / f"a.{kind}", text)
    result = ul.train(source, "y", shuffle=shuffle)
    assert (result.rows, result.details.unlabeled, result.details.learned, result.details.skipped) == (50, 1, 49, 0)


def test_vw_text_has_labels_weights_tags_and_rows_without_label(tmp_path: Path) -> None:
    frame = two_classes()
    lines = [
        f"{2 * k - 1} {1 + n % 3} tag{n}|a x:{x!r} |b z:{z!r}" for n, (x, z, k) in enumerate(frame.to_numpy().tolist())
    ]
    lines = [re.sub(r"^(-?\d)\.0", r"\1", line) for line in lines]
    plain = ul.train(write(tmp_path / "a.vw", "\n".join(lines)), ensemble=False)
    assert plain.task == "binary: is it '1' (positive) or '-1' (negative)?"
    rows = frame.rename(columns={"x": "a^x", "z": "b^z"}).assign(w=1 + np.arange(400) % 3)
    expected = ul.train(rows, "k", weight="w", center=False, model_type="linear", ensemble=False)
    assert plain.progressive == expected.progressive
    with_gaps = [one for line in lines for one in (line, "| x:1 never:5")]
    result = ul.train(write(tmp_path / "b.vw", "\n".join(with_gaps)), ensemble=False)
    assert (result.rows, result.details.unlabeled, result.details.learned) == (800, 400, 400)
    assert result.progressive == plain.progressive
    assert sorted(result.model.weights.values()) == sorted(plain.model.weights.values())


def test_weights_count_rows_and_zero_is_as_good_as_not_there(tmp_path: Path) -> None:
    frame = table(300).drop(columns="extreme")
    weight = np.arange(300) % 3
    with_zeros = ul.train(frame.assign(w=weight), "y", weight="w")
    without = ul.train(frame.assign(w=weight)[weight > 0], "y", weight="w")
    assert content(with_zeros.model) == content(without.model)
    assert with_zeros.details.learned == without.details.learned
    beside = ul.train(frame, "y", weight=weight)
    assert content(beside.model) == content(with_zeros.model)
    path = write(tmp_path / "a.csv", frame.assign(w=np.where(np.arange(300) == 30, -1, weight)).to_csv(index=False))
    with pytest.raises(ul.InputError, match=r"a\.csv, row 31: weight is -1; weights must be between"):
        ul.train(path, "y", weight="w")
    assert ul.train(path, "y", weight="w", reading=ul.Reading(on_error="skip")).details.skipped == 1


# ------------------------------------------------------------------------------------------------ hold-out, passes


@pytest.mark.parametrize("kind", ["numbers", "two", "classes"])
def test_rows_that_are_held_back_from_a_stream_are_never_learned(kind: str) -> None:
    frame = table(500).drop(columns="extreme")
    if kind != "numbers":
        frame["y"] = [f"c{k % (2 if kind == 'two' else 4)}" for k in range(500)]
    result = ul.train(frame, "y", holdout=0.3, random_state=5, shuffle=False)
    held = hashes(5, 0, 500) < np.uint64(int(0.3 * 2**64))
    assert 100 < held.sum() < 200
    rest = ul.train(frame[~held], "y", shuffle=False)
    assert content(result.model) == content(rest.model)
    assert result.progressive == rest.progressive
    assert (result.details.held_out, result.details.learned) == (held.sum(), 500 - held.sum())
    assert facts(ul.train(frame, "y", holdout=0.3, random_state=5, shuffle=False)) == facts(result)
    assert facts(ul.train(frame, "y", holdout=0.3, random_state=6, shuffle=False)) != facts(result)
    assert result.metrics == ul.evaluate(result.model, frame[held]).metrics
    assert set(result.metrics) == set(result.progressive)


def test_the_same_rows_are_held_out_wherever_pieces_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table(500)
    path = write(tmp_path / "a.csv", frame.to_csv(index=False))
    expected = facts(ul.train(frame, "y", holdout=0.2))
    set_chunk(monkeypatch, 3000)
    assert facts(ul.train(path, "y", holdout=0.2)) == expected


@pytest.mark.parametrize("rows", [1, 3])
def test_a_hold_out_of_no_rows_is_no_problem(rows: int) -> None:
    frame = pd.DataFrame({"x": np.arange(float(rows)), "y": np.arange(rows) + 0.5})
    result = ul.train(frame, "y", holdout=1e-6, task="regression")
    json.dumps(result.asdict(), allow_nan=False)
    repr(result)


def test_a_second_pass_goes_on_with_the_same_rows() -> None:
    frame = table(300)
    twice = ul.train(pd.concat([frame, frame]), "y", shuffle=False)
    passes = ul.train(frame, "y", passes=2, shuffle=False)
    # Errors on rows that were learned before do not count.
    assert content(passes.model, errors=False) == content(twice.model, errors=False)
    assert passes.progressive == ul.train(frame, "y", shuffle=False).progressive
    with pytest.raises(ul.OptionError, match="can be read only once"):
        ul.train(iter(mappings(frame)), "y", passes=2)


# ------------------------------------------------------------------------------------------------ bad rows


BAD_CSV = {
    "too few cells": "1.5,2\n",
    "too many cells": "1,2,3,4,5\n",
    "an infinite target": "1.5,true,w1,inf\n",
}


@pytest.mark.parametrize("bad", BAD_CSV)
@pytest.mark.parametrize("chunk", [500, 1 << 20])
def test_bad_rows_are_named_or_skipped_and_counted(
    bad: str, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = "n,f,t,y\n"
    rows = [f"{k}.25,{str(k % 2 == 0).lower()},w{k % 3},{k}.5\n" for k in range(2, 202)]
    clean = write(tmp_path / "clean.csv", head + "".join(rows))
    path = write(
        tmp_path / "a.csv.gz",
        gzip.compress((head + "".join([*rows[:120], BAD_CSV[bad], "\n", *rows[120:], BAD_CSV[bad]])).encode()),
    )
    set_chunk(monkeypatch, chunk)
    with pytest.raises(ul.InputError, match=r"a\.csv\.gz, row 121\b"):
        ul.train(path, "y")
    result = ul.train(path, "y", reading=ul.Reading(on_error="skip"))
    assert result.details.skipped == 2
    assert [re.search(r"row (\d+)", message)[1] for message in result.details.skipped_rows] == ["121", "202"]  # type: ignore[index]
    expected = ul.train(clean, "y")
    assert content(result.model) == content(expected.model)
    assert result.progressive == expected.progressive


BAD_JSON = {
    "no json": "{oops\n",
    "an array": "[1, 2]\n",
    "a list": '{"n": [1], "t": "u", "y": 3.5}\n',
    "a key twice": '{"n": 1, "n": 2, "t": "u", "y": 3.5}\n',
}


@pytest.mark.parametrize("bad", BAD_JSON)
def test_bad_lines_of_json_are_named_or_skipped_and_counted(
    bad: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [json.dumps({"n": k + 0.25, "t": f"w{k % 3}", "y": k + 0.5}) + "\n" for k in range(200)]
    clean = write(tmp_path / "clean.jsonl", "".join(rows))
    path = write(tmp_path / "a.jsonl", "".join([*rows[:120], "\n", BAD_JSON[bad], *rows[120:]]))
    set_chunk(monkeypatch, 500)
    with pytest.raises(ul.InputError, match=r"a\.jsonl, line 122\b"):
        ul.train(path, "y")
    result = ul.train(path, "y", reading=ul.Reading(on_error="skip"))
    assert result.details.skipped == 1
    assert "line 122" in result.details.skipped_rows[0]
    assert content(result.model) == content(ul.train(clean, "y").model)


@pytest.mark.parametrize("bad", ["1 | a:1x", "x | a:1", "1 -2 | a:1", "1 | a:nan"])
def test_bad_lines_of_vw_text_are_named_or_skipped_and_counted(bad: str, tmp_path: Path) -> None:
    rows = [f"{k % 2} | a:{k} b\n" for k in range(100)]
    path = write(tmp_path / "a.vw", "".join([*rows[:50], bad + "\n", *rows[50:]]))
    with pytest.raises(ul.InputError, match=r"a\.vw, line 51\b"):
        ul.train(path)
    result = ul.train(path, reading=ul.Reading(on_error="skip"))
    assert result.details.skipped == 1
    assert "line 51" in result.details.skipped_rows[0]
    assert content(result.model) == content(ul.train(write(tmp_path / "b.vw", "".join(rows))).model)


def test_rows_of_mappings_that_cannot_be_learned_are_skipped_and_counted() -> None:
    rows: list[dict[str, Any]] = [{"x": float(k), "y": k + 0.5} for k in range(20)]
    bad = [*rows[:10], {"x": float("inf"), "y": 1.5}, *rows[10:]]
    with pytest.raises(ul.InputError, match="row 11"):
        ul.train(bad, "y")
    result = ul.train(bad, "y", reading=ul.Reading(on_error="skip"))
    assert result.details.skipped == 1
    assert content(result.model) == content(ul.train(rows, "y").model)


@pytest.mark.parametrize("what", ["nan", "inf"])
def test_errors_in_arrays_count_rows_as_all_others_do(what: str) -> None:
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) + 0.5
    X[4, 1] = float(what)
    with pytest.raises(ul.InputError, match="row 5"):
        ul.train(X, y)
    assert ul.train(X, y, reading=ul.Reading(on_error="skip")).details.skipped == 1


def test_only_so_many_bad_rows_are_kept_but_all_are_counted(tmp_path: Path) -> None:
    text = "a,y\n" + "".join(f"{k},{k}.5\n" + "oops\n" for k in range(500))
    result = ul.train(write(tmp_path / "a.csv", text), "y", reading=ul.Reading(on_error="skip"))
    assert (result.details.skipped, result.rows, len(result.details.skipped_rows)) == (500, 500, 20)


# ------------------------------------------------------------------------------------------------ the command line


def test_the_command_line_trains_and_reports(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", csv_of(two_classes(), ("no", "yes")).replace("1,", "oops\n1,", 1) + "1,,yes\n")
    model = str(tmp_path / "m.unitless")
    run = command("train", path, "--target", "y", "--output", model, "--on-error", "skip", "--holdout", "0.1")
    assert run.returncode == 0
    for told in ("'yes' (positive) or 'no' (negative)", "held-out rows", " skipped", "accuracy", "missing", "z: 1"):
        assert told in run.stdout
    assert "a.csv, row " in run.stdout  # the row that was skipped
    sections = ("Data", "Model", "Metrics", "Importance of columns", "Notes")
    titles = [title for line in run.stdout.splitlines() if (title := line.partition(",")[0]) in sections]
    assert titles in (list(sections), list(sections[:4]))
    assert ul.load(model).examples > 300


def test_the_command_line_gives_json_that_is_json(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y\n1,2.5\n2,3.25\n3,7.5\n")
    run = command("train", path, "--target", "y", "--json")
    assert run.returncode == 0
    told = json.loads(run.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert told["rows"] == 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a.csv"], 2, "which column to predict"),
        (["a.csv", "--target", "yy"], 2, "no column 'yy'"),
        (["a.csv", "--target", "y", "--learning-rate", "fast"], 2, "--learning-rate"),
        (["a.csv", "--target", "y", "--holdout", "1.5"], 2, "--holdout"),
        (["a.csv", "--target", "y", "--holdout", "nan"], 2, "--holdout"),
        (["a.csv", "--target", "y", "--passes", "0"], 2, "--passes"),
        (["a.csv", "--target", "y", "--checkpoint", "0"], 2, "--checkpoint"),
        (["a.csv", "--target", "y", "--checkpoint", "10"], 2, "checkpoint"),
        (["a.csv", "--target", "y", "--loss", "odd"], 2, "loss"),
        (["a.csv", "--target", "y", "--task", "odd"], 2, "task"),
        (["a.csv", "--target", "y", "--format", "xls"], 2, "--format"),
        (["a.csv", "--target", "y", "--encoding", "klingon"], 2, "--encoding"),
        (["a.csv", "--target", "y", "--encoding", "undefined"], 2, "--encoding"),
        (["a.csv", "--target", "y", "--delimiter", "::"], 2, "--delimiter"),
        (["a.csv", "--target", "y", "--delimiter", "é"], 2, "--delimiter"),
        (["a.csv", "--target", "y", "--metrics", "odd"], 2, "--metrics"),
        (["a.csv", "--target", "y", "--nope"], 2, "No such option"),
        (["a.csv", "--target", "y", "--seed", "x"], 2, "--seed"),
        (["none.csv", "--target", "y"], 1, "there is no file"),
        (["none*.csv", "--target", "y"], 1, "no file matches"),
        ([".", "--target", "y", "--output", "none/m"], 1, "cannot write"),
        (["a.csv", "--target", "y", "--resume", "none"], 1, "none"),
        (["a.csv", "--target", "y", "--resume", "a.csv"], 1, "a.csv"),
        ([], 2, "DATA"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_gives_one_message(
    arguments: list[str], code: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:

    write(tmp_path / "a.csv", "x,y\n1,2.5\n2,3.5\n3,5\n")
    monkeypatch.chdir(tmp_path)
    assert main(["train", *arguments]) == code
    told = capfd.readouterr().err
    assert told.startswith("unitless: ")
    assert message in told
    assert "Traceback" not in told


def test_a_run_with_all_streams_closed_still_trains(tmp_path: Path) -> None:
    path, model = write(tmp_path / "a.csv", "x,y\n1,2.5\n2,3.5\n3,5\n"), tmp_path / "m"
    command = f"exec '{sys.executable}' -m unitless train {path} --target y -q --output {model} <&- "
    for closed in ("", ">&-", "2>&-"):
        run = subprocess.run(["bash", "-c", command + closed], capture_output=True, timeout=60, check=False)
        assert run.returncode == 0, run.stderr.decode()
        assert b"Traceback" not in run.stderr
        assert model.exists()
        model.unlink()


def test_a_reader_of_the_output_may_leave_early(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", csv_of(two_classes(), ("no", "yes")))
    command = f"set -o pipefail; '{sys.executable}' -m unitless train {path} --target y --json | true"
    run = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=False)
    assert b"Traceback" not in run.stderr
    assert b"Exception" not in run.stderr


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure its own memory")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    lines = "".join(f"{k % 977}.25,w{k % 50},{k % 31}.5,{k % 613}.75\n" for k in range(40_000)).encode()
    script = (
        "import sys, unitless as ul\n"
        "ul.train(sys.argv[1], 'y', shuffle=False, model_type='linear', ensemble=False, learning_rate=0.5)\n"
        "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"
    )
    peaks = []
    for times in (5, 35):
        path = write(tmp_path / "a.csv.gz", gzip.compress(b"a,b,c,y\n", 1) + gzip.compress(lines, 1) * times)
        run = subprocess.run([sys.executable, "-c", script, path], capture_output=True, timeout=60, check=True)
        peaks.append(int(run.stdout))
    assert peaks[1] - peaks[0] < 16_000  # kilobytes, of 28 MB more


# ------------------------------------------------------------------------------------------------ what people try


def test_columns_of_frames_may_be_called_by_numbers() -> None:
    frame = pd.DataFrame({0: np.arange(60.0), 1: np.arange(60) % 7, 2: np.arange(60) * 0.5 + 1})
    assert ul.train(frame, target=2).details.learned == 60


def test_rows_of_a_table_are_predicted_as_mappings_too() -> None:
    frame = pd.DataFrame({"a": np.arange(90.0), "b": ["u", "v", "w"] * 30, "y": [True, False, True] * 30})
    result = ul.train(frame, "y")
    assert result.predict(frame.drop(columns="y").to_dict("records")) == result.predict(frame).tolist()
    assert set(result.predict(frame)) <= {True, False}
    with pytest.raises(ul.OptionError, match="trained on tables"):
        result.predict(np.zeros((2, 2)))


def test_held_out_and_missing_rows_are_counted_once_in_any_passes() -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0] * 50, "y": np.arange(200) % 2})
    once, thrice = (ul.train(frame, "y", holdout=0.3, passes=passes) for passes in (1, 3))
    assert thrice.details.held_out == once.details.held_out
    assert thrice.details.missing == once.details.missing == {"a": 50}
    assert thrice.details.learned == once.details.learned == 200
    assert (once.model.examples, thrice.model.examples) == (200, 480)  # the held-out rows are learned once


def test_held_out_rows_of_a_stream_are_scored_after_all_passes() -> None:
    frame = table(500).drop(columns="extreme")
    once, thrice = (ul.train(frame, "y", holdout=0.3, passes=passes, shuffle=False) for passes in (1, 3))
    held = hashes(0, 0, 500) < np.uint64(int(0.3 * 2**64))
    assert thrice.details.held_out == once.details.held_out == held.sum()
    assert thrice.metrics == ul.evaluate(thrice.model, frame[held]).metrics
    assert thrice.metrics_on == f"{held.sum()} held-out rows"


def test_a_column_that_begins_with_zeros_and_ones_can_be_called_a_number() -> None:
    frame = pd.DataFrame({"n": [0.0, 1.0] * 100, "y": np.arange(200) * 0.5})
    flag, number = ul.train(frame, "y"), ul.train(frame, "y", reading=ul.Reading(numbers="n"))
    assert flag.progressive != number.progressive
    assert ul.merge([number.model, ul.train(frame.assign(n=frame["n"] + 5), "y").model])
    with pytest.raises(ul.MergeError, match="began with nothing but zeros and ones"):
        ul.merge([flag.model, number.model])


@pytest.mark.parametrize("label", ["1", "0", "yes", "a word"])
@pytest.mark.parametrize("name", ["train", "compare"])
def test_a_target_of_one_value_is_reported_at_training(tmp_path: Path, label: str, name: str) -> None:
    path, model = write(tmp_path / "a.csv", "x,y\n" + f"1,{label}\n2,{label}\n" * 50), tmp_path / "m"
    more = ["--quiet", *(["--output", str(model)] if name == "train" else [])]
    message = refused(command(name, path, "--target", "y", *more))
    assert f"the target has only one value, {label!r}, in all 100 rows of {path}" in message
    assert not model.exists()


def test_a_model_interrupted_before_its_second_label_raises(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "x,y\n" + "1,0\n" * 5000 + "2,1\n")
    model = str(tmp_path / "m")

    class Killed(BaseException):
        pass

    def kill(run: Any) -> None:
        if run.progress.rows >= 300:
            raise Killed

    with pytest.raises(Killed):
        ul.train(path, "y", output=model, checkpoint=100, progress=kill, shuffle=False)
    assert "only one value, '0'; continue with it" in refused(command("predict", model, path))
    assert ul.train(path, resume=model, shuffle=False).details.learned == 5001


@pytest.mark.parametrize("shuffle", [True, False])
def test_a_file_without_the_target_is_named(shuffle: bool, tmp_path: Path) -> None:
    one, two = write(tmp_path / "a.csv", "x,y\n1,2\n3,4\n"), write(tmp_path / "b.csv", "x\n5\n6\n")
    with pytest.raises(ul.InputError, match=r"b\.csv, row 1: there is no column 'y' with the labels"):
        ul.train([one, two], "y", shuffle=shuffle)


def test_a_column_instead_of_a_frame_is_refused_with_what_is_needed() -> None:
    x = pd.Series([1.0, 2.0, 3.0])
    with pytest.raises(ul.InputError, match="the row is of type float at row 1; it must have names and values"):
        ul.train(x, x)


@pytest.mark.parametrize("target", ["number", "two", "several"])
def test_results_can_be_pickled(target: str) -> None:
    x = np.random.default_rng(0).normal(size=200)
    frame = pd.DataFrame({"x": x, "number": 3 * x, "two": x > 0, "several": np.digitize(x, [-1, 1]).astype(str)})
    frame = frame[["x", target]]
    result = ul.train(frame, target, passes=1)
    same = pickle.loads(pickle.dumps(result))
    assert str(same) == str(result)
    assert same.predict(frame).tolist() == result.predict(frame).tolist()
    for found in (ul.evaluate(result, frame), result.importance):
        assert str(pickle.loads(pickle.dumps(found))) == str(found)
