"""The mixture of members: core = oracle, no dependence on units, and about as good as the best member or better."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracles.mixture import Mixture

import unitless as ul
from unitless import _core

KINDS = ["logistic", "squared", "classes", "other"]


class Row(NamedTuple):
    members: np.ndarray  # [member, head]
    y: float
    weight: float = 1.0
    losses: np.ndarray | None = None


def rows(kind: str, members: int, count: int, weighted: bool = False, seed: int = 0) -> Iterator[Row]:
    """Members with different errors, the later members with larger ones."""
    rng = np.random.default_rng(seed)
    noise, tilt = 0.3 + 0.3 * np.arange(members), 1 + 0.2 * np.arange(members)
    for _ in range(count):
        weight = float(rng.choice([0.0, 0.25, 1.0, 1.5, 6.0])) if weighted else 1.0
        if kind == "squared":
            y = float(20 + 5 * rng.normal())
            yield Row((y * tilt + noise * rng.normal(size=members))[:, None], y, weight)
        elif kind == "logistic":
            z = 2 * rng.normal()
            y = float(np.where(rng.random() < 1 / (1 + np.exp(-z)), 1, -1))
            yield Row((z * tilt + noise * rng.normal(size=members))[:, None], y, weight)
        elif kind == "classes":
            c = int(rng.integers(4))
            score = 1.5 * rng.normal(size=(members, 4)) - 2
            score[:, c] += 3 / tilt
            yield Row(score, c, weight)
        else:
            p = noise[:, None] * rng.normal(size=(members, 2))
            yield Row(p, 0.0, weight, np.abs(p).sum(axis=1))


def run(mixture: Any, stream: Iterator[Row]) -> np.ndarray:
    said = []
    for row in stream:
        said.append(mixture.say(row.members))
        mixture.learn(row.members, row.y, row.weight, row.losses)
    return np.array(said)


def loss(kind: str, said: np.ndarray, y: float) -> float:
    """The loss of log odds, or of a number."""
    if kind == "squared":
        return float((said[0] - y) ** 2)
    if kind == "logistic":
        return float(np.logaddexp(0, -y * said[0]))
    p = 1 / (1 + np.exp(-said))
    return float(-np.log(p[int(y)] / p.sum()))


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("members", [1, 2, 3, 6])
@pytest.mark.parametrize("kind", KINDS)
def test_core_equals_oracle(kind: str, members: int, weighted: bool) -> None:
    said = run(_core.Mixture(kind, members), rows(kind, members, 400, weighted))
    expected = run(Mixture(kind, members), rows(kind, members, 400, weighted))
    np.testing.assert_allclose(said, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_core_equals_oracle_where_members_change_places(kind: str) -> None:
    def stream() -> Iterator[Row]:
        for i, row in enumerate(rows(kind, 3, 600)):
            order = [0, 1, 2] if i < 300 else [2, 1, 0]
            yield row._replace(members=row.members[order], losses=None if row.losses is None else row.losses[order])

    np.testing.assert_allclose(
        run(_core.Mixture(kind, 3), stream()), run(Mixture(kind, 3), stream()), rtol=1e-12, atol=1e-12
    )


def test_core_equals_oracle_with_members_far_too_sure() -> None:
    def stream() -> Iterator[Row]:
        for i, row in enumerate(rows("logistic", 3, 300)):
            yield row._replace(members=row.members * (40 if i % 7 == 0 else 1))

    np.testing.assert_allclose(
        run(_core.Mixture("logistic", 3), stream()), run(Mixture("logistic", 3), stream()), rtol=1e-11, atol=1e-11
    )


@pytest.mark.parametrize("power", [-490, -40, 1, 3, 490])
@pytest.mark.parametrize("kind", ["squared", "other"])
def test_power_of_two_scaling_changes_no_bit(kind: str, power: int) -> None:
    def scaled() -> Iterator[Row]:
        for row in rows(kind, 3, 300, weighted=True):
            losses = None if row.losses is None else np.ldexp(row.losses, power)
            yield Row(np.ldexp(row.members, power), float(np.ldexp(row.y, power)), row.weight, losses)

    plain = run(_core.Mixture(kind, 3), rows(kind, 3, 300, weighted=True))
    np.testing.assert_array_equal(np.ldexp(plain, power), run(_core.Mixture(kind, 3), scaled()))


def test_a_mixture_follows_units_and_offsets_of_labels() -> None:
    def moved() -> Iterator[Row]:
        for row in rows("squared", 3, 300):
            yield Row(1.8 * row.members + 32, 1.8 * row.y + 32)

    plain = run(_core.Mixture("squared", 3), rows("squared", 3, 300))
    np.testing.assert_allclose(run(_core.Mixture("squared", 3), moved()), 1.8 * plain + 32, rtol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_overflows_or_vanishes(kind: str) -> None:
    rng = np.random.default_rng(0)
    largest = 150 if kind == "squared" else 300
    heads = {"classes": 5, "other": 2}.get(kind, 1)
    for members in (2, 3, 7):
        mixture = _core.Mixture(kind, members)
        for _ in range(600):
            sizes = 10.0 ** rng.choice([-largest, -20, -1, 0, 1, 2, 3, 20, largest], size=(members, heads))
            p = np.where(rng.random((members, heads)) < 0.1, 0.0, rng.choice([-1.0, 1.0], (members, heads)) * sizes)
            size = 10.0 ** rng.choice([-largest, 0, largest])
            y = {"logistic": rng.choice([-1.0, 1.0]), "squared": size, "classes": rng.integers(heads)}.get(kind, 0.0)
            losses = np.append(sizes[1:, 0], np.inf if rng.random() < 0.1 else 0.0)
            said = mixture.say(p)
            assert np.isfinite(said).all()
            mixture.learn(p, float(y), float(rng.choice([1e-9, 1.0, 1e9])), losses)
            assert np.isfinite(mixture.save()).all()


@pytest.mark.parametrize("kind", KINDS)
def test_members_that_are_all_wrong_for_sure(kind: str) -> None:
    mixture = _core.Mixture(kind, 2)
    members = np.array([[1e300, -1e300, -1e300], [1e300, -1e300, -1e300]])[:, : {"classes": 3, "other": 2}.get(kind, 1)]
    for _ in range(50):
        mixture.learn(members, {"logistic": -1.0, "classes": 1.0}.get(kind, 0.0), 1.0, np.array([1e300, 1e300]))
        assert np.isfinite(mixture.say(members)).all()
    if kind in ("logistic", "classes"):
        assert mixture.say(members)[0] < 0  # the sign of the predictions is reversed


def test_classes_that_no_member_thinks_possible_are_equally_likely() -> None:
    said = _core.Mixture("classes", 2).say(np.full((2, 4), -1e300))
    np.testing.assert_allclose(said, np.log(0.25 / 0.75))


def test_the_probabilities_of_classes_add_up_to_one() -> None:
    said = run(_core.Mixture("classes", 3), rows("classes", 3, 200))
    np.testing.assert_allclose((1 / (1 + np.exp(-said))).sum(axis=1), 1, rtol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_saved_in_mid_stream_it_goes_on_exactly(kind: str) -> None:
    whole = _core.Mixture(kind, 3)
    for i, row in enumerate(rows(kind, 3, 60, weighted=True)):
        if i in (0, 1, 2, 17, 40):
            loaded = _core.Mixture(kind, 3)
            loaded.load(whole.save())
            whole, before = loaded, whole
            np.testing.assert_array_equal(whole.say(row.members), before.say(row.members))
            np.testing.assert_array_equal(whole.save(), before.save())
        whole.learn(row.members, row.y, row.weight, row.losses)
    never = _core.Mixture(kind, 3)
    run(never, rows(kind, 3, 60, weighted=True))
    np.testing.assert_array_equal(whole.save(), never.save())


@pytest.mark.parametrize("kind", KINDS)
def test_an_invalid_state_is_refused_and_changes_nothing(kind: str) -> None:
    mixture = _core.Mixture(kind, 3)
    run(mixture, rows(kind, 3, 20))
    state = mixture.save()
    others = [state[:-1], np.append(state, 0.0), np.zeros(0), _core.Mixture(kind, 2).save()]
    others.append(_core.Mixture("squared" if kind != "squared" else "other", 3).save())
    others += [np.where(np.arange(len(state)) == i, bad, state) for i in (2, len(state) - 1) for bad in (np.nan, -1.0)]
    for other in others:
        with pytest.raises(ul.InputError):
            mixture.load(other)
    np.testing.assert_array_equal(mixture.save(), state)


@pytest.mark.parametrize("kind", KINDS)
def test_saying_and_rows_without_weight_change_nothing(kind: str) -> None:
    mixture = _core.Mixture(kind, 3)
    run(mixture, rows(kind, 3, 20))
    state = mixture.save()
    (row,) = rows(kind, 3, 1, seed=1)
    mixture.say(row.members)
    mixture.learn(row.members, row.y, 0.0, row.losses)
    np.testing.assert_array_equal(mixture.save(), state)


@pytest.mark.parametrize("kind", KINDS)
def test_one_member_speaks_for_itself(kind: str) -> None:
    said = run(_core.Mixture(kind, 1), rows(kind, 1, 50))
    np.testing.assert_array_equal(said, [row.members[0] for row in rows(kind, 1, 50)])


def test_members_that_agree_on_a_number_are_repeated() -> None:
    mixture = _core.Mixture("squared", 3)
    run(mixture, rows("squared", 3, 100))
    assert mixture.say(np.full((3, 1), 20.1))[0] == 20.1


@pytest.mark.parametrize("shift", [0, 1000], ids=["same", "shifting"])
@pytest.mark.parametrize("kind", ["logistic", "squared", "classes"])
def test_the_mixture_is_hardly_worse_than_the_best_member(kind: str, shift: int) -> None:
    for seed in range(3):
        stream = list(rows(kind, 3, 2000, seed=seed))
        if shift:
            stream = [
                row if i < shift else row._replace(members=row.members[[2, 1, 0]]) for i, row in enumerate(stream)
            ]
        said = run(_core.Mixture(kind, 3), iter(stream))
        mixed = sum(loss(kind, p, row.y) for p, row in zip(said[1:], stream[1:], strict=True))
        alone = [sum(loss(kind, row.members[k], row.y) for row in stream[1:]) for k in range(3)]
        assert mixed < 1.01 * min(alone) + 2 * max(alone) / len(stream)  # two rows in which the mixture can detect it


def test_two_halves_of_the_truth_are_put_together() -> None:
    rng = np.random.default_rng(0)
    mixture, wrong, alone = _core.Mixture("squared", 2), 0.0, np.zeros(2)
    for _ in range(1000):
        a, b = rng.normal(size=2)
        members = np.array([[2 * a + b], [b]])
        wrong += (mixture.say(members)[0] - (a + b)) ** 2
        alone += (members[:, 0] - (a + b)) ** 2
        mixture.learn(members, a + b)
    assert wrong < 0.05 * alone.min()


def test_the_first_row_of_numbers_counts_against_no_member() -> None:
    far, near = _core.Mixture("squared", 2), _core.Mixture("squared", 2)
    far.learn(np.array([[0.0], [-7.0]]), 1e6)
    near.learn(np.array([[1e6], [1e6]]), 1e6)
    np.testing.assert_array_equal(far.save(), near.save())


def test_a_mixture_of_zero_or_too_many_members_is_refused() -> None:
    for members in (0, 9):
        with pytest.raises(ul.InputError):
            _core.Mixture("squared", members)


@pytest.mark.parametrize("kind", ["logistic", "classes"])
def test_stackers_learn_that_equal_labels_follow_each_other(kind: str) -> None:
    rng = np.random.default_rng(0)
    mixture, losses, label = _core.Mixture(kind, 2), [], 0
    for _ in range(2000):
        label = label if rng.random() < 0.95 else 1 - label
        y = float(label if kind == "classes" else 2 * label - 1)
        members = rng.normal(size=(2, 2 if kind == "classes" else 1))  # they know nothing
        losses.append(loss(kind, mixture.say(members), y))
        mixture.learn(members, y)
    assert np.mean(losses[1000:]) < 0.3  # without the last label log 2; the entropy is 0.2


def test_the_last_label_is_saved_and_a_row_of_weight_0_is_not_learned() -> None:
    for kind, labels in (("logistic", (1.0, -1.0)), ("classes", (0.0, 1.0))):
        members = np.zeros((2, 2 if kind == "classes" else 1))
        mixture, other = _core.Mixture(kind, 2), _core.Mixture(kind, 2)
        for y in (labels[0], labels[0], labels[1], labels[1], labels[0]):
            mixture.learn(members, y)
        mixture.learn(members, labels[1], 0.0)
        other.load(mixture.save())
        np.testing.assert_array_equal(mixture.say(members), other.say(members))
        before = mixture.say(members)
        mixture.learn(members, labels[1])
        assert (mixture.say(members) != before).any()
