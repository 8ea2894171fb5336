"""The paper's experiments: prepared as the authors did, the same numbers, kept by content."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import unitless as ul
from unitless.paper.experiments import Lab, catalog, figure1, rate_search
from unitless.paper.experiments.claims import claims
from unitless.paper.experiments.kept_results import Kept
from unitless.paper.experiments.preparation import Prepared, prepare
from unitless.paper.experiments.printed import TABLE2, TABLE3, Cell
from unitless.paper.experiments.tables import Result, table

pytestmark = pytest.mark.timeout(600)  # the large datasets are learned for each rule and rate
CELLS = [cell for lines in (TABLE2, TABLE3) for pair in lines.values() for line in pair for cell in (line[0], line[1])]


@pytest.fixture(scope="module")
def shuttle() -> Prepared:
    return Lab(datasets=["shuttle"], keep=False).prepared()[0]


@pytest.fixture(scope="module")
def shuttle_tables(shuttle: Prepared) -> list[Result]:
    kept = Kept(None)
    return table(2, [shuttle], range(1, 6), kept) + table(3, [shuttle], range(1, 6), kept)


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_every_printed_rate_lies_on_the_grid(cell: Cell) -> None:
    nearest = math.exp(0.2 * round(math.log(cell.rate) / 0.2))
    assert abs(nearest / cell.rate - 1) < 0.06  # they are printed to one or two digits


# ------------------------------------------------------------------------------------------------------- preparation


def prepared_from(key: str, columns: dict[str, list[Any]], task: str = "binary") -> Prepared:
    pa = pytest.importorskip("pyarrow")
    from unitless.paper.experiments.datasets import DATASETS, Loaded  # noqa: PLC0415

    dataset = dataclasses.replace(DATASETS[key], task=task)
    return prepare(Loaded(pa.table(columns), dataset, False, "", "made up"))


def test_bank_uses_positive_numbers_and_indicators_of_texts() -> None:
    found = prepared_from("bank", {"label": [0, 1, 0], "balance": [5, -3, 0], "job": ["cook", "clerk", "cook"]})
    assert found.X.toarray().tolist() == [[5, 1, 0], [0, 0, 1], [0, 1, 0]]
    assert found.numeric.tolist() == [True, False, False]
    assert (found.loss, found.classes) == ("logistic", None)


def test_negative_values_count_elsewhere() -> None:
    found = prepared_from("shuttle", {"label": [1, 2], "V1": [-4, 7]}, "classes")
    assert found.X.toarray().tolist() == [[-4], [7]]
    assert found.classes == (1, 2)


def test_outside_of_the_image_is_an_indicator_and_labels_are_shifted() -> None:
    found = prepared_from("ctslice", {"label": [50.0, 40.0], "value0": [-0.25, 0.5]}, "number")
    assert found.X.toarray().tolist() == [[0, 1], [0.5, 0]]
    assert found.y.tolist() == [3.0, -7.0]


def test_prenormalising_divides_numeric_columns_and_leaves_indicators() -> None:
    found = prepared_from("bank", {"label": [0, 1], "balance": [3, 4], "job": ["cook", "clerk"]})
    assert found.scaled("max").toarray()[:, 0].tolist() == [0.75, 1.0]
    assert found.scaled("rms").toarray()[:, 0] == pytest.approx(np.array([3, 4]) / math.sqrt(12.5))
    assert found.scaled("rms").toarray()[:, 1:].tolist() == [[1, 0], [0, 1]]


def test_ordered_pairs_are_learned(shuttle: Prepared) -> None:
    """Nine features: with 81 products and the constant the losses are others than with 9 or with 45 products."""
    few = dataclasses.replace(shuttle, X=shuttle.X[:2000], y=shuttle.y[:2000])
    by_hand = few.X.toarray()
    products = np.einsum("ni,nj->nij", by_hand, by_hand).reshape(len(by_hand), -1)
    wide = scipy.sparse.csr_matrix(np.hstack([by_hand, products]))
    order = np.random.default_rng(1).permutation(2000)
    from unitless import Sweep  # noqa: PLC0415

    sweep = Sweep([0.5, 5.0], "nag", "squared", classes=few.classes)
    sweep.learn(wide[order], few.y[order])
    assert rate_search.one_pass(few, few.X, "nag", [0.5, 5.0], 1) == pytest.approx(sweep.errors.tolist(), abs=1e-3)


# ------------------------------------------------------------------------------------------------------- rate search


def small(seed: int = 0, scale: float = 1.0) -> Prepared:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 3))
    y = (X @ [1.0, 2.0, -1.0] + 0.3 * rng.normal(size=600) > 0).astype(np.int64)
    numeric = np.ones(3, np.bool_)
    return Prepared("bank", "Bank", scipy.sparse.csr_matrix(X * scale), y, numeric, "logistic")


def test_the_search_finds_the_best_rate_of_the_whole_grid() -> None:
    found = rate_search.search(small(), "raw", "ag", [1, 2], Kept(None))
    everything = range(-60, 21)
    losses = np.mean(
        [rate_search.one_pass(small(), small().X, "ag", [math.exp(0.2 * k) for k in everything], s) for s in (1, 2)],
        axis=0,
    )
    assert found.loss == losses.min()
    assert round(math.log(found.rate) / 0.2) == everything[int(losses.argmin())]


def test_the_search_goes_on_beyond_what_it_began_with() -> None:
    """With values of a million the best rate of AG lies far below the coarse grid's first."""
    found = rate_search.search(small(scale=2.0**40), "raw", "ag", [1], Kept(None))
    plain = rate_search.search(small(), "raw", "ag", [1], Kept(None))
    assert found.exponents[0] < min(rate_search.COARSE) - rate_search.REACH
    assert found.best >= rate_search.EDGE or found.exponents[0] <= rate_search.FURTHEST[0]
    assert found.rate < 1e-6 * plain.rate


def test_kept_results_are_used_and_depend_on_the_data(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[int] = []
    real = rate_search.one_pass

    def counted(*arguments: Any) -> list[float]:
        computed.append(1)
        return real(*arguments)

    monkeypatch.setattr(rate_search, "one_pass", counted)
    first = rate_search.search(small(), "raw", "nag", [1, 2], Kept(tmp_path))
    passes = len(computed)
    again = rate_search.search(small(), "raw", "nag", [1, 2], Kept(tmp_path))
    assert len(computed) == passes
    assert again.losses.tolist() == first.losses.tolist()
    assert again.seconds == first.seconds
    rate_search.search(small(seed=1), "raw", "nag", [1, 2], Kept(tmp_path))
    assert len(computed) > passes


def test_an_interrupted_search_goes_on(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    whole = rate_search.search(small(), "raw", "nag", [1, 2], Kept(None), steps.append)
    real, calls = rate_search.one_pass, [0]

    def stopped(*arguments: Any) -> list[float]:
        calls[0] += 1
        if calls[0] == 3:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(rate_search, "one_pass", stopped)
    with pytest.raises(KeyboardInterrupt):
        rate_search.search(small(), "raw", "nag", [1, 2], Kept(tmp_path))
    after = rate_search.search(small(), "raw", "nag", [1, 2], Kept(tmp_path))
    assert calls[0] == len(steps) + 1  # none was made twice but the one that was interrupted
    assert after.losses.tolist() == whole.losses.tolist()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"question": {}, "answer": 1}'])
def test_a_damaged_result_is_computed_anew(tmp_path: pathlib.Path, damage: bytes) -> None:
    Kept(tmp_path).get({"a": 1}, lambda: 5)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage)
    assert Kept(tmp_path).get({"a": 1}, lambda: 6) == 6
    assert Kept(tmp_path).get({"a": 1}, lambda: 7) == 6


# ------------------------------------------------------------------------------------------------ the printed numbers

UNREACHED_RATES = {(2, "shuttle", True, "ag")}
"""The best rate is 5.0, the printed one 16.4; at the latter the loss is 0.0354, as printed. See the report."""


def test_shuttle_has_the_printed_losses_and_rates(shuttle_tables: list[Result]) -> None:
    for one in shuttle_tables:
        assert one.near_loss, one
        assert one.near_rate != ((one.table, one.dataset, one.normalized, one.rule) in UNREACHED_RATES), one
    (far,) = [one for one in shuttle_tables if not one.near_rate]
    assert far.loss_at_printed_rate == pytest.approx(0.035, abs=0.0006)


def test_what_the_paper_concludes_holds_for_shuttle(shuttle_tables: list[Result]) -> None:
    found = claims(shuttle_tables)
    assert len(found) == 4
    assert all(one.holds for one in found), found


def test_significance_of_shuttle_is_as_printed(shuttle_tables: list[Result]) -> None:
    for one in shuttle_tables:
        if not one.normalized:
            assert one.significant == one.printed_significant


def test_bank_has_the_printed_losses_and_rates(data_directory: pathlib.Path) -> None:
    lab = Lab(data_directory, datasets=["bank"], shuffles=3, keep=False)
    for one in table(2, lab.prepared(), lab.seeds, lab.kept) + table(3, lab.prepared(), lab.seeds, lab.kept):
        assert one.near_loss, one
        assert one.near_rate, one


@pytest.mark.parametrize(("key", "rules"), [("census", ["nag"]), ("covertype", ["nag", "ag"])])
def test_large_data_has_the_printed_losses_at_the_printed_rates(
    key: str, rules: list[str], data_directory: pathlib.Path
) -> None:
    """In one order, and raw alone: all the rest is `unitless paper`."""
    (prepared,) = Lab(data_directory, datasets=[key], keep=False).prepared()
    for rule in rules:
        cell = TABLE2[key][0][1 if rule == "ag" else 0]
        (loss,) = rate_search.one_pass(prepared, prepared.X, rule, [cell.rate], seed=1)
        assert loss == pytest.approx(cell.loss, rel=0.08)


def test_a_claim_that_is_false_is_called_so(shuttle_tables: list[Result]) -> None:
    broken = [
        dataclasses.replace(one, loss=0.5, rate=300.0) if one.rule == "snag" and not one.normalized else one
        for one in shuttle_tables
    ]
    assert not any(one.holds for one in claims(broken))


# ----------------------------------------------------------------------------------------------------------- figure 1


def test_figure_1_is_flat_to_the_last_bit_for_the_normalized_rules_alone() -> None:
    curves = {(one.task, one.rule): one for one in figure1.figure1(rows=500, exponents=(-20, -7, 0, 3, 20))}
    for (task, rule), one in curves.items():
        assert one.flat == (rule in ("nag", "snag")), (task, rule)
        if one.flat:
            assert len(set(one.best_loss)) == 1
        else:
            assert max(one.best_loss) > 3 * min(one.best_loss)


# ---------------------------------------------------------------------------------------------------------------- lab


def test_missing_datasets_are_reported_and_left_out(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNITLESS_DATA", raising=False)
    lab = Lab(cache=tmp_path, shuffles=1, keep=False)
    section = catalog.table1(lab)
    assert [one["dataset"] for one in section.data["rows"]] == ["Shuttle"]
    assert set(section.data["missing"]) == {"bank", "census", "covertype", "ctslice", "msd"}
    assert all("--download" in why for why in lab.missing.values())


def test_options_of_the_lab_are_checked(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ul.OptionError, match="no dataset 'iris'"):
        Lab(datasets=["iris"])
    with pytest.raises(ul.OptionError, match="at least one order"):
        Lab(shuffles=0)
    with pytest.raises(ul.OptionError, match="no directory"):
        Lab(tmp_path / "nowhere")


def test_a_section_is_json(shuttle: Prepared) -> None:
    section = catalog.table1(Lab(datasets=["shuttle"], keep=False))
    assert json.loads(section.json())["rows"][0]["rows"] == 43_500
