"""One model in service: it predicts, learns, and keeps count of how good its predictions were.

Its state is a function of the rows that it was given, in their order. However they are grouped, the bits are the same.
"""

from __future__ import annotations

import copy
import math
import struct
from collections.abc import Callable, Collection, Iterable
from itertools import chain
from typing import Any, NamedTuple
from zlib import crc32

import msgspec
import numpy as np

from ... import inputs
from ...data import Schema, Target
from ...data.labels import number_text, plain_number
from ...data.progress import Progress
from ...data.text_columns import TextColumns, categories
from ...errors import DivergedError, InputError
from ...inputs import Float64
from ...limits import LABELS, MOST_LABEL, MOST_WEIGHT
from ...losses import LOSSES
from ...metrics.evaluation import Evaluation
from ...models.error_quantiles import checked_level
from ...models.file import bytes_later, from_bytes, to_bytes
from ...models.learner import Learner
from ...models.one_vs_all import OneVsAll
from ...models.prediction_errors import bounds, quantiles_of
from ...models.training_record import LARGEST, record
from ..origin import Origin
from .growth import Growth
from .options import Asked
from .rows import Rows, rows_of
from .scores import Scores

LEAST_WEIGHT = 1e-100  # below, sums vanish, and the model cannot be written to a file and read again
WEIGHTS = f"weights are 0, or between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}"

_eight = struct.Struct("<d").pack
_state = msgspec.json.Encoder(order="deterministic").encode


class Said(NamedTuple):
    """What a model says of a row."""

    score: float | None
    prediction: Any
    probability: float | None = None  # of the prediction
    scores: dict[str, float] | None = None  # of each class, where there are more than two
    probabilities: dict[str, float] | None = None  # of each class
    more: dict[str, Any] | None = None  # limits of the prediction, where they were asked for
    unknown: list[str] | None = None  # features that the model has never seen

    @property
    def known_score(self) -> float:
        """The score; 0 before there was anything to go by."""
        return 0.0 if self.score is None else self.score

    def answer(self) -> dict[str, Any]:
        """As JSON has it."""
        found: dict[str, Any] = {"score": self.known_score, "prediction": self.prediction}
        if self.probability is not None:
            found["probability"] = self.probability
        if self.scores is not None:
            found["scores"] = self.scores
        if self.probabilities is not None:
            found["probabilities"] = self.probabilities
        if self.unknown is not None:
            found["unknown"] = self.unknown
        return found if self.more is None else found | self.more


NOTHING = Said(None, None)


class ServedModel:
    """A model with its name and role.

    Args:
        name: of the model.
        role: "champion", "challenger" or "shadow".
        options: of a new model, see `Asked`.
        model: one that was trained, to go on from.
        created: when, in microseconds since 1970.
    """

    def __init__(
        self,
        name: str,
        role: str,
        options: dict[str, Any],
        model: Learner | OneVsAll | None = None,
        created: int = 0,
    ) -> None:
        self.name, self.role, self.options, self.created = name, role, options, created
        self.created_seq = 0  # the record by which it joined its stream
        self.origin: Origin | None = None  # which history it learned before that
        self.digest = 0  # of all scores, bit by bit
        self.learned = self.rejected = 0
        self.last_refusal: str | None = None
        self.model: Learner | OneVsAll | None = None
        self._asked = Asked(options)
        self._two: list[Any] = []  # the negative label and the positive one
        self.growth = Growth()
        if model is not None:
            self._take(model)
            self._begin_counting(model)
        elif self._asked.task is not None and (self._asked.task != "binary" or self._asked.classes is not None):
            self._settle(None)

    # ------------------------------------------------------------------------------------------------ a model

    def _settle(self, label: Any) -> None:
        """The first label says what kind of model it has to be, where the options do not."""
        task, classes = self._asked.settle(label)
        model = self._asked.model(task, classes)
        numbers = classes is not None and not any(isinstance(one, str | bool) for one in classes)
        names = [_text(one) for one in classes] if task == "binary" and classes is not None else []
        target = Target(task, names, numbers or task != "binary")  # type: ignore[arg-type]
        reading = {
            "dates": "error",  # `texts` knows which columns hold dates
            "missing": self._asked.missing,
            "as_written": True,
            "booleans": "indicator",
            "texts": {name: categories() for name in self._asked.text},
        }
        model._training = record(Schema("named"), target, reading, Progress())
        self._take(model, classes if task == "binary" else None)
        self._begin_counting(model)

    def _take(self, model: Learner | OneVsAll, two: list[Any] | None = None) -> None:
        self.model = model
        self.growth.begin(model)
        if model.examples:
            _ = model.model_type
        self._rows: Rows = rows_of(model, self._asked.missing)
        self._several = isinstance(model, OneVsAll)
        self._loss = LOSSES[model.options.loss]
        self._binary = not self._several and self._loss.for_classes
        self._link = self._loss.link
        if self._binary:
            self._two = list(two or model.predictor.classes)
            self._two_texts = tuple(map(_text, self._two))

    def _begin_counting(self, model: Learner | OneVsAll) -> None:
        self._progressive = Scores(model, follows=True)
        self._served, self._joined = Scores(model, follows=False), Scores(model, follows=False)

    @property
    def task(self) -> str | None:
        """ "regression", "binary" or "classes"; None before the first label, if nothing has settled it."""
        if self.model is None:
            return self._asked.task
        return "classes" if self._several else "binary" if self._binary else "regression"

    @property
    def classes(self) -> list[Any] | None:
        """The labels; None where numbers are predicted."""
        if self.model is None:
            return self._asked.classes
        if isinstance(self.model, OneVsAll):
            return list(self.model.classes)
        return list(self._two) if self._binary else None

    @property
    def columns(self) -> TextColumns | None:
        """What its columns of text hold, if rows decide it."""
        return None if self.model is None else getattr(self._rows, "columns", None)

    @property
    def examples(self) -> int:
        """How many rows it has learned, those of its training included."""
        return 0 if self.model is None else int(self.model.examples)

    @property
    def nbytes(self) -> int:
        """The memory that it takes; of a model that has not begun, what it will take at the least."""
        return self._asked.bytes if self.model is None else self.model.nbytes

    def frozen_later(self) -> Callable[[], ServedModel]:
        """A function that makes a copy in another thread while the model may learn: what is learned changes no copy."""
        found = copy.copy(self)
        found.growth = Growth()
        if self.model is None:
            return lambda: found
        content = bytes_later(self.model)

        def frozen() -> ServedModel:
            found._take(from_bytes(content()), self._two or None)
            return found

        return frozen

    # ------------------------------------------------------------------------------------------------ one row

    def predict(self, features: Any, level: float | None = None) -> Said:
        """What it says of a row; changes nothing. Before anything is known of the task, nothing is said."""
        return self.scored(features, level)[1]

    def scored(self, features: Any, level: float | None = None) -> tuple[Any, Said]:
        """The score of a row, or scores (None before anything is known of the task), and what they stand for."""
        if self.model is None:
            return None, NOTHING
        score, unknown = self._rows.score(features)
        said = self.said(score)
        if unknown is not None:
            said = said._replace(unknown=unknown)
        return score, said if level is None else said._replace(more=self._limits(score, said, level))

    def said(self, score: Any) -> Said:
        """What a score, or those of several classes, stands for."""
        if score is None:
            return NOTHING
        if self._several:
            return self._of_classes(score)
        if self._binary:
            negative, positive = self._two
            if not self._link.gives_probabilities:
                return Said(score, positive if score > 0 else negative)
            negative_text, positive_text = self._two_texts
            no, yes = _shares(score)
            shares = {negative_text: no, positive_text: yes}
            return Said(score, positive, yes, None, shares) if score > 0 else Said(score, negative, no, None, shares)
        if self._link.name == "identity":
            return Said(score, score)
        return Said(score, float(self._link.function(np.array([score]))[0]))

    def said_in_short(self, score: Any) -> Said:
        """The score alone; of several classes, the largest."""
        if score is None:
            return NOTHING
        return Said(float(score.max()) if self._several and len(score) else score, None)

    def _of_classes(self, scores: Float64) -> Said:
        assert isinstance(self.model, OneVsAll)
        labels = self.model.classes[: len(scores)]
        if not labels:
            return NOTHING
        best = int(np.argmax(scores))
        texts, each = [*map(_text, labels)], scores.tolist()
        by_text = dict(zip(texts, each, strict=True))
        if not self._link.gives_probabilities:
            return Said(each[best], labels[best], None, by_text)
        shares = self.model._shares(scores[None, :])[0].tolist()
        return Said(each[best], labels[best], shares[best], by_text, dict(zip(texts, shares, strict=True)))

    def _limits(self, score: Any, said: Said, level: float) -> dict[str, Any]:
        """Between which numbers the truth lies, or among which classes it is, with this probability."""
        assert self.model is not None
        self._progressive.flush()
        level = checked_level(level)
        reach = quantiles_of(self.model).reach(level)
        if self.task == "regression":
            low, high = bounds(np.array([said.prediction]), reach, self._loss.smallest_label)
            ends = [float(end[0]) if math.isfinite(end[0]) else None for end in (low, high)]
            return {"level": level, "low": ends[0], "high": ends[1]}
        shares: dict[Any, float] = {}
        if isinstance(self.model, OneVsAll):
            if said.probabilities is not None:
                shares = dict(zip(self.model.classes, self.model._shares(score[None, :])[0].tolist(), strict=False))
        elif said.probabilities is not None:
            shares = dict(zip(self._two, _shares(score), strict=True))
        ranked = sorted(shares, key=lambda label: -shares[label])
        members = [label for label in ranked if label == said.prediction or 1.0 - shares[label] <= reach]
        return {"level": level, "set": members}

    def learn(self, features: Any, label: Any, weight: float = 1.0) -> Any:
        """Learn a row; gives the score, or scores, made before (None: nothing was known).

        A row that is refused changes nothing. A new model that refuses its first row stays new.
        """
        if self.model is not None:
            try:
                return self._learn(features, label, weight)
            except DivergedError:  # it may have learned some of the row
                self.growth.begin(self.model)
                raise
        try:
            self._settle(label)
            return self._learn(features, label, weight)
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
        """The first row was refused: what it has settled does not count."""
        self.model, self._two = None, []
        self.growth.begin(None)

    def _learn(self, features: Any, label: Any, weight: float) -> Any:
        model = self.model
        assert model is not None
        if weight != 0 and not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
            raise InputError(f"the weight is {weight!r}", advice=WEIGHTS)
        if isinstance(model, OneVsAll):
            known = len(model._classes.labels)
            named = self._class_of(label)
            self.growth.admit_class(named)
            new = self.growth.admit(self._rows.most_names(features), self._rows.names, features)
            scores = self._rows.learn(features, named, weight)[:known]
            if weight > 0:
                self.growth.learned(new)
            self._count(scores, model._classes.known(label), weight)
            return scores if known else None
        blind = self._is_blind(model)
        truth = self._side(label) if self._binary else _number(label)
        new = self.growth.admit(self._rows.most_names(features), self._rows.names, features)
        score = self._rows.learn(features, truth, weight)
        if new and weight > 0:  # a row without weight brings no features
            self.growth.learned(new)
        if blind:
            score = None
        self._count(score, truth, weight)
        return score

    def _is_blind(self, model: Learner | OneVsAll) -> bool:
        """Before the first label nothing is known of its unit, so that there is no prediction to be scored."""
        return not self.learned and model.options.target is not None and not model.examples

    def _count(self, score: Any, truth: Any, weight: float) -> None:
        if not self.learned:
            self._begin_following()
        if weight > 0:
            self.learned += 1
        self.digest = crc32(b"-" if score is None else score.tobytes() if self._several else _eight(score), self.digest)
        self._progressive.add(score, truth, weight)

    def _begin_following(self) -> None:
        """A model that was fitted predicts with averaged weights; one that follows, with the last ones."""
        if self.model is not None:
            _ = self.model.model_type  # while the model is small: to find it out takes long later
        if self.model is not None and self.model.kept == "averaged":
            self.model.keep("last")

    def learn_rows(self, features: list[Any], labels: list[Any], weights: list[float]) -> list[float | None] | None:
        """Learn rows in one call; the scores made before. None: nothing was changed, they are to be learned one by one.

        The bits are those of rows that are learned one by one. If the learner diverges, the rows before are learned:
        there are as many scores as rows were learned, all of them None because they are not known.
        """
        if self.model is None or self._several or not self.learned:
            return None
        try:
            weight = np.array(weights)
            if not are_weights(weight):
                return None
            data = self._rows.together(features)
            if data is None:
                return None
            truth = [self._side(label) if self._binary else _number(label) for label in labels]
            new = self.growth.admit(sum(map(self._rows.most_names, features)), self._all_names, features)
            scores = self._learn_numbers(data, np.array(truth, np.float64), weight, None)
            self._grown(new, weight)
            return scores.tolist()  # type: ignore[no-any-return]
        except DivergedError as error:
            learned = error.learned or 0
            self.learned += int(np.count_nonzero(weight[:learned]))
            self.growth.begin(self.model)
            return [None] * learned
        except InputError:
            return None

    def _grown(self, new: Collection[str], weight: Float64 | None) -> None:
        """Rows were learned whose new features were these; rows without weight bring none, so all are counted then."""
        if weight is None or weight.all():
            self.growth.learned(new)
        elif new:
            self.growth.begin(self.model)

    def _all_names(self, features: list[Any]) -> Iterable[str]:
        return chain.from_iterable(map(self._rows.names, features))

    def learn_batch(
        self, data: inputs.TextRows, labels: Float64, weight: Float64 | None, offset: Float64 | None = None
    ) -> Float64:
        """Learn rows that the core has read already, in one call; the scores made before, by row.

        Either all rows are learned, or none is and an error says which is wrong.

        Args:
            data: the rows.
            labels: of each row. Where classes are text, they are numbers that stand for it.
            weight: of each row.
            offset: of each row, a part of its score that is known. Not for several classes.
        """
        was_new = self.model is None
        try:
            if was_new:
                self._settle(plain_number(labels[0]))
            self._rows.learned_elsewhere()
            names = data.read.names
            new = self.growth.admit(len(names), iter, names)
            scores = self._learn_read(data, labels, weight, offset)
            self._grown(new, weight)
            return scores
        except BaseException as error:
            if was_new:
                self._forget()
            elif isinstance(error, DivergedError):
                self.growth.begin(self.model)
            raise

    def _learn_read(
        self, data: inputs.Input, labels: Float64, weight: Float64 | None, offset: Float64 | None
    ) -> Float64:
        if not self._several and not self._binary:
            return self._learn_numbers(data, labels, weight, offset)
        distinct, places = np.unique(labels, return_inverse=True)
        named = [self._label_of(label) for label in distinct.tolist()]
        if self._several:
            return self._learn_classes(data, [named[place] for place in places], weight, offset)
        truth = np.array([float(self._side(label)) for label in named])[places]
        return self._learn_numbers(data, truth, weight, offset)

    def _label_of(self, number: float) -> Any:
        """The label that a number stands for where there are classes."""
        plain, known = plain_number(number), self.classes
        return number_text(plain) if known and all(isinstance(one, str) for one in known) else plain

    def _learn_classes(
        self, data: inputs.Input, labels: list[Any], weight: Float64 | None, offset: Float64 | None
    ) -> Float64:
        model = self.model
        assert isinstance(model, OneVsAll)
        if offset is not None:
            raise InputError("an initial prediction is for numbers and two classes, not for more of them")
        known = len(model.classes)
        named = [self._class_of(label) for label in labels]
        self._admit_classes(model, named)
        scores = model.learn(data, named, weight)
        weights = [1.0] * len(labels) if weight is None else weight.tolist()
        for row, label, h in zip(scores, labels, weights, strict=True):
            number = model._classes.known(label)
            self._count(row[:known], number, h)
            known = max(known, number + 1 if h else 0)
        return scores

    def _admit_classes(self, model: OneVsAll, labels: list[Any]) -> None:
        """Refuse rows that have more new classes than the model may get; fewer rows may be taken."""
        new = [label for label in dict.fromkeys(labels) if model._classes.known(label) < 0]
        for place, label in enumerate(new):
            self.growth.admit_class(label, place)

    def _learn_numbers(
        self, data: inputs.Input, truth: Float64, weight: Float64 | None, offset: Float64 | None
    ) -> Float64:
        model = self.model
        assert model is not None
        is_blind = self._is_blind(model)
        scores = model._feed(data, truth, weight, offset=offset)
        weights = np.ones(len(scores)) if weight is None else weight
        if not self.learned:
            self._begin_following()
        self.learned += int(np.count_nonzero(weights))
        blind = 0  # rows of which nothing could be said
        if is_blind:
            blind = int((weights != 0).argmax()) + 1 if weights.any() else len(weights)
        for y, h in zip(truth[:blind].tolist(), weights[:blind].tolist(), strict=True):
            self.digest = crc32(b"-", self.digest)
            self._progressive.add(None, y, h)
        self.digest = crc32(scores[blind:].tobytes(), self.digest)
        self._progressive.add_many(scores[blind:], truth[blind:], weights[blind:])
        return scores

    def ask_batch(self, data: inputs.Input, offset: Float64 | None = None) -> Float64:
        """The scores of rows that the core has read already, one or more for each."""
        if self.model is None:
            return np.zeros(data.rows)
        flat = self.model._ask(data, False, offset)
        return flat.reshape(data.rows, -1) if self._several and data.rows else flat

    def score_of(self, prediction: Any) -> float | None:
        """The score behind what `vw.work` says of a row, where it is the same."""
        same = self.model is not None and not self._several and (self._binary or self._link.name == "identity")
        return float(prediction) if same else None

    def can_have_said(self, score: Any) -> bool:
        """Whether a score, or scores of several classes, can be its own."""
        if score is None:
            return True
        if isinstance(self.model, OneVsAll):
            return isinstance(score, np.ndarray) and len(score) <= len(self.model.classes)
        return self.model is not None and not isinstance(score, np.ndarray)

    def count_served(self, served: Any, at_learning: Any, label: Any, weight: float) -> None:
        """The label of an earlier prediction came: how good was that, and how good is the one at learning time?"""
        model = self.model
        assert model is not None
        if served is None or at_learning is None:
            return
        truth = self._truth(label)
        self._served.add(served, truth, weight)
        self._joined.add(at_learning, truth, weight)

    def loss_of(self, score: Any, label: Any) -> float | None:
        """What one prediction cost; None if nothing was predicted."""
        if self.model is None or score is None:
            return None
        one = Scores(self.model, follows=False, small=True)
        one.add(score, self._truth(label), 1.0)
        return one.sums()[1]

    def _truth(self, label: Any) -> Any:
        """A label that was learned, as scores are compared with it."""
        if isinstance(self.model, OneVsAll):
            return self.model._classes.known(label)
        return self._side(label) if self._binary else float(label)

    # ------------------------------------------------------------------------------------------------ labels

    def _side(self, label: Any) -> bool:
        """Whether it is the positive one of two labels."""
        negative, positive = self._two
        if type(label) is type(positive) and label == positive:
            return True
        if type(label) is type(negative) and label == negative:
            return False
        plain = self._asked.classes is None and positive == 1 and negative in (0, -1)
        if plain and label in (-1, 0, 1):  # true and 1, false, 0 and -1 mean the same
            return bool(label == 1)
        if isinstance(label, str | int | float) and _text(label) in (_text(negative), _text(positive)):
            return _text(label) == _text(positive)
        raise InputError(
            f"the label is {label!r}; it must be {negative!r} or {positive!r}",
            advice='a model of more than two classes is created with "task": "classes"',
        )

    @staticmethod
    def _class_of(label: Any) -> Any:
        if label is None or isinstance(label, list | dict):
            raise InputError(f"the label is {label!r}; it must be text, a number, true or false")
        if isinstance(label, int) and not -LARGEST <= label < LARGEST:  # which no model file can have
            raise InputError("the label is a whole number of more than 64 bits", advice="send it as text")
        return label

    # ------------------------------------------------------------------------------------------------ scores

    @property
    def evaluation(self) -> Evaluation | None:
        """Of the predictions made before rows were learned."""
        return None if self.model is None else self._progressive.evaluation

    @property
    def served(self) -> Evaluation | None:
        """Of predictions that were served, whose labels came later."""
        return None if self.model is None else self._served.evaluation

    @property
    def joined(self) -> Evaluation | None:
        """Of the same rows, as they were predicted when their labels came."""
        return None if self.model is None else self._joined.evaluation

    @property
    def baselines(self) -> dict[str, dict[str, float]]:
        """What trivial answers score, by name."""
        return {} if self.model is None else self._progressive.baselines

    def sums(self) -> tuple[float, float, float]:
        """Weight, loss and errors of all rows so far."""
        return (0.0, 0.0, 0.0) if self.model is None else self._progressive.sums()

    # ------------------------------------------------------------------------------------------------ its state

    def parts(self) -> dict[str, bytes]:
        """All of it, as byte strings by name. Equal states give equal bytes."""
        state: dict[str, Any] = {
            "name": self.name,
            "role": self.role,
            "options": self.options,
            "created": self.created,
            "created_seq": self.created_seq,
            "origin": self.origin,
            "digest": self.digest,
            "learned": self.learned,
            "rejected": self.rejected,
            "last_refusal": self.last_refusal,
            "two": self._two,
        }
        if self.model is None:
            return {"state.json": _state(state)}
        state |= {
            "progressive": self._progressive.state(),
            "served": self._served.state(),
            "joined": self._joined.state(),
        }
        return {"state.json": _state(state), "model.unitless": to_bytes(self.model)}

    @classmethod
    def from_parts(cls, parts: dict[str, bytes]) -> ServedModel:
        """What had these parts."""
        state = msgspec.json.decode(parts["state.json"])
        served = cls(state["name"], state["role"], state["options"], created=state["created"])
        served.created_seq = state.get("created_seq", 0)  # snapshots of earlier versions do not have it
        served.origin = msgspec.convert(state.get("origin"), Origin | None)
        for name in ("digest", "learned", "rejected", "last_refusal"):
            setattr(served, name, state[name])
        if "model.unitless" in parts:
            model = from_bytes(parts["model.unitless"])
            served._take(model, state["two"] or None)
            served._progressive = Scores.restore(model, state["progressive"], follows=True)
            served._served = Scores.restore(model, state["served"], follows=False)
            served._joined = Scores.restore(model, state["joined"], follows=False)
        return served

    def begin_anew(self) -> None:
        """It is to have a name of its own: nothing was served by that name, and no row was refused."""
        self.rejected, self.last_refusal = 0, None
        if self.model is not None:
            self._served, self._joined = Scores(self.model, follows=False), Scores(self.model, follows=False)

    def file(self) -> bytes:
        """The model as `ul.load` and `ul.Predictor` read it."""
        return self.file_later()()

    def file_later(self) -> Callable[[], bytes]:
        """A function for another thread, which gives the model's file."""
        if self.model is None:
            raise InputError("the model has learned nothing yet")
        self._progressive.flush()
        return bytes_later(self.model)


def are_weights(weight: Float64) -> bool:
    """Whether a model can learn rows with these weights."""
    return bool(((weight == 0) | ((weight >= LEAST_WEIGHT) & (weight <= MOST_WEIGHT))).all())


def _number(label: Any) -> float:
    if isinstance(label, bool) or not isinstance(label, int | float):
        raise InputError(
            f"the label is {label!r}; it must be a number",
            advice='a model of classes is created with "task": "classes", or with a label that is text as its first',
        )
    if not -MOST_LABEL <= label <= MOST_LABEL:
        raise InputError(f"the label is beyond {MOST_LABEL:g}", advice=LABELS)
    return float(label)


def _shares(score: float) -> tuple[float, float]:
    """The probabilities of the negative class and of the positive one, each in full precision."""
    odds = math.exp(-abs(score))  # of the less likely class against the other
    likely, unlikely = 1.0 / (1.0 + odds), odds / (1.0 + odds)
    return (unlikely, likely) if score > 0 else (likely, unlikely)


def _text(label: Any) -> str:
    if isinstance(label, bool):
        return "true" if label else "false"
    return label if isinstance(label, str) else number_text(label)
