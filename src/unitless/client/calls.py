"""The methods of both clients. A method with the result `Steps[T]` gives T in `Client`, and a coroutine of T in
`AsyncClient`.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote

import httpx

from ..serve import wire
from ..serve.wire import (
    Explanation,
    Learned,
    Metrics,
    Model,
    Models,
    Prediction,
    Ranked,
    Snapshot,
    Snapshots,
    Weights,
    Written,
)
from . import bodies, many
from .answers import LearnedMany
from .many import Features
from .retries import Patience, problem_of, retry_after, worth_another_try
from .steps import Call, Outcome, Steps

T = TypeVar("T")
Actions: TypeAlias = Sequence[str | int] | Sequence[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]]
JSON, LINES = {"content-type": "application/json"}, {"content-type": "application/x-ndjson"}


class Calls:
    """All requests to a server.

    Args:
        url: the address of the server, for messages.
        retry_for: seconds for which a call without an answer is repeated.
    """

    def __init__(self, url: str, retry_for: float) -> None:
        self._url, self._retry_for = url, retry_for

    # -------------------------------------------------------------------------------------------- one row

    def predict(
        self,
        model: str,
        features: Features,
        *,
        id: str | None = None,
        level: float | None = None,
        min_seq: int | None = None,
    ) -> Steps[Prediction]:
        """Predict a row.

        Args:
            model: the name of a model, or of a stream, whose champion answers.
            features: the features by name; for models that were trained on arrays, a list.
            id: the id with which `label` sends the label later. Default: None, the label will not come.
            level: the level of a prediction interval or set, such as 0.9. Default: None, without it.
            min_seq: the record of the log that the model must have learned; for replicas. Default: None, any.
        """
        request = wire.PredictRequest(features, id, level)
        return self._ask(_post(model, "predict", bodies.body(request), _min_seq(min_seq)), Prediction)

    def learn(
        self, model: str, features: Features, label: Any, *, weight: float | None = None, id: str | None = None
    ) -> Steps[Learned]:
        """Learn a row, once. The answer has the score that the model gave to the row before it learned it.

        Args:
            model: the name of a model or a stream.
            features: the features by name; for models that were trained on arrays, a list.
            label: the label of the row.
            weight: the sample weight. Default: None, which means 1.
            id: the id of the row; a row with an id that was learned before is not learned again. Default: a random id.
        """
        request = wire.LearnRequest(features, label, uuid.uuid4().hex if id is None else id, weight)
        answer = yield from self._ask(_post(model, "learn", bodies.body(request)), Learned)
        return many.own(answer) if id is None else answer

    def label(self, model: str, id: str, label: Any) -> Steps[Learned]:
        """Send the label of a predicted row; the model learns the row.

        Args:
            model: the name of the model or stream that predicted the row.
            id: the id with which the row was predicted.
            label: the label of the row.
        """
        return self._ask(_post(model, "label", bodies.body(wire.LabelRequest(id, label))), Learned)

    def rank(self, model: str, context: Mapping[str, Any], actions: Actions, *, id: str | None = None) -> Steps[Ranked]:
        """Let a bandit choose one of several actions, once: a repeated call with this id gives the same decision.

        Args:
            model: the name of the bandit.
            context: the features, by name.
            actions: names, or features of each: by name, or in a list, where their positions are their names.
            id: the id of the event, with which `reward` sends the reward. Default: a random id, which the answer has.
        """
        request = wire.RankRequest(context, actions, uuid.uuid4().hex if id is None else id)
        answer = yield from self._ask(_post(model, "rank", bodies.body(request)), Ranked)
        return replace(answer, status=None) if id is None else answer

    def reward(self, model: str, id: str, reward: float) -> Steps[Learned]:
        """Send the reward of a decision; the bandit learns it, once.

        Args:
            model: the name of the bandit.
            id: the id of the event.
            reward: the reward of the chosen action.
        """
        return self._ask(_post(model, "reward", bodies.body(wire.RewardRequest(id, reward))), Learned)

    # -------------------------------------------------------------------------------------------- many rows

    def predict_many(
        self,
        model: str,
        rows: Iterable[many.Question] | AsyncIterable[many.Question] | many.Frame,
        *,
        min_seq: int | None = None,
    ) -> many.Rounds[Prediction]:
        """Predict many rows, in their order. A row that cannot be used raises its problem.

        Args:
            model: the name of a model or a stream.
            rows: features, or pairs of features and id; or a frame of pandas, polars or Arrow, whose column `id` has
                the ids.
            min_seq: the record of the log that the model must have learned; for replicas. Default: None, any.
        """
        parts = many.prediction_rows(rows)
        before = 0

        def predictions() -> Steps[list[Prediction]]:
            nonlocal before
            part = yield from parts.next()
            yield from self._settle(part, model, "predict", min_seq)
            found = many.predictions(part, before)
            before += len(part)
            return found

        return predictions

    def learn_many(
        self,
        model: str,
        rows: Iterable[many.Example] | AsyncIterable[many.Example] | many.Frame,
        *,
        label: str = "label",
        each: Callable[[Learned], object] | None = None,
    ) -> Steps[LearnedMany]:
        """Learn many rows, in their order. Rows that cannot be used are left out, and counted in the result.

        Args:
            model: the name of a model or a stream.
            rows: (features, label), (features, label, weight) or (features, label, weight, id); or a frame of pandas,
                polars or Arrow with the columns `weight` and `id`, if they are needed. Missing values are sent as null.
            label: the column of a frame with the labels. Default: "label".
            each: called with the answer to each learned row. Default: None.
        """
        return self._send_all(many.examples(rows, label), model, "learn", each)

    def label_many(
        self,
        model: str,
        labels: Iterable[tuple[str, Any]] | AsyncIterable[tuple[str, Any]],
        *,
        each: Callable[[Learned], object] | None = None,
    ) -> Steps[LearnedMany]:
        """Send many labels. Labels that cannot be used are left out, and counted in the result.

        Args:
            model: the name of a model or a stream.
            labels: pairs of id and label.
            each: called with the answer to each learned row. Default: None.
        """
        return self._send_all(many.labels(labels), model, "label", each)

    # -------------------------------------------------------------------------------------------- models

    def create(self, /, name: str, **options: Any) -> Steps[Model]:
        """Make a model. The same call again changes nothing.

        Args:
            name: the name of the new model.
            options: the options of the model, as for `ul.Learner`, and its `task`, `classes`, `missing` and `text`. To
                add it to the stream of another model: `stream`, the name of the other one; `role`, "challenger" or
                "shadow"; and `replay`, whether it learns the stream's log first.
        """
        return self._ask(Call("PUT", _path(name), bodies.encoded(options), JSON), Model)

    def models(self) -> Steps[Models]:
        """List all models, and the state of the server."""
        return self._ask(Call("GET", "/v1/models"), Models)

    def model(self, name: str) -> Steps[Model]:
        """Describe one model.

        Args:
            name: the name of the model.
        """
        return self._ask(Call("GET", _path(name)), Model)

    def promote(self, name: str) -> Steps[Model]:
        """Make a model the champion of its stream; the champion before becomes a challenger.

        Args:
            name: the name of the model.
        """
        return self._ask(Call("POST", _path(name, "promote")), Model)

    def delete(self, name: str) -> Steps[None]:
        """Delete a model. With its last model, a stream is deleted too.

        Args:
            name: the name of the model.
        """
        return self._ask(Call("DELETE", _path(name)), gone_is_done=True)

    def replay(
        self,
        name: str,
        new: str,
        *,
        skip: Sequence[Any] = (),
        until: int | str | datetime | None = None,
        role: str = "challenger",
    ) -> Steps[Model]:
        """Make a model like another one, without some rows; `wait_ready(new)` waits until it has learned the others.

        Args:
            name: the name of the other model.
            new: the name of the new model.
            skip: the rows that the new model does not learn: sequence numbers, ids, and pairs of the first and the last
                place. A place is a sequence number or a time; None as the last place is the end of the log. Default:
                none.
            until: the last place that the new model learns. It leaves out the rows from there to now, and learns future
                rows. Default: None, the end of the log.
            role: "challenger" or "shadow". Default: "challenger".
        """
        request: dict[str, Any] = {"name": new, "role": role, "skip": bodies.place(list(skip))}
        if until is not None:
            request["until"] = bodies.place(until)
        return self._ask(_post(name, "replay", bodies.encoded(request)), Model)

    def snapshots(self, name: str) -> Steps[list[Snapshot]]:
        """List the snapshots of a model's stream, oldest first.

        Args:
            name: the name of the model.
        """
        return (yield from self._ask(Call("GET", _path(name, "snapshots")), Snapshots))["snapshots"]

    def snapshot(self, name: str) -> Steps[Written]:
        """Write the state of a model's stream to disk now, so that a restart has little to replay.

        Args:
            name: the name of the model.
        """
        return self._ask(Call("POST", _path(name, "snapshot")), Written)

    def metrics(self, name: str) -> Steps[Metrics]:
        """Get the progressive metrics of a model, the delays of its labels, and the state of its log.

        Args:
            name: the name of the model.
        """
        return self._ask(Call("GET", _path(name, "metrics")), Metrics)

    def explain(self, name: str, features: Features) -> Steps[Explanation]:
        """Explain a prediction: the contribution of each feature.

        Args:
            name: the name of the model.
            features: the features of the row, as for `predict`.
        """
        return self._ask(_post(name, "explain", bodies.body(wire.ExplainRequest(features))), Explanation)

    def weights(self, name: str, *, most: int = 100) -> Steps[Weights]:
        """Get the features with the largest effects and, where the model has them, their curves.

        Args:
            name: the name of the model.
            most: the largest number of features. Default: 100.
        """
        return self._ask(Call("GET", _path(name, "weights"), params={"most": str(most)}), Weights)

    def download(self, name: str, path: str | os.PathLike[str]) -> Steps[None]:
        """Save a model as a file, for `ul.load` or `ul.Predictor`; the file is written completely or not at all.

        Args:
            name: the name of the model.
            path: the file to write.
        """
        return self._ask(Call("GET", _path(name, "file"), into=path))

    def wait_ready(self, model: str | None = None, *, timeout: float = 30.0) -> Steps[None]:
        """Wait until the server takes requests and, if a model is named, until it has replayed the log.

        Args:
            model: the name of the model. Default: None, no model is waited for.
            timeout: after so many seconds an error is raised. Default: 30.
        """
        yield from self._ask(Call("GET", "/health/ready"), patience=timeout)
        patience = Patience(timeout)
        while model is not None and (yield from self.model(model))["status"] != "ready":
            yield patience.next_pause(f"{model!r} is not ready after {timeout:g} seconds")

    # -------------------------------------------------------------------------------------------- repeated calls

    def _ask(
        self, call: Call, kind: type[T] | None = None, *, patience: float | None = None, gone_is_done: bool = False
    ) -> Steps[T]:
        """Send a request until it is answered.

        Args:
            call: the request.
            kind: of the answer; None: it has no content.
            patience: seconds for which it is repeated, if not those of the client.
            gone_is_done: a repeated request that finds nothing was carried out the first time.
        """
        answer = yield from self._answered(call, patience, gone_is_done)
        return None if kind is None else bodies.decoded(answer, kind)  # type: ignore[return-value]

    def _answered(self, call: Call, seconds: float | None = None, gone_is_done: bool = False) -> Steps[httpx.Response]:
        patience, repeated = Patience(self._retry_for if seconds is None else seconds), False
        while True:
            outcome: Outcome = yield call
            if isinstance(outcome, httpx.Response) and (
                outcome.is_success or (gone_is_done and repeated and outcome.status_code == 404)
            ):
                return outcome
            pause = patience.pause(retry_after(outcome)) if worth_another_try(outcome) else None
            if pause is None:
                raise problem_of(outcome, self._url) from (outcome if isinstance(outcome, Exception) else None)
            repeated = True
            yield pause

    def _settle(self, part: many.Part, model: str, action: str, min_seq: int | None = None) -> Steps[None]:
        """Send the rows of a part until each has its answer."""
        patience = Patience(self._retry_for)
        while part.waiting:
            call = _post(model, action, part.content(), LINES | _min_seq(min_seq), {"answers": "all"})
            progress = part.take(bodies.decoded_lines((yield from self._answered(call))))
            patience = Patience(self._retry_for) if progress else patience
            if part.waiting:
                pause = patience.pause()
                if pause is None:
                    raise part.problem()
                yield pause

    def _send_all(
        self, parts: many.Parts, model: str, action: str, each: Callable[[Learned], object] | None
    ) -> Steps[LearnedMany]:
        total = LearnedMany()
        while part := (yield from parts.next()):
            yield from self._settle(part, model, action)
            many.count(total, part, each)
        return total


def _post(
    name: str,
    action: str,
    content: bytes,
    headers: Mapping[str, str] | None = None,
    params: Mapping[str, str] | None = None,
) -> Call:
    return Call("POST", _path(name, action), content, {**JSON, **(headers or {})}, params or {})


def _path(name: str, *action: str) -> str:
    return "/".join(["/v1/models", quote(name, safe=""), *action])


def _min_seq(seq: int | None) -> dict[str, str]:
    return {} if seq is None else {"unitless-min-seq": str(seq)}
