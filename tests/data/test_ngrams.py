"""Columns of names, codes and addresses: character n-grams as features, where they carry information."""

from __future__ import annotations

import base64
import json
import random
import uuid
from collections.abc import Callable
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
from unitless.data.columns.ngrams import found_in, looks_like_names, plain
from unitless.data.conversion import convert
from unitless.sklearn import UnitlessClassifier

analyzer = HashingVectorizer(norm=None, alternate_sign=False, analyzer="char_wb", ngram_range=(2, 5)).build_analyzer()
SYLLABLES = ["ma", "li", "ro", "se", "an", "to", "vi", "el", "ka", "su"]
ENDS = {"woman": ["na", "ine", "etta", "ia"], "man": ["bert", "rik", "do", "us"]}


def people(count: int, seed: int = 0) -> pd.DataFrame:
    """Different first names, whose endings show the sex, with a column that carries nothing."""
    chance = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < count:
        sex = chance.choice(["woman", "man"])
        name = "".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) + chance.choice(ENDS[sex])
        found[name.title()] = sex
    x = np.random.default_rng(seed).normal(size=count)
    return pd.DataFrame({"name": [*found], "x": x, "sex": [*found.values()]})


def error(result: Any, rows: pd.DataFrame, target: str) -> float:
    return float(np.mean(np.asarray(result.predict(rows), object) != rows[target].to_numpy(object)))


def kinds(result: Any) -> dict[str, str]:
    return dict(result.predictor.schema.columns)


# ---------------------------------------------------------------------------------------------------- which n-grams


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=40) | st.text("aB_1 -'.é\u0130ß\u0307²\u212a<>#\x1c\t\u00a0", max_size=20))
@example("\u0130stanbul \u212a2 Stra\u00dfe don't a I x_1 #12 \u0939\u093f\u0928\u094d\u0926\u0940")
def test_ngrams_are_those_of_scikit_learn_and_the_words(text: str) -> None:
    ends = str.maketrans({"<": "", ">": ""})
    text = text.translate(ends)  # which mark the ends of words
    words = text.lower().split()
    expected = {gram.replace(" ", "<" if gram[0] == " " else ">", 1) for gram in analyzer(text)}
    # Short words have an n-gram with both ends.
    expected = {gram.replace(" ", ">") for gram in expected} | {f"<{word}>" for word in words}
    assert {*found_in(text)} == expected
    found = ul.Learner()._word_features("c", plain(text), True)
    assert len(found) == len(expected)
    own = {f"c={gram}" for gram in expected if len(gram.encode()) <= 64 and not gram.startswith("#")}
    assert own <= {*found}
    assert all(name.startswith("c=#") for name in {*found} - own)


# ---------------------------------------------------------------------------------------------------- which columns


def letters(alphabet: str, length: int) -> Callable[[random.Random, int], str]:
    return lambda chance, k: "".join(chance.choices(alphabet, k=length))


IDENTIFIERS: dict[str, Callable[[random.Random, int], str]] = {
    "counter": lambda chance, k: f"C{k:05}",
    "unpadded": lambda chance, k: f"customer{k}",
    "invoice": lambda chance, k: f"INV-2024-{k:05}",
    "drawn": lambda chance, k: f"C{chance.randrange(10**7):07}",
    "uuid": lambda chance, k: str(uuid.UUID(int=chance.getrandbits(128), version=4)),
    "hex": lambda chance, k: f"{chance.getrandbits(32):08x}",
    "short hex": lambda chance, k: f"{chance.getrandbits(24):06x}",
    "base64": lambda chance, k: base64.urlsafe_b64encode(chance.randbytes(9)).decode(),
    "prefix": lambda chance, k: "cus_" + letters("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 14)(chance, k),
    "capitals": letters("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 6),
    "plate": lambda chance, k: letters("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 3)(chance, k) + f"-{chance.randrange(1000):03}",
    "ip": lambda chance, k: ".".join(str(chance.randrange(256)) for _ in range(4)),
    "genes": letters("acgt", 60),
}


@pytest.mark.parametrize("rows", [60, 300, 2000])
@pytest.mark.parametrize("kind", IDENTIFIERS)
def test_identifiers_do_not_look_like_names(kind: str, rows: int) -> None:
    for seed in range(3):
        chance = random.Random(seed)
        assert not looks_like_names([IDENTIFIERS[kind](chance, k) for k in range(rows)])


@pytest.mark.parametrize("kind", IDENTIFIERS)
def test_identifiers_are_left_out(kind: str) -> None:
    data = people(1500)
    chance = random.Random(7)
    # Even if they are ordered by the label.
    data = data.sort_values("sex", ignore_index=True)
    data["code"] = [IDENTIFIERS[kind](chance, k) for k in range(len(data))]
    result = ul.train(data, target="sex", passes=1)
    assert [one.name for one in result.predictor.schema.left_out] == ["code"]


def test_names_of_identifier_columns_are_left_out() -> None:
    data = people(500).rename(columns={"name": "user_id"})
    assert kinds(ul.train(data, target="sex", passes=1)) == {"x": "number"}


def test_names_that_carry_nothing_are_left_out() -> None:
    for seed in range(5):
        data = people(700, seed)
        data["sex"] = np.random.default_rng(seed).permutation(data["sex"])
        assert kinds(ul.train(data, target="sex", passes=1)) == {"x": "number"}
        data["sex"] = np.random.default_rng(seed).normal(size=len(data))
        assert kinds(ul.train(data, target="sex", passes=1)) == {"x": "number"}


def test_names_without_another_column_are_used() -> None:
    data = people(90).drop(columns="x")
    assert kinds(ul.train(data, target="sex")) == {"name": "ngrams"}


def test_no_note_takes_names_with_many_ngrams_for_identifiers() -> None:
    result = ul.train(people(1500)[["name", "sex"]], "sex", progress=False)
    assert kinds(result) == {"name": "ngrams"}
    assert "only identifies rows" not in str(result)


def test_few_different_names_are_categories() -> None:
    data = pd.concat([people(200)] * 4)
    assert kinds(ul.train(data, target="sex", passes=1))["name"] == "text"


# ---------------------------------------------------------------------------------------------------- learning


def test_endings_of_names_are_learned() -> None:
    data = people(2000)
    train, test = data[:1500], data[1500:]
    result = ul.train(train, target="sex")
    assert kinds(result)["name"] == "ngrams"
    assert error(result, test, "sex") < 0.05
    for refused in (ul.Reading(text="name"), ul.Reading(ignore="name"), ul.Reading(words="name")):
        assert error(ul.train(train, target="sex", reading=refused), test, "sex") > 0.35
    assert any("'name': names or codes, taken as n-grams" in str(line) for line in result.column_report)
    estimator = UnitlessClassifier().fit(train.drop(columns="sex"), train["sex"])
    assert estimator.score(test.drop(columns="sex"), test["sex"]) > 0.95
    apart = ul.train(train.drop(columns="sex"), train["sex"].to_numpy())
    assert kinds(apart) == kinds(result)


def test_prefixes_of_codes_are_learned() -> None:
    chance = random.Random(2)
    price = {"TV": 900, "AUD": 300, "CAM": 500, "LAP": 1200}
    rows = [(kind, chance.randrange(10**6)) for kind in chance.choices([*price], k=2000)]
    data = pd.DataFrame({"code": [f"{kind}-{number:06}" for kind, number in rows], "x": range(2000, 0, -1)})
    data["price"] = [price[kind] * (1 + chance.gauss(0, 0.1)) for kind, _ in rows]
    train, test = data[:1500], data[1500:]
    result = ul.train(train, target="price", reading=ul.Reading(ignore="x"))
    assert kinds(result) == {"code": "ngrams"}
    rmse = float(np.sqrt(np.mean((np.asarray(result.predict(test), float) - test["price"]) ** 2)))
    assert rmse < 0.4 * test["price"].std()


def test_parts_of_addresses_are_learned() -> None:
    chance = random.Random(3)
    rows = []
    for k in range(2000):
        site, part = "".join(chance.choices(SYLLABLES, k=3)), chance.choice(["news", "shop", "blog", "docs"])
        rows.append(
            (f"https://www.{site}.com/{part}/{''.join(chance.choices(SYLLABLES, k=4))}-{k}.html", part == "shop")
        )
    data = pd.DataFrame(rows, columns=["url", "buys"]).assign(x=np.random.default_rng(0).normal(size=2000))
    data["buys"] = data["buys"].map({True: "yes", False: "no"})
    result = ul.train(data[:1500], target="buys")
    assert kinds(result)["url"] == "ngrams"
    assert error(result, data[1500:], "buys") < 0.02


# ---------------------------------------------------------------------------------------------------- doors


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One table in several formats."""
    data = people(600, seed=4)
    data.loc[3, "name"], data.loc[4, "name"], data.loc[5, "name"] = None, "\u00c9lo\u00efse", "#1 \u0130da"
    table = pa.Table.from_pandas(data)
    folder = tmp_path_factory.mktemp("people")
    csv.write_csv(table, folder / "people.csv")
    parquet.write_table(table, folder / "people.parquet")
    (folder / "people.jsonl").write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    return {"frame": data, **{kind: str(folder / f"people.{kind}") for kind in ("csv", "parquet", "jsonl")}}


def test_every_format_gives_the_same_bits(files: dict[str, Any]) -> None:
    results = {kind: ul.train(source, target="sex", passes=2) for kind, source in files.items()}
    for kind, result in results.items():
        assert kinds(result)["name"] == "ngrams", kind
        assert sources.content(result.model) == sources.content(results["frame"].model), kind


def test_a_row_is_predicted_as_in_a_table_and_after_saving(files: dict[str, Any], tmp_path: Path) -> None:
    data = files["frame"]
    result = ul.train(data, target="sex", output=tmp_path / "m.unitless")
    loaded = ul.load(tmp_path / "m.unitless")
    scores = np.concatenate([part.scores.reshape(-1) for part in result.predictor.batches(data)])
    rows = data.drop(columns="sex").to_dict("records")[:40]
    rows = [{name: None if pd.isna(value) else value for name, value in row.items()} for row in rows]
    for row, score in zip(rows, scores.tolist(), strict=False):
        assert result.predictor.score_one(row) == score
        assert loaded.predict_one(row) == score


def test_an_explanation_shows_ngrams(files: dict[str, Any]) -> None:
    result = ul.train(files["frame"], target="sex", model_type="linear")
    why = ul.explain(result, {"name": "Xyzmarina", "x": 0.0})
    parts = {part.feature: part.contribution for part in why.features}
    assert {"name=na>", "name=ma"} <= parts.keys()
    assert "name=<xyz" in why.unknown
    assert abs(why.base_value + sum(parts.values()) - why.score) < 1e-9


def test_the_user_can_ask_for_ngrams(files: dict[str, Any]) -> None:
    data = people(300).assign(code=[f"C{k:04}" for k in range(300)], zip=[10000 + 7 * k % 999 for k in range(300)])
    asked = ul.train(data, target="sex", passes=1, reading=ul.Reading(ngrams=["code", "zip"]))
    assert (kinds(asked)["code"], kinds(asked)["zip"]) == ("ngrams", "ngrams")
    assert "code=<c0" in asked.model.importance
    assert "zip=<10" in asked.model.importance
    with pytest.raises(ul.OptionError, match="text and ngrams both name column 'code'"):
        ul.train(data, target="sex", reading=ul.Reading(ngrams="code", text="code"))
    with pytest.raises(ul.OptionError, match="ngrams: there is no column 'town'"):
        ul.train(data, target="sex", reading=ul.Reading(ngrams="town"))


def test_ngrams_become_vw_text_and_have_no_column_in_a_graph(files: dict[str, Any], tmp_path: Path) -> None:
    convert(files["csv"], str(tmp_path / "people.vw"), "vw", target="sex")
    assert "name=<\u00e9l" in (tmp_path / "people.vw").read_text(encoding="utf-8").splitlines()[4]
    model = ul.train(files["csv"], target="sex", model_type="linear").model
    with pytest.raises(ul.OptionError, match="column 'name' contains n-grams"):
        ul.to_onnx(model, inputs="columns")


def test_a_missing_name_is_a_feature(files: dict[str, Any]) -> None:
    assert "name=(missing)" in ul.train(files["csv"], target="sex").model.importance
