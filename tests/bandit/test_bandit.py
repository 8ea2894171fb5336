"""Bandits: decisions, rewards in any order, units, files."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import unitless as ul
from unitless import _core
from unitless.bandit import state
from unitless.models import file as model_file

NAMES = ["left", "middle", "right"]
Rounds = list[tuple[dict[str, Any], dict[str, float]]]


def rounds(count: int, seed: int = 0) -> Rounds:
    """Contexts, and the reward of each action."""
    rng = np.random.default_rng(seed)
    found: Rounds = []
    for _ in range(count):
        x = rng.normal([3, 0, -20])
        context = {"a": x[0], "b": x[1], "c": x[2], "late": bool(rng.integers(2))}
        means = [x[0] - 3, abs(x[1]), 0.3 + 0.5 * context["late"]]
        # Rewards are multiples of 1/1024, so that adding a power of two to them is exact.
        noisy = np.round((np.array(means) + 0.2 * rng.normal(size=3)) * 1024) / 1024
        found.append((context, dict(zip(NAMES, noisy.tolist(), strict=True))))
    return found


def play(bandit: ul.Bandit, data: Rounds, delay: int = 0, first: int = 0) -> list[ul.bandit.Decision]:
    """Let a bandit decide rounds, and learn each reward after `delay` further decisions."""
    made = []
    for at, (context, _) in enumerate(data, first):
        made.append(bandit.decide(at, context, NAMES))
        if at >= delay + first:
            late = made[at - delay - first]
            bandit.learn(late.event_id, data[at - delay - first][1][str(late.action)])
    return made


def mean_reward(made: list[ul.bandit.Decision], data: Rounds) -> float:
    return float(np.mean([rewards[str(one.action)] for one, (_, rewards) in zip(made, data, strict=True)]))


@pytest.mark.parametrize("model_type", ["linear", "trees"])
def test_a_bandit_is_nearly_as_good_as_the_best_actions(model_type: Any) -> None:
    data = rounds(2000)
    made = play(ul.Bandit(model_type=model_type), data)[1000:]
    best = float(np.mean([max(rewards.values()) for _, rewards in data[1000:]]))
    constant = max(float(np.mean([rewards[name] for _, rewards in data[1000:]])) for name in NAMES)
    achieved = (mean_reward(made, data[1000:]) - constant) / (best - constant)
    assert achieved > {"linear": 0.3, "trees": 0.6}[model_type]


def test_propensities_are_the_shares_with_which_actions_are_chosen() -> None:
    data = rounds(60)
    bandit = ul.Bandit(model_type="linear")
    play(bandit, data)
    state, counts = bandit.to_bytes(), dict.fromkeys(NAMES, 0)
    expected = bandit.propensities(data[0][0], NAMES)
    for event in range(2000):
        counts[str(ul.Bandit.from_bytes(state).decide(f"e{event}", data[0][0], NAMES).action)] += 1
    assert math.isclose(sum(expected.values()), 1, rel_tol=1e-12)
    for name, propensity in expected.items():
        assert abs(counts[str(name)] / 2000 - propensity) < 5 * math.sqrt(propensity * (1 - propensity) / 2000) + 1e-9


def test_probabilities_of_the_best_are_those_of_normal_variables() -> None:
    rng = np.random.default_rng(0)
    f, u = [0.0, 0.5, -0.3], [1.0, 0.4, 2.0]
    best = np.argmax(rng.normal(f, u, size=(400_000, 3)), axis=1)
    assert np.allclose(_core.best_probabilities(f, u), np.bincount(best) / 400_000, atol=4e-3)
    assert _core.best_probabilities([1.0, 1.0, 0.0], [0.0, 0.0, 0.0]) == [0.5, 0.5, 0.0]


def test_the_normal_distribution_function_is_exact_to_rounding() -> None:
    for x in np.linspace(-10, 10, 401):
        assert math.isclose(
            _core.normal_below(float(x)), 0.5 * math.erfc(-x / math.sqrt(2)), rel_tol=1e-7, abs_tol=1e-15
        )
    assert (_core.normal_below(math.inf), _core.normal_below(-math.inf)) == (1.0, 0.0)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.integers(-300, 300), min_size=3, max_size=3), st.integers(-10, 10), st.integers(-3, 12), st.booleans()
)
def test_powers_of_two_change_no_bit_of_a_propensity(powers: list[int], unit: int, offset: int, minus: bool) -> None:
    data = rounds(80)
    other: Rounds = []
    for context, rewards in data:
        numbers = {name: context[name] * 2.0**power for name, power in zip("abc", powers, strict=True)}
        moved = {name: (reward + (-1) ** minus * 2.0**offset) * 2.0**unit for name, reward in rewards.items()}
        other.append((numbers | {"late": context["late"]}, moved))
    for model_type in ("linear", "trees"):
        made = play(ul.Bandit(model_type=model_type), data, delay=3)
        again = play(ul.Bandit(model_type=model_type), other, delay=3)
        assert [(one.action, one.propensities) for one in made] == [(one.action, one.propensities) for one in again]


@settings(max_examples=12, deadline=None)
@given(st.lists(st.floats(-6, 6), min_size=3, max_size=3), st.floats(-6, 6), st.floats(-3, 3))
def test_units_and_offsets_change_propensities_by_rounding_only(
    powers: list[float], unit: float, offset: float
) -> None:
    data = rounds(80)
    other: Rounds = []
    for context, rewards in data:
        numbers = {name: context[name] * 10.0**power for name, power in zip("abc", powers, strict=True)}
        moved = {name: (reward + offset) * 10.0**unit for name, reward in rewards.items()}
        other.append((numbers | {"late": context["late"]}, moved))
    made, again = play(ul.Bandit(model_type="linear"), data), play(ul.Bandit(model_type="linear"), other)
    assert [one.action for one in made] == [one.action for one in again]
    for one, two in zip(made, again, strict=True):
        assert all(abs(one.propensities[name] - two.propensities[name]) <= 4e-7 for name in NAMES)


@pytest.mark.parametrize("model_type", ["linear", "trees"])
def test_saving_and_loading_in_mid_stream_is_invisible(model_type: Any, tmp_path: Any) -> None:
    data = rounds(120)
    texts: Rounds = [
        (context | {"city": f"c{at % 150}", "day": f"2024-01-{1 + at % 28:02}"}, rewards)
        for at, (context, rewards) in enumerate(data)
    ]
    straight = ul.Bandit(model_type=model_type, random_state=3)
    expected = play(straight, texts, delay=5)
    bandit = ul.Bandit(model_type=model_type, random_state=3)
    made = []
    for at, (context, _) in enumerate(texts):
        made.append(bandit.decide(at, context, NAMES))
        if at % 17 == 0:
            bandit.save(tmp_path / "bandit")
            bandit = ul.Bandit.load(tmp_path / "bandit")
        if at >= 5:
            bandit.learn(at - 5, texts[at - 5][1][str(made[at - 5].action)])
    assert made == expected
    assert bandit.to_bytes() == straight.to_bytes()
    assert isinstance(ul.load(tmp_path / "bandit"), ul.Bandit)


def test_a_repeated_event_returns_the_stored_decision() -> None:
    bandit = ul.Bandit(model_type="linear")
    play(bandit, rounds(50))
    made = bandit.decide("again", {"a": 1.0}, NAMES)
    state = bandit.to_bytes()
    assert bandit.decide("again", {"a": 50.0}, ["other"]) == made
    assert bandit.to_bytes() == state


def test_unknown_and_repeated_rewards_are_errors_that_change_nothing() -> None:
    bandit = ul.Bandit()
    bandit.decide("one", {"a": 1}, NAMES)
    with pytest.raises(ul.InputError, match="no event with the id 'two'"):
        bandit.learn("two", 1.0)
    bandit.learn("one", 1.0)
    state = bandit.to_bytes()
    with pytest.raises(ul.InputError, match="'one' has its reward already"):
        bandit.learn("one", 1.0)
    with pytest.raises(ul.InputError, match="'one' has its reward already"):
        bandit.decide("one", {"a": 1}, NAMES)
    assert bandit.to_bytes() == state
    assert [bandit.status(event) for event in ("one", "two")] == ["rewarded", "unknown"]


def test_events_without_a_reward_in_time_get_the_default_one() -> None:
    bandit = ul.Bandit(time_limit=10, default_reward=0.0)
    bandit.decide("one", {"a": 1}, NAMES, time=0)
    bandit.decide("two", {"a": 1}, NAMES, time=5)
    bandit.learn("two", 1.0, time=12)
    assert (bandit.rewards, bandit.expired, bandit.pending, bandit.mean_reward) == (2, 1, 0, 0.5)
    with pytest.raises(ul.InputError, match="came too late"):
        bandit.learn("one", 1.0, time=12)
    with pytest.raises(ul.InputError, match="time"):
        bandit.decide("three", {"a": 1}, NAMES)


def test_memory_for_events_is_bounded() -> None:
    bandit = ul.Bandit(max_pending=5)
    for event in range(20):
        bandit.decide(event, {"a": event}, NAMES)
    assert (bandit.pending, bandit.expired, bandit.rewards) == (5, 15, 0)
    assert bandit.status(14) == "expired"
    assert bandit.status(3) == "unknown"


def test_decisions_depend_on_rewards_and_not_on_when_others_wait() -> None:
    data = rounds(80)
    orders = []
    for later in (False, True):  # the reward of every event comes at once, or that of two events in the other order
        bandit = ul.Bandit(model_type="linear")
        for at, (context, _) in enumerate(data):
            bandit.decide(at, context, NAMES)
        for at in sorted(range(80), reverse=later):
            bandit.learn(at, 1.0 + (at % 3))
        orders.append(bandit)
    assert orders[0].rewards == orders[1].rewards == 80
    assert math.isclose(orders[0].mean_reward, orders[1].mean_reward, rel_tol=1e-12)


def test_the_order_in_which_actions_are_given_does_not_matter() -> None:
    forth, back = ul.Bandit(model_type="linear"), ul.Bandit(model_type="linear")
    for at, (context, rewards) in enumerate(rounds(60)):
        one, two = forth.decide(at, context, NAMES), back.decide(at, context, NAMES[::-1])
        assert (one.action, one.propensities) == (two.action, two.propensities)
        forth.learn(at, rewards[str(one.action)])
        back.learn(at, rewards[str(two.action)])


def test_actions_may_come_leave_and_return() -> None:
    bandit, data = ul.Bandit(model_type="linear"), rounds(600)
    for at, (context, rewards) in enumerate(data):
        offered = NAMES[:2] if at < 200 else NAMES if at < 400 else NAMES[1:]
        made = bandit.decide(at, context, offered)
        assert list(made.propensities) == offered
        bandit.learn(at, rewards[str(made.action)] + 5 * (made.action == "right"))
    assert bandit.propensities(data[0][0], NAMES)["right"] > 0.95
    assert set(bandit.propensities(data[0][0], ["left", "new"])) == {"left", "new"}


def test_actions_with_features_share_what_is_learned() -> None:
    rng, bandit = np.random.default_rng(0), ul.Bandit(model_type="linear")
    best = []
    for at in range(800):
        taste = float(rng.normal())
        offered = {f"item {k}": {"sweet": float(rng.normal()), "kind": "ab"[k % 2]} for k in rng.permutation(50)[:4]}
        made = bandit.decide(at, {"taste": taste}, offered)
        value = {name: taste * item["sweet"] + (item["kind"] == "a") for name, item in offered.items()}
        bandit.learn(at, value[str(made.action)] + 0.1 * float(rng.normal()))
        best.append(made.action == max(value, key=lambda name: value[name]))
    assert np.mean(best[400:]) > 0.8
    with pytest.raises(ul.InputError, match="mappings before, and names now"):
        bandit.decide("names", {"taste": 0.0}, ["a", "b"])
    assert bandit.decide("listed", {"taste": 1.0}, [{"sweet": 5.0}, {"sweet": -5.0}]).action == 0


def test_contexts_have_text_missing_values_and_dates() -> None:
    bandit = ul.Bandit(model_type="linear")
    for at in range(300):
        context = {
            "day": datetime.date(2024, 1, 1 + at % 28),
            "city": "RN"[at % 2],
            "age": None if at % 5 else at,
            "x": math.nan,
        }
        made = bandit.decide(at, context, ["a", "b"])
        bandit.learn(at, float(made.action == "ab"[at % 2]))
    assert bandit.propensities({"day": datetime.date(2024, 1, 3), "city": "R"}, ["a", "b"])["a"] > 0.9


def test_a_bandit_without_features_finds_the_best_action() -> None:
    bandit = ul.Bandit()
    for at in range(200):
        made = bandit.decide(at, {}, [1, 2, 3])
        bandit.learn(at, float(made.action == 2) + 1000)
    assert bandit.propensities({}, [1, 2, 3])[2] > 0.9


def test_words_beyond_the_first_hundred_features_take_bounded_memory() -> None:
    bandit = ul.Bandit(model_type="linear")
    for at in range(400):
        made = bandit.decide(at, {f"w{at}": "yes", "side": "ab"[at % 2]}, ["a", "b"])
        bandit.learn(at, float(made.action == "ab"[at % 2]))
    model = bandit._models["a"]
    assert len(model.exact) <= 101 * 102 // 2
    assert model.rest is not None
    assert bandit.propensities({"side": "a", "another": "word"}, ["a", "b"])["a"] > 0.8


@pytest.mark.parametrize(
    ("context", "actions", "message"),
    [
        ({"a": 1}, [], "no action to choose from"),
        ({"a": 1}, ["x", "x"], "on offer twice"),
        ({"a": 1}, "x", "must be a list"),
        ({"a": 1}, [1.5], "must be text"),
        ({"a": 1}, ["x", {"p": 1}], "some actions have features"),
        ({"a": math.inf}, ["x"], "the feature 'a'"),
        ({"a": np.float32(math.inf)}, ["x"], "the feature 'a'"),
        ([1, 2], ["x"], "mapping"),
        ({"a\ud800": 1}, ["x"], "not valid Unicode"),
        ({"a": "\ud800"}, ["x"], "not valid Unicode"),
        ({"(bias)": 1.0}, ["x"], "rename it"),
        ({"a": 1e301}, ["x"], "within ±1e300"),
        ({"a": 1e151}, {"x": {}}, "within ±1e150"),
        ({}, {"x": {"p": -1e151}}, "within ±1e150"),
    ],
)
def test_invalid_decisions_are_refused_and_change_nothing(context: Any, actions: Any, message: str) -> None:
    bandit = ul.Bandit()
    state = bandit.to_bytes()
    with pytest.raises(ul.InputError, match=message):
        bandit.decide("e", context, actions)
    assert bandit.to_bytes() == state


ODD_NAMES = st.sampled_from(["a", "b.c", "(bias)", "", "a=u", "context.a", "\0", "\ud800", 5])
ODD_VALUES = st.sampled_from(
    [1, -1.5, True, None, math.nan, math.inf, 1e200, 5e-324, 10**30, "u", "", "12", "2020-01-01", "\ud800", b"x", [1]]
)
ODD_FEATURES = st.dictionaries(ODD_NAMES, ODD_VALUES, max_size=4)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(ODD_FEATURES, min_size=1, max_size=12),
    st.none() | st.lists(ODD_FEATURES, min_size=12, max_size=12),
    st.sampled_from(["linear", "auto"]),
)
def test_a_decision_is_refused_without_a_change_or_can_be_learned(contexts: Any, features: Any, kind: Any) -> None:
    bandit = ul.Bandit(model_type=kind)
    for at, context in enumerate(contexts):
        before = bandit.to_bytes()
        try:
            made = bandit.decide(at, context, NAMES if features is None else {"x": features[at], "y": {}})
        except ul.InputError:
            assert bandit.to_bytes() == before
            continue
        assert math.fsum(made.propensities.values()) == pytest.approx(1)
        bandit = ul.Bandit.from_bytes(bandit.to_bytes())
        bandit.learn(at, float(at % 2))


@pytest.mark.parametrize("reward", [math.nan, math.inf, "1", b"1", None, 1j, 1.1e59, 10**400, np.ones(1)])
def test_rewards_that_are_no_numbers_are_refused(reward: Any) -> None:
    bandit = ul.Bandit()
    bandit.decide("e", {"a": 1}, NAMES)
    with pytest.raises(ul.InputError, match="reward"):
        bandit.learn("e", reward)
    assert bandit.status("e") == "pending"


@pytest.mark.parametrize("actions", [NAMES, {"left": {"p": 1e150}, "right": {"p": -1.0}}], ids=["names", "features"])
def test_the_largest_rewards_and_features_are_learned(actions: Any) -> None:
    bandit = ul.Bandit()
    for at in range(50):
        late = {"late": 1e150 if at % 20 == 19 else 5e-324} if at else {}  # infinite in the unit of its first value
        made = bandit.decide(at, {"x": 1e150 * (-1) ** at} | late, actions)
        assert math.fsum(made.propensities.values()) == pytest.approx(1)
        bandit.learn(at, 1e59 * (1 if at % 3 else -1))
    assert all(map(math.isfinite, made.expected.values()))
    bandit.decide("waits", {"x": 1.0, "late": 1e150}, actions)
    assert ul.Bandit.from_bytes(bandit.to_bytes()).to_bytes() == bandit.to_bytes()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("actions", [["x", "y"], {"x": {"p": np.float32(0.5)}, "y": {"p": np.float16(2)}}])
def test_numbers_of_numpy_in_single_precision_are_like_others(actions: Any) -> None:
    bandits = ul.Bandit(model_type="linear"), ul.Bandit(model_type="linear")
    if isinstance(actions, dict):
        plain: Any = {name: {"p": float(features["p"])} for name, features in actions.items()}
    else:
        plain = actions
    for event in range(20):
        for bandit, offered, kind in zip(bandits, (actions, plain), (np.float32, float), strict=True):
            bandit.decide(event, {"a": kind(event / 8)}, offered)
            bandit.learn(event, kind(event % 3))
    assert bandits[0].to_bytes() == bandits[1].to_bytes()


def test_names_and_ids_of_numpy_are_plain_ones() -> None:
    bandit = ul.Bandit(model_type="linear")
    decision = bandit.decide(np.int64(3), {"a": np.int32(1)}, np.array([1, 2]))
    assert bandit.decide(3, {}, []) == decision
    assert {type(name) for name in (decision.event_id, *decision.propensities)} == {int}
    bandit.learn(np.int64(3), np.float32(0.5))
    bandit.observe({"a": 2}, np.array([1, 2]), np.int64(1), 1.0)
    assert ul.Bandit.from_bytes(bandit.to_bytes()).to_bytes() == bandit.to_bytes()
    assert list(ul.Bandit().decide("e", {}, np.array(["b", "a"])).propensities) == ["a", "b"]


def forged(bandit: ul.Bandit, change: Callable[[Any], Any], array: str = "", values: Any = None) -> bytes:
    """The file of a bandit with other content and the right digest."""
    arrays = safetensors.numpy.load(bandit.to_bytes())
    plain = json.loads(arrays["plain"].tobytes())
    change(plain)
    arrays["plain"] = np.frombuffer(json.dumps(plain).encode(), np.uint8)
    if array:
        arrays[array] = values
    header = {"version": 1, "kind": model_file.BANDIT, "digest": state._digest(arrays)}
    return safetensors.numpy.save(arrays, {"unitless": json.dumps(header)})


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain["numbers"].update(_rewards="many"),
        lambda plain: plain["numbers"].update(_learned=-1),
        lambda plain: plain["numbers"].update(_first=None),
        lambda plain: plain["numbers"].update(_sum=math.nan),
        lambda plain: plain["errors"].update(mean="small"),
        lambda plain: plain["options"].update(max_pending=0),
        lambda plain: plain["events"]["pending"].append([1]),
        lambda plain: plain["events"]["pending"][0].__setitem__(3, 3),  # the chosen action
        lambda plain: plain["events"]["pending"][0].__setitem__(6, [0.5]),  # expected rewards
        lambda plain: plain["events"]["pending"][0][4][1].__setitem__(0, 10**6),  # a slot
    ],
)
def test_a_file_with_values_that_no_bandit_has_is_refused(change: Callable[[Any], Any]) -> None:
    bandit = waiting_bandit()
    assert ul.Bandit.from_bytes(forged(bandit, lambda plain: None)).to_bytes() == bandit.to_bytes()
    with pytest.raises(ul.ModelFileError, match="not a valid file of a bandit"):
        ul.Bandit.from_bytes(forged(bandit, change))


@pytest.mark.parametrize(
    ("array", "values"),
    [("exact.0", np.ones(5)), ("exact.0", np.ones(3, np.float32)), ("rest.0", np.ones(3)), ("context", np.ones(3))],
)
def test_a_file_with_arrays_that_no_bandit_has_is_refused(array: str, values: Any) -> None:
    with pytest.raises(ul.ModelFileError, match="not a valid file of a bandit"):
        ul.Bandit.from_bytes(forged(waiting_bandit(), lambda plain: None, array, values))


def waiting_bandit() -> ul.Bandit:
    """A bandit with a model and an event that waits."""
    bandit = ul.Bandit(model_type="linear")
    play(bandit, rounds(20))
    bandit.decide("waits", {"a": 1.0}, NAMES)
    return bandit


def test_damaged_files_are_refused(tmp_path: Any) -> None:
    bandit = ul.Bandit(model_type="linear")
    play(bandit, rounds(20))
    data = bytearray(bandit.to_bytes())
    data[-5] ^= 1
    for wrong in (bytes(data), bytes(data[:200]), b"", b"x" * 100):
        with pytest.raises(ul.ModelFileError):
            ul.Bandit.from_bytes(wrong)
    ul.Learner().save(tmp_path / "model")
    with pytest.raises(ul.ModelFileError, match="not the file of a bandit"):
        ul.Bandit.load(tmp_path / "model")


@pytest.mark.parametrize("model_type", ["linear", "trees"])
@pytest.mark.parametrize("context", [{}, {"x": 1.0}], ids=["no context", "context"])
@pytest.mark.parametrize("features", [{}, {"price": 2.0}], ids=["no features", "features"])
def test_the_first_reward_may_come_without_a_context_or_features(
    model_type: Any, context: dict[str, float], features: dict[str, float]
) -> None:
    bandit = ul.Bandit(model_type=model_type)
    bandit.decide("first", context, {"a": features, "b": features})
    bandit.learn("first", 1.0)
    for k in range(40):
        made = bandit.decide(k, {"x": float(k % 2)}, {"a": {"price": 1.0}, "b": {"price": 2.0}})
        bandit.learn(k, float((made.action == "a") == bool(k % 2)))
    odd = bandit.decide("odd", {"x": 1.0}, {"a": {"price": 1.0}, "b": {"price": 2.0}})
    assert odd.expected["a"] > odd.expected["b"]
    assert ul.Bandit.from_bytes(bandit.to_bytes()).to_bytes() == bandit.to_bytes()
