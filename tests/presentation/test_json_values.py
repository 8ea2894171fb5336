"""Results as JSON has them: no number that JSON cannot express, whatever is inside."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import unitless as ul
from unitless.presentation.json_values import named, plain

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.integers() | st.text(), inner),
)


@given(VALUES)
def test_everything_inside_is_json(value: Any) -> None:
    json.dumps(plain(value), allow_nan=False)


@given(st.floats())
def test_only_numbers_that_are_not_finite_become_none(value: float) -> None:
    assert plain(value) == (value if math.isfinite(value) else None)


def test_a_record_becomes_a_mapping_of_its_fields() -> None:
    @dataclass
    class Found:
        name: str
        edges: tuple[float, float]

    found = Found("a", (0.5, math.inf))
    assert plain({1: found}) == {"1": {"name": "a", "edges": [0.5, None]}}
    assert named(found, "edges") == {"edges": [0.5, None]}


def test_a_rule_without_a_learning_rate_has_none() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    result = ul.train(X, X[:, 0], rule="newton", model_type="linear", ensemble=False)
    assert math.isnan(result.model.learning_rate)
    text = json.dumps(result.asdict(), allow_nan=False)
    assert json.loads(text)["learning_rate"] is None
