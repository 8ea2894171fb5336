"""A stream is a function of its records, however they are grouped and wherever processing is interrupted."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unitless as ul
from unitless.serve.events import Form, Kind, Record
from unitless.serve.served import ServedModel
from unitless.serve.served.describe import explanation, progress, summary
from unitless.serve.served.describe import features as listed
from unitless.serve.streams import Created, Named, Outcome, Stream, encoded

TASKS: dict[str, Any] = {
    "numbers": lambda x: 3.0 * x["a"] - 2.0 * (x["job"] == "clerk"),
    "yes or no": lambda x: x["a"] > 0,
    "classes": lambda x: "high" if x["a"] > 300 else "low" if x["a"] < -300 else "between",
}
OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"model_type": "linear", "ensemble": False, "learning_rate": 0.5},
}


def features(rng: np.random.Generator) -> dict[str, Any]:
    row: dict[str, Any] = {"a": float(rng.normal() * 1000), "b": float(rng.normal()), "flag": bool(rng.random() < 0.5)}
    row["job"] = str(rng.choice(["clerk", "cook"]))
    if rng.random() < 0.1:
        row["b"] = None
    return row


class Log:
    """Records in memory."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def add(self, kind: Kind, payload: bytes, form: Form = Form.json, rows: int = 1) -> Record:
        last = self.records[-1] if self.records else Record(0, 0, Kind.tick, Form.json, 1, b"", 0, 0)
        seq, begin = last.seq + last.rows, last.end
        self.records.append(Record(seq, last.time + 1_000_000, kind, form, rows, payload, begin, begin + len(payload)))
        return self.records[-1]

    def read(self, position: int) -> Record:
        return next(record for record in self.records if record.position == position)


def body(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def begun(log: Log, options: dict[str, Any] | None = None, *others: str) -> Stream:
    stream = Stream("s", log.read)
    stream.apply(log.add(Kind.create, encoded(Created("s", "champion", options or {}))))
    for name in others:
        stream.apply(log.add(Kind.create, encoded(Created(name, "challenger", {"model_type": "linear"}))))
    return stream


def one(outcomes: list[Outcome]) -> Outcome:
    assert len(outcomes) == 1
    return outcomes[0]


def mixed_log(label: Any, options: dict[str, Any], rows: int = 150) -> tuple[Log, Stream]:
    """Rows that are learned at once, in lines, and by labels that come later and in another order."""
    rng, log = np.random.default_rng(3), Log()
    stream, late = begun(log, options, "beside"), []
    for k in range(rows):
        x = features(rng)
        if k % 3 == 0:
            stream.apply(log.add(Kind.prediction, body(features=x, id=f"p{k}")))
            late.append((f"p{k}", label(x)))
        elif k % 3 == 1:
            lines = b"\n".join(
                body(features=y, label=label(y), id=f"l{k}-{i}", weight=1 + i) for i, y in enumerate([x, features(rng)])
            )
            stream.apply(log.add(Kind.learn, lines, Form.lines, 2))
        else:
            stream.apply(log.add(Kind.learn, body(features=x, label=label(x))))
        if len(late) > 5:
            id, value = late.pop(int(rng.integers(len(late))))
            stream.apply(log.add(Kind.label, body(id=id, label=value)))
        if k % 40 == 39:
            stream.apply(log.add(Kind.tick, stream.ticked(0, 0)))
    return log, stream


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("task", TASKS)
def test_a_stream_can_be_kept_and_taken_up_anywhere(task: str, options: str) -> None:
    log, stream = mixed_log(TASKS[task], OPTIONS[options])
    assert stream.mismatch is None
    assert stream.counts["learned"] > 100
    again = Stream("s", log.read)
    for place, record in enumerate(log.records):
        if place in (2, 3, 40, 111):
            again = Stream.from_parts(again.parts(), log.read)
        again.apply(record)
    assert again.mismatch is None
    assert again.parts() == stream.parts()


@pytest.mark.parametrize("task", TASKS)
def test_whoever_looks_at_a_model_changes_nothing(task: str) -> None:
    rng, label = np.random.default_rng(11), TASKS[task]
    alone, seen = ServedModel("m", "champion", {}), ServedModel("m", "champion", {})
    for k in range(150):
        x, weight = features(rng), 3.0 if k % 37 == 5 else 1.0
        alone.learn(x, label(x), weight)
        seen.learn(x, label(x), weight)
        if k % 13 == 3:
            summary(seen), progress(seen), listed(seen, 10)
            explanation(seen, {"a": 1.0, "new": 2.0, "job": "nobody"})
            with contextlib.suppress(ul.Error):
                seen.predict({"a": {"nested": 1}}, 0.5)
    assert seen.parts() == alone.parts()


def test_a_first_row_that_is_refused_leaves_nothing_behind() -> None:
    model = ServedModel("m", "champion", {})
    for wrong in ({"a": [1]}, {"a": {}}):
        with pytest.raises(ul.InputError):
            model.learn(wrong, True)
    assert model.parts() == ServedModel("m", "champion", {}).parts() == ServedModel.from_parts(model.parts()).parts()


def test_another_model_of_the_same_name_is_not_who_said_it() -> None:
    """Predictions of a removed model wait for their labels; meanwhile a model of another kind has got its name."""
    kinds: list[dict[str, Any]] = [{"task": "classes"}, {"classes": ["high", "low"]}, {"task": "classes"}]
    rng, log = np.random.default_rng(5), Log()
    stream = begun(log, {"task": "classes"})
    for turn, kind in enumerate(kinds):
        stream.apply(log.add(Kind.create, encoded(Created("b", "challenger", kind))))
        for k in range(8):
            x = features(rng)
            stream.apply(log.add(Kind.learn, body(features=x, label="high" if x["a"] > 0 else "low")))
            stream.apply(log.add(Kind.prediction, body(features=x, id=f"{turn} {k}", model="b")))
        if turn < 2:
            stream.apply(log.add(Kind.delete, encoded(Named("b"))))
    again = one(stream.apply(log.add(Kind.prediction, body(features=x, id=f"{turn} {k}", model="b"))))
    assert again.prediction is not None
    assert again.prediction.prediction in ("high", "low")
    for turn in range(3):
        for k in range(8):
            assert one(stream.apply(log.add(Kind.label, body(id=f"{turn} {k}", label="low")))).problem is None
    served = stream.models["b"].served
    assert served is not None
    assert served.examples == 8  # of the last turn only
    assert Stream.from_parts(stream.parts(), log.read).parts() == stream.parts()


@pytest.mark.parametrize("task", TASKS)
def test_numbers_at_the_end_of_their_range_leave_a_model_that_goes_on(task: str) -> None:
    """Values beyond 1e300, and equally large weights, made sums overflow in one part of a model and not in another."""
    rng, label, log = np.random.default_rng(9), TASKS[task], Log()
    stream = begun(log, {})
    for k in range(60):
        x = features(rng)
        assert one(stream.apply(log.add(Kind.learn, body(features=x, label=label(x))))).problem is None
        if k % 3 == 2:
            wild = x | {"w": 1e308, "b": -1e308} if k % 2 else x
            stream.apply(log.add(Kind.learn, body(features=wild, label=label(x), weight=10.0 ** (k * 5))))
            stream.apply(log.add(Kind.learn, b"1 1e200 |n x:1e308 w:1e305\n2 | w:1e308\n", Form.vw, 2))
    assert Stream.from_parts(stream.parts(), log.read).parts() == stream.parts()


def test_requests_about_models_that_have_left_meanwhile_change_nothing() -> None:
    log = Log()
    stream = begun(log, None, "beside")
    first = stream.champion

    def of(kind: Kind, payload: bytes) -> Any:
        outcome = one(stream.apply(log.add(kind, payload)))
        return outcome.problem and outcome.problem.status

    assert of(Kind.delete, encoded(Named("beside"))) is None
    assert of(Kind.delete, encoded(Named("beside"))) == 404
    assert of(Kind.promote, encoded(Named("beside"))) == 404
    assert of(Kind.delete, encoded(Named(first))) == 409
    assert of(Kind.create, encoded(Created(first, "challenger", {}))) == 409
    assert (stream.champion, [*stream.models], stream.models[first].role) == (first, [first], "champion")


@pytest.mark.parametrize("task", TASKS)
def test_rows_that_come_together_are_learned_as_if_they_came_alone(task: str) -> None:
    rng, label = np.random.default_rng(7), TASKS[task]
    rows = [features(rng) for _ in range(120)]
    sent = [body(features=x, label=label(x), weight=float(k % 3)) for k, x in enumerate(rows)]
    sent[50] = body(features={"a": [1]}, label=label(rows[0]))
    sent[51] = body(features=rows[0], label=None)
    sent[90] = body(features=rows[0], label=label(rows[0]), weight=-1)
    alone, together = Log(), Log()
    one_by_one, in_lines = begun(alone, None, "beside"), begun(together, None, "beside")
    outcomes = [one(one_by_one.apply(alone.add(Kind.learn, line))) for line in sent]
    found = []
    for k in range(0, len(sent), 20):
        found += in_lines.apply(together.add(Kind.learn, b"\n".join(sent[k : k + 20]), Form.lines, 20))
    assert [(a.status, a.seq, a.problem and a.problem.status, a.prediction and a.prediction.score) for a in found] == [
        (a.status, a.seq, a.problem and a.problem.status, a.prediction and a.prediction.score) for a in outcomes
    ]
    different = ("stream.json",)  # which gives the end of the log, and its time
    for name, part in one_by_one.parts().items():
        state = json.loads(part) if name.endswith(".json") else part
        other = json.loads(in_lines.parts()[name]) if name.endswith(".json") else in_lines.parts()[name]
        assert name in different or state == other
    assert in_lines.counts == one_by_one.counts


@pytest.mark.parametrize("task", TASKS)
def test_the_model_is_what_the_library_makes_of_the_same_rows(task: str) -> None:
    rng, log, label = np.random.default_rng(5), Log(), TASKS[task]
    stream = begun(
        log, {"model_type": "linear", "ensemble": False, "center": False, "learning_rate": 0.5, "target": None}
    )
    rows = [{"a": float(a), "b": float(b), "job": "clerk"} for a, b in rng.normal(size=(200, 2)) * [1000, 1]]
    for x in rows:
        stream.apply(log.add(Kind.learn, body(features=x, label=label(x))))
    plain = [{"a": x["a"], "b": x["b"], "job=clerk": True} for x in rows]
    labels = [label(x) for x in rows]
    if task == "classes":
        model: Any = ul.OneVsAll(learning_rate=0.5)
    else:
        model = ul.Learner(loss="squared" if task == "numbers" else "logistic")
    scores = model.learn(plain, labels)
    served = stream.models["s"]
    for x, mapping in zip(rows, plain, strict=True):
        assert np.array_equal(served.scored(x)[0], model.predict_one(mapping))
    evaluation = ul.metrics.Evaluation(model)
    if task != "classes":
        evaluation.add(scores, labels)
        assert {**served.evaluation.metrics, **evaluation.metrics} == served.evaluation.metrics


def test_a_model_of_train_reads_rows_as_it_did() -> None:
    rng = np.random.default_rng(0)
    table = [{**features(rng), "when": f"2024-{1 + k % 12:02d}-07"} for k in range(400)]
    frame = pd.DataFrame(table)
    frame["y"] = frame["a"] + (frame["job"] == "cook")
    result = ul.train(frame, target="y", model_type="linear")
    served = ServedModel("m", "champion", {}, result.model.copy())
    for x in table[:50]:
        assert served.predict(x).prediction == result.predictor.predict_one(x)
    twin = result.model.copy()
    twin.keep("last")
    reader = ul.Predictor(twin)
    for place, x in enumerate(table[:50]):
        assert served.learn(x, x["a"]) == twin.learn(frame[place : place + 1].drop(columns="y"), [x["a"]])[0]
        assert served.predict(x).prediction == reader.predict_one(x)


def test_a_fitted_model_that_learns_on_predicts_with_what_it_learned() -> None:
    rng = np.random.default_rng(0)
    model = ul.Learner(average=True)
    model.learn([{"a": float(value)} for value in rng.normal(size=300)], rng.normal(size=300))
    model.keep("averaged")
    served = ServedModel("m", "champion", {}, model.copy())
    assert served.predict({"a": 1.0}).prediction == model.predict_one({"a": 1.0})
    served.learn({"a": 1.0}, 2.0)
    assert served.model.kept == "last"


def test_ids_are_learned_once() -> None:
    log = Log()
    stream = begun(log)
    learn = body(features={"a": 1.0}, label=2.0, id="x")
    assert one(stream.apply(log.add(Kind.learn, learn))).status == "learned"
    before = stream.models["s"].parts()
    assert one(stream.apply(log.add(Kind.learn, learn))).status == "duplicate"
    other = one(stream.apply(log.add(Kind.learn, body(features={"a": 1.5}, label=2.0, id="x"))))
    assert other.problem.status == 409
    assert stream.models["s"].parts() == before


def test_labels_find_their_features() -> None:
    log = Log()
    stream = begun(log)
    for k in range(4):
        stream.apply(log.add(Kind.learn, body(features={"a": float(k)}, label=2.0 * k)))
    said = one(stream.apply(log.add(Kind.prediction, body(features={"a": 9.0}, id="x"))))
    assert said.status == "predicted"
    assert len(stream.join) == 1
    again = one(stream.apply(log.add(Kind.prediction, body(features={"a": 9.0}, id="x"))))
    assert (again.status, again.prediction.score) == ("duplicate", said.prediction.score)
    assert one(stream.apply(log.add(Kind.prediction, body(features={"a": 8.0}, id="x")))).problem.status == 409
    assert one(stream.apply(log.add(Kind.label, body(id="unknown", label=1.0)))).problem.status == 404
    assert one(stream.apply(log.add(Kind.label, body(id="x", label="eighteen")))).problem.status == 422
    assert one(stream.apply(log.add(Kind.label, body(id="x", label=18.0)))).status == "learned"
    assert one(stream.apply(log.add(Kind.label, body(id="x", label=18.0)))).status == "duplicate"
    assert one(stream.apply(log.add(Kind.label, body(id="x", label=19.0)))).problem.status == 409
    assert len(stream.join) == 0
    served = stream.models["s"]
    assert served.examples == 5
    assert served.served.loss == pytest.approx((18.0 - said.prediction.score) ** 2)


def test_ids_are_forgotten_by_ticks_alone() -> None:
    log = Log()
    stream = begun(log)
    stream.apply(log.add(Kind.prediction, body(features={"a": 9.0}, id="x")))
    made = stream.time
    stream.apply(log.add(Kind.tick, stream.ticked(made, made)))
    assert len(stream.join) == 1
    stream.apply(log.add(Kind.tick, stream.ticked(made + 1, made + 1)))
    assert len(stream.join) == 0
    forgotten = stream.time
    stream.apply(log.add(Kind.tick, stream.ticked(forgotten, forgotten)))
    assert one(stream.apply(log.add(Kind.label, body(id="x", label=1.0)))).problem.status == 410
    forgotten = stream.time + 1
    stream.apply(log.add(Kind.tick, stream.ticked(forgotten, forgotten)))
    assert one(stream.apply(log.add(Kind.label, body(id="x", label=1.0)))).problem.status == 404


def test_what_the_champion_refuses_nobody_learns() -> None:
    log = Log()
    stream = begun(log, None, "beside")
    stream.apply(log.add(Kind.learn, body(features={"a": 1.0}, label=2.0)))
    before = {name: model.parts() for name, model in stream.models.items()}
    for bad in (
        body(features={"a": 1.0}, label="text"),
        body(features={"a": [1, 2]}, label=1.0),
        body(features={"a": {"b": 1}}, label=1.0),
        body(features={"a": 10**400}, label=1.0),
        body(features={"a": 1.0}, label=10**400),
        body(features={"a": 1.0}),
        body(label=1.0),
        body(features={"a": 1.0}, label=1.0, weight=-1.0),
    ):
        assert one(stream.apply(log.add(Kind.learn, bad))).problem.status == 422
    assert {name: model.parts() for name, model in stream.models.items()} == before


def test_a_digest_that_differs_is_noticed() -> None:
    log, _ = mixed_log(TASKS["numbers"], OPTIONS["linear"], 40)
    again = Stream("s", log.read)
    for record in log.records:
        if record.kind is Kind.learn and record.seq > 10 and record.form is Form.json:
            forged = json.loads(record.payload)
            forged["label"] += 1.0
            again.apply(record._replace(payload=json.dumps(forged).encode()))
        else:
            again.apply(record)
    assert again.mismatch is not None
    assert "'s'" in again.mismatch


def test_promotion_changes_who_answers() -> None:
    log = Log()
    stream = begun(log, None, "beside")
    stream.apply(log.add(Kind.learn, body(features={"a": 1.0}, label=2.0)))
    stream.apply(log.add(Kind.promote, encoded(Named("beside"))))
    assert (stream.champion, stream.models["beside"].role, stream.models["s"].role) == (
        "beside",
        "champion",
        "challenger",
    )
    assert one(stream.apply(log.add(Kind.learn, body(features={"a": 1.0}, label=2.0)))).model == "beside"
    stream.apply(log.add(Kind.delete, encoded(Named("s"))))
    assert list(stream.models) == ["beside"]


def test_before_the_first_label_nothing_is_said() -> None:
    log = Log()
    stream = begun(log)
    said = one(stream.apply(log.add(Kind.prediction, body(features={"a": 9.0}, id="x")))).prediction
    assert said.answer() == {"score": 0.0, "prediction": None}
    assert one(stream.apply(log.add(Kind.label, body(id="x", label="yes")))).status == "learned"
    assert stream.models["s"].task == "classes"


@pytest.mark.parametrize(
    ("options", "labels", "task", "classes"),
    [
        ({}, [True, False], "binary", [False, True]),
        ({}, [1.5, 2], "regression", None),
        ({}, ["a", "b", "c"], "classes", ["a", "b", "c"]),
        ({"loss": "logistic"}, [1, 0], "binary", [0, 1]),
        ({"loss": "hinge"}, [-1, 1], "binary", [-1, 1]),
        ({"classes": ["no", "yes"]}, ["yes", "no"], "binary", ["no", "yes"]),
        ({"task": "classes"}, [1, 2, 3], "classes", [1, 2, 3]),
        ({"loss": "softmax"}, ["a", "b"], "classes", ["a", "b"]),
        ({"loss": "poisson"}, [1, 0], "regression", None),
        ({"rule": "newton"}, [True, False], "binary", [False, True]),
    ],
)
def test_labels_say_what_is_predicted(options: dict[str, Any], labels: list[Any], task: str, classes: Any) -> None:
    model = ServedModel("m", "champion", options)
    for label in labels * 3:
        model.learn({"a": float(labels.index(label))}, label)
    assert (model.task, model.classes) == (task, classes)
    said = model.predict({"a": 0.0})
    assert said.prediction in labels or task == "regression"
    assert said.probability is None or 0 <= said.probability <= 1
    assert math.isfinite(said.score)
    again = ServedModel.from_parts(model.parts())
    assert again.parts() == model.parts()
    assert again.predict({"a": 0.0}) == said


@pytest.mark.parametrize(
    "options",
    [{"nonsense": 1}, {"task": "ranking"}, {"loss": "squared", "task": "binary"}, {"classes": ["a"]}, {"missing": 3}],
)
def test_options_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ul.OptionError):
        ServedModel("m", "champion", options)
