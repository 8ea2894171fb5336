"""The smallest boxes and ellipsoids around the inputs."""

from __future__ import annotations

import numpy as np
import pytest

import unitless as ul
from unitless.paper import theory


def inputs(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows, features = int(rng.integers(1, 40)), int(rng.integers(1, 8))
    X = rng.normal(size=(rows, features)) * 10.0 ** rng.uniform(-8, 8, size=features)
    X[rng.random(X.shape) < 0.3] = 0.0
    return X


def cover(X: np.ndarray, passes: int) -> np.ndarray:
    """The scale of the smallest ellipsoid by Cover's multiplicative update: slow, and independent of the package."""
    Z = (X / np.abs(X).max(axis=0)) ** 2
    u = np.full(len(Z), 1 / len(Z))
    for _ in range(passes):
        u = u * (Z @ (1 / (u @ Z))) / Z.shape[1]
    m = u @ Z
    return np.abs(X).max(axis=0) * np.sqrt(m * (Z @ (1 / m)).max())


@pytest.mark.parametrize("seed", range(100))
def test_the_ellipsoid_holds_every_input_and_its_gap_is_proven(seed: int) -> None:
    X = inputs(seed)
    found = theory.ellipsoid(X)
    used = np.abs(X).max(axis=0) > 0
    assert (found.scale[~used] == 0).all()
    assert (found.scale[used] > 0).all()
    assert ((X[:, used] / found.scale[used]) ** 2).sum(axis=1).max(initial=0.0) <= 1 + 1e-12
    assert 0 <= found.gap <= 1e-10


def test_the_gap_is_an_upper_bound_of_what_is_missing_and_no_large_one() -> None:
    shares = []
    for seed in range(60):
        X = np.random.default_rng(seed).normal(size=(30, 4))
        best = theory.ellipsoid(X)
        for allowed in (3.0, 0.3, 0.03):
            early = theory.ellipsoid(X, allowed)
            missing = 2 * (np.log(early.scale) - np.log(best.scale)).sum()  # in log det S
            assert missing <= early.gap <= allowed
            shares.append(missing / early.gap)
    assert max(shares) > 0.8


@pytest.mark.parametrize("seed", range(8))
def test_the_ellipsoid_is_that_of_covers_update(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3)) * [1e-5, 1.0, 1e5]
    slow = cover(X, 20_000)
    found = theory.ellipsoid(X).scale
    assert np.log(found).sum() <= np.log(slow).sum() + 1e-10  # no larger a volume
    np.testing.assert_allclose(found, slow, rtol=1e-3)


def test_the_ellipsoid_of_points_on_the_axes_is_known() -> None:
    X = np.diag([3.0, 1e-9, 1e12])
    np.testing.assert_allclose(theory.ellipsoid(X).scale, [3.0, 1e-9, 1e12], rtol=1e-10)


def test_the_ellipsoid_of_one_input_is_known() -> None:
    np.testing.assert_allclose(theory.ellipsoid(np.array([[2.0, -5.0]])).scale, np.sqrt(2) * np.array([2.0, 5.0]))


def test_the_ellipsoid_commutes_with_units() -> None:
    X, units = inputs(3), 2.0 ** np.arange(-20, 20, 6)[: inputs(3).shape[1]]
    np.testing.assert_array_equal(theory.ellipsoid(X * units).scale, theory.ellipsoid(X).scale * units)


def test_inputs_that_are_all_zero_have_no_scale() -> None:
    assert theory.ellipsoid(np.zeros((4, 2))).scale.tolist() == [0.0, 0.0]
    assert theory.largest(np.zeros((4, 2))).tolist() == [0.0, 0.0]


def test_inputs_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(ul.InputError):
        theory.ellipsoid(np.array([[np.nan, 1.0]]))


@pytest.mark.parametrize("p", [2, np.inf])
def test_the_least_determinant_of_the_paper_is_that_of_no_ball_at_all(p: float) -> None:
    """Lemma 2 asks for the S of minimum determinant: S → 0 satisfies every constraint and has determinant 0."""
    X = inputs(4)
    scale = theory.largest(X) if p == np.inf else theory.ellipsoid(X).scale
    S = 1 / scale[scale > 0] ** 2
    for shrink in (1e-3, 1e-6, 1e-9):
        assert np.linalg.norm(np.sqrt(S * shrink) * X[:, scale > 0], p, axis=1).max() <= 1
        assert np.log(S * shrink).sum() < np.log(S).sum()
    # What is computed has the largest determinant: to make any one S_ii larger expels an input.
    for i in range(len(S)):
        grown = S.copy()
        grown[i] *= 1 + 1e-6
        assert np.linalg.norm(np.sqrt(grown) * X[:, scale > 0], p, axis=1).max() > 1


def test_running_scales_end_at_the_largest() -> None:
    X = inputs(5)
    running = theory.running_largest(X)
    assert (np.diff(running, axis=0) >= 0).all()
    np.testing.assert_array_equal(running[-1], theory.largest(X))
