"""No bound is ever exceeded, and each is met or approached: a wrong constant would show."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from unitless.paper import theory
from unitless.paper.algorithms import Hinge, Logistic, Loss, Quantile, Squared
from unitless.paper.theory import Ball, Linear, Run
from unitless.paper.theory.sequences import equal_signs, sequence

ROUNDING = 1 + 1e-12
SEQUENCES = 1000


def ball_around(X: np.ndarray, C: float, q: int) -> Ball:
    return Ball(theory.largest(X) if q == 1 else theory.ellipsoid(X).scale, C, q)


def linear_regret(run: Run, ball: Ball) -> float:
    """For linear losses the best of the ball has −C‖S^(1/2) Σ g‖_p."""
    return float(run.losses.sum()) + ball.support(run.gradients.sum(axis=0))


def gradient_squares(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """G_i of linear losses, whatever the weights."""
    return ((y[:, None] * X) ** 2).sum(axis=0)


# ------------------------------------------------------------------------------------------- bounds for a given w*


def comparators(X: np.ndarray, y: np.ndarray, seed: int) -> list[np.ndarray]:
    """Some w*: at random, against the gradients, and along one axis, all in the units of the inputs."""
    rng = np.random.default_rng(seed)
    scale = np.where(theory.largest(X) > 0, theory.largest(X), 1.0)
    against = -np.sign(y @ X)
    axis = np.where(np.arange(X.shape[1]) == rng.integers(X.shape[1]), against, 0.0)
    return [rng.normal(size=X.shape[1]) / scale, against / scale, axis / scale]


FOR_ONE_PREDICTOR = {
    "zinkevich": (theory.gradient_descent, theory.zinkevich),
    "adaptive gradient": (theory.adaptive_gradient, theory.adaptive_gradient_bound),
    "hindsight": (theory.hindsight, theory.hindsight_bound),
}


@pytest.mark.parametrize("name", FOR_ONE_PREDICTOR)
def test_bounds_for_a_known_predictor_are_never_exceeded(name: str) -> None:
    learner, bound = FOR_ONE_PREDICTOR[name]
    for seed in range(SEQUENCES):
        X, y = sequence(seed)
        for w_star in comparators(X, y, seed):
            if not (w_star.any() and (y @ X).any()):
                continue
            run = learner(X, y, Linear(), w_star, gradient_squares(X, y))
            regret = run.losses.sum() - (y * (X @ w_star)).sum()
            assert regret <= bound(run, w_star) * ROUNDING, seed
            assert regret <= theory.lemma_1(run, w_star) * ROUNDING, seed


@pytest.mark.parametrize("q", [1, 2])
def test_the_hindsight_bound_holds_with_projection_and_truncation(q: int) -> None:
    projected = 0
    for seed in range(0, SEQUENCES, 5):
        X, y = sequence(seed)
        ball = ball_around(X, 1.0, q)
        w_star = theory.best_predictor(X, y, Linear(), ball).w
        plain = theory.hindsight(X, y, Linear(), w_star, gradient_squares(X, y))
        run = theory.hindsight(X, y, Linear(), w_star, gradient_squares(X, y), ball, truncate=1.0)
        projected += bool((plain.weights != run.weights).any())
        assert max(ball.norm(w) for w in run.weights) <= ROUNDING
        assert linear_regret(run, ball) <= theory.hindsight_bound(run, w_star) * ROUNDING + 1e-300
    assert projected > 50


@pytest.mark.parametrize("name", FOR_ONE_PREDICTOR)
@pytest.mark.parametrize("root", [1, 2, 3, 10])
def test_bounds_for_a_known_predictor_are_met_in_one_dimension(name: str, root: int) -> None:
    learner, bound = FOR_ONE_PREDICTOR[name]
    T = root**2
    X, y = np.full((T, 1), 7.0), equal_signs(1, T, [root]).ravel()
    w_star = np.array([-0.3])
    run = learner(X, y, Linear(), w_star, gradient_squares(X, y))
    regret = run.losses.sum() - (y * (X @ w_star)).sum()
    assert regret == pytest.approx(bound(run, w_star), rel=1e-12)


def test_the_bound_of_gradient_descent_is_met_in_any_dimension() -> None:
    X = np.tile([3.0, -4.0], (9, 1))
    y, w_star = equal_signs(1, 9, [3]).ravel(), np.array([-0.6, 0.8])
    run = theory.gradient_descent(X, y, Linear(), w_star, gradient_squares(X, y))
    assert run.losses.sum() - (y * (X @ w_star)).sum() == pytest.approx(theory.zinkevich(run, w_star), rel=1e-12)


def test_the_bound_of_the_hindsight_conditioner_is_met_in_any_dimension() -> None:
    X, y = equal_signs(3, 16, [4, -4, 4]) * [1e-3, 1.0, 1e3], np.ones(16)
    w_star = np.array([-1e3, 2.0, -3e-3])
    run = theory.hindsight(X, y, Linear(), w_star, gradient_squares(X, y))
    regret = run.losses.sum() - (y * (X @ w_star)).sum()
    assert regret == pytest.approx(theory.hindsight_bound(run, w_star), rel=1e-12)


@pytest.mark.parametrize("d", [2, 4])
def test_the_bound_of_adaptive_gradient_is_within_a_factor_of_two(d: int) -> None:
    X, y = equal_signs(d, 16, [4] + [0] * (d - 1)), np.ones(16)
    w_star = -np.eye(d)[0]
    run = theory.adaptive_gradient(X, y, Linear(), w_star, gradient_squares(X, y))
    regret = run.losses.sum() - (y * (X @ w_star)).sum()
    assert regret / theory.adaptive_gradient_bound(run, w_star) == pytest.approx((1 + 1 / d) / 2, rel=1e-12)


def test_adaptive_gradients_full_bound_holds_in_the_gradients_axes() -> None:
    for seed in range(0, SEQUENCES, 10):
        X, y = sequence(seed)
        X = X / np.where(theory.largest(X) > 0, theory.largest(X), 1.0)
        gradients = y[:, None] * X
        if not gradients.any():
            continue
        _, axes = np.linalg.eigh(gradients.T @ gradients)
        w_star = -np.sign(gradients.sum(axis=0) @ axes)
        run = theory.adaptive_gradient(X @ axes, y, Linear(), w_star, gradient_squares(X @ axes, y))
        full = theory.adaptive_gradient_bound(run, w_star, full=True)
        assert run.losses.sum() - (y * (X @ axes @ w_star)).sum() <= full * (1 + 1e-9)
        assert full <= theory.adaptive_gradient_bound(run, w_star) * (1 + 1e-9)


@pytest.mark.parametrize("full", [False, True])
def test_the_infimum_in_the_bound_of_adaptive_gradient_is_the_closed_form(full: bool) -> None:
    rng = np.random.default_rng(0)
    X, y, w_star = rng.normal(size=(10, 3)), rng.normal(size=10), np.ones(3)
    run = theory.adaptive_gradient(X, y, Linear(), w_star, gradient_squares(X, y))
    M = run.gradients.T @ run.gradients
    bound = theory.adaptive_gradient_bound(run, w_star, full)

    def value(S: np.ndarray) -> float:
        S = 3 * S / np.trace(S)
        return float(np.linalg.norm(w_star) * math.sqrt(3) * math.sqrt(np.trace(np.linalg.solve(S, M))))

    spectrum, axes = np.linalg.eigh(M)
    best = axes * np.sqrt(spectrum) @ axes.T if full else np.diag(np.sqrt(np.diag(M)))
    assert value(best) == pytest.approx(bound, rel=1e-12)
    for _ in range(200):
        noise = rng.normal(size=(3, 3))
        near = noise @ noise.T if full else np.diag(rng.uniform(0.1, 1, size=3))
        for mixed in (near, best + 0.01 * near):
            assert value(mixed) >= bound * (1 - 1e-12)


# -------------------------------------------------------------------------------------------------------- Lemma 1


RUNS: dict[str, Callable[[np.ndarray, np.ndarray, Loss, Ball], Run]] = {
    "online": lambda X, y, loss, ball: theory.online(X, y, loss, ball.C, ball.q),
    "online, truncated": lambda X, y, loss, ball: theory.online(X, y, loss, ball.C, ball.q, truncate=True),
    "transductive": theory.transductive,
    "transductive, unprojected": lambda X, y, loss, ball: theory.transductive(X, y, loss, ball, project=False),
    "sharper": theory.sharper_transductive,
    "streaming": lambda X, y, loss, ball: theory.streaming(X, y, loss, ball.C),
    "streaming, truncated": lambda X, y, loss, ball: theory.streaming(X, y, loss, ball.C, truncate=True),
}
LOSSES: list[Loss] = [Squared(), Logistic(), Hinge(), Quantile(0.3)]


@pytest.mark.parametrize(
    ("name", "q"), [(name, q) for name in RUNS for q in (1, 2) if q == 1 or not name.startswith("streaming")]
)
def test_lemma_1_is_never_exceeded(name: str, q: int) -> None:
    costly = name.startswith("online") and q == 2  # an ellipsoid in every round
    for seed in range(0, SEQUENCES, 20 if costly else 2):
        X, y = sequence(seed)
        ball = ball_around(X, 1.5, q)
        run = RUNS[name](X, y, Linear(), ball)
        best = theory.best_predictor(X, y, Linear(), ball)
        assert theory.regret(run, best) <= theory.lemma_1(run, best.w) * ROUNDING + 1e-300


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("name", RUNS)
def test_lemma_1_is_never_exceeded_with_convex_losses(name: str, loss: Loss) -> None:
    for seed in range(24):
        X, y = sequence(seed, "classes" if isinstance(loss, Logistic | Hinge) else "slopes")
        ball = ball_around(X, 0.5 if seed % 2 else 2.0, 1)  # labels within [−C, C], and far beyond
        run = RUNS[name](X, y, loss, ball)
        best = theory.best_predictor(X, y, loss, ball)
        regret = float(run.losses.sum()) - best.loss
        assert regret <= theory.lemma_1(run, best.w) + 1e-9 * (1 + run.losses.sum())


def test_lemma_1_is_met_by_a_run_that_ends_at_the_comparator() -> None:
    for seed in range(SEQUENCES):
        X, y = sequence(seed)
        run = theory.online(X, y, Linear(), 1.5)
        w_star = run.weights[-1]
        regret = run.losses.sum() - (y * (X @ w_star)).sum()
        size = np.abs(run.losses).sum() + np.abs(y * (X @ w_star)).sum()
        assert abs(regret - theory.lemma_1(run, w_star)) <= 1e-10 * size


def test_lemma_1_as_printed_is_false() -> None:
    A = [np.array([1.0]), np.array([100.0])]
    run = theory.descend(np.ones((2, 1)), np.array([1.0, -1.0]), Linear(), lambda t, G: A[t])
    w_star = np.zeros(1)
    assert run.losses.sum() == 1.0  # the comparator's loss is 0
    assert theory.lemma_1_as_printed(run, w_star) == pytest.approx(1.01 / 2)
    assert theory.lemma_1(run, w_star) == pytest.approx((99 + 1.01) / 2)


# ------------------------------------------------------------------------- bounds for every predictor of the ball


def run_worst_case_hindsight(X: np.ndarray, y: np.ndarray, ball: Ball) -> Run:
    return theory.worst_case_hindsight(X, y, Linear(), ball, gradient_squares(X, y))


def run_sharper_hindsight(X: np.ndarray, y: np.ndarray, ball: Ball) -> Run:
    return theory.sharper_hindsight(X, y, Linear(), ball, gradient_squares(X, y))


FOR_THE_BALL = {
    "lemma 2, p = inf": (1, run_worst_case_hindsight, theory.lemma_2),
    "lemma 2, p = 2": (2, run_worst_case_hindsight, theory.lemma_2),
    "section 5.2, p = 2": (2, run_worst_case_hindsight, theory.p2_bound),
    "sharper lemma 2, p = inf": (1, run_sharper_hindsight, theory.sharper_lemma_2),
    "sharper lemma 2, p = 2": (2, run_sharper_hindsight, theory.sharper_lemma_2),
    "theorem 1, p = inf": (1, lambda X, y, ball: theory.transductive(X, y, Linear(), ball), theory.theorem_1),
    "theorem 1, p = 2": (2, lambda X, y, ball: theory.transductive(X, y, Linear(), ball), theory.theorem_1),
    "sharper theorem 1, p = inf": (
        1,
        lambda X, y, ball: theory.sharper_transductive(X, y, Linear(), ball),
        theory.sharper_theorem_1,
    ),
    "sharper theorem 1, p = 2": (
        2,
        lambda X, y, ball: theory.sharper_transductive(X, y, Linear(), ball),
        theory.sharper_theorem_1,
    ),
    "theorem 2": (
        1,
        lambda X, y, ball: theory.streaming(X, y, Linear(), ball.C),
        lambda run, ball: theory.theorem_2(run, ball.C),
    ),
    "theorem 2, truncated": (
        1,
        lambda X, y, ball: theory.streaming(X, y, Linear(), ball.C, truncate=True),
        lambda run, ball: theory.theorem_2(run, ball.C),
    ),
    "equation 1 is theorem 2 with rate 1": (
        1,
        lambda X, y, ball: theory.online(X, y, Linear(), ball.C, project=True),
        lambda run, ball: theory.theorem_2(run, ball.C, eta=1.0),
    ),
}


@pytest.mark.parametrize("name", FOR_THE_BALL)
def test_bounds_for_the_ball_are_never_exceeded(name: str) -> None:
    q, learn, bound = FOR_THE_BALL[name]
    for seed in range(SEQUENCES):
        X, y = sequence(seed)
        ball = ball_around(X, (0.1, 1.0, 30.0)[seed % 3], q)
        run = learn(X, y, ball)
        assert linear_regret(run, ball) <= bound(run, ball) * ROUNDING + 1e-300, seed


@pytest.mark.parametrize("eta", [0.1, 0.5, 1.0, 3.0])
def test_the_theorems_hold_for_any_rate(eta: float) -> None:
    for seed in range(0, SEQUENCES, 5):
        X, y = sequence(seed)
        ball = ball_around(X, 1.0, 1)
        two_pass = theory.transductive(X, y, Linear(), ball, eta)
        assert linear_regret(two_pass, ball) <= theory.theorem_1(two_pass, ball, eta) * ROUNDING + 1e-300
        one_pass = theory.streaming(X, y, Linear(), 1.0, eta)
        assert linear_regret(one_pass, ball) <= theory.theorem_2(one_pass, 1.0, eta) * ROUNDING + 1e-300


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("q", [1, 2])
def test_the_theorems_hold_for_convex_losses(loss: Loss, q: int) -> None:
    for seed in range(24):
        X, y = sequence(seed, "classes" if isinstance(loss, Logistic | Hinge) else "slopes")
        ball = ball_around(X, 0.5 if seed % 2 else 2.0, q)
        best = theory.best_predictor(X, y, loss, ball)
        run = theory.transductive(X, y, loss, ball)
        assert theory.regret(run, best) <= theory.theorem_1(run, ball) + best.gap
        run = theory.sharper_transductive(X, y, loss, ball)
        assert theory.regret(run, best) <= theory.sharper_theorem_1(run, ball) + best.gap
        if q == 1:
            for truncate in (False, True):
                run = theory.streaming(X, y, loss, ball.C, truncate=truncate)
                assert theory.regret(run, best) <= theory.theorem_2(run, ball.C) + best.gap


@pytest.mark.parametrize("root", [1, 2, 3, 10])
@pytest.mark.parametrize("name", ["lemma 2, p = inf", "lemma 2, p = 2", "section 5.2, p = 2"])
def test_the_hindsight_bounds_are_met_in_one_dimension(name: str, root: int) -> None:
    q, learn, bound = FOR_THE_BALL[name]
    X, y = np.full((root**2, 1), 1e-4), equal_signs(1, root**2, [root]).ravel()
    ball = ball_around(X, 3.0, q)
    run = learn(X, y, ball)
    assert linear_regret(run, ball) == pytest.approx(bound(run, ball), rel=1e-9)


@pytest.mark.parametrize("d", [2, 4, 8])
def test_lemma_2_is_within_a_factor_of_two_in_any_dimension(d: int) -> None:
    X, y = equal_signs(d, 16, [4] + [0] * (d - 1)), np.ones(16)
    ball = ball_around(X, 3.0, 1)
    run = run_worst_case_hindsight(X, y, ball)
    assert linear_regret(run, ball) / theory.lemma_2(run, ball) == pytest.approx((1 + 1 / d) / 2, rel=1e-12)


def test_the_p2_bound_is_within_a_factor_of_two_in_any_dimension() -> None:
    d, T = 4, 16  # on corners of a cube, where S = I/d; with all |Σ_t g_ti| = √T/√d the ratio is (1 + 1/d)/2
    X, y = equal_signs(d, T, [2] * d), np.ones(T)
    ball = ball_around(X, 3.0, 2)
    run = run_worst_case_hindsight(X, y, ball)
    assert linear_regret(run, ball) / theory.p2_bound(run, ball) == pytest.approx((1 + 1 / d) / 2, rel=1e-9)


@pytest.mark.parametrize("d", [1, 4, 9])
def test_the_sharper_lemma_2_is_met_in_any_dimension(d: int) -> None:
    root = round(math.sqrt(d))
    X, y = equal_signs(d, 36, [6 * root] + [0] * (d - 1)) * 10.0 ** np.arange(d), np.ones(36)
    ball = ball_around(X, 3.0, 1)
    run = run_sharper_hindsight(X, y, ball)
    assert linear_regret(run, ball) == pytest.approx(theory.sharper_lemma_2(run, ball), rel=1e-12)


def test_lemma_2_is_not_the_minimax_solution() -> None:
    """For q ≤ 2 another A has a smaller max over w* of (1/2) Σ (A_ii w_i² + G_i/A_ii); for q = ∞ none has."""
    rng = np.random.default_rng(0)
    G, S, C = rng.uniform(0.5, 2, size=3), rng.uniform(0.5, 2, size=3), 1.5

    def worst(A: np.ndarray, q: float) -> float:
        spread = (A * S).sum() if q == np.inf else (A * S).max()  # max of Σ A_i w_i² over the ball, over C²
        return float(C**2 * spread + (G / A).sum()) / 2

    papers = np.sqrt(G / S) / C
    sharper = np.sqrt((S * G).sum()) / (C * S)
    assert worst(papers, np.inf) == pytest.approx(C * np.sqrt(S * G).sum())
    assert worst(sharper, 1) == pytest.approx(C * np.sqrt((S * G).sum()))
    assert worst(sharper, 1) < 0.65 * worst(papers, np.inf)
    assert worst(sharper, 1) < 0.99 * worst(papers, 1)
    for _ in range(300):
        factor = np.exp(rng.normal(size=3) * rng.choice([0.01, 0.1, 1.0]))
        assert worst(papers * factor, np.inf) >= worst(papers, np.inf)
        assert worst(sharper * factor, 1) >= worst(sharper, 1)


# A tiny gradient, a large one the other way, and many small ones: the worst that a search found for Theorem 1.
def wrong_end(tail: int) -> np.ndarray:
    rest = (2 - math.sqrt(2)) / math.sqrt(2)
    return np.concatenate([[-1e-9, 1.0], np.full(tail, rest / tail)])


@pytest.mark.parametrize("name", ["theorem 1, p = inf", "theorem 1, p = 2", "theorem 2", "sharper theorem 1, p = inf"])
def test_three_quarters_of_theorem_1_are_reached(name: str) -> None:
    q, learn, bound = FOR_THE_BALL[name]
    y = wrong_end(400)
    X = np.full((len(y), 1), 12.0)
    ball = ball_around(X, 5.0, q)
    run = learn(X, y, ball)
    ratio = linear_regret(run, ball) / bound(run, ball)
    assert 0.7485 < ratio < 0.7501


# The worst that a search found for each Δ: inputs that grow from 1 to Δ, and slopes.
WORST_STREAMS = {
    2.0: (
        0.61,
        [1, 2, 1.8786, 1.9951, 1.0177, 1.5516, 1.4436, 1.2334],
        [1e-9, -1, -0.1855, -0.163, -0.3056, -0.1945, -0.2049, -0.237],
    ),
    4.0: (
        0.44,
        [1, 2.424, 3.4186, 4, 2.7675, 1.4259, 4, 2.3259],
        [1e-9, -1, -0.2149, -0.1414, -0.1949, -0.3547, -0.0657, -0.2086],
    ),
    8.0: (
        0.28,
        [1, 2.4142, 3.4421, 1.0388, 6.4171, 7.9337, 8, 1.0002],
        [1e-9, -1, -0.2214, -0.5564, -0.081, -0.0566, -0.0548, -0.437],
    ),
}


@pytest.mark.parametrize("ratio", WORST_STREAMS)
def test_how_much_of_theorem_2_is_reached(ratio: float) -> None:
    reached, x, slopes = WORST_STREAMS[ratio]
    X, y = np.array(x)[:, None], np.array(slopes)
    run = theory.streaming(X, y, Linear(), 1.0)
    share = linear_regret(run, ball_around(X, 1.0, 1)) / theory.theorem_2(run, 1.0)
    assert reached < share < reached + 0.02


def test_the_papers_constants_are_those_of_the_general_rate() -> None:
    X, y = np.array([[1.0, 2.0], [-3.0, 0.5], [2.0, 6.0]]), np.array([1.0, -2.0, 0.5])
    ball = ball_around(X, 1.3, 1)
    two_pass, one_pass = theory.transductive(X, y, Linear(), ball), theory.streaming(X, y, Linear(), 1.3)
    G, delta = gradient_squares(X, y), np.array([3.0, 3.0])
    assert theory.theorem_1(two_pass, ball) == pytest.approx(2 * 1.3 * math.sqrt(2) * (np.sqrt(G) / [3.0, 6.0]).sum())
    printed = (np.sqrt(G) / [3.0, 6.0] * (1 + 6 * delta + delta**2) / (2 * math.sqrt(2))).sum()
    assert theory.theorem_2(one_pass, 1.3) == pytest.approx(1.3 * printed)
    best_rate = (1 + 3.0) / math.sqrt(2 * 3.0)
    rates = np.linspace(0.2, 5, 500)
    assert min(theory.theorem_2(one_pass, 1.3, rate) for rate in rates) >= theory.theorem_2(one_pass, 1.3, best_rate)
    assert min(theory.theorem_1(two_pass, ball, rate) for rate in rates) >= theory.theorem_1(two_pass, ball)


def test_the_bounds_are_ordered() -> None:
    for seed in range(0, SEQUENCES, 10):
        X, y = sequence(seed)
        ball = ball_around(X, 1.0, 2)
        run = theory.transductive(X, y, Linear(), ball)
        d = (ball.scale > 0).sum()
        assert theory.sharper_lemma_2(run, ball) <= theory.lemma_2(run, ball) * ROUNDING
        assert theory.lemma_2(run, ball) <= theory.p2_bound(run, ball) * ROUNDING
        assert theory.sharper_lemma_2(run, ball) * math.sqrt(d) >= theory.lemma_2(run, ball) / ROUNDING
