"""What the files of a log come to by plain calls of the library, without any code of the server.

The format of the files and the rules of ids are written down here once more: an id is learned once; a label learns with
the features of its prediction; time passes by ticks alone; what is refused changes nothing.
"""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
import pandas as pd

import unitless as ul
from unitless.evaluation.coverage import Coverage
from unitless.evaluation.evaluation import Evaluation
from unitless.evaluation.stream_baselines import StreamBaselines
from unitless.models.error_quantiles import ErrorQuantiles
from unitless.models.file import from_bytes, to_bytes
from unitless.models.prediction_errors import has_errors
from unitless.options import USUAL_LEVEL

PREDICTION, LEARN, LABEL, TICK, CREATE = 1, 2, 3, 4, 5
JSON, LINES = 0, 1
_FILE_HEADER = 88  # bytes
_RECORD = struct.Struct("<IBBHIQQ")
_SEED = 0x756C_6F67


def records(log: Path) -> Iterator[tuple[int, int, int, bytes]]:
    """Kind, form, time and content of all whole records, oldest first."""
    for path in sorted(log.glob("*.seg")):
        data, at = path.read_bytes(), _FILE_HEADER
        while at + _RECORD.size <= len(data):
            length, kind, form, _, crc, _, time = _RECORD.unpack_from(data, at)
            end = at + _RECORD.size + length
            if crc32(data[at + 12 : end], crc32(data[at : at + 8], _SEED)) != crc or end > len(data):
                return
            yield kind, form & 0x7F, time, data[at + _RECORD.size : end]
            at = end


class Offline:
    """One model, and all that was counted of its predictions.

    Args:
        task: "regression", "binary" (labels false and true) or "classes" (text).
        options: of the learner, where they are not the usual ones.
    """

    def __init__(self, task: str, options: dict[str, Any]) -> None:
        self.task = task
        usual = {"learning_rate": "auto", "shape": "auto", "experts": "auto", "centre": True, "falling_scales": True}
        made = usual | options
        if task == "classes":
            self.model: Any = ul.OneVsAll(loss="logistic", **made)
        elif task == "binary":
            self.model = ul.Learner(loss="logistic", **made)
        else:
            self.model = ul.Learner(loss="squared", target="auto", **made)
        self.digest = self.learned = 0
        self._said: list[
            tuple[Any, Any, float]
        ] = []  # score, label and weight of each row; no score of the first number
        self._served: list[tuple[Any, Any, Any, float]] = []  # of labels that came later: served, and at learning time

    def predict(self, features: dict[str, Any]) -> Any:
        """The score, or those of all classes."""
        return self.model.predict_one(_plain(features))

    def learn(self, features: dict[str, Any], label: Any, weight: float, served: Any) -> None:
        """A row, and what was served of it if its label came later."""
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

    def _learned(self, row: dict[str, Any], label: Any, weight: float) -> Any:
        if self.model.examples:
            return self.model.learn_one(row, label, weight)
        return self.model.learn(pd.DataFrame([dict(sorted(row.items()))]), [label], [weight])[0]

    def compare(self, parts: dict[str, bytes]) -> None:
        """The parts of the server's model are those of this one."""
        state = msgspec.json.decode(parts["state.json"])
        assert (state["learned"], state["digest"]) == (self.learned, self.digest)
        coverage = None
        if has_errors(self.model):
            self.model._errors = ErrorQuantiles()
            coverage = Coverage(USUAL_LEVEL, self.model._errors, follows=True)
        said = [row for row in self._said if row[0] is not None]
        joined = [(score, label, weight) for _, score, label, weight in self._served]
        served = [(score, label, weight) for score, _, label, weight in self._served]
        for name, rows in (("progressive", said), ("served", served), ("joined", joined)):
            counted = _counted(Evaluation(self.model, intervals=coverage if name == "progressive" else None), rows)
            assert state[name]["evaluation"] == _as_json(counted.state()), name
        baselines = StreamBaselines(self.model)
        baselines.add([label for _, label, _ in self._said], [weight for *_, weight in self._said])
        assert state["progressive"]["baselines"] == _as_json(baselines.state())
        there = parts["model.unitless"]
        self.model._training = from_bytes(there)._training  # what the features are is no part of what was learned
        assert to_bytes(self.model) == there


def offline(log: Path, task: str, options: dict[str, Any]) -> tuple[Offline, list[str]]:
    """A model after all records of a log in which it is alone; and which ids wait for their labels."""
    model = Offline(task, options)
    waiting: dict[str, tuple[int, dict[str, Any], Any]] = {}
    done: dict[str, int] = {}
    for kind, form, time, content in records(log):
        if kind == TICK:
            tick = msgspec.msgpack.decode(content)
            done = {id: since for id, since in done.items() if since >= tick["done_since"]}
            late = [id for id, (since, *_) in waiting.items() if since < tick["waiting_since"]]
            done |= dict.fromkeys(late, time)
            waiting = {id: one for id, one in waiting.items() if id not in late}
        if kind not in (PREDICTION, LEARN, LABEL):
            continue
        for row in map(json.loads, [content] if form == JSON else content.splitlines()):
            id, features, label, served = row.get("id"), row.get("features"), row.get("label"), None
            if id in done or (kind == PREDICTION and id in waiting):
                continue
            if kind == PREDICTION:
                waiting[id] = time, features, model.predict(features) if model.learned else None
                continue
            if kind == LABEL and id not in waiting:
                continue
            if id in waiting:
                _, first, served = waiting[id]
                features = first if kind == LABEL else features
            if not _usable(task, features, label):
                continue
            model.learn(features, label, 1.0 if row.get("weight") is None else row["weight"], served)
            if id is not None:
                done[id] = time
                waiting.pop(id, None)
    return model, list(waiting)


def _counted(evaluation: Evaluation, rows: list[tuple[Any, Any, float]]) -> Evaluation:
    """Rows in as few calls as possible: those with scores of equally many classes together."""
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
