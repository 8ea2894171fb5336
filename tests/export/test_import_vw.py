"""Vowpal Wabbit's models, imported from their text form, predict and learn as in Vowpal Wabbit."""

from __future__ import annotations

import os
import pathlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vowpalwabbit import Workspace

import unitless as ul
from unitless.cli import main
from unitless.export.vw import binary
from unitless.export.vw.feature_hash import feature_hash
from unitless.export.vw.model import from_text
from unitless.models.foreign import is_vw_text

Rows = list[dict[str, float]]


def examples(count: int = 400, seed: int = 0) -> tuple[Rows, np.ndarray[Any, Any]]:
    """Rows of three namespaces (one of them nameless) and of different units, and a score."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(count, 4)).round(4)
    rows = [
        {"a": a, "7": 0.01 * b, "foo^x": 100 * c, f"foo^job={'clerk' if d > 0 else 'pilot'}": 1.0, "bar^y": d}
        for a, b, c, d in z.tolist()
    ]
    return rows, z @ [1.0, -2.0, 0.5, 1.0]


def line(row: dict[str, float], label: Any = "") -> str:
    parts: dict[str, list[str]] = {}
    for name, value in row.items():
        namespace, _, feature = name.rpartition("^")
        parts.setdefault(namespace, []).append(f"{feature}:{value!r}")
    return f"{label} " + " ".join(f"|{namespace} {' '.join(features)}" for namespace, features in parts.items())


class Trained:
    """A model that Vowpal Wabbit has trained, and its texts."""

    def __init__(self, folder: pathlib.Path, options: str, rows: Rows, labels: Any) -> None:
        self.named, self.hashed = str(folder / "named.txt"), str(folder / "hashed.txt")
        # It prints the names of features met with --invert_hash, and writes both texts when it is closed.
        command = f"--quiet {options} --invert_hash {self.named} --readable_model {self.hashed} -f {folder / 'binary'}"
        workspace = Workspace(command)
        for row, label in zip(rows, labels, strict=True):
            workspace.learn(line(row, label))
        workspace.finish()
        self._load = f"--quiet -i {folder / 'binary'}"

    def predict(self, rows: Rows) -> np.ndarray[Any, Any]:
        workspace = Workspace(f"{self._load} -t")
        return np.array([workspace.predict(line(row)) for row in rows])

    def go_on(self, rows: Rows, labels: Any) -> np.ndarray[Any, Any]:
        """Continue learning; return the progressive predictions."""
        workspace, made = Workspace(self._load), []
        for row, label in zip(rows, labels, strict=True):
            made.append(workspace.predict(line(row)))
            workspace.learn(line(row, label))
        return np.array(made)


NUMBERS = [
    "",
    "--noconstant",
    "--adaptive -l 0.5",
    "--normalized -l 0.5",
    "--adaptive --normalized --invariant",
    "--sgd -l 0.0001",
    "--l1 0.001 --l2 0.0001",
    "--predict_only_model",
    "--hash all --hash_seed 7 -b 20",
    "-q fb",
    "-q ff -q :f",
    "--interactions fb -b 22",
]


@pytest.mark.parametrize("options", NUMBERS)
def test_numbers_are_predicted_as_by_vw(tmp_path: pathlib.Path, options: str) -> None:
    rows, score = examples()
    vw = Trained(tmp_path, options, rows, score + 3)
    model = ul.from_vw(vw.named)
    wild = [{name: 30 * value for name, value in row.items()} for row in rows[:50]]  # limited, but never squashed
    expected = vw.predict(rows + wild)
    found = model.predict(rows + wild)
    assert model.options.loss == "squared"
    assert np.max(np.abs(found - expected)) < 1e-4 * np.max(np.abs(expected))


@pytest.mark.parametrize("options", ["--loss_function logistic", "--loss_function logistic -q fb --link logistic"])
def test_scores_and_probabilities_are_those_of_vw(tmp_path: pathlib.Path, options: str) -> None:
    rows, score = examples()
    vw = Trained(tmp_path, options, rows, np.where(score > 0, 1, -1))
    model = ul.from_vw(vw.named)
    assert model.options.loss == "logistic"
    found = model.predict(rows)
    assert np.max(np.abs((model._link(found) if "link" in options else found) - vw.predict(rows))) < 2e-5


@pytest.mark.parametrize("options", ["--oaa 3", "--oaa 3 --loss_function logistic", "--oaa 5 --noconstant"])
def test_classes_are_those_of_vw(tmp_path: pathlib.Path, options: str) -> None:
    rows, score = examples()
    vw = Trained(tmp_path, options, rows, 2 + (score > 1).astype(int) - (score < -1))
    model = ul.from_vw(vw.named)
    assert isinstance(model, ul.OneVsAll)
    assert model.classes == list(range(1, int(options[6]) + 1))
    # equal up to rounding: the text has six digits
    assert np.mean(model.predict_label(rows) == vw.predict(rows)) > 0.99
    assert ul.from_vw(vw.hashed, names=sorted({name for row in rows for name in row})).weights == model.weights


@pytest.mark.parametrize("options", ["", "-l 2", "--adaptive --normalized", "-q fb", "--adaptive -l 0.5"])
def test_learning_goes_on_as_in_vw(tmp_path: pathlib.Path, options: str) -> None:
    rows, score = examples(800)
    vw = Trained(tmp_path, options, rows[:400], score[:400] + 3)
    model = ul.from_vw(vw.named)
    expected = vw.go_on(rows[400:], score[400:] + 3)
    found = []
    for row, label in zip(rows[400:], score[400:] + 3, strict=True):
        found.append(model.predict_one(row))
        model.learn_one(row, label)
    assert np.max(np.abs(np.array(found) - expected)) < 1e-4
    assert abs(np.mean((found - score[400:] - 3) ** 2) / np.mean((expected - score[400:] - 3) ** 2) - 1) < 1e-3


def test_imported_weights_continue_to_learn_without_a_loss(tmp_path: pathlib.Path) -> None:
    rows, score = examples(800)
    model = ul.from_vw(Trained(tmp_path, "--predict_only_model", rows[:400], score[:400] + 3).named)
    before = np.mean((model.predict(rows) - score - 3) ** 2)
    assert model.options.rule == "ag"
    model.learn(rows[400:], score[400:] + 3)
    assert np.mean((model.predict(rows) - score - 3) ** 2) < before


def test_hashes_are_those_of_vw() -> None:
    for options, seed, digits_too in (("", 0, False), ("--hash all", 0, True), ("--hash_seed 9", 9, False)):
        vw = Workspace(f"--quiet {options}")
        for namespace in ("foo", "a", "12", "übung"):
            for feature in ("x", "7", "007", "job=clerk", "longer than a word", "é", "1.5"):
                expected = vw.hash_feature(feature, vw.hash_space(namespace))
                found = feature_hash(f"{namespace}^{feature}", seed, digits_too=digits_too)
                assert found % 2**18 == expected % 2**18


def test_names_that_share_a_place_share_its_weight(tmp_path: pathlib.Path) -> None:
    rows, score = examples()
    vw = Trained(tmp_path, "-b 2", rows, score + 3)
    model = ul.from_vw(vw.hashed, names=sorted({name for row in rows for name in row}))
    expected = vw.predict(rows)
    assert np.max(np.abs(model.predict(rows) - expected)) < 2e-5 * np.max(np.abs(expected))


def test_an_imported_model_is_saved_and_exported_as_any_other(tmp_path: pathlib.Path) -> None:
    rows, score = examples()
    model = ul.from_vw(Trained(tmp_path, "-q fb", rows, score).named)
    model.save(tmp_path / "model.unitless")
    again = ul.load(tmp_path / "model.unitless")
    assert again.predict(rows).tolist() == model.predict(rows).tolist()
    assert ul.to_json(again) == ul.to_json(model)


TEXT = """Version 9.11.9
Id 
Min label:-1
Max label:6.5
bits:18
lda:0
0 ngram:
0 skip:
options: --quadratic ab
Checksum: 1550098473
:1
initial_t 0
norm normalizer 685.468
t 500
sum_loss 237.591
total_weight 500
example_number 500
l1_state 0
l2_state 1
a^x:92594:0.929207 1164.49 3.32162
Constant:116060:2.97647 950.363 1
b^y:163331:0.00941281 2.17722e+07 286.108
a^x*b^y:163332:0.5 2 3
"""  # noqa: W291


def test_a_text_written_by_hand_is_read() -> None:
    model = from_text(TEXT)
    assert model.weights == pytest.approx(
        {"(bias)": 2.97647, "a^x": 0.929207, "b^y": 0.00941281, "a^x*b^y": 0.5}, rel=1e-12
    )
    assert model.predict_one({"a^x": 1.0, "b^y": -1.0}) == pytest.approx(2.97647 + 0.929207 - 0.00941281 - 0.5)
    assert model.predict_one({"a^x": 100.0}) == 6.5
    assert from_text(TEXT.replace("\n", "\r\n")).weights == model.weights


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Version", "Model", "not the text of a Vowpal Wabbit model"),
        ("options: --quadratic ab", "options: --ftrl", "trained with --ftrl, which unitless does not have"),
        ("options: --quadratic ab", "options: --cubic abc", "trained with --cubic"),
        ("--quadratic ab", "--interactions abc", "only products of two"),
        ("--quadratic ab", "--oaa", "--oaa has no value"),
        ("--quadratic ab", "--oaa 1", "not a valid number of classes"),
        ("--quadratic ab", "--quadratic 'ab", "options cannot be read"),
        ("0 ngram:", "1 ngram:2 ", "trained with --ngram"),
        ("lda:0", "lda:7", "topic model"),
        ("bits:18", "bits:x", "line 5: 'x' is not a whole number"),
        ("bits:18", "bits:3", "line 20: '92594' is not a whole number from 0 to 7"),
        ("bits:18\n", "", "its header has no bits"),
        ("Max label:6.5", "Max label:nan", "'nan' is not a finite number"),
        ("Max label:6.5", "Max label:-6.5", "totals are impossible"),
        ("0.929207", "0.92_9207", "'0.92_9207' is not a finite number"),
        ("0.929207", "inf", "'inf' is not a finite number"),
        ("1164.49 3.32162", "1164.49", "line 20 has 1 numbers after the weight, not 2"),
        ("1164.49 3.32162", "1164.49 -3", "negative sum of squares or scale"),
        ("1164.49 3.32162", "1164.49 0", "without a scale"),
        ("1164.49 3.32162", "1e300 1e-300", "beyond the range of float64"),
        ("a^x:92594:", "", "is not a weight"),
        ("b^y:163331", "a^x:163331", r"line 22: 'a\^x' has two weights"),
        ("t 500", "t -500", "totals are impossible"),
        ("example_number 500", "example_number 1e300", "totals are impossible"),
        ("l2_state 1\n", "", "ends within its totals|one of the totals"),
        ("a^x*b^y:", "a^x*b*y:", "is ambiguous"),
    ],
)
def test_damage_and_unsupported_options_are_named(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(ul.ModelFileError, match=message):
        from_text(TEXT.replace(old, new, 1))


def test_hashes_need_names(tmp_path: pathlib.Path) -> None:
    rows, score = examples()
    vw = Trained(tmp_path, "", rows, score)
    with pytest.raises(ul.OptionError, match="vw --invert_hash"):
        ul.from_vw(vw.hashed)
    with pytest.raises(ul.OptionError, match="belongs to none of the names"):
        ul.from_vw(vw.hashed, names=["a"])
    with pytest.raises(ul.OptionError, match="names are text"):
        ul.from_vw(vw.hashed, names=[7])  # type: ignore[list-item]
    vw = Trained(tmp_path, "-q fb", rows, score)
    with pytest.raises(ul.OptionError, match="products"):
        ul.from_vw(vw.hashed, names=["a"])
    with pytest.raises(ul.ModelFileError, match="there is no file"):
        ul.from_vw(tmp_path / "none.txt")
    (tmp_path / "binary.txt").write_bytes(os.urandom(64) + b"\xff")
    with pytest.raises(ul.ModelFileError, match=r"binary\.txt"):
        ul.from_vw(tmp_path / "binary.txt")


@given(st.data())
def test_damaged_texts_are_refused_or_read_never_worse(data: st.DataObject) -> None:
    text = TEXT
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = min(len(text), at + data.draw(st.integers(0, 12)))
        text = text[:at] + data.draw(st.text("0123456789.:- \n*^e+[]ax", max_size=6)) + text[end:]
    try:
        model = from_text(text)
    except (ul.ModelFileError, ul.OptionError):
        return
    assert is_vw_text(text)
    predicted = np.asarray(model.predict_one({"a^x": 1.0, "b^y": 2.0}))
    assert np.isfinite(predicted).all()


# ------------------------------------------------------------------------------------------------ ordinary use


def stored(folder: pathlib.Path, rows: Rows, labels: Any) -> str:
    path = folder / "data.vw"
    path.write_text("".join(line(row, label) + "\n" for row, label in zip(rows, labels, strict=True)))
    return str(path)


@pytest.mark.parametrize("options", ["", "--loss_function logistic", "--oaa 3", "--predict_only_model", "-q fb"])
def test_an_imported_model_is_used_and_continued_as_any_other(tmp_path: pathlib.Path, options: str) -> None:
    rows, score = examples(300)
    labels = {"--loss_function logistic": np.where(score > 0, 1, -1), "--oaa 3": 2 + (score > 1) - (score < -1)}
    y = labels.get(options, score + 3)
    vw, data = Trained(tmp_path, options, rows, y), stored(tmp_path, rows, y)
    model, more = str(tmp_path / "model.unitless"), str(tmp_path / "more.unitless")
    assert main(["convert", vw.named, model, "-q"]) == 0
    assert main(["predict", model, data, "--output", str(tmp_path / "predicted.csv"), "-q"]) == 0
    lines = (tmp_path / "predicted.csv").read_text().splitlines()[1:]
    expected = vw.predict(rows)
    if "logistic" in options:
        expected = np.where(expected > 0, 1, -1)
    assert np.mean(np.abs(np.array(lines, float) - expected) < 1e-4 * np.max(np.abs(expected))) > 0.99
    assert main(["evaluate", model, data, "-q"]) == 0
    assert main(["inspect", model]) == 0
    assert main(["train", data, "--resume", model, "--output", more, "--no-shuffle", "-q"]) == 0
    before = ul.load(model)
    assert ul.load(more).examples == before.examples + len(rows)
    if "only" not in options:  # the file lacks the state that learning would need
        assert ul.evaluate(more, data).evaluation.loss < 2 * ul.evaluate(model, data).evaluation.loss + 1e-3


def test_training_leaves_out_the_namespaces_that_vw_left_out(tmp_path: pathlib.Path) -> None:
    rows, score = examples(200)
    vw, data = Trained(tmp_path, "--ignore b --ignore x", rows, score), stored(tmp_path, rows, score)
    model = ul.train(data, resume=ul.from_vw(vw.named), shuffle=False).model
    assert "foo^x" in model.weights
    assert "bar^y" not in model.weights


BINARY = ["", "--sgd -l 0.0001", "--adaptive -l 0.5", "--predict_only_model", "--noconstant -b 22", "--id clicks"]


@pytest.mark.parametrize("options", BINARY)
def test_binary_files_predict_as_vw_does_to_rounding(tmp_path: pathlib.Path, options: str) -> None:
    rows, score = examples()
    vw = Trained(tmp_path, options, rows, score + 3)
    model = ul.from_vw(tmp_path / "binary", names=sorted({name for row in rows for name in row}))
    expected = vw.predict(rows)
    assert np.max(np.abs(model.predict(rows) - expected)) < 1e-6 * np.max(np.abs(expected))
    text = ul.from_vw(vw.named)
    assert model.weights == pytest.approx(text.weights, rel=1e-5)
    assert model.scales == pytest.approx(text.scales, rel=1e-5)
    assert model.examples == text.examples


def test_binary_files_of_classes_are_read(tmp_path: pathlib.Path) -> None:
    rows, score = examples()
    vw = Trained(tmp_path, "--oaa 3", rows, 2 + (score > 1).astype(int) - (score < -1))
    model = ul.from_vw(tmp_path / "binary", names=sorted({name for row in rows for name in row}))
    assert isinstance(model, ul.OneVsAll)
    assert model.predict_label(rows).tolist() == vw.predict(rows).tolist()


def test_the_names_that_a_binary_file_lacks_are_found_in_data(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, score = examples()
    vw, data = Trained(tmp_path, "", rows, score + 3), stored(tmp_path, rows, score)
    binary, model = str(tmp_path / "binary"), str(tmp_path / "model.unitless")
    assert main(["convert", binary, model]) == 2
    assert capsys.readouterr().err == (
        "unitless: this model has hashes instead of names: write its text with vw --invert_hash, or give the names of "
        "the features (--names)\n"
    )
    assert main(["convert", binary, model, "--names", data]) == 0
    assert ul.load(model).predict(rows) == pytest.approx(vw.predict(rows), rel=1e-6, abs=1e-6)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    assert main(["convert", binary, model, "--names", str(tmp_path / "a.csv")]) == 2
    assert f"--names is {tmp_path / 'a.csv'}, which is not VW text" in capsys.readouterr().err
    assert main(["convert", data, model, "--names", data]) == 2
    assert "--names is for models of Vowpal Wabbit" in capsys.readouterr().err


def test_a_model_of_vw_that_was_not_converted_is_recognized(tmp_path: pathlib.Path) -> None:
    rows, score = examples(50)
    vw = Trained(tmp_path, "", rows, score)
    for path in (vw.named, vw.hashed, tmp_path / "binary"):
        with pytest.raises(ul.ModelFileError, match=r"this is a model of Vowpal Wabbit; unitless convert \(in Python"):
            ul.load(path)


def test_unreadable_binary_files_have_distinct_errors(tmp_path: pathlib.Path) -> None:
    rows, score = examples()
    Trained(tmp_path, "--ftrl", rows, score)
    names = sorted({name for row in rows for name in row})
    with pytest.raises(ul.ModelFileError, match="trained with --ftrl, which unitless does not have"):
        ul.from_vw(tmp_path / "binary", names=names)
    Trained(tmp_path, "", rows, score)
    data = (tmp_path / "binary").read_bytes()
    cases = [
        (data.replace(b"9.11.9", b"8.11.9"), r"written by Vowpal Wabbit 8\.11\.9, .*--invert_hash"),
        (data[:-1], "does not end with a whole weight"),
        (data[:30], "ends within its header"),
        (data[:-4] + b"\0\0\xc0\x7f", "not a finite number"),
        (data[:-4] + b"\0\0\x80\xbf", "negative sum of squares or scale"),
        (data[:-16] + b"\xff\xff\xff\xff" + data[-12:], r"beyond its 2\^18 places"),
        (data.replace(b"m", b"n", 1), "header has no m"),
    ]
    for damaged, message in cases:
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(ul.ModelFileError, match=message):
            ul.from_vw(tmp_path / "damaged", names=names)


@given(st.data())
def test_damaged_binary_files_are_refused_or_read_never_worse(data: st.DataObject) -> None:
    damaged = bytearray(PLAIN)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)))
    try:
        found = binary.parse(bytes(damaged[:cut] if data.draw(st.booleans()) else damaged))
    except (ul.ModelFileError, ul.OptionError):
        return
    assert all(np.isfinite(weight.value) and 0 <= weight.place < 2**found.bits for weight in found.weights)


# The output of Vowpal Wabbit 9.11.9 for a model of one feature, with weights only.
PLAIN = bytes.fromhex(
    "07000000392e31312e390001000000006d012b2fc05fe52840120000000000000000000000000000000100000000"
    "04000000a42c78de000f5c0000c44d0c3b5cc501005e8cdcbc"
)


def test_a_binary_file_written_by_hand_is_read() -> None:
    found = binary.parse(PLAIN)
    assert (found.bits, found.resumable, found.label_min) == (18, False, pytest.approx(-2.737))
    assert [(weight.place, weight.where) for weight in found.weights] == [(23567, "weight 1"), (116060, "weight 2")]
