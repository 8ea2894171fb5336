"""unitless convert: a model learns the same from any format, and exported models give its scores."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from vowpalwabbit import Workspace

import unitless as ul
from unitless.cli import main
from unitless.data import ReadOptions, conversion, open_source
from unitless.data.columns.table_schema import infer_schema
from unitless.data.columns.tables import with_types

Capture = pytest.CaptureFixture[str]


def frame(rows: int = 400, text: bool = True) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age, pay = rng.integers(0, 5, rows), rng.normal(size=rows) * 1e-7 * (rng.random(rows) < 0.7)
    table = pd.DataFrame({"age": age, "pay": pay})
    if text:
        table["job"] = np.array(["clerk", "pilot", "cook"])[rng.integers(3, size=rows)]
    table["far"] = np.where(np.arange(rows) < rows // 2, 0.0, rng.normal(size=rows).astype(np.float32))
    table["size"] = 3.0 * age + pay * 1e6 + 0.1 * rng.normal(size=rows)
    table["answer"] = np.where(age > 2, "yes", "no")
    table["kind"] = np.where(age > 2, "big one", np.where(pay > 0, "middle", "small"))
    return table


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    frame().to_csv("data.csv", index=False)
    return tmp_path


def said(capsys: Capture, *arguments: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(["convert", *arguments]) == code
    out, err = capsys.readouterr()
    return out, err


def read(name: str) -> pa.Table:
    table = pa.concat_tables([chunk.content for chunk in open_source(name, ReadOptions()).open().chunks()])
    return with_types(table, infer_schema(table, ReadOptions(), name, False, leave_out=False))


def bits(model: Any) -> list[Any]:
    state = model._snapshot()
    kept = ("v", "H", "scale", "slots", "t", "N", "examples", "scores", "target", "lane_rates")
    return [state[name].tobytes() if isinstance(state[name], np.ndarray) else state[name] for name in kept]


def followed(path: str) -> Any:
    """Train in the order of the file, whose first line mentions all columns."""
    return ul.train(path, shuffle=False).model


OTHERS = {"size": "answer,kind", "answer": "size,kind", "kind": "size,answer"}


@pytest.mark.parametrize("target", ["size", "answer", "kind"])
@pytest.mark.parametrize("to", ["vw", "vw.gz", "libsvm", "svm.bz2"])
def test_a_model_learns_the_same_bits_from_the_text_of_a_table(
    folder: pathlib.Path, capsys: Capture, target: str, to: str
) -> None:
    if "svm" in to:
        frame(text=False).to_csv("data.csv", index=False)
    said(capsys, "data.csv", f"out.{to}", "--target", target, "--ignore", OTHERS[target])
    table = ul.train(
        "data.csv", target, reading=ul.Reading(ignore=OTHERS[target].split(",")), center=False, shuffle=False
    )
    text = ul.train(f"out.{to}", center=False, shuffle=False)
    assert text.details.target.task == table.details.target.task
    assert bits(text.model) == bits(table.model)
    if "vw" in to:
        assert text.model._snapshot()["names"] == table.model._snapshot()["names"]


def test_missing_values_and_weights_make_the_same_bits_too(folder: pathlib.Path, capsys: Capture) -> None:
    table = frame()
    table.loc[[0, 1, 7], "pay"] = np.nan
    table.loc[[0, 3], "job"] = None
    table["h"] = np.where(np.arange(len(table)) % 5 == 0, 0.0, 1.5)
    table.to_csv("data.csv", index=False)
    said(capsys, "data.csv", "out.vw", "-t", "size", "--weight", "h", "--ignore", OTHERS["size"])
    reading = ul.Reading(missing="absent", ignore=OTHERS["size"].split(","))
    one = ul.train("data.csv", "size", weight="h", reading=reading, center=False, shuffle=False)
    assert bits(ul.train("out.vw", center=False, shuffle=False).model) == bits(one.model)


def test_labels_are_reported(folder: pathlib.Path, capsys: Capture) -> None:
    assert "'yes' is 1, 'no' is -1" in said(capsys, "data.csv", "o.vw", "-t", "answer")[1]
    _, err = said(capsys, "data.csv", "o.vw", "-t", "answer", "--positive", "no")
    assert "'no' is 1, 'yes' is -1" in err
    _, err = said(capsys, "data.csv", "o.vw", "-t", "kind")
    order = list(dict.fromkeys(frame()["kind"]))
    assert ", ".join(f"{name!r} is {k}" for k, name in enumerate(order, 1)) in err


def test_names_lose_characters_that_the_format_cannot_express(folder: pathlib.Path, capsys: Capture) -> None:
    (folder / "odd.csv").write_text('the age,job,y\n1,"a: b|c",1.5\n0,d,2.5\n')
    assert "became _ in 2" in said(capsys, "odd.csv", "odd.vw", "-t", "y")[1]
    assert (folder / "odd.vw").read_text() == "1.5 | the_age:1 job=a__b_c\n2.5 | job=d\n"


def test_libsvm_has_no_place_for_text(folder: pathlib.Path, capsys: Capture) -> None:
    assert "column 'job' holds text" in said(capsys, "data.csv", "o.svm", "-t", "size", code=1)[1]
    assert "target" in said(capsys, "data.csv", "o.vw", code=2)[1]
    assert "libsvm has no place" in said(capsys, "data.csv", "o.svm", "-t", "size", "--weight", "age", code=2)[1]
    assert os.listdir() == ["data.csv"]


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "jsonl", "jsonl.zst", "parquet", "arrow", "feather"])
def test_tables_keep_their_values(folder: pathlib.Path, capsys: Capture, suffix: str) -> None:
    said(capsys, "data.csv", f"out.{suffix}")
    assert read(f"out.{suffix}").to_pylist() == read("data.csv").to_pylist()
    said(capsys, f"out.{suffix}", "again.csv")
    assert read("again.csv").equals(read("data.csv"))


def test_other_programs_read_the_files(folder: pathlib.Path, capsys: Capture) -> None:
    for name in ("out.parquet", "out.feather"):
        said(capsys, "data.csv", name, "--only", "age,job")
    expected = frame()[["age", "job"]].to_dict("records")
    assert pyarrow.parquet.read_table("out.parquet").to_pylist() == expected
    assert pyarrow.feather.read_table("out.feather").to_pylist() == expected


def test_whole_numbers_may_turn_out_to_have_fractions(
    folder: pathlib.Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unitless.data.sources.text_stream.CHUNK", 256)
    monkeypatch.setattr("unitless.data.sources.text_stream.Text.chunks.__defaults__", (256,))
    (folder / "late.csv").write_text("a,b\n" + "1,x\n" * 200 + "1.5,y\n")
    said(capsys, "late.csv", "late.parquet")
    assert pyarrow.parquet.read_table("late.parquet")["a"].to_pylist() == [1.0] * 200 + [1.5]


def test_bad_rows_are_left_out_and_counted(folder: pathlib.Path, capsys: Capture) -> None:
    (folder / "bad.csv").write_text("a,b,y\n1,2,1.5\n1,2\n3,inf,2.5\n")
    assert "row 2" in said(capsys, "bad.csv", "o.csv", code=1)[1]
    _, err = said(capsys, "bad.csv", "o.vw", "-t", "y", "--on-error", "skip")
    assert "1 row written, 2 skipped" in err
    assert (folder / "o.vw").read_text() == "1.5 | a:1 b:2\n"


VW = "1 2 'first| a:1 b:0.5 n^c\n-1 | b:3 b:1\n'last| a:-1e-9\n"


def test_named_text_becomes_objects(folder: pathlib.Path, capsys: Capture) -> None:
    (folder / "a.vw").write_text(VW)
    said(capsys, "a.vw", "a.jsonl")
    assert [json.loads(line) for line in (folder / "a.jsonl").read_text().splitlines()] == [
        {"label": 1, "weight": 2, "tag": "first", "features": {"a": 1, "b": 0.5, "n^c": 1}},
        {"label": -1, "weight": 1, "tag": None, "features": {"b": 4}},
        {"label": None, "weight": 1, "tag": "last", "features": {"a": -1e-9}},
    ]


def test_named_text_becomes_a_table_of_few_columns(
    folder: pathlib.Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.vw").write_text(VW)
    said(capsys, "a.vw", "a.csv")
    assert (folder / "a.csv").read_text().splitlines() == [
        "label,weight,tag,a,b,n^c",
        "1,2,first,1,0.5,1",
        "-1,1,,0,4,0",
        ",1,last,-1e-9,0,0",
    ]
    monkeypatch.setattr(conversion, "MOST_COLUMNS", 2)
    assert "more than 2 different features" in said(capsys, "a.vw", "a.parquet", code=1)[1]
    (folder / "clash.vw").write_text("1 | label:1\n")
    assert "feature named 'label'" in said(capsys, "clash.vw", "a.csv", code=1)[1]


def test_named_text_learns_the_same_after_a_round_trip(folder: pathlib.Path, capsys: Capture) -> None:
    said(capsys, "data.csv", "a.vw", "-t", "size", "--ignore", OTHERS["size"])
    said(capsys, "a.vw", "b.vw")
    assert bits(followed("b.vw")) == bits(followed("a.vw"))
    frame(text=False).to_csv("numbers.csv", index=False)
    said(capsys, "numbers.csv", "c.svm", "-t", "size", "--ignore", OTHERS["size"])
    said(capsys, "c.svm", "d.vw")
    said(capsys, "d.vw", "e.svm")
    assert (folder / "e.svm").read_text() == (folder / "c.svm").read_text()
    assert bits(followed("d.vw")) == bits(followed("c.svm"))
    assert "numbered 1 to 6" in said(capsys, "a.vw", "f.svm")[1]
    assert bits(followed("f.svm")) == bits(followed("a.vw"))


# --------------------------------------------------------------------------------------------------------------- models


def scores(plain: dict[str, Any], row: dict[str, Any]) -> list[float]:
    """The scores, computed from the JSON only."""
    x: dict[str, float] = {}
    for name, value in row.items():
        if isinstance(value, str):
            x[f"{name}={value}"] = 1.0
        elif value is not None:
            x[name] = value
    for feature in plain["features"]:
        if feature["name"] in x:
            x[feature["name"]] -= feature.get("mean", 0.0)
    terms = [(feature["weight"], x.get(feature["name"], 0.0)) for feature in plain["features"]]
    for product in plain["products"]:
        terms.append((product["weight"], np.prod([x.get(name, 0.0) for name in product["features"]])))
    total = np.array(plain["intercept"]) + sum(np.array(weight) * value for weight, value in terms)
    return np.atleast_1d(total).tolist()


@pytest.mark.parametrize("target", ["size", "answer", "kind"])
@pytest.mark.parametrize("rule", ["nag", "snag", "ng"])
@pytest.mark.parametrize("options", [{}, {"interactions": 2}, {"center": False}])
def test_coefficients_alone_give_the_scores(
    folder: pathlib.Path, capsys: Capture, target: str, rule: Any, options: Any
) -> None:
    ul.train(
        "data.csv",
        target,
        reading=ul.Reading(ignore=OTHERS[target].split(",")),
        rule=rule,
        output="m.unitless",
        model_type="linear",
        ensemble=False,
        **options,
    )
    said(capsys, "m.unitless", "m.json")
    plain = json.loads((folder / "m.json").read_text())
    rows = frame(20).drop(columns=["size", "answer", "kind"])
    rows.loc[3, "pay"], rows.loc[4, "pay"] = np.nan, 100.0
    rows.to_csv("new.csv", index=False)
    rows = read("new.csv").to_pandas()  # float32 is written with fewer digits
    assert main(["predict", "m.unitless", "new.csv", "--extrapolate", "--scores", "--format-out", "jsonl"]) == 0
    for line, row in zip(capsys.readouterr().out.splitlines(), rows.to_dict("records"), strict=True):
        said_scores = [value for name, value in json.loads(line).items() if name.startswith("score")]
        named = {str(name): None if pd.isna(value) else value for name, value in row.items()}
        assert scores(plain, named) == pytest.approx(said_scores, rel=1e-9, abs=1e-9)


def test_a_model_becomes_a_graph_of_its_tables_columns(folder: pathlib.Path, capsys: Capture) -> None:
    ul.train(
        "data.csv",
        "answer",
        reading=ul.Reading(ignore=OTHERS["answer"].split(",")),
        output="m.unitless",
        passes=1,
        model_type="linear",
    )
    _, err = said(capsys, "m.unitless", "m.onnx", "--inputs", "columns", "--dtype", "float64", "--extrapolate")
    assert err == "Learner, logistic loss, 6 features, 400 examples\n"
    session = onnxruntime.InferenceSession("m.onnx")
    rows = frame()
    feeds = {name: rows[[name]].to_numpy(np.float64) for name in ("age", "pay", "far")}
    (found,) = session.run(["scores"], {**feeds, "job": rows[["job"]].to_numpy(object)})
    assert found == pytest.approx(ul.load("m.unitless").predict(rows, extrapolate=True), rel=1e-9)
    said(capsys, "m.unitless", "short.onnx", "-q")
    assert [one.name for one in onnxruntime.InferenceSession("short.onnx").get_inputs()] == ["features"]


def test_a_model_with_trees_becomes_a_graph_and_text(folder: pathlib.Path, capsys: Capture) -> None:
    ul.train(
        "data.csv",
        "answer",
        reading=ul.Reading(ignore=OTHERS["answer"].split(",")),
        output="m.unitless",
        passes=1,
        model_type="trees",
    )
    said(capsys, "m.unitless", "m.onnx", "--inputs", "columns", "--dtype", "float64")
    rows = frame()
    feeds = {name: rows[[name]].to_numpy(np.float64) for name in ("age", "pay", "far")}
    (found,) = onnxruntime.InferenceSession("m.onnx").run(["scores"], {**feeds, "job": rows[["job"]].to_numpy(object)})
    assert found == pytest.approx(ul.load("m.unitless").predict(rows), rel=1e-9)
    said(capsys, "m.unitless", "m.json")
    assert json.loads((folder / "m.json").read_text())["model_type"] == "trees"


def test_a_model_of_vowpal_wabbit_becomes_one_of_ours(folder: pathlib.Path, capsys: Capture) -> None:
    vw = Workspace("--quiet --loss_function logistic --invert_hash vw.txt")
    for _ in range(20):
        vw.learn("1 | age:30 job=clerk")
        vw.learn("-1 | age:50 job=pilot")
    vw.finish()
    _, err = said(capsys, "vw.txt", "m.unitless")
    assert err == "Learner, logistic loss, 3 features, 40 examples\n"
    row = {"age": 40.0, "job=clerk": 1.0}
    assert ul.load("m.unitless").predict_one(row) == ul.from_vw("vw.txt").predict_one(row)
    said(capsys, "vw.txt", "m.unitless", "--loss", "hinge")
    assert ul.load("m.unitless").options.loss == "hinge"
    said(capsys, "vw.txt", "m.json")
    assert {one["name"] for one in json.loads((folder / "m.json").read_text())["features"]} == {
        "age",
        "job=clerk",
        "job=pilot",
    }
    (folder / "bad.txt").write_text((folder / "vw.txt").read_text() + "age:none:7\n")
    assert "bad.txt: line" in said(capsys, "bad.txt", "m.unitless", code=1)[1]


def test_impossible_conversions_of_a_model_are_named(folder: pathlib.Path, capsys: Capture) -> None:
    ul.train("data.csv", "size", reading=ul.Reading(ignore=OTHERS["size"].split(",")), bits=8, output="hashed.unitless")
    assert "hashed" in said(capsys, "hashed.unitless", "m.json", code=2)[1]
    ul.train("data.csv", "size", output="m.unitless")
    assert "a model becomes .json" in said(capsys, "m.unitless", "m.csv", code=2)[1]
    assert "are for models that become ONNX" in said(capsys, "m.unitless", "m.json", "--extrapolate", code=2)[1]
    assert "are for models that become ONNX" in said(capsys, "data.csv", "d.vw", "--inputs", "columns", code=2)[1]
    assert "becomes .json" in said(capsys, "m.unitless", "m.unitless.gz", code=2)[1]
    assert "--inputs is 'rows'" in said(capsys, "m.unitless", "m.onnx", "--inputs", "rows", code=2)[1]
    assert "--loss is for models of Vowpal Wabbit" in said(capsys, "m.unitless", "m.json", "--loss", "hinge", code=2)[1]
    assert set(os.listdir()) == {"data.csv", "hashed.unitless", "m.unitless"}
    out, err = said(capsys, "m.unitless", "-")
    assert json.loads(out)["task"] == "regression"
    assert "Learner" in err


def test_usage_is_explained(folder: pathlib.Path, capsys: Capture) -> None:
    assert "say it with --to" in said(capsys, "data.csv", "out", code=2)[1]
    assert "no format 'xml'" in said(capsys, "data.csv", "out", "--to", "xml", code=2)[1]
    assert "over the data" in said(capsys, "data.csv", "./data.csv", code=2)[1]
    assert "no file 'none.csv'" in said(capsys, "none.csv", "out.csv", code=1)[1]


@pytest.mark.parametrize("name", ["x.onnx", "x.unitless"])
def test_other_files_are_not_converted_to_models(
    name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["convert", "nowhere", name]) == 1
    assert "there is no file 'nowhere'" in capsys.readouterr().err
    pathlib.Path("data.csv").write_text("a,b\n1,2\n")
    assert main(["convert", "data.csv", name]) == 1
    assert "data.csv is not a model" in capsys.readouterr().err
