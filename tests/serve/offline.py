"""Learn the files of a log with plain calls of the library, without any code of the server.

This module implements the file format and the rules of ids a second time: an id is learned once; a label is learned
with the features of its prediction; only ticks advance the time; refused rows change nothing.
"""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import msgspec
import numpy as np
import pandas as pd
from streams import labeled

import unitless as ul
from unitless.metrics import Evaluation
from unitless.metrics.coverage import Coverage
from unitless.metrics.stream_baselines import StreamBaselines
from unitless.models.file import from_bytes, to_bytes
from unitless.models.prediction_errors import errors_known, has_errors
from unitless.options import USUAL_LEVEL

PREDICTION, LEARN, LABEL, TICK, CREATE = 1, 2, 3, 4, 5
JSON, LINES = 0, 1
_FILE_HEADER = 88  # bytes
_RECORD = struct.Struct("<IBBHIQQ")
_SEED = 0x756C_6F67


class Written(NamedTuple):
    """A record of a log."""

    kind: int
    form: int
    rows: int
    seq: int  # of its first row
    time: int
    content: bytes


def records(log: Path) -> Iterator[Written]:
    """All whole records, oldest first."""
    for path in sorted(log.glob("*.seg")):
        data, at = path.read_bytes(), _FILE_HEADER
        while at + _RECORD.size <= len(data):
            length, kind, form, rows, crc, seq, time = _RECORD.unpack_from(data, at)
            end = at + _RECORD.size + length
            if crc32(data[at + 12 : end], crc32(data[at : at + 8], _SEED)) != crc or end > len(data):
                return
            yield Written(kind, form & 0x7F, rows, seq, time, data[at + _RECORD.size : end])
            at = end


class Offline:
    """One model, and the evaluation of its predictions.

    Args:
        task: "regression", "binary" (labels false and true) or "classes" (text).
        options: of the learner, where they are not the defaults.
    """

    def __init__(self, task: str, **options: Any) -> None:
        self.task = task
        usual = {"learning_rate": "auto", "model_type": "auto", "ensemble": True, "center": True}
        made: dict[str, Any] = usual | options
        made.setdefault("falling_scales", made["center"])
        if task == "classes":
            self.model: Any = ul.OneVsAll(loss="logistic", **made)
        elif task == "binary":
            self.model = ul.Learner(loss="logistic", **made)
        else:
            self.model = ul.Learner(loss="squared", target="auto", **made)
        self.digest = self.learned = 0
        self._said: list[tuple[Any, Any, float]] = []  # score, label and weight; no score of the first number
        # of labels that came later: evaluated as served, and at learning time
        self._served: list[tuple[Any, Any, Any, float]] = []

    def predict(self, features: dict[str, Any]) -> Any:
        """The score, or those of all classes."""
        return self.model.predict_one(_plain(features))

    def learn(self, features: dict[str, Any], label: Any, weight: float, served: Any) -> Any:
        """Learn a row, with the served prediction if its label came later.

        Return the score, or None if there was none.
        """
        known = len(self.model.classes) if self.task == "classes" else 1
        blind = self.task == "regression" and not self.learned
        score = self._learned(_plain(features), label, weight)
        score = score[:known] if self.task == "classes" else float(score)
        self.learned += 1
        bits = b"-" if blind else score.tobytes() if self.task == "classes" else struct.pack("<d", score)
        self.digest = crc32(bits, self.digest)
        self._said.append((None if blind else score, label, weight))
        if served is not None and not blind and known:
            self._served.append((served, score, label, weight))
        return None if blind else score

    def _learned(self, row: dict[str, Any], label: Any, weight: float) -> Any:
        if self.model.examples:
            return self.model.learn_one(row, label, weight)
        row = dict(sorted(row.items()))  # the first row numbers the columns
        if not self.model.options.center:
            return self.model.learn_one(row, label, weight)
        return self.model.learn(pd.DataFrame([row]), [label], [weight])[0]

    def compare(self, parts: dict[str, bytes]) -> None:
        """Compare the parts of the server's model with those of this one."""
        state = msgspec.json.decode(parts["state.json"])
        assert (state["learned"], state["digest"]) == (self.learned, self.digest)
        coverage = None
        if has_errors(self.model):
            self.model._errors = None
            self.model._errors = errors_known(self.model)
            coverage = Coverage(USUAL_LEVEL, self.model._errors, follows=True)
        said = [row for row in self._said if row[0] is not None]
        joined = [(score, label, weight) for _, score, label, weight in self._served]
        served = [(score, label, weight) for score, _, label, weight in self._served]
        for name, rows in (("progressive", said), ("served", served), ("joined", joined)):
            counted = _counted(Evaluation(self.model, intervals=coverage if name == "progressive" else None), rows)
            found = state[name]["evaluation"] if name == "progressive" else state[name]
            assert found == _as_json(counted.state()), name
        baselines = StreamBaselines(self.model)
        baselines.count(labeled(self.model, [label for _, label, _ in self._said], [one[2] for one in self._said]))
        expected = _as_json(baselines.state())
        assert {one: state["progressive"][one] for one in expected} == expected
        there = parts["model.unitless"]
        self.model._training = from_bytes(there)._training  # the column report is no part of what was learned
        assert to_bytes(self.model) == there


class Learned(NamedTuple):
    """A row that was learned."""

    seq: int
    id: str | None
    features: dict[str, Any]
    label: Any
    scores: dict[str, Any]  # made before, by model


@dataclass
class Passed:
    """The state after all records of a log."""

    models: dict[str, Offline]
    learned: list[Learned] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)  # ids of predictions without a label
    last_seq: int = 0


def offline(
    log: Path, options: dict[str, dict[str, Any]], skipped: Mapping[str, tuple[Collection[int], int]] | None = None
) -> Passed:
    """Learn all rows of a log in their order.

    Args: log: its folder. options: by name, for the models that exist from the first row to the last, each with its
    task. The first is the champion. skipped: rows that a model does not learn, and the last row up to which it does not
    learn labels of predictions among them.
    """
    passed = Passed({name: Offline(**chosen) for name, chosen in options.items()})
    champion = passed.models[next(iter(options))]
    waiting: dict[str, tuple[int, dict[str, Any], str, Any, int]] = {}
    done: dict[str, int] = {}
    for kind, form, rows, seq, time, content in records(log):
        passed.last_seq = seq + rows - 1
        if kind == TICK:
            tick = msgspec.msgpack.decode(content)
            done = {id: since for id, since in done.items() if since >= tick["done_since"]}
            late = [id for id, (since, *_) in waiting.items() if since < tick["waiting_since"]]
            done |= dict.fromkeys(late, time)
            waiting = {id: one for id, one in waiting.items() if id not in late}
        if kind not in (PREDICTION, LEARN, LABEL):
            continue
        for place, row in enumerate(map(json.loads, [content] if form == JSON else content.splitlines())):
            id, features, label = row.get("id"), row.get("features"), row.get("label")
            if id in done or (kind == PREDICTION and id in waiting):
                continue
            if kind == PREDICTION:
                asked = row.get("model") or next(iter(options))
                said = passed.models[asked].predict(features) if champion.learned else None
                waiting[id] = time, features, asked, said, seq + place
                continue
            if kind == LABEL and id not in waiting:
                continue
            served, prediction = {}, None
            if id in waiting:
                _, first, asked, said, prediction = waiting[id]
                prediction = prediction if kind == LABEL else None
                served[asked] = said
                features = first if kind == LABEL else features
            if not _usable(champion.task, features, label):
                continue
            weight = 1.0 if row.get("weight") is None else row["weight"]
            scores = {
                name: model.learn(features, label, weight, served.get(name))
                for name, model in passed.models.items()
                if not _is_skipped((skipped or {}).get(name), seq + place, prediction)
            }
            passed.learned.append(Learned(seq + place, id, features, label, scores))
            if id is not None:
                done[id] = time
                waiting.pop(id, None)
    passed.waiting = list(waiting)
    return passed


def _is_skipped(skipped: tuple[Collection[int], int] | None, seq: int, prediction: int | None) -> bool:
    if skipped is None:
        return False
    rows, asked_at = skipped
    return seq in rows or (prediction in rows and seq <= asked_at)


def _counted(evaluation: Evaluation, rows: list[tuple[Any, Any, float]]) -> Evaluation:
    """Count rows in few calls: those with scores of equally many classes together."""
    for _, group in itertools.groupby(rows, lambda row: np.size(row[0])):
        scores, labels, weights = zip(*group, strict=True)
        evaluation.add(np.array(scores), list(labels), list(weights))
    return evaluation


def _usable(task: str, features: dict[str, Any], label: Any) -> bool:
    wanted = {"regression": (int, float), "binary": (bool,), "classes": (str,)}[task]
    good_label = isinstance(label, wanted) and (task == "binary" or not isinstance(label, bool))
    return good_label and all(isinstance(value, str | int | float) for value in features.values())


def _plain(features: dict[str, Any]) -> dict[str, Any]:
    """Text as an indicator."""
    return {
        f"{name}={value}" if isinstance(value, str) else name: True if isinstance(value, str) else value
        for name, value in features.items()
    }


def _as_json(state: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(state))
