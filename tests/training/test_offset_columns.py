"""A column of offsets in every format, random order, hold-outs, evaluation, prediction, explanation and conversion."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sources import command, refused, write, write_all

import unitless as ul
from unitless.data.columns.schema import Schema
from unitless.data.conversion import convert

ROWS = 900


def claims(rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"power": np.round(rng.uniform(40, 200, rows), 1), "city": rng.choice(["A", "B"], rows)})
    years = rng.uniform(0.05, 1, rows)
    frame["claims"] = rng.poisson(np.exp(-1 + frame["power"] / 200 + (frame["city"] == "B")) * years)
    frame["log_years"] = np.round(np.log(years), 4)
    return frame


def trained(source: Any, **options: Any) -> Any:
    given = {
        "target": "claims",
        "reading": ul.Reading(offset="log_years"),
        "task": "regression",
        "loss": "poisson",
        "model_type": "linear",
    }
    return ul.train(source, **{**given, **options})


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return claims()


@pytest.fixture(scope="module")
def result(frame: pd.DataFrame) -> Any:
    return trained(frame)


def test_every_format_gives_the_same_model(frame: pd.DataFrame, tmp_path: Path) -> None:
    expected = trained(frame)
    p = expected.predict(frame)
    assert expected.details.schema.offset == "log_years"
    assert dict(expected.details.schema.columns).keys() == {"power", "city"}
    for name, path in write_all(frame, tmp_path).items():
        other = trained(path)
        assert other.progressive == expected.progressive, name
        assert other.metrics == expected.metrics, name
        assert list(other.predict(path)) == list(p), name
    rows, table = (trained(one, shuffle=False, center=False) for one in (frame.to_dict("records"), frame))
    assert rows.progressive["loss"] == pytest.approx(table.progressive["loss"], rel=1e-9)


@pytest.mark.parametrize("model_type", ["linear", "trees"])
def test_the_offset_helps_and_is_needed_only_once_more(frame: pd.DataFrame, model_type: Any) -> None:
    with_offset = trained(frame, model_type=model_type)
    without = ul.train(
        frame.drop(columns="log_years"), "claims", task="regression", loss="poisson", model_type=model_type
    )
    assert with_offset.metrics["loss"] < without.metrics["loss"]


def test_rows_that_go_through_a_temporary_file_keep_their_offsets(
    frame: pd.DataFrame, result: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unitless.data.memory.LEAST", 1)
    spilled = trained(frame, memory=30_000)
    assert "temporary" in spilled.details.shuffled
    assert spilled.metrics == result.metrics


def test_a_stream_is_followed_with_its_offsets(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    frame.to_csv(path, index=False)
    one = trained(str(path), shuffle=False)
    m = ul.Learner(loss="poisson", learning_rate="auto", center=True)
    X = pd.DataFrame({"power": frame["power"]})
    numbers = ul.train(
        X.assign(claims=frame["claims"], o=frame["log_years"]),
        "claims",
        reading=ul.Reading(offset="o"),
        shuffle=False,
        task="regression",
        loss="poisson",
        model_type="linear",
    )
    p = m.learn(X, frame["claims"], offset=frame["log_years"])
    assert numbers.progressive["loss"] == pytest.approx(float(np.mean(m.losses(p, frame["claims"]))), rel=1e-12)
    assert one.progressive["loss"] < numbers.progressive["loss"]


def test_predictors_models_and_files_agree(frame: pd.DataFrame, result: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "claims.unitless")
    result.model.save(path)
    predictor = ul.Predictor(path)
    some = frame.head(20)
    expected = predictor.predict(some).tolist()
    rows = some.to_dict("records")
    assert predictor.predict(rows) == expected
    assert [predictor.predict_one(row) for row in rows] == expected
    assert [predictor.predict_one(pd.DataFrame([row])) for row in rows[:3]] == expected[:3]
    assert [predictor.predict_one(some.iloc[k]) for k in range(3)] == expected[:3]
    model = ul.load(path)
    assert model.predict_label(some).tolist() == expected
    assert [float(model._link(model.predict_one(row))) for row in rows] == expected
    given = model.predict(some, np.zeros(20))  # an offset that is given replaces the column
    np.testing.assert_allclose(given + some["log_years"], model.predict(some), rtol=1e-12)


def test_scoring_reads_the_column(frame: pd.DataFrame, result: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "claims.csv")
    frame.to_csv(path, index=False)
    score = ul.evaluate(result.model, path)
    losses = result.model.losses(result.model.predict(frame), frame["claims"])
    assert score.metrics["loss"] == pytest.approx(float(losses.mean()), rel=1e-9)
    with pytest.raises(ul.InputError, match="there is no column 'log_years', which holds the offsets"):
        ul.evaluate(result.model, frame.drop(columns="log_years"))


def test_without_the_column_nothing_is_predicted(frame: pd.DataFrame, result: Any, tmp_path: Path) -> None:
    without = frame.drop(columns="log_years")
    for path in write_all(without.head(50), tmp_path).values():
        lines = path.endswith("jsonl")  # here some rows may lack a key
        said = "the offset 'log_years' is missing" if lines else "there is no column 'log_years', which holds the off"
        with pytest.raises(ul.InputError, match=said):
            result.predict(path)
    with pytest.raises(ul.InputError, match="there is no column 'log_years', which holds the offsets"):
        result.model.predict(without)
    row = without.to_dict("records")[0]
    for ask in (result.predictor.predict_one, result.model.predict_one, result.predictor.explain):
        with pytest.raises(ul.InputError, match="the offset 'log_years' is missing"):
            ask(row)
    with pytest.raises(ul.InputError, match="the offset 'log_years' is missing at row 2"):
        result.predict([{**row, "log_years": 0.0}, row])
    with pytest.raises(ul.InputError, match="the offset 'log_years' is 'a'; it must be a number"):
        result.predictor.predict_one({**row, "log_years": "a"})


@pytest.mark.parametrize(("value", "said"), [(math.nan, "the offset is missing"), (math.inf, "the offset is inf")])
def test_an_offset_that_is_not_finite_is_an_error_or_skipped(
    frame: pd.DataFrame, result: Any, tmp_path: Path, value: float, said: str
) -> None:
    bad = frame.copy()
    bad.loc[400, "log_years"] = value
    path = str(tmp_path / "bad.parquet")
    bad.to_parquet(path)
    with pytest.raises(
        ul.InputError, match=rf"bad.parquet, row 401: {said}; offsets must be finite, and not beyond 1e60; correct it"
    ):
        trained(path)
    skipped = trained(path, reading=ul.Reading(offset="log_years", on_error="skip"))
    assert (skipped.details.skipped, skipped.rows) == (1, ROWS)
    with pytest.raises(ul.InputError, match=rf"row 401: {said}"):
        ul.evaluate(result.model, path)
    with pytest.raises(
        ul.InputError, match=r"row 401: (offset is inf; offsets must be finite|the offset 'log_years' is missing)"
    ):
        result.predict(path)
    assert result.predict(path, reading=ul.Reading(on_error="skip"))[400] is None


def test_a_column_that_is_not_there_or_not_numbers(frame: pd.DataFrame) -> None:
    with pytest.raises(ul.OptionError, match=r"offset: there is no column 'log_year'; did you mean 'log_years'\?"):
        trained(frame, reading=ul.Reading(offset="log_year"))
    with pytest.raises(ul.InputError, match="the offsets in column 'city' are not numbers but text"):
        trained(frame, reading=ul.Reading(offset="city"))
    with pytest.raises(ul.OptionError, match="offset is a ndarray; it must be the name of a column"):
        trained(frame, reading=ul.Reading(offset=np.zeros(ROWS)))
    with pytest.raises(ul.OptionError, match="offset names columns; the data has none"):
        ul.train(frame[["power"]].to_numpy(), frame["claims"], reading=ul.Reading(offset="power"))


def test_several_classes_have_no_offset(frame: pd.DataFrame) -> None:
    three = frame.assign(claims=np.array(["a", "b", "c"])[np.arange(ROWS) % 3])
    with pytest.raises(ul.OptionError, match="offset is added to one score; this target has several classes"):
        ul.train(three, "claims", reading=ul.Reading(offset="log_years"))


def test_training_goes_on_with_the_same_column(frame: pd.DataFrame, tmp_path: Path) -> None:
    first = trained(frame.head(500), shuffle=False)
    more = ul.train(frame.tail(400), target="claims", resume=first.model, shuffle=False)
    whole = trained(frame, shuffle=False)
    assert list(more.predict(frame)) == list(whole.predict(frame))
    with pytest.raises(ul.OptionError, match="offset is 'power', but the model was trained with 'log_years'"):
        ul.train(frame, target="claims", reading=ul.Reading(offset="power"), resume=first.model)


def test_partitions_learn_with_offsets(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = str(tmp_path / "claims.csv")
    frame.to_csv(path, index=False)
    parts = trained(path, cluster=ul.Cluster(partitions=2, sync_rounds=2, workers=1), passes=1)
    assert parts.details.schema.offset == "log_years"
    assert parts.metrics["loss"] < 1.1 * trained(path).metrics["loss"]


@pytest.mark.parametrize("model_type", ["linear", "curves", "trees"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_explanations_list_the_offset_and_add_up(frame: pd.DataFrame, loss: Any, model_type: Any) -> None:
    data = frame.assign(claims=frame["claims"] > 0) if loss == "logistic" else frame
    task = None if loss == "logistic" else "regression"
    result = trained(data, loss=loss, model_type=model_type, task=task)
    row = data.to_dict("records")[7]
    why = result.predictor.explain(row)
    (part,) = [part for part in why.contributions if part.column == "log_years"]
    assert part.contribution == part.value == row["log_years"]
    assert why.base_value + math.fsum(part.contribution for part in why.contributions) == pytest.approx(
        why.score, abs=1e-9
    )
    assert why.limited == pytest.approx(result.predictor.score_one(row), rel=1e-6, abs=1e-9)


def test_rates_are_swept_and_rules_compared_with_offsets(frame: pd.DataFrame) -> None:
    options: Any = {
        "target": "claims",
        "reading": ul.Reading(offset="log_years"),
        "task": "regression",
        "loss": "poisson",
    }
    swept = ul.sweep(frame, rates=[0.1, 1.0], **options)
    assert swept["nag"].best_loss < 1.0
    compared = ul.compare(frame, rules=["nag", "ng"], model_type="linear", **options)
    assert compared["nag"].metrics["loss"] < 1.0


def test_a_forged_offset_is_refused() -> None:
    plain = Schema("named").plain()
    assert Schema.read(plain).offset is None
    with pytest.raises(ul.errors.ModelFileError):
        Schema.read({**plain, "offset": 3})


# ------------------------------------------------------------------------------------------- the command line, and VW


def test_the_command_line_trains_predicts_and_scores_with_offsets(frame: pd.DataFrame, tmp_path: Path) -> None:
    data, model = str(tmp_path / "claims.csv"), str(tmp_path / "claims.unitless")
    frame.to_csv(data, index=False)
    options = ["--target", "claims", "--offset", "log_years", "--task", "regression", "--loss", "poisson"]
    run = command("train", data, *options, "--model-type", "linear", "--output", model, "--json")
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["metrics"] == trained(frame).metrics
    assert command("predict", model, data).stdout.count("\n") == ROWS + 1
    assert command("evaluate", model, data).returncode == 0
    frame.drop(columns="log_years").to_csv(tmp_path / "without.csv", index=False)
    said = refused(command("predict", model, str(tmp_path / "without.csv")))
    assert "there is no column 'log_years', which holds the offsets" in said
    assert "--offset: there is no column 'years'" in refused(
        command("train", data, *options[:2], "--offset", "years"), 2
    )


def vw_lines(frame: pd.DataFrame) -> str:
    lines = zip(frame["claims"], frame["log_years"], frame["power"], frame["city"], strict=True)
    return "".join(f"{y} 1 {o!r} | power:{x!r} city:{c}\n" for y, o, x, c in lines)


def test_vw_text_is_learned_with_its_initial_predictions(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "claims.vw", vw_lines(frame))
    options: Any = {"task": "regression", "loss": "poisson", "model_type": "linear"}
    of_text = ul.train(path, **options)
    of_table = trained(frame, center=False)
    assert of_text.metrics["loss"] == pytest.approx(of_table.metrics["loss"], rel=1e-9)
    np.testing.assert_allclose(of_text.predict(path), list(of_table.predict(frame)), rtol=1e-9)
    monkeypatch.setattr("unitless.data.memory.LEAST", 1)
    small = ul.train(path, memory=30_000, **options)
    assert small.metrics == of_text.metrics


def test_conversions_keep_offsets(frame: pd.DataFrame, tmp_path: Path) -> None:
    text = write(tmp_path / "claims.vw", vw_lines(frame.head(30)))
    again, table, lines = (str(tmp_path / name) for name in ("again.vw", "claims.parquet", "claims.jsonl"))
    convert(text, again, "vw")
    one, two = (ul._core.VwReader().read(Path(path).read_bytes(), True) for path in (text, again))
    assert two.offset.tolist() == one.offset.tolist() == frame["log_years"].head(30).tolist()
    convert(text, table, "parquet")
    assert pd.read_parquet(table)["offset"].tolist() == one.offset.tolist()
    convert(text, lines, "jsonl")
    assert [json.loads(line)["offset"] for line in Path(lines).read_text().splitlines()] == one.offset.tolist()
    told = convert(text, str(tmp_path / "claims.svm"), "libsvm")
    assert "offsets: libsvm cannot hold offsets; those of 30 rows were left out" in told.remarks
    frame.head(30).to_csv(tmp_path / "claims.csv", index=False)
    convert(str(tmp_path / "claims.csv"), again, "vw", target="claims", offset="log_years")
    assert ul._core.VwReader().read(Path(again).read_bytes(), True).offset.tolist() == one.offset.tolist()
    with pytest.raises(ul.OptionError, match="libsvm has no place for offsets"):
        convert(str(tmp_path / "claims.csv"), "x.svm", "libsvm", target="claims", offset="log_years", ignore="city")
