"""Columns of words: words and pairs of words as features, in bounded memory."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sources
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet
from sklearn.feature_extraction.text import HashingVectorizer

import unitless as ul
from unitless import inputs
from unitless.data.columns.words import found_in, looks_like_words, plain, words_column
from unitless.data.conversion import convert

OWN_NAMES = 1 << 18
analyzer = HashingVectorizer(norm=None, alternate_sign=False, ngram_range=(1, 2)).build_analyzer()


def text_column(texts: list[str | None]) -> inputs.TextColumn:
    values = list(dict.fromkeys(text for text in texts if text is not None))
    codes = np.array([-1 if text is None else values.index(text) for text in texts], np.int32)
    ends = np.cumsum([0, *(len(value.encode()) for value in values)], dtype=np.int64)
    return inputs.TextColumn(codes, ends, np.frombuffer("".join(values).encode(), np.uint8))


def frame(texts: list[str | None], **numbers: Any) -> inputs.Frame:
    columns: list[inputs.FrameColumn] = [words_column(text_column(texts)), *map(np.asarray, numbers.values())]
    return inputs.Frame(["comment", *numbers], columns, len(texts), missing=True)


def comments(count: int, seed: int = 0) -> tuple[list[str | None], np.ndarray[Any, Any]]:
    """Comments whose words show whether they are good ones."""
    rng = np.random.default_rng(seed)
    good = rng.random(count) < 0.5
    usual = np.array([f"word{k}" for k in range(200)])
    texts: list[str | None] = []
    for is_good in good.tolist():
        words = usual[rng.integers(0, len(usual), 6)].tolist()
        words[2:2] = ["Great" if is_good else "not", "film," if is_good else "great"]
        texts.append(" ".join(words) if rng.random() < 0.95 else None)
    return texts, good


# ---------------------------------------------------------------------------------------------------- which words


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.text("aB_1 -'.é\u0130ß\u0307²\u212a", max_size=30))
@example("\u0130stanbul \u212a2 Stra\u00dfe don't a I x_1 \u00e9t\u00e9 \u0939\u093f\u0928\u094d\u0926\u0940")
def test_words_and_pairs_are_those_of_scikit_learn(text: str) -> None:
    expected = analyzer(text)
    assert {*found_in(text)} == {*expected}
    short = [f"c={word}" for word in expected if len(word.encode()) <= 64]
    found = ul.Learner()._word_features("c", plain(text), False)
    assert {name for name in found if not name.startswith("c=#")} == {*short}
    assert len(found) == len({*expected})


def test_other_letters_change_only_the_texts_that_have_them() -> None:
    texts = text_column(["Plain TEXT, as it is", "\u00c9t\u00e9 \u00e0 Paris!", None, "more"])
    column = words_column(texts).texts
    assert column.codes.tolist() == [0, 1, -1, 2]
    raw = column.text.tobytes().decode()
    assert raw == "Plain TEXT, as it is" + "\u00e9t\u00e9 paris" + "more"
    ascii_only = text_column(["only", "these"])
    assert words_column(ascii_only).texts is ascii_only


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([f"I liked film {i} a lot, thanks to its music and the actors" for i in range(50)], True),
        ([f"Braund, Mr. Owen Harris {chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(300)], True),
        (["Never married", "Divorced", "Widowed", "Married spouse absent", "Some college but no degree"] * 20, False),
        ([f"Child under {i} never married not in subfamily" for i in range(38)], False),
        ([f"{i}th grade" for i in range(300)], False),
        ([f"https://example.com/a/page-{i}-of-the-book.html" for i in range(300)], False),
        ([f"{i:08x}-11ee-be56 {i} A/5 {21171 + i}" for i in range(300)], False),
        ([f"customer{i}" for i in range(300)], False),
        (["", " ", "  "] * 100, False),
        ([], False),
    ],
)
def test_words_are_distinguished_from_categories_and_identifiers(texts: list[str], expected: bool) -> None:
    assert looks_like_words(texts) is expected
    assert looks_like_words(texts, rows=4096) is expected


def test_short_comments_are_words_if_nearly_all_differ() -> None:
    texts = [f"liked film {i} a lot" for i in range(50)]
    assert looks_like_words(texts, rows=52)
    assert not looks_like_words(texts, rows=4096)


# ---------------------------------------------------------------------------------------------------- learning


def learner(**options: Any) -> ul.Learner:
    return ul.Learner(loss="logistic", learning_rate="auto", center=True, **options)


@pytest.mark.parametrize("model_type", ["linear", "auto"])
def test_rows_in_one_call_and_in_many_give_the_same_bits(tmp_path: Path, model_type: Any) -> None:
    texts, y = comments(600)
    x = np.random.default_rng(1).normal(size=600)
    data = frame(texts, x=x)
    whole = learner(model_type=model_type)
    at_once = whole.learn(data, y)
    parts, found = learner(model_type=model_type), []
    for first, end in ((0, 1), (1, 200), (200, 201), (201, 600)):
        found.append(parts.learn(inputs.pick(data, np.arange(first, end)), y[first:end]))
        parts.save(tmp_path / "m.unitless")
        parts = ul.load(tmp_path / "m.unitless")
    assert np.array_equal(at_once, np.concatenate(found))
    assert sources.content(whole) == sources.content(parts)


def test_a_prediction_is_the_same_for_a_frame_and_by_name() -> None:
    texts, y = comments(300)
    model = learner()
    model.learn(frame(texts), y)
    names = [dict.fromkeys(model._word_features("comment", text or "", False), 1.0) for text in texts]
    assert np.array_equal(model.predict(frame(texts)), model.predict(names))
    before = {**model.weights}
    assert model.predict(frame(["nobody said this before", "not great"]))[0] == model.predict([{}])[0]
    assert model.weights == before


def test_words_are_features_with_their_weights() -> None:
    texts, y = comments(2000)
    model = learner()
    model.learn(frame(texts), y)
    weights = model.weights
    assert weights["comment=great film"] > 0 > weights["comment=not great"]
    assert weights["comment=not"] < 0
    assert abs(weights["comment=word7"]) < weights["comment=great film"] / 2


def test_a_word_counts_once_in_a_row() -> None:
    texts, y = comments(300)
    model = learner()
    model.learn(frame(texts), y)
    once, often = model.predict(frame(["great", "great  Great-GREAT"]))
    again = model.predict([{"comment=great": 1.0}])
    assert once == again[0]
    assert often == once  # the pair "great great" is unknown


def test_rows_of_weight_zero_add_no_words() -> None:
    texts, y = comments(20)
    model = learner()
    model.learn(frame(texts), y, weight=np.arange(20) < 10)
    first = learner()
    first.learn(frame(texts[:10]), y[:10])
    assert model.weights.keys() == first.weights.keys()


# ---------------------------------------------------------------------------------------------------- bounded memory


@pytest.fixture(scope="module")
def full() -> ul.Learner:
    """A model whose column of words has used nearly all its names."""
    model = ul.Learner(loss="logistic", center=True)
    words = [f"w{k}" for k in range(OWN_NAMES // 2 - 40)]
    texts = [" ".join(words[k : k + 1000]) for k in range(0, len(words), 1000)]
    data = frame(list(texts), city=np.arange(len(texts)) % 2)
    model.learn(data, np.arange(len(texts)) % 2 == 0)
    return model


def test_words_beyond_the_bound_share_features(full: ul.Learner, tmp_path: Path) -> None:
    def own(model: ul.Learner) -> int:
        return sum(name.startswith("comment=") and "#" not in name for name in model.weights)

    assert OWN_NAMES - 400 < own(full) < OWN_NAMES
    many = [" ".join(f"later{k}x{i}" for k in range(100)) for i in range(30)]
    y = np.arange(30) % 3 == 0
    data = frame(list(many), city=np.zeros(30))
    full.save(tmp_path / "m.unitless")
    whole, parts = ul.load(tmp_path / "m.unitless"), ul.load(tmp_path / "m.unitless")
    at_once = whole.learn(data, y)
    found = []
    for row in range(30):
        found.append(parts.learn(inputs.pick(data, np.array([row])), y[row : row + 1]))
        if row % 10 == 0:
            parts.save(tmp_path / "m.unitless")
            parts = ul.load(tmp_path / "m.unitless")
    assert np.array_equal(at_once, np.concatenate(found))
    assert sources.content(whole) == sources.content(parts)
    assert own(whole) == OWN_NAMES
    assert sum(name.startswith("comment=#") for name in whole.weights) > 1000
    assert len(whole.weights) <= 2 * OWN_NAMES + 2
    # Also by name: words that share a feature are added up.
    names = [
        {"city": 0.0} | {name: float(found.count(name)) for name in found}
        for found in (whole._word_features("comment", text, False) for text in many)
    ]
    assert np.array_equal(whole.predict(data), whole.predict(names))


def test_a_failed_call_takes_no_names(full: ul.Learner) -> None:
    failed, other = pickle.loads(pickle.dumps(full)), pickle.loads(pickle.dumps(full))
    far = frame([" ".join(f"new{k}" for k in range(100)), "more"], city=np.array([1.79e308, -1.79e308]))
    with pytest.raises(ul.InputError, match="below 1e300"):
        failed.learn(far, np.array([True, False]))
    assert sources.content(failed) == sources.content(other)
    later = frame([" ".join(f"later{k}" for k in range(100))], city=np.zeros(1))
    for model in (failed, other):
        model.learn(later, np.array([True]))
    assert sources.content(failed) == sources.content(other)


def test_long_words_have_no_names_of_their_own() -> None:
    model = learner()
    model.learn(frame(["x" * 65 + " ok", "fine"] * 5), np.arange(10) % 2 == 0)
    names = {*model.weights} - {"(bias)"}
    assert {"comment=ok", "comment=fine"} < names
    assert len([name for name in names if name.startswith("comment=#")]) == 2  # the word, and its pair
    assert len(names) == 4


# ---------------------------------------------------------------------------------------------------- other columns


def test_words_alone_are_learned_by_a_linear_model() -> None:
    texts, y = comments(50)
    alone, beside = learner(model_type="auto"), learner(model_type="auto")
    alone.learn(frame(texts), y)
    beside.learn(frame(texts, x=np.arange(50.0)), y)
    assert alone.model_type == "linear"
    assert beside.model_type == "trees"


# ---------------------------------------------------------------------------------------------------- from data


@pytest.fixture(scope="module")
def stays(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One table of comments in several formats."""
    texts, good = comments(500, seed=3)
    texts[7] = "\u00c9t\u00e9 \u00e0 la plage: great film, \u0130stanbul"
    table = pa.table(
        {"comment": texts, "nights": np.arange(500) % 7, "city": ["Rome", "Oslo"] * 250, "again": good.astype(int)}
    )
    folder = tmp_path_factory.mktemp("stays")
    csv.write_csv(table, folder / "stays.csv")
    parquet.write_table(table, folder / "stays.parquet")
    lines = "\n".join(json.dumps(row) for row in table.to_pylist())
    (folder / "stays.jsonl").write_text(lines)
    kinds = ("stays.csv", "stays.parquet", "stays.jsonl")
    return {"frame": table.to_pandas(), **{kind: str(folder / kind) for kind in kinds}}


def train(source: Any, **options: Any) -> Any:
    return ul.train(source, target="again", passes=1, task="binary", positive="1", **options)


def test_words_are_found_alike_in_every_format(stays: dict[str, Any]) -> None:
    results = {kind: train(source) for kind, source in stays.items()}
    for kind, result in results.items():
        assert dict(result.predictor.schema.columns)["comment"] == "words", kind
        assert dict(result.predictor.schema.columns)["city"] == "text", kind
        assert sources.content(result.model) == sources.content(results["frame"].model), kind
    assert results["frame"].metrics["error_rate"] < 0.1


def test_a_row_is_predicted_as_in_a_table(stays: dict[str, Any]) -> None:
    frame = stays["frame"]
    for model_type in ("auto", "linear"):
        predictor = train(frame, model_type=model_type).predictor
        scores = np.concatenate([part.scores.reshape(-1) for part in predictor.batches(frame)])
        rows = frame.drop(columns="again").to_dict("records")[:60]
        rows = [{name: None if pd.isna(value) else value for name, value in row.items()} for row in rows]
        for row, score in zip(rows, scores.tolist(), strict=False):
            assert predictor.score_one(row) == score
            assert predictor.model.predict_one(row) == score
            assert predictor.score_one(pd.Series(row)) == score
        assert predictor.score_one({"comment": "  NA "}) == predictor.score_one({})


def test_an_explanation_shows_words(stays: dict[str, Any]) -> None:
    why = ul.explain(
        train(stays["frame"], model_type="linear"), {"comment": "a GREAT film, n\u00e9e Xyzzy", "city": "Rome"}
    )
    said = {part.feature: part.contribution for part in why.features}
    assert sorted(said, key=lambda name: -said[name])[:2] == ["comment=film", "comment=great film"]
    assert "comment=xyzzy" in why.unknown
    assert abs(why.base_value + sum(said.values()) - why.score) < 1e-9


def test_the_user_can_choose_words_or_categories_for_a_column(stays: dict[str, Any]) -> None:
    frame = stays["frame"].assign(city=["New York", "Los Angeles"] * 250)
    said = train(frame, reading=ul.Reading(words=["city"], text=["comment"])).predictor.schema.kinds
    assert (said["city"], said["comment"]) == ("words", "text")
    with pytest.raises(ul.OptionError, match="text and words both name column 'city'"):
        train(frame, reading=ul.Reading(words="city", text="city"))
    with pytest.raises(ul.OptionError, match="words: there is no column 'town'"):
        train(frame, reading=ul.Reading(words="town"))
    with pytest.raises(ul.OptionError, match="mappings have features by name, and no columns of words; give a frame"):
        train(frame.to_dict("records"), reading=ul.Reading(words="comment"))


def test_a_missing_text_is_a_feature(stays: dict[str, Any]) -> None:
    assert "comment=(missing)" in train(stays["stays.csv"]).model.importance


def test_words_become_vw_text(stays: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "stays.vw"
    convert(stays["stays.csv"], str(path), "vw", target="again")
    line = path.read_text(encoding="utf-8").splitlines()[7]
    assert "comment=\u00e9t\u00e9" in line
    assert "comment=great_film" in line


def test_words_have_no_column_in_a_graph(stays: dict[str, Any]) -> None:
    model = train(stays["frame"], model_type="linear").model
    with pytest.raises(ul.OptionError, match="column 'comment' contains words"):
        ul.to_onnx(model, inputs="columns")


def test_models_of_words_are_merged(stays: dict[str, Any]) -> None:
    frame = stays["frame"]
    halves = [train(half, model_type="linear").model for half in (frame[:250], frame[250:])]
    merged = ul.merge(halves)
    assert merged.importance.keys() == halves[0].importance.keys() | halves[1].importance.keys()
    assert merged.weights["comment=great film"] > 0
