"""A bandit's stream is a function of its records: decisions, rewards, time, snapshots and replays."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("msgspec")

from bandit_checks import LINEAR, NAMES, choice, replayed, reward
from in_store import recovered, with_store

import unitless as ul
from unitless.bandit.context import Row
from unitless.bandit.events import Event
from unitless.serve.events import Form, Kind, Record
from unitless.serve.live import LiveStream
from unitless.serve.problems import Problem
from unitless.serve.served import Limits
from unitless.serve.served.bandit import LEAST, MOST_LISTED, Values
from unitless.serve.store import ModelStore
from unitless.serve.streams import Created, Outcome, Stream, encoded
from unitless.serve.upkeep import Upkeep

WITH_FEATURES = {"cheap": {"price": 1.0, "kind": "a"}, "dear": {"price": 9.0, "kind": "b"}}


class Log:
    """Records of one stream in memory, a second apart."""

    def __init__(self, **options: Any) -> None:
        self.records: list[Record] = []
        self.stream = Stream("s", lambda position: next(one for one in self.records if one.position == position))
        self.add(Kind.create, encoded(Created("s", "champion", {**LINEAR, **options})))

    def add(self, kind: Kind, payload: bytes, seconds: float = 1.0, form: Form = Form.json, rows: int = 1) -> Outcome:
        last = self.records[-1] if self.records else Record(0, 0, Kind.tick, Form.json, 1, b"", 0, 0)
        time, begin = last.time + round(seconds * 1e6), last.end
        seq, end = last.seq + last.rows, begin + len(payload)
        self.records.append(Record(seq, time, kind, form, rows, payload, begin, end))
        (outcome,) = self.stream.apply(self.records[-1])
        return outcome

    def rank(self, **row: Any) -> Outcome:
        return self.add(Kind.rank, json.dumps(row).encode())

    def reward(self, id: str, reward: Any, seconds: float = 1.0) -> Outcome:
        return self.add(Kind.reward, json.dumps({"id": id, "reward": reward}).encode(), seconds)

    def tick(self, seconds: float = 1.0) -> None:
        self.add(Kind.tick, self.stream.ticked(0, 0), seconds)

    def play(self, events: int, seed: int = 0, actions: Any = None) -> None:
        rng = np.random.default_rng(seed)
        for k in range(events):
            row = choice(rng, f"{seed}-{k}", actions)
            made = self.rank(**row, deferred=k % 7 == 3)
            assert made.decision is not None, made.problem
            if k % 5:
                self.reward(f"{seed}-{k}", reward(made.decision.action, row["context"]))
            if k % 20 == 7:
                self.tick()
            if k % 14 == 3:
                self.add(Kind.activate, json.dumps({"id": f"{seed}-{k}"}).encode())


def same(stream: Stream, other: Stream) -> None:
    assert stream.parts() == other.parts()


@pytest.mark.parametrize("actions", [None, WITH_FEATURES, list(WITH_FEATURES.values())], ids=["names", "named", "list"])
def test_a_snapshot_after_any_record_and_the_rest_give_equal_bytes(actions: Any) -> None:
    log = Log(time_limit=30.0, default_reward=0.5, max_pending=20)
    log.play(60, actions=actions)
    assert log.stream.expired > 0
    rest = random.Random(0).sample(range(1, len(log.records)), 6)
    for cut in rest:
        first = Stream("s", log.stream.read)
        for record in log.records[:cut]:
            first.apply(record)
        second = Stream.from_parts(first.parts(), log.stream.read)
        same(first, second)
        for record in log.records[cut:]:
            second.apply(record)
        same(second, log.stream)


def test_the_state_is_that_of_plain_calls_of_the_library() -> None:
    log, plain = Log(), ul.Bandit(model_type="linear")
    log.play(50)
    for record in log.records:
        row, time = json.loads(record.payload) if record.kind in (Kind.rank, Kind.reward) else {}, record.time / 1e6
        if record.kind is Kind.rank:
            plain.decide(row["id"], row["context"], row["actions"], time=time)
        elif record.kind is Kind.reward:
            plain.learn(row["id"], row["reward"], time=time)
    assert log.stream.bandit is not None
    assert log.stream.bandit.file() == plain.to_bytes()
    restored = ul.Bandit.from_bytes(log.stream.bandit.file())
    assert restored.decide("next", {"age": 1.0}, NAMES, time=1e6) == plain.decide("next", {"age": 1.0}, NAMES, time=1e6)


def test_a_repeated_rank_gives_the_stored_decision_and_changes_nothing() -> None:
    log = Log()
    log.play(40)
    row = {"id": "e", "context": {"age": 20.0}, "actions": NAMES}
    first = log.rank(**row)
    assert log.stream.bandit is not None
    before = log.stream.bandit.parts()
    again = log.rank(**row | {"context": {"age": 77.0}, "actions": ["other"]})
    assert (first.status, again.status) == ("ranked", "duplicate")
    assert first.decision == again.decision
    assert log.stream.bandit.parts() == before


def test_a_reward_counts_once_and_what_is_wrong_changes_nothing() -> None:
    log = Log()
    log.rank(id="a", context={}, actions=NAMES)
    assert log.reward("a", 2.0).status == "learned"
    assert log.stream.bandit is not None
    before = log.stream.bandit.parts()
    assert log.reward("a", 2.0).status == "duplicate"
    statuses = [log.reward("a", 3.0), log.reward("b", 1.0), log.rank(id="a", context={}, actions=NAMES)]
    assert [one.problem.status for one in statuses if one.problem] == [409, 404, 409]
    assert log.stream.bandit.parts() == before
    log.rank(id="c", context={}, actions=NAMES)
    assert log.reward("c", 1e61).problem.status == 422  # type: ignore[union-attr]
    assert log.reward("c", True).status == "learned"
    assert log.stream.bandit.examples == 2


def test_events_expire_by_the_times_of_records_alone() -> None:
    log = Log(time_limit=10.0, default_reward=-1.0)
    log.rank(id="a", context={}, actions=NAMES)
    log.reward("unknown", 1.0, 5.0)
    assert log.stream.waiting == 1
    log.tick(6.0)
    assert (log.stream.waiting, log.stream.expired) == (0, 1)
    assert log.reward("a", 1.0).problem.status == 410  # type: ignore[union-attr]
    assert log.stream.bandit is not None
    assert (log.stream.bandit.values.rewards, log.stream.bandit.values.total) == (1, -1.0)
    log.rank(id="b", context={}, actions=NAMES)
    assert log.reward("b", 1.0, 11.0).problem.status == 410  # type: ignore[union-attr]


def test_models_refuse_decisions_and_bandits_refuse_rows() -> None:
    log = Log()
    row = {"features": {"a": 1.0}, "label": 2.0}
    for kind, given in ((Kind.learn, row), (Kind.prediction, {"features": {"a": 1.0}, "id": "x"})):
        problem = log.add(kind, json.dumps(given).encode()).problem
        assert problem is not None
        assert (problem.status, "rank and reward" in problem.detail) == (422, True)
    for lines, rows in ((b"1 | a:1\n2 | a:2", 2), (b"| a:1", 1)):
        outcome = log.add(Kind.learn, lines, form=Form.vw, rows=rows)
        assert outcome.lines is not None
        assert len(outcome.lines["s"].problems) == rows
    model = Stream("m", log.stream.read)
    model.apply(Record(1, 1, Kind.create, Form.json, 1, encoded(Created("m", "champion", {})), 0, 1))
    asked = json.dumps({"id": "a", "context": {}, "actions": NAMES}).encode()
    (outcome,) = model.apply(Record(2, 2, Kind.rank, Form.json, 1, asked, 1, 2))
    assert outcome.problem is not None
    assert '"task": "bandit"' in outcome.problem.detail
    joins = encoded(Created("other", "challenger", {}))
    assert log.add(Kind.create, joins).problem.status == 422  # type: ignore[union-attr]


def test_a_bandit_of_names_has_as_many_actions_as_a_model_classes() -> None:
    log = Log()
    log.add(Kind.limits, encoded(Limits(classes=4)))
    assert log.rank(id="a", context={}, actions=["1", "2", "3"]).problem is None
    problem = log.rank(id="b", context={}, actions=["3", "4", "5"]).problem
    assert problem is not None
    assert "max_classes" in problem.detail
    assert log.rank(id="c", context={}, actions=["3", "4", "1"]).problem is None


def event(names: list[str], chosen: str, propensities: list[float], expected: list[float] | None = None) -> Event:
    offset = None if expected is None else 0.0
    none = [0.0] * len(names)
    return Event(None, list(names), names.index(chosen), Row({}, [], []), propensities, expected or none, offset)


@pytest.mark.parametrize("expects", [0.0, 1.0], ids=["nothing is expected", "the truth is expected"])
def test_estimates_of_other_policies_are_right_on_average_in_any_unit(expects: float) -> None:
    worth = {"a": 1.0, "b": 4.0, "c": 2.0}
    names, propensities = list(worth), [0.7, 0.2, 0.1]
    found = []
    for unit, offset in ((1.0, 0.0), (-1e-3, 1e3)):
        values, rng = Values(), random.Random(1)
        expected = [expects * unit * one + offset for one in worth.values()]
        for _ in range(5000):
            (action,) = rng.choices(names, propensities)
            values.offer(names, action, keep=True)
            reward = unit * (worth[action] + rng.gauss(0, 0.5)) + offset
            values.count(event(names, action, propensities, expected), reward)
        best, value = values.best
        found.append([(values.mean_reward - offset) / unit, (values.of_random - offset) / unit])
        assert best == ("b" if unit > 0 else "a")
        assert (value - offset) / unit == pytest.approx(worth[str(best)], abs=0.15)
    assert found[0] == pytest.approx([1.7, 7 / 3], abs=0.1)
    assert found[1] == pytest.approx(found[0])


def test_an_action_with_few_rewards_is_not_the_best_constant_one() -> None:
    values = Values()
    for k in range(2 * LEAST):
        values.offer(["a", "b"], "a", keep=True)
        values.count(event(["a", "b"], "a", [0.9, 0.1]), 1.0)
        if k < LEAST - 1:
            values.offer(["a", "b"], "b", keep=True)
            values.count(event(["a", "b"], "b", [0.9, 0.1]), 100.0)
    assert math.isnan(values.of_action("b"))
    assert values.best[0] == "a"


def test_rewards_that_are_all_equal_give_equal_values() -> None:
    values = Values()
    for k in range(60):
        values.offer(["a", "b"], "ab"[k % 2], keep=True)
        values.count(event(["a", "b"], "ab"[k % 2], [0.9, 0.1]), 1e9 + 0.5)
    assert (values.of_random, values.of_action("a"), values.of_action("b")) == (1e9 + 0.5,) * 3


def test_of_actions_with_features_the_last_chosen_ones_are_listed() -> None:
    values = Values()
    for k in range(3 * MOST_LISTED):
        values.offer([str(k), "x"], str(k), keep=False)
    assert list(values.actions) == [str(k) for k in range(2 * MOST_LISTED, 3 * MOST_LISTED)]
    assert values.decisions == 3 * MOST_LISTED


# ----------------------------------------------------------------------------------------- streams of a server


async def played(live: LiveStream, events: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for k in range(events):
        row = choice(rng, f"{seed}-{k}")
        (made,) = await live.submitted(Kind.rank, Form.json, 1, json.dumps(row).encode())
        assert made.decision is not None, made.problem
        if k % 3:
            given = {"id": row["id"], "reward": reward(made.decision.action, row["context"])}
            await live.submitted(Kind.reward, Form.json, 1, json.dumps(given).encode())


@pytest.mark.parametrize("snapshot", [False, True], ids=["log alone", "snapshot and log"])
def test_a_restart_gives_equal_bytes(tmp_path: Path, snapshot: bool) -> None:
    before: list[str] = []

    async def first(store: ModelStore, upkeep: Upkeep) -> None:
        await store.create("shop", LINEAR)
        live = store.streams["shop"]
        await played(live, 40)
        if snapshot:
            await upkeep.snapshot(live)
        await played(live, 20, 1)
        before.append(live.stream.fingerprint())

    with_store(tmp_path, first, crash=True)
    stream = recovered(tmp_path).streams["shop"].stream
    assert stream.fingerprint() == before[0]
    assert stream.waiting == 14 + 7
    (folder,) = (tmp_path / "streams").iterdir()
    plain, decided, rewarded = replayed(folder / "log", LINEAR)
    assert stream.bandit is not None
    assert stream.bandit.file() == plain.to_bytes()
    assert (len(decided), len(rewarded)) == (60, 39)


def test_a_bandits_file_goes_on_in_a_server(tmp_path: Path) -> None:
    bandit = ul.Bandit(model_type="linear", random_state=3)
    for k in range(30):
        bandit.observe({"age": k}, NAMES, NAMES[k % 3], float(k % 3))
    bandit.decide("before", {"age": 3}, NAMES)

    async def test(store: ModelStore, _: Upkeep) -> None:
        await store.create("shop", {}, bandit.to_bytes())
        served = store.streams["shop"].stream.bandit
        assert served is not None
        assert served.file() == bandit.to_bytes()
        with pytest.raises(Problem, match="leave it out"):
            await store.create("other", {"random_state": 1}, bandit.to_bytes())
        (outcome,) = await store.streams["shop"].submitted(Kind.reward, Form.json, 1, b'{"id": "before", "reward": 1}')
        assert (outcome.status, outcome.waited, served.examples) == ("learned", None, 31)

    with_store(tmp_path, test)
    assert recovered(tmp_path).streams["shop"].stream.bandit is not None


def test_a_full_bandit_takes_rewards_but_no_decisions(tmp_path: Path) -> None:
    async def test(store: ModelStore, _: Upkeep) -> None:
        await store.create("shop", LINEAR)
        live = store.streams["shop"]
        await played(live, 5)
        live._full = "it takes too much"
        with pytest.raises(Problem, match="too much") as error:
            live.submit(Kind.rank, Form.json, 1, b"{}", print)
        assert error.value.status == 429
        (outcome,) = await live.submitted(Kind.reward, Form.json, 1, b'{"id": "0-0", "reward": 1}')
        assert outcome.status == "learned"

    with_store(tmp_path, test, max_model_bytes="100MB")


def test_the_size_of_a_bandit_includes_the_events_that_wait(tmp_path: Path) -> None:
    async def test(store: ModelStore, _: Upkeep) -> None:
        await store.create("shop", LINEAR)
        live = store.streams["shop"]
        await played(live, 3)
        assert live.stream.bandit is not None
        size = live.stream.bandit.nbytes
        for k in range(200):
            row = choice(np.random.default_rng(k), f"more-{k}")
            await live.submitted(Kind.rank, Form.json, 1, json.dumps(row).encode())
        assert live.stream.bandit.nbytes > size + 200 * 1000

    with_store(tmp_path, test)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": "squared"}, "not an option of a bandit"),
        ({"model_type": "round"}, "model_type"),
        ({"max_pending": 2_000_000}, "max_pending"),
        ({"time_limit": -1}, "time_limit"),
        ({"stream": "model", "role": "challenger"}, "alone in its stream"),
    ],
)
def test_a_bandit_that_cannot_be_created_is_refused(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    async def test(store: ModelStore, _: Upkeep) -> None:
        await store.create("model", {"model_type": "linear"})
        await store.create("shop", LINEAR)
        with pytest.raises(Problem, match=words):
            await store.create("new", {"task": "bandit"} | options)
        for body in ({"stream": "shop"}, {"stream": "shop", "replay": True}):
            with pytest.raises(Problem, match="alone"):
                await store.create("new", body)
        with pytest.raises(Problem, match="alone"):
            await store.replay("shop", {"name": "again"})

    with_store(tmp_path, test)
