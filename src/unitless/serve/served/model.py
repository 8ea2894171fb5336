"""One model in service: it predicts, learns, and computes the metrics of its predictions.

Its state depends only on the rows and their order, to the bit; it does not matter how rows are grouped into calls.
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
from ...data import Batch, Schema, Target
from ...data.columns.text_columns import TextColumns, categories
from ...data.labels import Numbers, RawLabels, Texts, number_text, plain_number
from ...data.progress import Progress
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
from ...models.scored import Scored
from ...models.training_record import LARGEST, record
from ...options import USUAL_LEVEL
from ...training.session import Session
from ..origin import Origin
from .growth import Growth
from .metrics import ServedMetrics
from .options import ModelRequest
from .rows import Rows, rows_of

FEW = 32  # batches of fewer rows are counted together with later ones: the cost of counting is per batch
LEAST_WEIGHT = 1e-100  # sums of smaller weights underflow, and then a model file is not valid
WEIGHTS = f"weights are 0, or between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g}"

_eight = struct.Struct("<d").pack
_state = msgspec.json.Encoder(order="deterministic").encode


class Prediction(NamedTuple):
    """The prediction of a model for a row."""

    score: float | None
    prediction: Any
    probability: float | None = None  # that the prediction is right
    scores: dict[str, float] | None = None  # by class, if there are more than two
    probabilities: dict[str, float] | None = None  # by class
    more: dict[str, Any] | None = None  # a prediction interval or set, if the request has a level
    unknown: list[str] | None = None  # features that the model has never seen

    @property
    def known_score(self) -> float:
        """The score; 0 if the model has learned no rows."""
        return 0.0 if self.score is None else self.score

    def answer(self) -> dict[str, Any]:
        """The fields of the answer in JSON."""
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


NOTHING = Prediction(None, None)


class ServedModel:
    """A model of a server.

    Args:
        name: the name of the model.
        role: "champion", "challenger" or "shadow".
        options: the options of a new model, see `ModelRequest`.
        model: a trained model that continues to learn. Default: a new model.
        created: when the model was created, in microseconds since 1970.
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
        self.created_seq = 0  # sequence number of the record that created the model
        self.origin: Origin | None = None  # the history that it learned before that record
        self.digest = 0  # CRC-32 of the bytes of all scores
        self.learned = self.rejected = 0
        self.last_refusal: str | None = None
        self.model: Learner | OneVsAll | None = None
        self._request = ModelRequest(options)
        self._two: list[Any] = []  # two classes: the negative label and the positive one
        self.growth = Growth()
        if model is not None:
            self._take(model)
            self._begin_counting(model)
        elif self._request.task is not None and (self._request.task != "binary" or self._request.classes is not None):
            self._settle(None)

    # ------------------------------------------------------------------------------------------------ the model

    def _settle(self, label: Any) -> None:
        """Make the model. The first label decides its task unless the options do."""
        task, classes = self._request.settle(label)
        model = self._request.model(task, classes)
        numbers = classes is not None and not any(isinstance(one, str | bool) for one in classes)
        names = [_text(one) for one in classes] if task == "binary" and classes is not None else []
        target = Target(task, names, numbers or task != "binary")  # type: ignore[arg-type]
        reading = {
            "dates": "error",  # `texts` decides which columns are dates
            "missing": self._request.missing,
            "as_written": True,
            "booleans": "indicator",
            "texts": {name: categories() for name in self._request.text},
        }
        model._training = record(Schema("named"), target, reading, Progress())
        self._take(model, classes if task == "binary" else None)
        self._begin_counting(model)

    def _take(self, model: Learner | OneVsAll, two: list[Any] | None = None) -> None:
        self.model = model
        self.growth.begin(model)
        if model.examples:
            _ = model.model_type
        self._rows: Rows = rows_of(model, self._request.missing)
        self._several, self._binary = model.task == "classes", model.task == "binary"
        self._loss = LOSSES[model.options.loss]
        self._link = self._loss.link
        if self._binary:
            self._two = list(two or model.predictor.classes)
            self._two_texts = tuple(map(_text, self._two))

    def _begin_counting(self, model: Learner | OneVsAll) -> None:
        self._session = Session(model, level=USUAL_LEVEL, stream=True)
        self._served, self._joined = ServedMetrics(model), ServedMetrics(model)

    @property
    def task(self) -> str | None:
        """The task: "regression", "binary" or "classes"; None if the first label is to decide it."""
        if self.model is None:
            return self._request.task
        return self.model.task

    @property
    def classes(self) -> list[Any] | None:
        """The labels of the classes; None for regression."""
        if self.model is None:
            return self._request.classes
        if self._several:
            return self.model._class_labels
        return list(self._two) if self._binary else None

    @property
    def columns(self) -> TextColumns | None:
        """The types of text columns, if they are inferred from rows."""
        return None if self.model is None else getattr(self._rows, "columns", None)

    @property
    def examples(self) -> int:
        """The number of rows that it has learned, including those of its training."""
        return 0 if self.model is None else int(self.model.examples)

    @property
    def nbytes(self) -> int:
        """The memory of the model in bytes; for a model without a task, what it will need at least."""
        return self._request.bytes if self.model is None else self.model.nbytes

    def frozen_later(self) -> Callable[[], ServedModel]:
        """A function that makes a copy of the model as it is now. It may run in a thread while the model learns."""
        found = copy.copy(self)
        found.growth = Growth()
        if self.model is None:
            return lambda: found
        content = bytes_later(self.model)

        def frozen() -> ServedModel:
            found._take(from_bytes(content()), self._two or None)
            return found

        return frozen

    # ------------------------------------------------------------------------------------------------ rows

    def predict(self, features: Any, level: float | None = None) -> Prediction:
        """Predict a row, which changes nothing. The prediction is None while the task is unknown."""
        return self.scored(features, level)[1]

    def scored(self, features: Any, level: float | None = None) -> tuple[Any, Prediction]:
        """The score of a row, or the scores of several classes, and the prediction; None while the task is unknown."""
        if self.model is None:
            return None, NOTHING
        score, unknown = self._rows.score(features)
        predicted = self.prediction_of(score)
        if unknown is not None:
            predicted = predicted._replace(unknown=unknown)
        return score, predicted if level is None else predicted._replace(more=self._limits(score, predicted, level))

    def prediction_of(self, score: Any) -> Prediction:
        """The prediction for a score, or for the scores of several classes."""
        if score is None:
            return NOTHING
        if self._several:
            return self._of_classes(score)
        if self._binary:
            negative, positive = self._two
            if not self._link.gives_probabilities:
                return Prediction(score, positive if score > 0 else negative)
            negative_text, positive_text = self._two_texts
            no, yes = _shares(score)
            shares = {negative_text: no, positive_text: yes}
            return (
                Prediction(score, positive, yes, None, shares)
                if score > 0
                else Prediction(score, negative, no, None, shares)
            )
        if self._link.name == "identity":
            return Prediction(score, score)
        return Prediction(score, float(self._link.function(np.array([score]))[0]))

    def score_in_short(self, score: Any) -> Prediction:
        """A prediction with the score alone; with several classes, the largest score."""
        if score is None:
            return NOTHING
        return Prediction(float(score.max()) if self._several and len(score) else score, None)

    def _of_classes(self, scores: Float64) -> Prediction:
        assert self.model is not None
        labels = self.model._class_labels[: len(scores)]
        if not labels:
            return NOTHING
        best = int(np.argmax(scores))
        texts, each = [*map(_text, labels)], scores.tolist()
        by_text = dict(zip(texts, each, strict=True))
        if not self._link.gives_probabilities:
            return Prediction(each[best], labels[best], None, by_text)
        shares = self.model._shares(scores[None, :])[0].tolist()
        return Prediction(each[best], labels[best], shares[best], by_text, dict(zip(texts, shares, strict=True)))

    def _limits(self, score: Any, predicted: Prediction, level: float) -> dict[str, Any]:
        """The fields of a prediction interval, or of a prediction set for classes."""
        assert self.model is not None
        self._session.count_pending()
        level = checked_level(level)
        reach = quantiles_of(self.model).known_reach(level, latest=True)
        if self.task == "regression":
            low, high = bounds(self.model, np.array([predicted.prediction]), reach)
            ends = [float(end[0]) if math.isfinite(end[0]) else None for end in (low, high)]
            return {"level": level, "low": ends[0], "high": ends[1]}
        shares: dict[Any, float] = {}
        if predicted.probabilities is not None:
            several = self.model._shares(score[None, :])[0].tolist() if self._several else _shares(score)
            shares = dict(zip(self.classes or [], several, strict=False))
        ranked = sorted(shares, key=lambda label: -shares[label])
        members = [label for label in ranked if label == predicted.prediction or 1.0 - shares[label] <= reach]
        return {"level": level, "set": members}

    def learn(self, features: Any, label: Any, weight: float = 1.0) -> Any:
        """Learn a row.

        A row that is refused changes nothing. A new model that refuses its first row stays new.

        Returns:
            The score, or the scores of several classes, from before the row was learned; None if there was none.
        """
        was_new = self.model is None
        try:
            if was_new:
                self._settle(label)
            return self._learn(features, label, weight)
        except BaseException as error:
            self._refused(was_new, error)
            raise

    def _refused(self, was_new: bool, error: BaseException) -> None:
        """Return to a new model if its first row was refused. If a learner diverges, part of a row may be learned."""
        if was_new:
            self.model, self._two = None, []
        if was_new or isinstance(error, DivergedError):
            self.growth.begin(self.model)

    def _learn(self, features: Any, label: Any, weight: float) -> Any:
        model = self.model
        assert model is not None
        if weight != 0 and not LEAST_WEIGHT <= weight <= MOST_WEIGHT:
            raise InputError(f"the weight is {weight!r}", advice=WEIGHTS)
        several, blind = self._several, not self.learned and self._is_blind(model)
        heads = model.heads if several else 1
        label = self._read_label(label)
        new = self.growth.admit(self._rows.most_names(features), self._rows.names, features)
        score: Any = self._rows.learn(features, label, weight)
        if not self.learned:
            self._begin_streaming()
        if weight > 0:  # a row with weight 0 adds no features
            self.learned += 1
            if new:
                self.growth.learned(new)
        if several:
            score, label = score[:heads], model._number_of(label)
        elif blind:
            score = None
        self.digest = crc32(b"-" if score is None else score.tobytes() if several else _eight(score), self.digest)
        self._session.note(score, label, weight)
        return score if heads else None

    def _is_blind(self, model: Learner | OneVsAll) -> bool:
        """Whether there is no prediction to count yet: without a label, the unit of labels is unknown."""
        return not self.learned and model.options.target is not None and not model.examples

    def _begin_streaming(self) -> None:
        """Use the latest weights from now on: a fitted model may predict with averaged ones, which suit no stream."""
        if self.model is not None:
            _ = self.model.model_type  # computed now and cached: in a large model it would take long
        if self.model is not None and self.model.kept == "averaged":
            self.model.keep("last")

    def learn_rows(self, features: list[Any], labels: list[Any], weights: list[float]) -> list[float | None] | None:
        """Learn rows in one call, with the same bits as one by one.

        Returns:
            The scores from before each row was learned; None if no row was learned, and the caller must learn them one
            by one. If the learner diverges, the rows before are learned: one None for each, as the scores are lost.
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
            truth = list(map(self._read_label, labels))
            new = self.growth.admit(sum(map(self._rows.most_names, features)), self._all_names, features)
            scores = self._learn_batch(data, Numbers(np.array(truth, np.float64)), weight, None)
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
        """Record new features of learned rows. Rows with weight 0 add none: then all names are counted again."""
        if weight is None or weight.all():
            self.growth.learned(new)
        elif new:
            self.growth.begin(self.model)

    def _all_names(self, features: list[Any]) -> Iterable[str]:
        return chain.from_iterable(map(self._rows.names, features))

    def learn_batch(
        self, data: inputs.TextRows, labels: Float64, weight: Float64 | None, offset: Float64 | None = None
    ) -> Float64:
        """Learn rows that the core has already read, in one call.

        Either all rows are learned, or none is and the error names the row that is wrong.

        Args:
            data: the rows.
            labels: the label of each row; a number stands for its text if classes are text.
            weight: the sample weight of each row. Default: 1.
            offset: the known part of each row's score. Not for several classes. Default: 0.

        Returns:
            The scores from before each row was learned.
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
            self._refused(was_new, error)
            raise

    def _learn_read(
        self, data: inputs.Input, labels: Float64, weight: Float64 | None, offset: Float64 | None
    ) -> Float64:
        if self.task == "regression":
            return self._learn_batch(data, Numbers(labels), weight, offset)
        if self._several and offset is not None:
            raise InputError("an initial prediction is possible for numbers and two classes, not for several classes")
        distinct, places = np.unique(labels, return_inverse=True)
        named = [self._label_of(label) for label in distinct.tolist()]
        read = list(map(self._class_of if self._several else self._side, named))
        if not self._several:
            return self._learn_batch(data, Numbers(np.array(read, np.float64)[places]), weight, offset)
        self._admit_classes([named[place] for place in places])
        return self._learn_batch(data, Texts(places.astype(np.int32), named), weight, None)

    def _label_of(self, number: float) -> Any:
        """The label of the class with a number."""
        plain, known = plain_number(number), self.classes
        return number_text(plain) if known and all(isinstance(one, str) for one in known) else plain

    def _admit_classes(self, labels: list[Any]) -> None:
        """Refuse rows with more new classes than the model may have; a part of these rows may still be accepted."""
        assert self.model is not None
        known = set(self.model._class_labels)
        for place, label in enumerate(label for label in dict.fromkeys(labels) if label not in known):
            self.growth.admit_class(label, place)

    def _learn_batch(
        self, data: inputs.Input, labels: RawLabels, weight: Float64 | None, offset: Float64 | None
    ) -> Float64:
        """Learn rows in one call and count them; returns the scores from before each row was learned."""
        model = self.model
        assert model is not None
        heads, blind = model.heads, self._is_blind(model)
        scored = self._session.learn(Batch(data, data.rows, labels, weight, offset=offset), "nothing")
        weights = np.ones(data.rows) if weight is None else weight
        if not self.learned:
            self._begin_streaming()
        self.learned += int(np.count_nonzero(weights))
        unknown = (int((weights != 0).argmax()) + 1 if weights.any() else data.rows) if blind else 0
        made: list[Any] = [None] * unknown
        made += _known_scores(scored, weights, heads) if self._several else list(scored.scores[unknown:])
        # The digest must be the same as if the rows were learned one by one.
        self.digest = crc32(b"".join(b"-" if score is None else score.tobytes() for score in made), self.digest)
        if offset is None and (data.rows < FEW or model.heads > heads):  # counted as if they were learned one by one
            for score, truth, h in zip(made, scored.truth.tolist(), weights.tolist(), strict=True):
                self._session.note(score, truth, h)
        else:
            self._session.count(scored, blind)
        return scored.scores if self._several else scored.scores[:, 0]

    def score_batch(self, data: inputs.Input, offset: Float64 | None = None) -> Float64:
        """The scores of rows that the core has already read; with several classes, an array for each row."""
        if self.model is None:
            return np.zeros(data.rows)
        flat = self.model._ask(data, False, offset)
        return flat.reshape(data.rows, -1) if self._several and data.rows else flat

    def score_of(self, prediction: Any) -> float | None:
        """The score of a row from its prediction by `vw.work`; None if they differ."""
        same = self.model is not None and not self._several and (self._binary or self._link.name == "identity")
        return float(prediction) if same else None

    def can_have_scored(self, score: Any) -> bool:
        """Whether this model can have made a score, or the scores of several classes."""
        if score is None:
            return True
        if self.model is not None and self._several:
            return isinstance(score, np.ndarray) and len(score) <= self.model.heads
        return self.model is not None and not isinstance(score, np.ndarray)

    def count_served(self, served: Any, at_learning: Any, label: Any, weight: float) -> None:
        """Count an earlier prediction whose label has arrived, and the prediction made when the label arrived."""
        model = self.model
        assert model is not None
        if served is None or at_learning is None:
            return
        truth = self._truth(label)
        self._served.add(served, truth, weight)
        self._joined.add(at_learning, truth, weight)

    def loss_of(self, score: Any, label: Any) -> float | None:
        """The loss of one prediction; None if there was none."""
        if self.model is None or score is None:
            return None
        one = Evaluation(self.model, small=True)
        one.count(Scored.of(self.model, [score], [self._truth(label)]))
        return one.loss

    def _truth(self, label: Any) -> Any:
        """A label as a number, a boolean (two classes) or the index of its class."""
        assert self.model is not None
        return self._side(label) if self._binary else self.model._number_of(label)

    # ------------------------------------------------------------------------------------------------ labels

    def _read_label(self, label: Any) -> Any:
        """The label of a row as the model takes it: a number, a boolean (two classes), or the label of a class."""
        if self._several:
            self.growth.admit_class(self._class_of(label))
            return label
        return self._side(label) if self._binary else _number(label)

    def _side(self, label: Any) -> bool:
        """Whether a label is the positive one of the two classes."""
        negative, positive = self._two
        if type(label) is type(positive) and label == positive:
            return True
        if type(label) is type(negative) and label == negative:
            return False
        plain = self._request.classes is None and positive == 1 and negative in (0, -1)
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
        if isinstance(label, int) and not -LARGEST <= label < LARGEST:  # model files have 64-bit integers
            raise InputError("the label is a whole number of more than 64 bits", advice="send it as text")
        return label

    # ------------------------------------------------------------------------------------------------ metrics

    @property
    def evaluation(self) -> Evaluation | None:
        """Progressive metrics: of predictions made before each row was learned."""
        return None if self.model is None else self._session.evaluation

    @property
    def served(self) -> Evaluation | None:
        """Metrics of predictions as they were served, whose labels arrived later."""
        return None if self.model is None else self._served.evaluation

    @property
    def joined(self) -> Evaluation | None:
        """Metrics of the rows in `served`, as the model predicts them when their labels arrive."""
        return None if self.model is None else self._joined.evaluation

    @property
    def baselines(self) -> dict[str, dict[str, float]]:
        """The progressive metrics of the baselines, by name."""
        return {} if self.model is None else self._session.metrics.stream_baselines.metrics

    def sums(self) -> tuple[float, float, float]:
        """Sums over all rows: weight, loss, errors."""
        if self.model is None:
            return 0.0, 0.0, 0.0
        sums = self._session.evaluation.sums
        return sums.weight, sums.by_name.get("loss", 0.0), sums.by_name.get("error_rate", 0.0)

    # ------------------------------------------------------------------------------------------------ state

    def parts(self) -> dict[str, bytes]:
        """The whole state as byte strings by name. Equal states give equal bytes."""
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
            "progressive": self._session.metrics.state(),
            "served": self._served.evaluation.state(),
            "joined": self._joined.evaluation.state(),
        }
        return {"state.json": _state(state), "model.unitless": to_bytes(self.model)}

    @classmethod
    def from_parts(cls, parts: dict[str, bytes]) -> ServedModel:
        """Restore the model from its `parts`."""
        state = msgspec.json.decode(parts["state.json"])
        served = cls(state["name"], state["role"], state["options"], created=state["created"])
        served.created_seq = state.get("created_seq", 0)  # snapshots of earlier versions do not have it
        served.origin = msgspec.convert(state.get("origin"), Origin | None)
        for name in ("digest", "learned", "rejected", "last_refusal"):
            setattr(served, name, state[name])
        if "model.unitless" in parts:
            model = from_bytes(parts["model.unitless"])
            served._take(model, state["two"] or None)
            served._begin_counting(model)
            served._session.metrics.restore(model, state["progressive"])
            served._served, served._joined = (
                ServedMetrics(model, Evaluation.restore(model, state[name])) for name in ("served", "joined")
            )
        return served

    def begin_anew(self) -> None:
        """Reset what belongs to a name, for a copy under a new name: served predictions and refused rows."""
        self.rejected, self.last_refusal = 0, None
        if self.model is not None:
            self._served, self._joined = ServedMetrics(self.model), ServedMetrics(self.model)

    def file(self) -> bytes:
        """The model file, for `ul.load` and `ul.Predictor`."""
        return self.file_later()()

    def file_later(self) -> Callable[[], bytes]:
        """A function that returns the model file; it may run in another thread."""
        if self.model is None:
            raise InputError("the model has learned no rows yet")
        self._session.count_pending()
        return bytes_later(self.model)


def are_weights(weight: Float64) -> bool:
    """Whether a model can learn rows with these weights."""
    return bool(((weight == 0) | ((weight >= LEAST_WEIGHT) & (weight <= MOST_WEIGHT))).all())


def _known_scores(scored: Scored, weights: Float64, heads: int) -> list[Float64]:
    """The scores of each row, for the classes that the model knew before it; `heads` classes before the first row."""
    found = []
    for row, number, h in zip(scored.scores, scored.truth.tolist(), weights.tolist(), strict=True):
        found.append(row[:heads])
        heads = max(heads, number + 1 if h else 0)
    return found


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
    """The probabilities of the negative and of the positive class, both in full precision."""
    odds = math.exp(-abs(score))  # the odds for the less likely class
    likely, unlikely = 1.0 / (1.0 + odds), odds / (1.0 + odds)
    return (unlikely, likely) if score > 0 else (likely, unlikely)


def _text(label: Any) -> str:
    if isinstance(label, bool):
        return "true" if label else "false"
    return label if isinstance(label, str) else number_text(label)
