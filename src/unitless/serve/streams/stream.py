"""A stream: the state of its models after all records of its log. It depends on no clock, chance or setting.

A restart from a snapshot and the records since therefore gives the same bits as a server that never stopped. Replicas
have the same bits too, and a model that is created later learns the history as if it had existed from the start.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from ...bandit import Decision
from ...bandit.state import holds_bandit
from ...errors import Error, InputError
from ...version import __version__
from ..events import Activation, AnyRow, Choice, Form, Kind, Record, Reward, Row, broker_position, rows_of
from ..log import LogError
from ..origin import Origin
from ..problems import Problem, message_of, refused
from ..served import Limits, Prediction, ServedBandit, ServedModel, restored
from ..served.bandit import TASK
from ..served.vw import VwPredictions, VwText
from .join import EXPIRED, NOTHING, Done, Join, Waiting, in_short

_OF_THE_MOMENT = (OSError, LogError, MemoryError)  # errors of this machine, which a replay would not repeat
FORMAT = 1


class Lesson(NamedTuple):
    """Rows that the models of a stream have learned, for a model that will join them."""

    seq: int  # the sequence number of the first row
    rows: int
    prediction: int | None  # the row whose label this is, if it is one
    teach: Callable[[ServedModel, Collection[int]], object]  # a model learns all rows but those at these places


class Outcome(NamedTuple):
    """The outcome of one row of a record."""

    status: str  # "learned", "duplicate", "predicted", "ranked"; of records without rows "applied"
    seq: int
    model: str  # whose score it is
    prediction: Prediction | None = None
    problem: Problem | None = None
    lines: dict[str, VwPredictions] | None = None  # for a record of VW lines: the predictions of each model
    waited: int | None = None  # microseconds from the prediction to its label
    score: Any = None  # for a learned row: its score before, or the scores of all classes
    decision: Decision | None = None


class Created(msgspec.Struct, omit_defaults=True):
    """A model joins the stream."""

    name: str
    role: str
    options: dict[str, Any]
    model: bytes | None = None  # a model file that continues to learn
    parts: dict[str, bytes] | None = None  # its state after the history of the log
    origin: Origin | None = None  # the history that it has learned
    limits: Limits | None = None  # the limits of the stream that begins with this model


class Refused(msgspec.Struct):
    """Rows that were refused: the reason of each, by its sequence number."""

    rows: dict[int, str]


class Ticked(msgspec.Struct, omit_defaults=True):
    """Time has passed: ids older than these (in microseconds) are forgotten; how all scores were, in short."""

    waiting_since: int
    done_since: int
    digests: dict[str, int]
    max_done: int  # ids that are done; of more, the oldest are forgotten
    version: str = ""  # the version of the library that made the scores


class Named(msgspec.Struct):
    """A model is promoted, or leaves."""

    name: str


_pack = msgspec.msgpack.encode
_created = msgspec.msgpack.Decoder(Created).decode
_ticked = msgspec.msgpack.Decoder(Ticked).decode
_named = msgspec.msgpack.Decoder(Named).decode
_limits = msgspec.msgpack.Decoder(Limits).decode
_state = msgspec.json.Encoder(order="deterministic").encode


class Stream:
    """The state of a stream, which changes only by `apply`.

    Args:
        name: of the stream.
        read: returns the record at a position of the log; late labels need the features in it.
    """

    def __init__(self, name: str, read: Callable[[int], Record]) -> None:
        self.name, self.read = name, read
        self.models: dict[str, ServedModel] = {}
        self.champion = ""
        self.seq = 0  # the last record that was applied
        self.time = 0  # the time of that record
        self.end = 0  # the position in the log where that record ends
        self.join = Join()
        self.limits = Limits()
        self.counts: Counter[str] = Counter()
        self.sources: dict[str, str] = {}  # by broker: the last position that was read
        self.prepared: dict[str, ServedModel] = {}  # models that are about to join; not part of the state
        self.listeners: list[Callable[[Lesson], object]] = []  # called with all learned rows; not part of the state
        self.mismatch: str | None = None  # a replay gave other scores than the first time
        self._last_read: tuple[int, int, list[Row]] = (-1, 0, [])  # a record: its position, its seq, its rows

    # ------------------------------------------------------------------------------------------------ records

    def apply(self, record: Record, rows: Sequence[AnyRow] | VwText | None = None) -> list[Outcome]:
        """Apply a record; returns an outcome for each row. An invalid row is an outcome too.

        Args:
            record: the next record of the log.
            rows: the rows of the record, if they have been parsed already.

        Raises:
            OSError, LogError, MemoryError: features could not be read from the log. The state is then invalid.
        """
        self.seq, self.time, self.end = record.seq + record.rows - 1, record.time, record.end
        try:
            return self._apply(record, rows)
        except _OF_THE_MOMENT:
            raise
        except Exception as error:  # an unexpected error must not stop the service, now or in a replay
            self.counts["failed"] += record.rows
            problem = Problem(500, "the rows could not be used", f"{type(error).__name__}: {error}")
            places = range(1 if record.form is Form.vw else record.rows)
            return [Outcome("failed", record.seq + place, self.champion, problem=problem) for place in places]

    def _apply(self, record: Record, rows: Sequence[AnyRow] | VwText | None) -> list[Outcome]:
        if record.kind in _OF_ROWS:
            if record.form is Form.vw or isinstance(rows, VwText):
                return self._learn_text(record, rows)
            if record.form is Form.broker:
                source, position = broker_position(record.payload)
                self.sources[source] = position
            act = _OF_ROWS[record.kind]
            given: Sequence[Any] = rows_of(record) if rows is None else rows
            if len(given) == 1:
                return [self._acted(act, given[0], record, 0)]
            if record.kind is Kind.learn and (outcomes := self._learned_together(record, given)) is not None:
                return outcomes
            return [self._acted(act, row, record, place) for place, row in enumerate(given)]
        try:
            _OF_STREAMS[record.kind](self, record)
        except Error as error:
            return [Outcome("applied", record.seq, self.champion, problem=refused(error))]
        except Problem as problem:
            return [Outcome("applied", record.seq, self.champion, problem=problem)]
        return [Outcome("applied", record.seq, self.champion)]

    def _acted(
        self, act: Callable[[Stream, Any, Record, int], Outcome], row: AnyRow, record: Record, place: int
    ) -> Outcome:
        try:
            outcome = act(self, row, record, place)
        except _OF_THE_MOMENT:
            raise
        except Problem as reason:
            outcome = Outcome("refused", record.seq + place, self.champion, problem=reason)
        except Exception as error:  # an unexpected row must not stop the service, now or in a replay
            problem = Problem(500, "the row could not be used", f"{type(error).__name__}: {error}")
            outcome = Outcome("failed", record.seq + place, self.champion, problem=problem)
        if outcome.problem is not None:
            self.counts["refused" if outcome.problem.status == 422 else "failed"] += 1
        else:
            self.counts[outcome.status] += 1
        return outcome

    # ------------------------------------------------------------------------------------------------ rows

    def _predict(self, row: Row, record: Record, place: int) -> Outcome:
        seq = record.seq + place
        assert row.id is not None
        before = self._predicted_before(row, seq)
        if before is not None:
            return before
        model = self.models.get(row.model or self.champion) or self.models[self.champion]
        try:
            score, predicted = model.scored(_given(row.features), row.level)
        except Error as error:
            return Outcome("predicted", seq, model.name, problem=refused(error))
        self.join.wait(row.id, Waiting(record.time, record.position, place, in_short(row.features), score, model.name))
        return Outcome("predicted", seq, model.name, predicted)

    def _predicted_before(self, row: Row, seq: int) -> Outcome | None:
        assert row.id is not None
        waiting = self.join.waiting(row.id)
        if waiting is not None:
            if waiting.content != in_short(row.features):
                return Outcome("predicted", seq, waiting.model, problem=_other("waits with other features", row.id))
            model = self._model_of(waiting)
            predicted = Prediction(None, None) if model is None else model.prediction_of(waiting.score)
            return Outcome("duplicate", seq, waiting.model, predicted)
        if self.join.done(row.id) is not None:
            return Outcome("predicted", seq, self.champion, problem=_other("has its label already", row.id))
        return None

    def _model_of(self, waiting: Waiting) -> ServedModel | None:
        """The model that made a prediction; None if it was deleted, even if another model has its name now."""
        model = self.models.get(waiting.model)
        is_it = model is not None and waiting.time >= model.created and model.can_have_scored(waiting.score)
        return model if is_it else None

    def _learn(self, row: Row, record: Record, place: int) -> Outcome:
        seq = record.seq + place
        waiting = None
        if row.id is not None:
            done = self.join.done(row.id)
            if done is not None:
                return self._done_before(Kind.learn, row, done, seq)
            waiting = self.join.waiting(row.id)
        content = NOTHING if row.id is None else in_short([row.features, row.label, row.weight])
        outcome = self._learn_features(row.features, row, waiting, record, seq)
        if row.id is not None and outcome.problem is None:
            self._finish(row, content, outcome, record.time)
        return outcome

    def _label(self, row: Row, record: Record, place: int) -> Outcome:
        seq = record.seq + place
        assert row.id is not None
        done = self.join.done(row.id)
        if done is not None:
            return self._done_before(Kind.label, row, done, seq)
        waiting = self.join.waiting(row.id)
        if waiting is None:
            what = f"no prediction with the id {row.id!r} waits for its label"
            problem = Problem(404, "no such id", f"{what}; if you have its features, send both together (learn)")
            return Outcome("learned", seq, self.champion, problem=problem)
        features = self.features_of(waiting)
        prediction = self._last_read[1] + waiting.row
        outcome = self._learn_features(features, row, waiting, record, seq, prediction)
        if outcome.problem is None:
            self.counts["joined"] += 1
            self._finish(row, NOTHING, outcome, record.time)
        return outcome

    def _learn_features(
        self,
        features: Any,
        row: Row,
        waiting: Waiting | None,
        record: Record,
        seq: int,
        prediction: int | None = None,
    ) -> Outcome:
        """Let every model learn the row; if the champion refuses it, no model learns it."""
        weight = 1.0 if row.weight is None else row.weight
        champion = self.models[self.champion]
        try:
            if row.label is None:
                raise InputError("there is no label")
            score = champion.learn(_given(features), row.label, weight)
        except Error as error:
            return Outcome("learned", seq, champion.name, problem=refused(error))
        scores = {champion.name: score}
        if len(self.models) > 1:
            self._learn_others(features, row.label, weight, scores)
        for listener in self.listeners:
            teach = partial(_taught_one, features=features, label=row.label, weight=weight)
            listener(Lesson(seq, 1, prediction, teach))
        if waiting is not None and waiting.model in scores and (model := self._model_of(waiting)) is not None:
            model.count_served(waiting.score, scores[waiting.model], row.label, weight)
        waited = None if waiting is None else record.time - waiting.time
        return Outcome("learned", seq, champion.name, champion.score_in_short(score), None, None, waited, score)

    def _learned_together(self, record: Record, rows: Sequence[Row]) -> list[Outcome] | None:
        """Learn rows in one call, which is faster; None if they must be learned one by one."""
        if any(row.id is not None or row.label is None or row.features is None for row in rows):
            return None
        features, labels = [row.features for row in rows], [row.label for row in rows]
        weights = [1.0 if row.weight is None else row.weight for row in rows]
        champion = self.models[self.champion]
        scores = champion.learn_rows(features, labels, weights)
        if scores is None:
            return None
        learned = len(scores)  # the rest is learned one by one
        features, labels, weights = features[:learned], labels[:learned], weights[:learned]
        for model in self.models.values():
            if model is not champion:
                _taught_together(model, (), features, labels, weights)
        for listener in self.listeners if learned else ():
            teach = partial(_taught_together, features=features, labels=labels, weights=weights)
            listener(Lesson(record.seq, learned, None, teach))
        self.counts["learned"] += learned
        name, seq = champion.name, record.seq
        outcomes = [
            Outcome("learned", seq + place, name, Prediction(score, None), score=score)
            for place, score in enumerate(scores)
        ]
        rest = enumerate(rows[learned:], learned)
        return outcomes + [self._acted(Stream._learn, row, record, place) for place, row in rest]

    def _learn_others(self, features: Any, label: Any, weight: float, scores: dict[str, Any]) -> None:
        """Let the other models learn a row that the champion has learned."""
        for model in self.models.values():
            if model.name != self.champion:
                taught(model, features, label, weight, scores)

    def _finish(self, row: Row, content: bytes, outcome: Outcome, time: int) -> None:
        assert row.id is not None
        score = outcome.prediction.score if outcome.prediction is not None else None
        kept = float("nan") if score is None else score
        self.join.finish(row.id, Done(time, in_short(row.label), content, kept))

    def _done_before(self, kind: Kind, row: Row, done: Done, seq: int) -> Outcome:
        assert row.id is not None
        if done.label == EXPIRED:
            problem = Problem(410, "too late", f"the label of {row.id!r} did not come in time; the prediction is gone")
            return Outcome("learned", seq, self.champion, problem=problem)
        same = done.label == in_short(row.label)
        if kind is Kind.learn and done.content != NOTHING:
            same = done.content == in_short([row.features, row.label, row.weight])
        if not same:
            return Outcome("learned", seq, self.champion, problem=_other("was learned with other content", row.id))
        score = None if done.score != done.score else done.score  # NaN stands for no score
        return Outcome("duplicate", seq, self.champion, Prediction(score, None))

    def _rank(self, row: Choice, record: Record, place: int) -> Outcome:
        seq, time, bandit = record.seq + place, record.time / 1e6, self.checked_bandit()
        assert row.id is not None
        status = bandit.status(row.id, time)
        if status in ("rewarded", "expired"):
            what = "has its reward already" if status == "rewarded" else "has expired"
            return Outcome("ranked", seq, bandit.name, problem=_other(what, row.id))
        if status == "pending":
            return Outcome("duplicate", seq, bandit.name, decision=bandit.bandit.pending_event(row.id))
        try:
            decision = bandit.rank(row.id, row.context, row.actions, time, deferred=row.deferred)
        except Error as error:
            return Outcome("ranked", seq, bandit.name, problem=refused(error))
        return Outcome("ranked", seq, bandit.name, decision=decision)

    def _reward(self, row: Reward, record: Record, place: int) -> Outcome:
        seq, time, bandit = record.seq + place, record.time / 1e6, self.checked_bandit()
        status = bandit.status(row.id, time)
        if status == "pending":
            since = bandit.decided_at(row.id)
            waited = None if since is None else record.time - round(1e6 * since)
            try:
                bandit.reward(row.id, row.reward, time)
            except Error as error:
                return Outcome("learned", seq, bandit.name, problem=refused(error))
            return Outcome("learned", seq, bandit.name, waited=waited)
        if status == "rewarded" and bandit.bandit.reward_of(row.id) == row.reward:
            return Outcome("duplicate", seq, bandit.name)
        if status == "rewarded":
            return Outcome("learned", seq, bandit.name, problem=_other("has another reward already", row.id))
        return Outcome("learned", seq, bandit.name, problem=_gone(status, row.id))

    def _activate(self, row: Activation, record: Record, place: int) -> Outcome:
        seq, bandit = record.seq + place, self.checked_bandit()
        status = bandit.status(row.id, record.time / 1e6)
        if status in ("unknown", "expired"):
            return Outcome("learned", seq, bandit.name, problem=_gone(status, row.id))
        return Outcome("learned" if bandit.activate(row.id) else "duplicate", seq, bandit.name)

    @property
    def bandit(self) -> ServedBandit | None:
        """The bandit of the stream, if it is one of a bandit; it has no other models then."""
        champion = self.models.get(self.champion)
        return champion if isinstance(champion, ServedBandit) else None

    def checked_bandit(self) -> ServedBandit:
        """The bandit of the stream.

        Raises:
            Problem: 422 if there is none.
        """
        if (bandit := self.bandit) is None:
            advice = 'it takes predict, learn and label; a bandit is created with "task": "bandit"'
            raise Problem(422, "not a bandit", f"{self.champion!r} is a model and no bandit: {advice}")
        return bandit

    @property
    def waiting(self) -> int:
        """How many predictions wait for their labels, or decisions for their rewards."""
        return len(self.join) if self.bandit is None else self.bandit.bandit.pending

    @property
    def expired(self) -> int:
        """How many predictions got no label, or decisions no reward, in time."""
        return self.join.expired if self.bandit is None else self.bandit.bandit.expired

    def features_of(self, waiting: Waiting) -> Any:
        """The features of a prediction that waits, from the log."""
        if self._last_read[0] != waiting.position:
            record = self.read(waiting.position)
            self._last_read = waiting.position, record.seq, rows_of(record)
        return self._last_read[2][waiting.row].features

    def _learn_text(self, record: Record, lines: Any) -> list[Outcome]:
        from .text import learn_text  # noqa: PLC0415  (it needs what is made here)

        return learn_text(self, record, lines or VwText(record.payload))

    # ------------------------------------------------------------------------------------------------ models

    def _create(self, record: Record) -> None:
        created = _created(record.payload)
        if created.name in self.models:
            raise Problem(409, "the name is taken", f"there is a model {created.name!r} already")
        if self.models:
            self.check_shared(created.options)
        model = self.prepared.pop(created.name, None)
        model = joined(record) if model is None else _joined_as(model, record, created)
        self.models[created.name] = model
        if created.limits is not None:
            self.limits = created.limits
        model.growth.limit(self.limits, model.name)
        if not self.champion or created.role == "champion":
            self._crown(created.name)

    def check_shared(self, options: dict[str, Any]) -> None:
        """Check that a model with these options can join the others.

        Raises:
            Problem: 422 if it, or the champion, is a bandit.
        """
        if self.bandit is not None or options.get("task") == TASK:
            detail = "a bandit has no challengers and no shadows, and cannot be one; create it as a stream of its own"
            raise Problem(422, "a bandit is alone in its stream", detail)

    def _promote(self, record: Record) -> None:
        self._crown(self._existing(record))

    def _existing(self, record: Record) -> str:
        """The model of a record. It may have been deleted since the request was checked."""
        name = _named(record.payload).name
        if name not in self.models:
            raise Problem(404, "no such model", f"there is no model {name!r} any more")
        return name

    def _crown(self, name: str) -> None:
        if self.champion in self.models:
            self.models[self.champion].role = "challenger"
        self.champion = name
        self.models[name].role = "champion"

    def _delete(self, record: Record) -> None:
        name = self._existing(record)
        if name == self.champion:  # it was promoted after the request was checked
            raise Problem(409, "the champion stays", f"{name!r} is the champion of its stream; promote another first")
        del self.models[name]

    def _limit(self, record: Record) -> None:
        self.limits = _limits(record.payload)
        for model in self.models.values():
            model.growth.limit(self.limits, model.name)

    def _refused(self, record: Record) -> None:
        """Do nothing: the record only reports what became of rows before it."""

    def _tick(self, record: Record) -> None:
        ticked = _ticked(record.payload)
        self.join.expire(record.time, ticked.waiting_since, ticked.done_since, ticked.max_done)
        if self.bandit is not None:
            self.bandit.expire(record.time / 1e6)
        if ticked.version != __version__:  # another version may give other last bits
            return
        for name, digest in ticked.digests.items():
            model = self.models.get(name)
            if model is not None and model.digest != digest and self.mismatch is None:
                self.mismatch = f"the scores of {name!r} up to record {record.seq:,} are not those of the first time"

    def ticked(self, waiting_since: int, done_since: int, max_done: int = 1_000_000) -> bytes:
        """The payload of a tick."""
        return encoded(Ticked(waiting_since, done_since, self.digests(), max_done, __version__))

    def digests(self) -> dict[str, int]:
        """The digest of all scores of each model."""
        return {name: model.digest for name, model in self.models.items()}

    # ------------------------------------------------------------------------------------------------ its state

    def parts(self) -> dict[str, bytes]:
        """The whole state as byte strings by name. Equal states give equal bytes."""
        state = {
            "format": FORMAT,
            "name": self.name,
            "champion": self.champion,
            "seq": self.seq,
            "time": self.time,
            "end": self.end,
            "counts": dict(sorted(self.counts.items())),
            "sources": dict(sorted(self.sources.items())),
            "models": list(self.models),
            "limits": self.limits,
        }
        found = {"stream.json": _state(state), **self.join.parts()}
        for place, model in enumerate(self.models.values()):
            found |= {f"models-{place}-{name}": part for name, part in model.parts().items()}
        return found

    @classmethod
    def from_parts(cls, parts: dict[str, bytes], read: Callable[[int], Record]) -> Stream:
        """Restore a stream from its `parts`."""
        state = msgspec.json.decode(parts["stream.json"])
        if state["format"] != FORMAT:
            raise InputError(f"the state is of format {state['format']!r}; this version of unitless reads {FORMAT}")
        stream = cls(state["name"], read)
        stream.champion, stream.seq, stream.time, stream.end = (
            state[name] for name in ("champion", "seq", "time", "end")
        )
        stream.counts, stream.sources = Counter(state["counts"]), state["sources"]
        stream.join = Join.from_parts(parts)
        stream.limits = msgspec.convert(state["limits"], Limits)
        for place, name in enumerate(state["models"]):
            head = f"models-{place}-"
            own = {key.removeprefix(head): part for key, part in parts.items() if key.startswith(head)}
            stream.models[name] = model = restored(own)
            model.growth.limit(stream.limits, name)
        return stream

    def fingerprint(self) -> str:
        """A hash of the whole state."""
        return fingerprint(self.parts())


def fingerprint(parts: dict[str, bytes]) -> str:
    """A hash of named byte strings."""
    digest = hashlib.sha256()
    for name, part in sorted(parts.items()):
        digest.update(f"{name} {len(part)}\n".encode())
        digest.update(part)
    return digest.hexdigest()


def taught(model: ServedModel, features: Any, label: Any, weight: float, scores: dict[str, Any] | None = None) -> None:
    """Let a model learn a row; it may refuse it. Its score from before is added to `scores`."""
    try:
        score = model.learn(features, label, weight)
    except Error as error:
        model.rejected += 1
        model.last_refusal = message_of(error)
    else:
        if scores is not None:
            scores[model.name] = score


def _taught_one(model: ServedModel, without: Collection[int], features: Any, label: Any, weight: float) -> None:
    if not without:
        taught(model, features, label, weight)


def _taught_together(
    model: ServedModel, without: Collection[int], features: list[Any], labels: list[Any], weights: list[float]
) -> None:
    """Let a model learn rows except those at some places: in one call, unless it refuses one."""
    if without:
        kept = [place for place in range(len(labels)) if place not in without]
        features, labels, weights = ([values[place] for place in kept] for values in (features, labels, weights))
    done = len(model.learn_rows(features, labels, weights) or ()) if labels else 0
    for one, label, weight in zip(features[done:], labels[done:], weights[done:], strict=True):
        taught(model, one, label, weight)


def joined(record: Record) -> ServedModel:
    """Make the model that a record creates."""
    created = _created(record.payload)
    if created.parts is not None:
        model = ServedModel.from_parts(created.parts)
        model.role, model.created = created.role, record.time
    else:
        model = made(created, record.time)
    return _joined_as(model, record, created)


def _joined_as(model: ServedModel, record: Record, created: Created) -> ServedModel:
    model.created, model.created_seq, model.origin = record.time, record.seq, created.origin
    return model


def made(created: Created, time: int) -> ServedModel:
    """A model as it was when it joined."""
    from ...models.file import from_bytes  # noqa: PLC0415  (few models come from files)

    if created.options.get("task") == TASK or (created.model is not None and holds_bandit(created.model)):
        return ServedBandit(created.name, created.role, created.options, created.model, time)
    model = None if created.model is None else from_bytes(created.model)
    return ServedModel(created.name, created.role, created.options, model, time)


def encoded(content: Created | Named | Limits | Ticked | Refused) -> bytes:
    """The payload of a record about models or time."""
    return _pack(content)


def _given(features: Any) -> Any:
    if features is None:
        raise InputError("there are no features")
    return features


def _gone(status: str, id: str) -> Problem:
    if status == "expired":
        return Problem(410, "too late", f"the time of {id!r} is over; the decision is gone")
    return Problem(404, "no such id", f"no decision with the id {id!r} waits for its reward")


def _other(what: str, id: str) -> Problem:
    return Problem(409, "the id is taken", f"the id {id!r} {what}; use another id")


_OF_ROWS: dict[Kind, Callable[[Stream, Any, Record, int], Outcome]] = {
    Kind.prediction: Stream._predict,
    Kind.learn: Stream._learn,
    Kind.label: Stream._label,
    Kind.rank: Stream._rank,
    Kind.reward: Stream._reward,
    Kind.activate: Stream._activate,
}
_OF_STREAMS: dict[Kind, Callable[[Stream, Record], None]] = {
    Kind.tick: Stream._tick,
    Kind.create: Stream._create,
    Kind.promote: Stream._promote,
    Kind.delete: Stream._delete,
    Kind.limits: Stream._limit,
    Kind.refused: Stream._refused,
}
