"""Columns of words: words and pairs of words as features, in bounded memory."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sources
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer

import unitless as ul
from unitless import inputs
from unitless.data.words import found_in, looks_like_words, plain, words_column

OWN_NAMES = 1 << 17
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
    """Comments whose words say whether they are good ones."""
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
    found = ul.Learner()._word_features("c", plain(text))
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
        ([f"I liked film {i} a lot, thanks to its music" for i in range(50)], True),
        ([f"Braund, Mr. Owen Harris {chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(300)], True),
        (["Never married", "Divorced", "Widowed", "Married spouse absent", "Some college but no degree"] * 20, False),
        ([f"Child under {i} never married not in subfamily" for i in range(9)], False),
        ([f"{i}th grade" for i in range(300)], False),
        ([f"https://example.com/a/page-{i}-of-the-book.html" for i in range(300)], False),
        ([f"{i:08x}-11ee-be56 {i} A/5 {21171 + i}" for i in range(300)], False),
        ([f"customer{i}" for i in range(300)], False),
        (["", " ", "  "] * 100, False),
        ([], False),
    ],
)
def test_words_are_told_from_categories_and_ids(texts: list[str], expected: bool) -> None:
    assert looks_like_words(texts) is expected


# ---------------------------------------------------------------------------------------------------- learning


def learner(**options: Any) -> ul.Learner:
    return ul.Learner(loss="logistic", learning_rate="auto", centre=True, **options)


@pytest.mark.parametrize("shape", ["linear", "auto"])
def test_rows_in_one_call_and_in_many_give_the_same_bits(tmp_path: Path, shape: Any) -> None:
    texts, y = comments(600)
    x = np.random.default_rng(1).normal(size=600)
    data = frame(texts, x=x)
    whole = learner(shape=shape)
    at_once = whole.learn(data, y)
    parts, found = learner(shape=shape), []
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
    names = [dict.fromkeys(model._word_features("comment", text or ""), 1.0) for text in texts]
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
    assert often == once  # the pair "great great" is not known


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
    """A model whose column of words has given nearly all its names."""
    model = learner(shape="linear")
    words = [f"w{k}" for k in range(OWN_NAMES // 2 - 40)]
    texts = [" ".join(words[k : k + 1000]) for k in range(0, len(words), 1000)]
    data = frame(list(texts), city=np.arange(len(texts)) % 2)
    model.learn(data, np.arange(len(texts)) % 2 == 0)
    return model


def test_words_beyond_the_bound_share_features(full: ul.Learner, tmp_path: Path) -> None:
    def own(model: ul.Learner) -> int:
        return sum(name.startswith("comment=") and "#" not in name for name in model.weights)

    assert OWN_NAMES - 200 < own(full) < OWN_NAMES
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
    assert len(whole.weights) <= OWN_NAMES + (1 << 16) + 2
    # By name, too: words that share a feature add up.
    names = [
        {"city": 0.0} | {name: float(found.count(name)) for name in found}
        for found in (whole._word_features("comment", text) for text in many)
    ]
    assert np.array_equal(whole.predict(data), whole.predict(names))


def test_a_failed_call_takes_no_names(full: ul.Learner) -> None:
    model = pickle.loads(pickle.dumps(full))
    before = {**model.weights}
    far = frame(["brand new", "words here"], city=np.array([1e308, -1e308]))
    with pytest.raises(ul.errors.InputError):
        model.learn(far, np.array([True, False]))
    assert {**model.weights} == before


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
    alone, beside = learner(shape="auto"), learner(shape="auto")
    alone.learn(frame(texts), y)
    beside.learn(frame(texts, x=np.arange(50.0)), y)
    assert alone.settled_shape == "linear"
    assert beside.settled_shape == "trees"
