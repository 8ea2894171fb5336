"""Metrics that cannot be trusted are named as such, and no others are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import unitless as ul

WORDS = ("contradict", "wrong way round", "worse than the best constant", "beyond chance")


def warnings_of(result: ul.TrainResult) -> list[str]:
    return [note for note in result.notes if any(word in note for word in WORDS)]


def pairs(names: int, seed: int) -> pd.DataFrame:
    """A list of all pairs of a name and a label, each pair once."""
    rng = np.random.default_rng(seed)
    rows = [(f"name {k}", label) for k in range(names) for label in ("F", "M")]
    return pd.DataFrame([rows[k] for k in rng.permutation(len(rows))], columns=["name", "sex"])


def trained(frame: pd.DataFrame, seed: int) -> ul.TrainResult:
    return ul.train(frame, "sex", reading=ul.Reading(text=["name"]), random_state=seed, progress=False)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("names", [40, 100, 700])
def test_a_list_of_all_pairs_has_the_metrics_of_new_names(names: int, seed: int) -> None:
    """If one row of a name were learned, the other one would be predicted wrong, or all learned rows would be."""
    result = trained(pairs(names, seed), seed)
    assert result.metrics["accuracy"] == 0.5
    (note,) = warnings_of(result)
    assert f"{2 * names:,} rows have the same values as another row, but mostly another label" in note
    assert note in "\n".join(str(one) for one in result.asdict()["notes"])


def test_partitions_and_groups_treat_a_list_of_all_pairs_likewise() -> None:
    parts = ul.train(
        pairs(200, 0),
        "sex",
        reading=ul.Reading(text=["name"]),
        cluster=ul.Cluster("local", partitions=2, sync_rounds=2),
    )
    assert parts.metrics["accuracy"] == 0.5
    assert len(warnings_of(parts)) == 1
    frame = pairs(200, 0).assign(part=np.arange(400) // 20)
    assert ul.train(frame, "sex", groups="part", progress=False).details.groups == 20


@pytest.mark.parametrize("kind", ["chance", "several labels of a value", "a few rows of all pairs"])
def test_rows_with_equal_values_are_not_opposed_by_chance(kind: str) -> None:
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({name: rng.integers(0, 8, 1000).astype(str) for name in "ab"})
    labels = {
        "chance": rng.integers(0, 2, 1000),
        "several labels of a value": np.where(rng.random(1000) < 0.9, (frame.a > "3"), rng.integers(0, 2, 1000)),
    }
    if kind == "a few rows of all pairs":
        frame = pd.DataFrame({"a": rng.normal(size=1000)})
        frame.loc[900:, "a"] = np.repeat(np.arange(50.0), 2)
        labels[kind] = np.where(np.arange(1000) < 900, frame.a > 0, np.arange(1000) % 2)
    result = ul.train(frame.assign(y=labels[kind]), "y", progress=False)
    assert warnings_of(result) == []
    assert result.details.held_out == 100


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("names", [50, 100])
def test_pairs_that_another_column_makes_different_are_noticed(names: int, seed: int) -> None:
    frame = pairs(names, seed)
    frame["count"] = np.random.default_rng(seed).integers(1, 10**6, len(frame))
    result = trained(frame, seed)
    assert result.metrics["accuracy"] > 0.7  # of new names the model would get half right
    (note,) = warnings_of(result)
    assert "do not rely on these metrics" in note


def test_one_heavy_row_is_no_contradiction() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(1000, 3)), columns=list("abc"))
    frame["y"], frame["w"] = frame.a + rng.normal(size=1000), np.where(np.arange(1000) == 3, 1e9, 1.0)
    assert warnings_of(ul.train(frame, "y", weight="w", progress=False)) == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["noise", "two", "numbers", "classes"])
def test_ordinary_tables_have_no_contradiction(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(900, 5)), columns=list("abcde"))
    signal = frame.a - 2 * frame.b * frame.c + rng.normal(size=900)
    labels = {
        "noise": rng.random(900) < 0.4,
        "two": signal > 0,
        "numbers": signal,
        "classes": np.digitize(signal, [-1, 1]),
    }
    assert warnings_of(ul.train(frame.assign(y=labels[kind]), "y", random_state=seed, progress=False)) == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["groups", "few very large labels", "one far label"])
def test_held_out_rows_that_are_easier_by_chance_are_no_contradiction(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    frame = pd.DataFrame(rng.normal(size=(3000, 4)), columns=list("abcd"))
    frame["y"] = frame.a + rng.normal(size=3000)
    groups = None
    if kind == "groups":
        groups = rng.integers(0, 300, 3000)
        frame["y"] += 3 * rng.normal(size=300)[groups]
    elif kind == "one far label":
        frame.loc[[7], "y"] = 1e6
    else:
        frame["y"] += 1000 * (rng.random(3000) < 0.002)
    found = ul.train(frame, "y", groups=groups, random_state=seed, model_type="linear", progress=False)
    assert warnings_of(found) == []


def test_a_hold_out_with_one_label_is_reported() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(1000, 3)), columns=list("abc"))
    rare = frame.assign(y=np.where(np.arange(1000) == 500, "fraud", "fine"))
    (note,) = (one for one in ul.train(rare, "y", progress=False).notes if "same label" in one)
    assert "only 1 of 1,000 rows have another one" in note
    assert "holdout=0.5" in note
    often = frame.assign(y=np.where(frame.a > 1.5, "fraud", "fine"))
    assert not [one for one in ul.train(often, "y", progress=False).notes if "same label" in one]


def test_a_fit_that_reaches_its_limit_of_passes_says_so() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=3000)})
    frame["y"] = np.where(frame.x > 0, "yes", "no")
    result = ul.train(frame, "y", progress=False)
    limit = [note for note in result.notes if "limit of" in note]
    assert bool(limit) == (result.passes == 20)
    assert "passes=40" in "".join(limit) or result.passes < 20
