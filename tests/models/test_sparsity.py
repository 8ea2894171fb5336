"""Sparse models: the oracle, the exact properties, and pruning."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles.sparse import Sparse
from streams import LOSSES, same_bits, stream

import unitless as ul
from unitless.paper import algorithms as reference

ORACLES = {
    "squared": reference.Squared,
    "logistic": reference.Logistic,
    "hinge": reference.Hinge,
    "quantile": reference.Quantile,
    "poisson": reference.Poisson,
}
BOTH: list[dict[str, Any]] = [{"sparsity": 0.3, "learning_rate": 0.5}, {"sparsity": "auto", "learning_rate": "auto"}]


def clicks(rows: int = 3000, names: int = 400, seed: int = 0) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows of ten names, of which twenty matter."""
    rng = np.random.default_rng(seed)
    indices = np.sort(np.floor(names * rng.random((rows, 10)) ** 2).astype(int), axis=1)
    X = sp.csr_matrix((np.ones(indices.size), indices.ravel(), np.arange(0, indices.size + 1, 10)), (rows, names))
    X.sum_duplicates()
    score = X[:, :20] @ rng.normal(0, 2, 20) - 1
    return X, np.where(rng.random(rows) < 1 / (1 + np.exp(-score)), 1.0, -1.0)


# ------------------------------------------------------------------------------------------------- the oracle


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.5), (0.2, 0.0), (1.0, 2.0)])
def test_the_core_is_the_oracle(loss: str, l1: float, l2: float) -> None:
    X, y = stream(loss, spread=3)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], len(y))
    m = ul.Learner(loss=loss, learning_rate=0.3, sparsity=l1, l2=l2)  # type: ignore[arg-type]
    oracle = Sparse(0.3, ORACLES[loss](), l1, l2)
    expected = reference.run(oracle, X, y, weight)
    np.testing.assert_allclose(m.learn(X, y, weight), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose([m.weights[j] for j in range(X.shape[1])], oracle.w[1:], rtol=1e-8, atol=0)


def test_the_oracle_without_penalties_is_nag_with_plain_steps() -> None:
    X, y = stream("logistic", spread=3)
    plain = reference.run(reference.NAG(0.5, reference.Logistic(), aware=False), X, y)
    np.testing.assert_allclose(reference.run(Sparse(0.5, reference.Logistic()), X, y), plain, rtol=1e-9)


# ------------------------------------------------------------------------------------------------- exact properties


@pytest.mark.parametrize("options", BOTH)
def test_saving_a_hashed_model_in_mid_stream_is_invisible(options: dict[str, Any]) -> None:
    X, y = clicks()
    a = ul.Learner(loss="logistic", bits=8, **options)
    a.learn(X[:1500], y[:1500])
    b = pickle.loads(pickle.dumps(a))
    assert same_bits(b.predict(X), a.predict(X))
    assert same_bits(b.learn(X[1500:], y[1500:]), a.learn(X[1500:], y[1500:]))
    assert pickle.dumps(b) == pickle.dumps(a)


def test_saving_in_mid_stream_is_invisible_with_a_target() -> None:
    X, y = stream(rows=400)
    a = ul.Learner(sparsity=0.5, target="auto", center=True)
    a.learn(X[:200], y[:200])
    b = pickle.loads(pickle.dumps(a))
    assert same_bits(b.learn(X[200:], y[200:]), a.learn(X[200:], y[200:]))


@pytest.mark.parametrize("power", [-40, 3])
def test_with_a_target_the_labels_unit_does_not_matter(power: int) -> None:
    X, y = stream()
    factor = 2.0**power
    a, b = (ul.Learner(sparsity=5, l2=0.1, target="auto", learning_rate="auto") for _ in range(2))
    assert same_bits(b.learn(X, factor * y), factor * a.learn(X, y))
    assert sum(weight == 0 for weight in a.weights.values()) > 0


def test_hashed_names_have_the_same_bits_as_stored_ones() -> None:
    X, y = clicks()
    a, b = (ul.Learner(loss="logistic", learning_rate="auto", sparsity="auto", bits=bits) for bits in (None, 20))
    assert same_bits(a.learn(X, y), b.learn(X, y))
    assert same_bits(a.predict(X), b.predict(X))


# ------------------------------------------------------------------------------------------------- sparsity


def test_one_leader_is_as_good_as_the_best_penalty_and_keeps_few_weights() -> None:
    X, y = clicks(20_000)
    auto = ul.Learner(loss="logistic", learning_rate="auto", sparsity="auto")
    loss = auto.losses(auto.learn(X, y), y).mean()

    def fixed(penalty: float) -> float:
        m = ul.Learner(loss="logistic", learning_rate="auto", sparsity=penalty, l2=1e-9)
        return float(m.losses(m.learn(X, y), y).mean())

    assert loss < 1.01 * min(map(fixed, (0.0, 0.3, 1.0, 3.0)))
    assert auto.sparsity >= 1
    kept = {name for name, weight in auto.weights.items() if weight != 0}
    assert len(kept & set(range(20))) >= 15
    assert len(kept) < 60


def test_a_larger_penalty_keeps_fewer_weights() -> None:
    X, y = clicks()
    kept = []
    for penalty in (0.1, 1.0, 10.0, 1000.0):
        m = ul.Learner(loss="logistic", sparsity=penalty)
        m.learn(X, y)
        kept.append(sum(weight != 0 for weight in m.weights.values()))
    assert kept == sorted(kept, reverse=True)
    assert kept[0] > 2 * kept[2]
    assert kept[-1] == 1  # the bias


def test_penalties_beyond_the_first_are_taken_up() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 40))  # the label does not depend on these
    m = ul.Learner(loss="logistic", learning_rate="auto", sparsity="auto")
    m.learn(X, rng.random(40_000) < 0.5)
    assert m.sparsity >= 10


def test_l2_makes_weights_smaller() -> None:
    X, y = stream("logistic", rows=1000, growth=False, spread=0)
    sizes = []
    for l2 in (0.0, 1.0, 30.0):
        m = ul.Learner(loss="logistic", sparsity=1e-9, l2=l2)
        m.learn(X, y)
        sizes.append(sum(value for name, value in m.importance.items() if name != "(bias)"))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[2] < 0.9 * sizes[0]


# ------------------------------------------------------------------------------------------------- pruning


def pruned_of(m: Any) -> Any:
    copy = m.copy()
    copy.prune()
    return copy


@pytest.mark.parametrize("bits", [None, 16])
def test_pruning_keeps_every_bit_of_predictions_and_frees_memory(bits: int | None) -> None:
    X, y = clicks(5000, 20_000)
    rows = [{f"n{j}": 1.0 for j in row.indices} for row in X]
    m = ul.Learner(loss="logistic", learning_rate="auto", sparsity="auto", bits=bits)
    m.learn(rows, y)
    small = pruned_of(m)
    assert same_bits(small.predict(rows), m.predict(rows))
    assert {k: w for k, w in m.weights.items() if w} == {k: w for k, w in small.weights.items() if w}
    assert len(small.weights) < len(m.weights) / 10
    assert small.nbytes < m.nbytes / 4
    assert len(pickle.dumps(small)) < len(pickle.dumps(m)) / 10
    assert pickle.dumps(pickle.loads(pickle.dumps(small))) == pickle.dumps(small)


def test_a_pruned_model_learns_on_and_tries_neighbors_again() -> None:
    X, y = clicks(6000)
    m = ul.Learner(loss="logistic", learning_rate="auto", sparsity="auto")
    m.learn(X[:3000], y[:3000])
    m.prune()
    assert len(m.rates) == 1
    p = m.learn(X[3000:], y[3000:])
    assert m.losses(p, y[3000:]).mean() < 0.6
    assert len(m.rates) > 1


def test_pruning_keeps_what_products_are_made_of() -> None:
    rng = np.random.default_rng(0)
    names = [f"n{j}" for j in range(8)]
    rows = [dict(zip(names, row, strict=True)) for row in rng.normal(size=(3000, 8)).tolist()]
    y = [1.0 if row["n2"] * row["n5"] > 0 else -1.0 for row in rows]
    m = ul.Learner(loss="logistic", sparsity=20, interactions=2)
    m.learn(rows, y)
    small = pruned_of(m)
    assert "n2*n5" in small.weights
    assert len(small.weights) < 10
    assert same_bits(small.predict(rows), m.predict(rows))
    assert same_bits(pickle.loads(pickle.dumps(small)).predict(rows), m.predict(rows))
    X = pd.DataFrame(rows)[names].to_numpy()
    columns = ul.Learner(loss="logistic", sparsity=20, interactions=2, center=True)
    columns.learn(X, y)
    assert same_bits(pickle.loads(pickle.dumps(pruned_of(columns))).predict(X), columns.predict(X))


def test_pruning_a_centered_frame_keeps_predictions() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2000, 6)) + 5, columns=list("abcdef"))
    m = ul.Learner(loss="logistic", sparsity=10, center=True, falling_scales=True)
    m.learn(X, X["b"] > X["e"])
    small = pickle.loads(pickle.dumps(pruned_of(m)))
    assert set(small.weights) == {"(bias)", "b", "e"}
    assert same_bits(small.predict(X), m.predict(X))
    small.learn(X / 1000, X["b"] > X["e"])
    assert set(small.weights) == set(m.weights)


def test_a_class_keeps_what_another_needs() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 20))
    y = np.where(X[:, 3] > 0.5, "a", np.where(X[:, 7] > 0, "b", "c"))
    m = ul.OneVsAll(sparsity=10)
    m.learn(X, y)
    small = pruned_of(m)
    assert same_bits(small.predict(X), m.predict(X))
    assert len(small.scales) < len(m.scales)
    assert set(small.sparsity) == {"a", "b", "c"}
    small.learn(X[:10], ["d"] * 10)
    assert "d" in small.classes


# ------------------------------------------------------------------------------------------------- merging


@pytest.mark.parametrize("bits", [None, 10])
def test_the_sums_behind_weights_add_up(bits: int | None) -> None:
    X, y = clicks(12_000)

    def learned(rows: slice) -> ul.Learner:
        m = ul.Learner(loss="logistic", learning_rate=1.2, sparsity=1.0, bits=bits)
        m.learn(X[rows], y[rows])
        return m

    parts = [learned(slice(k, 6000, 3)) for k in range(3)]
    merged, whole = ul.merge(parts), learned(slice(0, 6000))
    losses = [float(m.losses(m.predict(X[6000:]), y[6000:]).mean()) for m in (merged, whole, *parts)]
    assert losses[0] < min(losses[2:])
    assert losses[0] < 1.05 * losses[1]
    again = ul.merge([ul.merge([parts[2], parts[0]]), parts[1], learned(slice(0, 0))])
    np.testing.assert_allclose(again.predict(X), merged.predict(X), rtol=1e-9, atol=1e-9)
    scaled = [ul.Learner(loss="logistic", learning_rate=1.2, sparsity=1.0, bits=bits) for _ in parts]
    for k, m in enumerate(scaled):
        m.learn(X[k:6000:3] * 4, y[k:6000:3])
    assert same_bits(ul.merge(scaled).predict(X * 4), merged.predict(X))


def test_with_a_base_only_what_was_added_counts() -> None:
    X, y = clicks(4000)
    base = ul.Learner(loss="logistic", sparsity=1.0)
    base.learn(X[:2000], y[:2000])
    same = base.copy()
    assert same_bits(ul.merge([same, base.copy()], base=base).predict(X).round(12), base.predict(X).round(12))
    more = base.copy()
    more.learn(X[2000:], y[2000:])
    np.testing.assert_allclose(ul.merge([more, same], base=base).predict(X), more.predict(X), rtol=1e-9, atol=1e-9)


def test_offsets_are_not_merged() -> None:
    a = ul.Learner(sparsity=1.0, target="auto")
    with pytest.raises(ul.MergeError, match="cannot be merged if they learn the target"):
        ul.merge([a, a.copy()])


# ------------------------------------------------------------------------------------------------- curves and trees


def leaf_weights(m: ul.Learner) -> np.ndarray:
    form = m._snapshot()["form"]
    return np.concatenate([form[f"{name}.weights"].ravel() for name in ("curves", "trees")])


def steps(rows: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(rows, 6))
    return X, np.floor(4 * X[:, 0]) * (X[:, 1] > 0.3) + rng.normal(size=rows)


def trees(**options: Any) -> ul.Learner:
    return ul.Learner(learning_rate=0.5, model_type="trees", target="auto", **options)


@pytest.mark.parametrize("name", ["sparsity", "l2"])
def test_a_larger_penalty_makes_the_weights_of_leaves_smaller(name: str) -> None:
    X, y = steps()
    found = []
    for penalty in (0.0, 0.1, 1.0):
        m = trees(**{name: penalty})
        m.learn(X, y)
        found.append(np.abs(leaf_weights(m)).mean())
    assert found[0] > found[1] > found[2]


def test_sparsity_makes_weights_of_leaves_exactly_zero() -> None:
    X, y = steps()
    shares = []
    for penalty in (0.0, 0.5):
        m = trees(sparsity=penalty)
        m.learn(X, y)
        shares.append(np.mean(leaf_weights(m) == 0))
    assert shares[0] < 0.05
    assert shares[1] > shares[0] + 0.1


def test_a_penalty_lowers_the_error_of_trees_on_noisy_steps() -> None:
    X, y = steps(6000)
    mean = [float(np.mean((trees(sparsity=penalty).learn(X, y)[1:] - y[1:]) ** 2)) for penalty in (0.0, 0.05)]
    assert mean[1] < 0.99 * mean[0]


@pytest.mark.parametrize("power", [-40, 3, 60])
def test_a_unit_of_labels_does_not_change_penalized_trees(power: int) -> None:
    X, y = steps(500)
    unit = 2.0**power
    ours, other = (trees(sparsity=0.1, l2=1.0).learn(X, labels) for labels in (y, y * unit))
    assert same_bits(ours * unit, other)


def test_without_a_number_trees_have_no_penalty() -> None:
    X, y = steps(500)
    assert same_bits(trees(sparsity="auto").learn(X, y), trees().learn(X, y))


# ------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sparsity": "much"}, "it must be a number or 'auto'"),
        ({"sparsity": -1}, "finite and not negative"),
        ({"l2": float("inf")}, "finite and not negative"),
        ({"sparsity": 1, "rule": "snag"}, "is for rule 'nag'"),
        ({"l2": 1, "average": True}, "does not go with"),
        ({"sparsity": 1, "order": "vw"}, "does not go with"),
        ({"sparsity": 1, "rule": "snag", "model_type": "trees"}, "is for rule 'nag'"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ul.OptionError, match=said):
        ul.Learner(**options)


def test_a_softmax_model_has_no_sparsity() -> None:
    with pytest.raises(ul.OptionError, match="leave out loss='softmax'"):
        ul.Softmax(sparsity=1)


def test_a_sweep_has_one_sparsity() -> None:
    with pytest.raises(ul.OptionError, match="all with the same sparsity"):
        ul.Sweep([0.5, 1.0], sparsity="auto")
    X, y = stream("logistic")
    sweep = ul.Sweep([0.5, 1.0], loss="logistic", sparsity=0.5)
    alone = ul.Learner(loss="logistic", learning_rate=1.0, sparsity=0.5)
    assert same_bits(sweep.learn(X, y)[:, 1], alone.learn(X, y))
    assert same_bits(sweep.model(1).predict(X), alone.predict(X))


def test_only_sparse_models_are_pruned() -> None:
    for model in (ul.Learner(), trees(sparsity=0.5)):
        with pytest.raises(ul.OptionError, match="only linear models with a penalty can be pruned"):
            model.prune()


# ------------------------------------------------------------------------------------------------- reports and files


def test_what_is_read_off_the_weights_agrees_with_predictions() -> None:
    X, y = stream("logistic", spread=3, growth=False)
    m = ul.Learner(loss="logistic", learning_rate="auto", sparsity="auto", l2=0.1)
    m.learn(X, y)
    w = np.array([m.weights[j] for j in range(X.shape[1])])
    np.testing.assert_allclose(X @ w + m.weights["(bias)"], m.predict(X, extrapolate=True), rtol=1e-9, atol=1e-9)
    alike = ul.to_sklearn(m)
    np.testing.assert_allclose(alike.decision_function(X), m.predict(X, extrapolate=True), rtol=1e-9, atol=1e-9)


def table(rows: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(50, 9, rows), "user": rng.integers(0, 500, rows).astype(str)})
    noise = rng.normal(0, 3, rows)
    return frame.assign(rich=np.where(frame["size"] + noise > 50, "yes", "no"))


def test_training_keeps_a_pruned_model(tmp_path: Any) -> None:
    frame = table()
    result = ul.train(frame, "rich", sparsity=3, reading=ul.Reading(text=["user"]), output=tmp_path / "m")
    assert result.details.weighted_features < 50
    assert result.details.features_met is not None
    assert result.details.features_met > 400
    assert result.metrics["error_rate"] < 0.2
    assert ul.load(tmp_path / "m").weights == result.model.weights
    assert list(result.predict(frame.drop(columns="rich"))) == list(result.predict(frame))


def test_checkpoints_are_not_pruned_and_go_on_exactly(tmp_path: Any) -> None:
    frame, path = table(20_000), tmp_path / "m"
    options: dict[str, Any] = {"sparsity": "auto", "reading": ul.Reading(text=["user"]), "shuffle": False}

    def stop(run: Any) -> None:
        if run.progress.rows >= 5000:
            raise KeyboardInterrupt

    frame.to_csv(tmp_path / "t.csv", index=False)
    whole = ul.train(tmp_path / "t.csv", "rich", **options)
    with contextlib.suppress(KeyboardInterrupt):
        ul.train(tmp_path / "t.csv", "rich", **options, output=path, checkpoint=1000, progress=stop)
    begun = ul.load(path)
    assert 0 < begun.examples < 20_000
    assert len(begun.weights) > 2 * len(whole.model.weights)
    gone_on = ul.train(tmp_path / "t.csv", resume=begun, shuffle=False)
    assert gone_on.model.weights == whole.model.weights


def test_training_of_numbers_finds_the_columns_that_matter() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(4000, 30)) * 10.0 ** rng.integers(-5, 5, 30))
    frame.columns = [f"c{j}" for j in range(30)]
    y = 1000 + 50 * (frame["c3"] / frame["c3"].std() - frame["c17"] / frame["c17"].std())
    result = ul.train(frame.assign(y=y + rng.normal(0, 20, 4000)), "y", sparsity=30)
    assert {"c3", "c17"} <= {one.column for one in result.importance.columns[:2]}
    assert result.details.weighted_features < 20
    assert result.metrics["rmse"] < 25


def test_distributed_training_refuses_sparsity() -> None:
    with pytest.raises(ul.OptionError, match="learn in one part"):
        ul.train(table(), "rich", sparsity=1, cluster=ul.Cluster(workers=2))


def test_quantiles_have_no_sparsity_where_the_labels_unit_is_learned() -> None:
    with pytest.raises(ul.OptionError, match="free of the label's unit"):
        ul.Learner(loss="quantile", sparsity=1.0, target="auto")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    assert ul.train(X, X[:, 0], loss="quantile", sparsity=1.0).model.options.target is None
