"""The projections are those of a general solver, and meet the conditions of optimality at any scale."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

from unitless.paper import theory

PROJECTIONS = {
    "l1": (1, theory.project_l1),
    "l2": (2, theory.project_l2),
}


def solver(w: np.ndarray, A: np.ndarray, scale: np.ndarray, C: float, q: int) -> np.ndarray:
    """SciPy's SLSQP on min ‖u − u′‖² in the units u = √A w/C', in which its first Hessian, the identity, is exact.

    For q = 1 the ball is given by its 2^d faces, so that nothing is assumed about signs.
    """
    root = np.sqrt(A)
    target = root * w
    unit = np.abs(target).max()
    edge = scale / root * unit  # s_i w_i = edge_i u_i
    if q == 1:
        faces = np.array(list(itertools.product([-1.0, 1.0], repeat=len(w)))) * edge / C
        constraint = {"type": "ineq", "fun": lambda u: 1 - faces @ u, "jac": lambda u: -faces}
    else:
        constraint = {
            "type": "ineq",
            "fun": lambda u: 1 - ((edge * u / C) ** 2).sum(),
            "jac": lambda u: -2 * edge**2 * u / C**2,
        }
    start = target / unit
    solved = minimize(
        lambda u: 0.5 * ((u - start) ** 2).sum(),
        np.zeros(len(w)),
        jac=lambda u: u - start,
        constraints=[constraint],
        method="SLSQP",
        options={"ftol": 1e-20, "maxiter": 1000},
    )
    return solved.x * unit / root


def case(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """A point, a conditioner, a scale and a radius: with ties, zeros, and points inside the ball."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    v, B = rng.normal(size=d), 10.0 ** rng.uniform(-1, 1, size=d)
    if seed % 4 == 0:  # ties
        v, B = np.sign(v) * rng.choice([0.5, 1.0], size=d), np.ones(d)
    if seed % 5 == 0:
        v[int(rng.integers(d))] = 0.0
    scale = 10.0 ** rng.uniform(-2, 2, size=d)
    return v / scale, B * scale**2, scale, 10.0 ** rng.uniform(-1.5, 1)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_projections_agree_with_a_general_solver_to_eight_digits(name: str) -> None:
    q, project = PROJECTIONS[name]
    inside = 0
    for seed in range(300):
        w, A, scale, C = case(seed)
        if not w.any():
            continue
        inside += np.linalg.norm(scale * w, q) <= C
        expected = solver(w, A, scale, C, q)
        np.testing.assert_allclose(scale * project(w, A, scale, C), scale * expected, rtol=0, atol=1e-8, err_msg=seed)
    assert 20 < inside < 280


def test_the_l2_projection_solves_the_equation_for_its_multiplier() -> None:
    """SLSQP is good to 8e-9 on the curved ball. Bracketing the root of ‖v(λ)‖ = C is good to rounding."""
    outside = 0
    for seed in range(300):
        w, A, scale, C = case(seed)
        v, B = scale * w, A / scale**2
        if np.linalg.norm(v) <= C:
            continue
        outside += 1
        top = np.linalg.norm(v) * B.max() / C  # there every 1 + λ/B_i exceeds ‖v‖/C
        lam = brentq(lambda lam, v=v, B=B, C=C: np.linalg.norm(v / (1 + lam / B)) - C, 0, top, xtol=1e-15, rtol=1e-15)
        np.testing.assert_allclose(scale * theory.project_l2(w, A, scale, C), v / (1 + lam / B), rtol=0, atol=1e-12)
    assert outside > 100


def shortfall(w: np.ndarray, v: np.ndarray, A: np.ndarray, scale: np.ndarray, C: float, q: int) -> float:
    """How much better than v a point of the ball could be, relative to the distance moved: 0 at the projection.

    v is the projection of w exactly if A(w − v)·(u − v) ≤ 0 for all u of the ball, that is C‖A(w − v)/s‖_p ≤
    A(w − v)·v.
    """
    pull = A * (w - v)
    used = scale > 0
    best = C * np.linalg.norm(pull[used] / scale[used], np.inf if q == 1 else 2)
    return float((best - pull @ v) / best) if best > 0 else 0.0


@pytest.mark.parametrize("spread", [0, 3, 30, 100])
@pytest.mark.parametrize("name", PROJECTIONS)
def test_projections_are_optimal_at_any_scale(name: str, spread: int) -> None:
    q, project = PROJECTIONS[name]
    for seed in range(100):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 200))
        scale = 10.0 ** rng.uniform(-spread, spread, size=d)
        w = rng.normal(size=d) * 10.0 ** rng.uniform(-3, 3, size=d) / scale
        A = 10.0 ** rng.uniform(-3, 3, size=d) * scale**2
        C = 10.0 ** rng.uniform(-3, 3)
        v = project(w, A, scale, C)
        assert np.linalg.norm(scale * v, q) <= C * (1 + 1e-12)
        assert abs(shortfall(w, v, A, scale, C, q)) <= 1e-10


@pytest.mark.parametrize("name", PROJECTIONS)
def test_points_of_the_ball_stay(name: str) -> None:
    q, project = PROJECTIONS[name]
    w, scale = np.array([0.25, -5.0, 0.0]), np.array([1.0, 0.01, 7.0])
    on_the_edge = float(np.linalg.norm(scale * w, q))
    np.testing.assert_array_equal(project(w, np.ones(3), scale, on_the_edge), w)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_what_moves_for_free_goes_first(name: str) -> None:
    _, project = PROJECTIONS[name]
    w, A = np.array([0.5, 3.0, 0.0]), np.array([1.0, 0.0, 0.0])
    np.testing.assert_array_equal(project(w, A, np.ones(3), 1.0), [0.5, 0.0, 0.0])
    np.testing.assert_allclose(project(4 * w, A, np.ones(3), 1.0), [1.0, 0.0, 0.0])


@pytest.mark.parametrize("name", PROJECTIONS)
def test_what_is_not_constrained_stays(name: str) -> None:
    _, project = PROJECTIONS[name]
    w = np.array([2.0, 100.0])
    np.testing.assert_allclose(project(w, np.ones(2), np.array([1.0, 0.0]), 1.0), [1.0, 100.0])


@pytest.mark.parametrize("name", PROJECTIONS)
def test_projections_commute_with_units_bit_by_bit(name: str) -> None:
    _, project = PROJECTIONS[name]
    w, A, scale, _ = case(6)
    units = 2.0 ** np.array([40, -33, 7, 0, -60])[: len(w)]
    expected = project(w, A, scale, 0.1)
    np.testing.assert_array_equal(project(w / units, A * units**2, scale * units, 0.1), expected / units)
