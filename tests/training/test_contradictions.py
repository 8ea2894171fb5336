"""Metrics that cannot be trusted are named as such, and no others are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import unitless as ul

WORDS = ("contradict", "wrong way round", "worse than the best constant", "beyond chance")


def warnings_of(result: ul.TrainResult) -> list[str]:
    return [note for note in result.notes if any(word in note for word in WORDS)]


def pairs(seed: int) -> pd.DataFrame:
    """A list of all pairs of a name and a label, each pair once."""
    rng = np.random.default_rng(seed)
    names = [f"name {k}" for k in range(700)]
    rows = [(name, label) for name in names for label in ("F", "M")]
    return pd.DataFrame([rows[k] for k in rng.permutation(len(rows))], columns=["name", "sex"])


@pytest.mark.parametrize("seed", range(3))
def test_rows_that_come_in_pairs_of_opposite_labels_are_noticed(seed: int) -> None:
    result = ul.train(pairs(seed), "sex", reading=ul.Reading(text=["name"]), random_state=seed, progress=False)
    (note,) = warnings_of(result)
    assert "do not rely on these metrics" in note
    assert note in "\n".join(str(one) for one in result.asdict()["notes"])


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
