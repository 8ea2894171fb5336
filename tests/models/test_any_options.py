"""Random options and rows: the exact properties of every kind of model, with any options.

Other tests check each guarantee in the cases it was written for; this one searches for combinations that they miss.
A run of the test suite always tries the same cases. To search further, set the number of new cases of each kind:

    UNITLESS_SEARCH=5000 python -m pytest --timeout 0 -o faulthandler_timeout=0 tests/models/test_any_options.py
"""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from instruction_sets import KERNELS
from sources import content
from streams import LOSSES, RULES, UNIT_FREE

import unitless as ul

SEARCH = int(os.environ.get("UNITLESS_SEARCH", "0"))
MOST_ROWS = 12
KINDS = ("Learner", "Learner", "OneVsAll", "open", "Sweep", "Sweep of classes")  # "open": classes join when met
RATES = (0.02, 0.3, 1.0, 10.0)
CLASSES = ("x", "y", "z")
NO_COLLISIONS = (None, 18)  # features that share a slot share their unit: that is what hashing costs
NAMES = ("a", "b1", "b2", *"cdefghij")

# The values that a column may have. Rules that depend on units are tested near unit scales, where they work.
NEAR_ONE = (
    (0.0, 1.0),
    (0.0, 0.0, 1.0, -1.0),
    (0.0,),
    (1.5,),
    (0.5, 1.0, -0.75, 0.1),
    (2.0, 2.25, 1.75),
)
UNITS = (
    *NEAR_ONE,
    (293.15, 293.25, 291.0),
    (1e-12, -3e-12, 0.0),
    (1e12, 0.0, -7e11, 5.0),
    (1.0, 1e6, -1e-6, 0.0),
    (0.0, 0.0, 0.0, 1e5),
)
EXTREME = (*UNITS, (1e100, -3e99, 0.0), (0.0, 1e-100, 7e-101), (1e-40, 1e40))
LABELS: dict[str, tuple[float, ...]] = {
    "squared": (0.0, 1.0, -1.0, 3.5, -20.0, 1e3, 1e-3),
    "quantile": (0.0, 1.0, -1.0, 3.5, -20.0, 1e3, 1e-3),
    "logistic": (-1.0, 1.0),
    "hinge": (-1.0, 1.0),
    "poisson": (0.0, 1.0, 2.0, 7.0, 30.0),
}
ABSENT = st.lists(st.booleans(), min_size=1, max_size=7).map(tuple)
WEIGHTS = (1.0, 0.0, 0.5, 2.0, 3.75, 1e-3, 1e3)


def try_many(usual: int) -> Callable[[Any], Any]:
    """The number of cases: a usual run always tries the same ones, a search tries new ones."""
    return settings(
        max_examples=SEARCH or usual,
        derandomize=not SEARCH,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )


@dataclass(frozen=True)
class Case:
    """A model and the rows that it will learn."""

    kind: str  # one of KINDS
    options: dict[str, Any]
    pairs: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]  # listed interactions, of columns
    X: np.ndarray
    y: Any
    weight: np.ndarray | None

    def model(self, named: bool = False) -> Any:
        """Make an untrained model. Listed interactions are of columns, or of names."""
        options = dict(self.options)
        if self.pairs:
            options["interactions"] = [tuple(_side(side, named) for side in pair) for pair in self.pairs]
        if self.kind in ("Sweep", "Sweep of classes"):
            return ul.Sweep(RATES, classes=CLASSES if self.kind == "Sweep of classes" else None, **options)
        if self.kind == "Learner":
            return ul.Learner(**options)
        several = ul.Softmax if options["loss"] == "softmax" else ul.OneVsAll
        return several(None if self.kind == "open" else CLASSES, **options)

    def part(self, start: int, end: int) -> tuple[Any, Any, Any]:
        return self.X[start:end], self.y[start:end], None if self.weight is None else self.weight[start:end]


def _side(columns: tuple[int, ...], named: bool) -> Any:
    if not named:
        return list(columns)
    return "b*" if columns == (1, 2) else [NAMES[column] for column in columns]


@st.composite
def cases(draw: Any, **only: tuple[Any, ...]) -> Case:
    """Generate options that may be combined, and a few rows. `only` restricts the values of an option."""

    def one_of(name: str, *values: Any) -> Any:
        return draw(st.sampled_from(only.get(name, values)))

    kind = one_of("kind", *KINDS)
    together = () if kind in ("Learner", "Sweep") else ("softmax", "softmax")
    rule, loss = one_of("rule", *RULES), one_of("loss", *LOSSES, *together)
    options: dict[str, Any] = {"rule": rule, "loss": loss}
    if not kind.startswith("Sweep"):
        options["learning_rate"] = one_of("rate", 0.5, 0.02, 1.0, 7.0, "auto")
    options["importance_aware"] = one_of("importance_aware", True, True, False)
    options["bias"] = one_of("bias", True, True, False)
    if loss == "quantile":
        options["quantile"] = one_of("quantile", 0.5, 0.1, 0.9)
    if rule in ("gd", "ng"):
        options["schedule"] = one_of("schedule", None, "sqrt", "constant")
    alone = kind == "Learner" and options["learning_rate"] != "auto"
    if alone:
        options["order"] = one_of("order", "paper", "paper", "vw")
        options["clip"] = one_of("clip", None, None, "vw")
    numeric = loss in ("squared", "quantile")
    if numeric and not options.get("clip"):
        options["clip"] = one_of("clip", None, "labels")
    plain = options.get("order") != "vw"
    if numeric and plain and kind in ("Learner", "Sweep") and not options.get("clip"):
        options["target"] = one_of("target", None, "auto")
    if plain:
        options["center"] = one_of("center", False, False, True)
    options["average"] = one_of("average", False, True)
    if not options.get("center"):
        options["bits"] = one_of("bits", None, None, 1, 2, 3, 18)

    rows, columns = draw(st.integers(1, MOST_ROWS)), draw(st.integers(1, len(NAMES)))
    interactions = one_of("interactions", None, None, 2, "ordered", "listed")
    pairs: tuple[Any, ...] = ()
    if interactions == "listed":
        side = st.sampled_from([(j,) for j in range(columns)] + ([(1, 2)] if columns > 2 else []))
        pairs = tuple(draw(st.lists(st.tuples(side, side), min_size=1, max_size=3)))
    else:
        options["interactions"] = interactions
    limited = interactions or options.get("center")
    palettes = NEAR_ONE if rule not in UNIT_FREE else UNITS if limited else EXTREME
    numbers = draw(st.binary(min_size=rows * columns, max_size=rows * columns))
    chosen = draw(st.lists(st.sampled_from(palettes), min_size=columns, max_size=columns))
    X = np.array([chosen[i % columns][n % len(chosen[i % columns])] for i, n in enumerate(numbers)])
    labels: Any = LABELS[loss] if kind in ("Learner", "Sweep") else CLASSES
    y = draw(st.lists(st.sampled_from(labels), min_size=rows, max_size=rows))
    weight = None
    if one_of("weight", False, True):  # whether rows have weights
        weight = np.array(draw(st.lists(st.sampled_from(WEIGHTS), min_size=rows, max_size=rows)))
    return Case(kind, options, pairs, X.reshape(rows, columns), y, weight)


def bits(result: Any) -> bytes:
    array = np.asarray(result)
    return f"{array.shape}".encode() + array.tobytes()


def state(model: Any) -> bytes:
    return pickle.dumps(model)


def asked(model: Any, X: Any) -> bytes:
    """Predict these rows: limited to the scales seen so far, not limited, and with averaged weights."""
    result = bits(model.predict(X)) + bits(model.predict(X, extrapolate=True))
    if model.options.average and model.kept == "last":
        model.keep("averaged")
        result += asked(model, X)
        model.keep("last")
    return result


def learned(model: Any, case: Case, X: Any = None) -> np.ndarray:
    """Learn the rows and return the predictions. Cases whose numbers overflow are skipped."""
    try:
        return np.asarray(model.learn(case.X if X is None else X, case.y, case.weight))
    except ul.DivergedError:
        assume(False)
        raise


def mappings(X: np.ndarray, absent: tuple[bool, ...] = (False,), weight: Any = None) -> list[dict[str, float]]:
    """Rows by name.

    `absent` selects, in turn, the zeros that are left out. The first row with a positive weight has all names, so that
    the model meets them in the order of columns.
    """
    left_out = itertools.cycle(absent)
    first = 0 if weight is None or not weight.any() else int(np.argmax(weight != 0))
    return [
        {name: x for name, x in zip(NAMES, row, strict=False) if r == first or x != 0.0 or not next(left_out)}
        for r, row in enumerate(X.tolist())
    ]


def frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=list(NAMES[: X.shape[1]]))


# ------------------------------------------------------------------------------------------------- units


@try_many(120)
@given(
    case=cases(rule=UNIT_FREE, bits=NO_COLLISIONS),
    powers=st.lists(st.integers(-60, 60), min_size=len(NAMES), max_size=len(NAMES)),
)
def test_powers_of_two_change_no_bit(case: Case, powers: list[int]) -> None:
    units = np.ldexp(1.0, powers[: case.X.shape[1]])
    a, b = case.model(), case.model()
    assert bits(learned(a, case)) == bits(learned(b, case, case.X * units))
    assert asked(a, 3 * case.X) == asked(b, 3 * case.X * units)


@try_many(120)
@given(
    case=cases(bits=NO_COLLISIONS),
    flips=st.lists(st.sampled_from((1.0, -1.0)), min_size=len(NAMES), max_size=len(NAMES)),
)
def test_flipping_signs_changes_no_bit(case: Case, flips: list[float]) -> None:
    signs = np.array(flips[: case.X.shape[1]])
    a, b = case.model(), case.model()
    assert bits(learned(a, case)) == bits(learned(b, case, case.X * signs))
    assert asked(a, 3 * case.X) == asked(b, 3 * case.X * signs)


def _append_zeros(case: Case, columns: int) -> None:
    wider = np.hstack([case.X, np.zeros((len(case.X), columns))])
    a, b = case.model(), case.model()
    assert bits(learned(a, case)) == bits(learned(b, case, wider))
    assert asked(a, 3 * case.X) == asked(b, 3 * wider)


@try_many(160)
@given(case=cases(), columns=st.integers(1, 9))
def test_appending_columns_of_zeros_changes_no_bit(case: Case, columns: int) -> None:
    _append_zeros(case, columns)


# ------------------------------------------------------------------------------------------------- calls


@try_many(120)
@given(case=cases(), cuts=st.lists(st.integers(0, MOST_ROWS), max_size=5))
def test_one_call_is_many_calls(case: Case, cuts: list[int]) -> None:
    whole, parts = case.model(), case.model()
    expected = learned(whole, case)
    edges = [0, *sorted(min(cut, len(case.y)) for cut in cuts), len(case.y)]
    for start, end in itertools.pairwise(edges):
        scores = parts.learn(*case.part(start, end))
        known = expected[start:end]
        if case.kind == "open":  # classes that join later are not there yet
            known = known[:, : scores.shape[1]]
        assert bits(scores) == bits(known)
    assert state(whole) == state(parts)


@try_many(80)
@given(case=cases(weight=(True,)))
def test_rows_of_weight_zero_change_nothing(case: Case) -> None:
    assert case.weight is not None
    counted = case.weight != 0
    a, b = case.model(), case.model()
    expected = learned(a, case)[counted]
    some = replace(case, y=list(itertools.compress(case.y, counted)), weight=case.weight[counted])
    assert bits(learned(b, some, case.X[counted])) == bits(expected)
    assert state(a) == state(b if counted.any() else case.model())


@try_many(120)
@given(case=cases())
def test_predict_equals_the_predictions_of_learn(case: Case) -> None:
    assume(case.options.get("clip") != "vw")  # the model knows the label that it predicts
    m = case.model()
    for r in range(len(case.y)):
        row, label, weight = case.part(r, r + 1)
        predicted, best = m.predict(row), RATES.index(m.best_rate) if case.kind.startswith("Sweep") else None
        try:
            said = m.learn(row, label, weight)
        except ul.DivergedError:
            return
        if best is not None:
            said = said[:, best]
        if case.kind == "Sweep of classes":
            predicted = np.array(CLASSES)[predicted.argmax(axis=1)]
        if case.kind == "open":
            said = said[:, : predicted.shape[1]]
        if case.options.get("order") == "vw":
            np.testing.assert_allclose(predicted, said, rtol=1e-9, atol=1e-12)
        else:
            assert bits(predicted) == bits(said)


@try_many(60)
@given(case=cases())
def test_predicting_changes_nothing(case: Case) -> None:
    m = case.model()
    learned(m, case)
    before = state(m)
    m.predict(-2 * case.X)
    m.predict(5 * case.X, extrapolate=True)
    m.learn(7 * case.X, case.y, np.zeros(len(case.y)))
    assert state(m) == before


# ------------------------------------------------------------------------------------------------- kinds of rows


@try_many(100)
@given(case=cases(center=(False,)), cut=st.integers(0, MOST_ROWS))
def test_dense_and_sparse_rows_give_the_same_bits(case: Case, cut: int) -> None:
    dense, sparse, both = case.model(), case.model(), case.model()
    expected = learned(dense, case)
    assert bits(learned(sparse, case, sp.csr_matrix(case.X))) == bits(expected)
    assert state(sparse) == state(dense)
    first, rest = case.part(0, cut), case.part(cut, len(case.y))
    both.learn(*first)
    both.learn(sp.csr_matrix(rest[0]), *rest[1:])
    assert state(both) == state(dense)
    assert asked(dense, 3 * case.X) == asked(sparse, sp.csr_matrix(3 * case.X))
    assert asked(dense, 3 * case.X) == asked(sparse, np.asfortranarray(3 * case.X))


@try_many(100)
@given(case=cases(center=(False,)), absent=ABSENT, cut=st.integers(0, MOST_ROWS))
def test_frames_and_rows_of_names_give_the_same_bits(case: Case, absent: tuple[bool, ...], cut: int) -> None:
    framed, rows, sparser, one = (case.model(named=True) for _ in range(4))
    expected = learned(framed, case, frame(case.X))
    few = mappings(case.X, absent, case.weight)
    assert bits(learned(rows, case, mappings(case.X))) == bits(expected)
    assert bits(learned(sparser, case, few)) == bits(expected)
    weights = [1.0] * len(few) if case.weight is None else case.weight.tolist()
    for r, row in enumerate(zip(few, case.y, weights, strict=True)):
        said = one.learn_one(*row)
        assert bits(said) == bits(expected[r][: len(said)] if case.kind == "open" else expected[r])
    assert state(framed) == state(rows) == state(sparser) == state(one)
    more = mappings(3 * case.X, absent)
    assert asked(framed, frame(3 * case.X)) == asked(framed, more)
    assert bits(framed.predict(more)) == bits([framed.predict_one(row) for row in more])
    met = case.weight is None or case.weight[:cut].any()  # rows without weight add no features
    if case.options.get("bits") is None and 0 < cut < len(few) and met:
        turned = case.model(named=True)
        first, rest = case.part(0, cut), case.part(cut, len(few))
        turned.learn(frame(first[0]), *first[1:])
        turned.learn(frame(rest[0])[list(reversed(NAMES[: case.X.shape[1]]))], *rest[1:])
        assert state(turned) == state(framed)


@try_many(60)
@given(case=cases(kind=("Learner",), order=("paper",), center=(False,), target=(None,)), absent=ABSENT)
def test_text_and_rows_of_names_give_the_same_bits(case: Case, absent: tuple[bool, ...]) -> None:
    weights = [1.0] * len(case.y) if case.weight is None else case.weight.tolist()
    assume(len({y for y, weight in zip(case.y, weights, strict=True) if weight}) > 1)  # `train` wants different labels
    options = {**case.model(named=True).options.asdict(), "target": "label", "weight": "weight"}
    rows = mappings(case.X, absent, case.weight)
    lines = [
        f"{y} {weight!r} | " + " ".join(f"{name}:{x!r}" for name, x in row.items()) + "\n"
        for row, y, weight in zip(rows, case.y, weights, strict=True)
    ]
    task = "binary" if case.options["loss"] in ("logistic", "hinge") else "regression"
    named = [{**row, "label": y, "weight": w} for row, y, w in zip(rows, case.y, weights, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.vw"
        path.write_text("".join(lines))
        try:
            from_names = ul.train(named, task=task, **options)
        except ul.DivergedError:
            return
        from_text = ul.train(str(path), task=task, **{**options, "target": None, "weight": None})
    assert content(from_text.model) == content(from_names.model)


@try_many(80)
@given(case=cases(bits=(None,), center=(False,)))
def test_columns_and_names_give_the_same_bits(case: Case) -> None:
    columns, names = case.model(), case.model(named=True)
    assert bits(learned(columns, case)) == bits(learned(names, case, frame(case.X)))
    assert asked(columns, 3 * case.X) == asked(names, frame(3 * case.X))


@try_many(60)
@given(case=cases(center=(True,), order=("paper",)), cut=st.integers(1, MOST_ROWS))
def test_known_columns_may_come_in_any_way_when_centered(case: Case, cut: int) -> None:
    assume(cut < len(case.y))
    assume(case.weight is None or case.weight[:cut].any())  # rows without weight add no features
    first, rest = case.part(0, cut), case.part(cut, len(case.y))
    dense, sparse, framed, rows = case.model(), case.model(), case.model(named=True), case.model(named=True)
    expected = learned(dense, case)[cut:]
    for m in (dense, sparse, framed, rows):
        m.learn(frame(first[0]) if m in (framed, rows) else first[0], *first[1:])
    assert bits(framed.learn(frame(rest[0]), *rest[1:])) == bits(expected)
    assert bits(rows.learn(mappings(rest[0]), *rest[1:])) == bits(expected)
    assert bits(sparse.learn(sp.csr_matrix(rest[0]), *rest[1:])) == bits(expected)
    assert state(framed) == state(rows)


# ------------------------------------------------------------------------------------------------- classes


@try_many(60)
@given(case=cases(kind=("open",), loss=LOSSES))
def test_a_class_that_joins_has_the_scores_of_one_that_was_named(case: Case) -> None:
    a = case.model()
    scores = learned(a, case)
    order = [*a.classes, *(label for label in CLASSES if label not in a.classes)]
    b = ul.OneVsAll(order, **a.options.asdict())
    assert bits(learned(b, case)[:, : len(a.classes)]) == bits(scores)
    assert bits(b.predict(3 * case.X)[:, : len(a.classes)]) == bits(a.predict(3 * case.X))


# ------------------------------------------------------------------------------------------------- keeping


@try_many(100)
@given(case=cases(), cut=st.integers(0, MOST_ROWS), named=st.booleans())
def test_saving_copying_and_pickling_in_mid_stream_are_invisible(case: Case, cut: int, named: bool) -> None:
    whole, m = case.model(named), case.model(named)

    def shaped(X: np.ndarray) -> Any:
        return frame(X) if named else X

    expected = learned(whole, case, shaped(case.X))
    first, rest = case.part(0, cut), case.part(cut, len(case.y))
    m.learn(shaped(first[0]), *first[1:])
    with tempfile.TemporaryDirectory() as folder:
        m.save(Path(folder) / "m.unitless")
        loaded = ul.load(Path(folder) / "m.unitless")
    before = state(m)
    for twin in (loaded, m.copy(), pickle.loads(before)):
        assert state(twin) == before
        scores = twin.learn(shaped(rest[0]), *rest[1:])
        assert bits(scores) == bits(expected[cut:])
        assert state(twin) == state(whole)
        assert asked(twin, shaped(3 * case.X)) == asked(whole, shaped(3 * case.X))
    assert state(m) == before


# ------------------------------------------------------------------------------------------------- machines


@try_many(100)
@given(case=cases(), named=st.booleans())
def test_every_instruction_set_gives_the_same_bits(case: Case, named: bool) -> None:
    before = os.environ.get("UNITLESS_KERNEL")
    results = set()
    try:
        for kernel in KERNELS:
            os.environ["UNITLESS_KERNEL"] = kernel
            m = case.model(named)
            result = bits(learned(m, case, mappings(case.X) if named else case.X))
            results.add((result, state(m), asked(m, mappings(3 * case.X) if named else 3 * case.X)))
    finally:
        os.environ.pop("UNITLESS_KERNEL")
        if before is not None:
            os.environ["UNITLESS_KERNEL"] = before
    assert len(results) == 1


def digest_all(path: str) -> str:
    """Digest the results of every case, in a separate process. Rows are repeated until several threads are used."""
    result = hashlib.sha256()
    for case in pickle.loads(Path(path).read_bytes()):
        times = math.ceil(1500 / len(case.y))
        weight = None if case.weight is None else np.tile(case.weight, times)
        m = case.model()
        try:
            result.update(bits(m.learn(np.tile(case.X, (times, 1)), case.y * times, weight)))
        except ul.DivergedError:
            result.update(b"diverged")
            continue
        result.update(state(m))
    return result.hexdigest()


def test_any_number_of_threads_gives_the_same_bits(tmp_path: Path) -> None:
    collected: list[Case] = []

    @try_many(60)
    @given(case=cases())
    def collect(case: Case) -> None:
        collected.append(case)

    collect()
    (tmp_path / "cases").write_bytes(pickle.dumps(collected))
    folders = [os.path.dirname(__file__), str(Path(__file__).parents[1])]
    program = f"import sys; sys.path[:0] = {folders!r}; import test_any_options as t; "
    results = set()
    for threads in ("1", "2"):
        environment = {**os.environ, "UNITLESS_THREADS": threads}
        run = subprocess.run(
            [sys.executable, "-c", f"{program} print(t.digest_all({str(tmp_path / 'cases')!r}))"],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        results.add(run.stdout)
    assert len(results) == 1
