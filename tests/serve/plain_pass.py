"""What a log comes to if its rows are learned by plain calls of the library: nothing of the server but its log.

The rules are written down here once more, in a few lines: an id is learned once; a label learns with the features of
its prediction; what is refused or unknown changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import unitless as ul
from unitless.evaluation.coverage import Coverage
from unitless.evaluation.evaluation import Evaluation
from unitless.models.error_quantiles import ErrorQuantiles
from unitless.models.file import from_bytes, to_bytes
from unitless.models.prediction_errors import has_errors
from unitless.options import USUAL_LEVEL
from unitless.serve.events import Form, Kind, Record


@dataclass
class Learned:
    """A row that was learned."""

    seq: int
    id: str | None
    features: dict[str, Any]
    label: bool
    scores: dict[str, float]  # made before, by model
    served: float | None = None  # what was answered when it was predicted


@dataclass
class Passed:
    """Models and rows after all records."""

    models: dict[str, ul.Learner]
    learned: list[Learned] = field(default_factory=list)
    waiting: dict[str, dict[str, Any]] = field(default_factory=dict)
    last_seq: int = 0


def learner(options: dict[str, Any]) -> ul.Learner:
    """The learner of two classes that the server makes of a model's options."""
    options = {name: value for name, value in options.items() if name != "task"}
    usual = {"learning_rate": "auto", "shape": "auto", "experts": "auto", "centre": True}
    chosen = usual | {"loss": "logistic"} | options
    chosen.setdefault("falling_scales", chosen["centre"])
    return ul.Learner(**chosen)


def passed(records: Iterable[Record], options: dict[str, dict[str, Any]], champion: str) -> Passed:
    """Learn all rows of a log in their order.

    Args:
        records: of the log, all of them.
        options: of the models that were there from the start, by name.
        champion: whose predictions were served.
    """
    found = Passed({name: learner(chosen) for name, chosen in options.items()})
    done: set[str] = set()
    served: dict[str, float] = {}
    for record in records:
        found.last_seq = record.seq + record.rows - 1
        if record.kind not in (Kind.prediction, Kind.learn, Kind.label):
            continue
        lines = [record.payload] if record.form is Form.json else record.payload.splitlines()
        for place, row in enumerate(map(json.loads, lines)):
            id, features = row.get("id"), row.get("features")
            if id in done or (record.kind is Kind.prediction and id in found.waiting):
                continue
            if record.kind is Kind.prediction:
                found.waiting[id] = features
                if found.learned:
                    served[id] = found.models[champion].predict_one(_plain(features))
                continue
            if record.kind is Kind.label:
                if id not in found.waiting:
                    continue
                features = found.waiting[id]
            scores = {name: _learn(model, features, row["label"]) for name, model in found.models.items()}
            was = served.pop(id, None) if id is not None else None
            found.learned.append(Learned(record.seq + place, id, features, row["label"], scores, was))
            if id is not None:
                done.add(id)
                found.waiting.pop(id, None)
    return found


def _plain(features: dict[str, Any]) -> dict[str, Any]:
    """Text as an indicator."""
    return {
        f"{name}={value}" if isinstance(value, str) else name: True if isinstance(value, str) else float(value)
        for name, value in features.items()
    }


def _learn(model: ul.Learner, features: dict[str, Any], label: bool) -> float:
    row = _plain(features)
    if model.examples:
        return float(model.learn_one(row, label))
    row = dict(sorted(row.items()))  # the first row numbers the columns
    if not model.options.centre:
        return float(model.learn_one(row, label))
    return float(model.learn(pd.DataFrame([row]), [label])[0])


def evaluation(model: ul.Learner, learned: list[Learned], name: str) -> Evaluation:
    """The progressive evaluation of a model, in one call."""
    intervals = None
    if has_errors(model):
        model._errors = ErrorQuantiles()
        intervals = Coverage(USUAL_LEVEL, model._errors, follows=True)
    judged = Evaluation(model, intervals=intervals)
    scores, labels = (np.array(some) for some in zip(*((row.scores[name], row.label) for row in learned), strict=True))
    judged.add(scores, labels)
    return judged


def of_served(model: ul.Learner, learned: list[Learned], champion: str, joined: bool) -> Evaluation:
    """Of rows whose label came later: how good the answer was, or the one at learning time (`joined`)."""
    judged = Evaluation(model)
    later = [row for row in learned if row.served is not None]
    if later:
        scores = [row.scores[champion] if joined else row.served for row in later]
        judged.add(np.array(scores), np.array([row.label for row in later]))
    return judged


def file_like(model: ul.Learner, other: bytes) -> bytes:
    """The model file, with the other file's record of what the features are: that is no part of what was learned."""
    model._training = from_bytes(other)._training
    return to_bytes(model)
