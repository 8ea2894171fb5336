"""The client that waits for each answer."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from .. import whole_file
from . import calls, connection, many
from .answers import Explanation, Learned, LearnedMany, Metrics, Model, Models, Prediction, Snapshot, Weights
from .calls import Attempts, Call, Features
from .retries import Patience

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


class Client:
    """A client of `unitless serve`. It may be used by several threads.

    Args:
        url: of the server.
        token: that the server asks for; without it that of the environment variable UNITLESS_TOKEN.
        timeout: seconds to wait for a connection, and for each part of an answer.
        retry_for: seconds for which a call is repeated that gets no answer or is told to come later; 0: never.
        http: an `httpx.Client` with its own certificates or proxies; url, token and timeout are set there.
    """

    def __init__(
        self,
        url: str = connection.URL,
        *,
        token: str | None = None,
        timeout: float = 10.0,
        retry_for: float = 30.0,
        http: httpx.Client | None = None,
    ) -> None:
        self._http = httpx.Client(**connection.options(url, token, timeout)) if http is None else http
        self._retry_for = retry_for

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._http.close()

    def predict(
        self,
        model: str,
        features: Features,
        *,
        id: str | None = None,
        level: float | None = None,
        min_seq: int | None = None,
    ) -> Prediction:
        """What a model says of a row.

        Args:
            id: by which the label is to come later, with `label`.
            level: the probability with which limits of the prediction are to hold, such as 0.9.
            min_seq: the model must have learned up to this place of its log; for replicas.
        """
        return self._ask(calls.predict(model, features, id, level, min_seq))

    def learn(
        self, model: str, features: Features, label: Any, *, weight: float | None = None, id: str | None = None
    ) -> Learned:
        """Learn a row, once. Gives what the model said of it before."""
        return self._ask(calls.learn(model, features, label, weight, id))

    def label(self, model: str, id: str, label: Any) -> Learned:
        """The label of the row that was predicted with this id; the model learns it."""
        return self._ask(calls.label(model, id, label))

    def predict_many(
        self, model: str, rows: Iterable[many.Question] | many.Frame, *, min_seq: int | None = None
    ) -> Iterator[Prediction]:
        """What a model says of many rows, in their order. A row that cannot be used raises its problem.

        Args:
            rows: features, or pairs of features and id; or a frame of pandas, polars or Arrow, whose column `id` is
                the id.
        """
        before = 0
        for part in many.questions(model, self._retry_for, min_seq).of(many.asked(rows)):
            self._settle(part)
            yield from many.predictions(part, before)
            before += len(part)

    def learn_many(
        self,
        model: str,
        rows: Iterable[many.Example] | many.Frame,
        *,
        label: str = "label",
        each: Callable[[Learned], object] | None = None,
    ) -> LearnedMany:
        """Learn many rows, in their order. Rows that cannot be used are left out, and counted in the result.

        Args:
            rows: (features, label), (features, label, weight) or (features, label, weight, id); or a frame of pandas,
                polars or Arrow, whose columns `weight` and `id` are what they say. Missing values are sent as null.
            label: the column of a frame with the labels. Default: "label".
            each: is called with the answer to each row that is learned.
        """
        return self._send_all(many.examples(model, self._retry_for).of(many.given(rows, label)), each)

    def label_many(
        self, model: str, labels: Iterable[tuple[str, Any]], *, each: Callable[[Learned], object] | None = None
    ) -> LearnedMany:
        """Many labels, as pairs of id and label."""
        return self._send_all(many.labels(model, self._retry_for).of(labels), each)

    def create(self, name: str, **options: Any) -> Model:
        """A new model, with options as in `ul.train`; beside another one with `stream`, `role` and `replay`."""
        return self._ask(calls.create(name, options))

    def models(self) -> Models:
        """All models, and the server itself."""
        return self._ask(calls.models())

    def model(self, name: str) -> Model:
        """One model."""
        return self._ask(calls.model(name))

    def promote(self, name: str) -> dict[str, Any]:
        """Make a model the champion of its stream; the one before becomes a challenger."""
        return self._ask(calls.promote(name))

    def delete(self, name: str) -> None:
        """Remove a model, and with the last one its stream."""
        self._ask(calls.delete(name))

    def replay(
        self,
        name: str,
        new: str,
        *,
        skip: Sequence[Any] = (),
        until: int | str | datetime | None = None,
        role: str = "challenger",
    ) -> Model:
        """Make a model like another one, without some rows; `wait_ready(new)` waits until it has learned the others.

        Args:
            name: of the other model.
            new: the name of the new one.
            skip: rows that it does not learn: sequence numbers, ids, and pairs of the first and the last place. A place
                is a sequence number or a time; None as the last one is the end of the log.
            until: the last place that it learns. Rows from there to now are left out, those to come are learned.
            role: "challenger" or "shadow".
        """
        return self._ask(calls.replay(name, new, role, skip, until))

    def snapshots(self, name: str) -> list[Snapshot]:
        """The snapshots of the model's stream, oldest first."""
        return self._ask(calls.snapshots(name))

    def snapshot(self, name: str) -> dict[str, Any]:
        """Write the state of the model's stream to disk, so that a restart has little to replay."""
        return self._ask(calls.snapshot(name))

    def metrics(self, name: str) -> Metrics:
        """How good a model is: progressive scores, delays of labels, the log."""
        return self._ask(calls.metrics(name))

    def explain(self, name: str, features: Features) -> Explanation:
        """What each feature adds to a prediction."""
        return self._ask(calls.explain(name, features))

    def weights(self, name: str, *, most: int = 100) -> Weights:
        """The most important features, and the curves where the model has them."""
        return self._ask(calls.weights(name, most))

    def download(self, name: str, path: str | os.PathLike[str]) -> None:
        """Save the model as a file, for `ul.load` or `ul.Predictor`; the file is written completely or not at all."""
        call = calls.file(name)
        attempts = Attempts(call, self._retry_for, self._url)
        while (pause := self._downloaded(call, attempts, path)) is not None:
            time.sleep(pause)

    def wait_ready(self, model: str | None = None, *, timeout: float = 30.0) -> None:
        """Wait until the server takes requests and, if a model is named, until it has learned what it is to replay."""
        self._ask(calls.ready(), patience=timeout)
        patience = Patience(timeout)
        while model is not None and self.model(model)["status"] != "ready":
            time.sleep(patience.next_pause(f"{model!r} is not ready after {timeout:g} seconds"))

    @property
    def _url(self) -> str:
        return str(self._http.base_url)

    def _ask(self, call: Call[T], patience: float | None = None) -> T:
        attempts = Attempts(call, self._retry_for if patience is None else patience, self._url)
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = self._http.send(self._request(call))
            except httpx.TransportError as error:
                outcome = error
            pause = attempts.pause(outcome)
            if pause is None and isinstance(outcome, httpx.Response):
                return call.read(outcome)
            time.sleep(pause or 0.0)

    def _request(self, call: Call[Any]) -> httpx.Request:
        return self._http.build_request(
            call.method, call.path, content=call.content, headers=call.headers, params=call.params
        )

    def _downloaded(self, call: Call[None], attempts: Attempts[None], path: str | os.PathLike[str]) -> float | None:
        try:
            answer = self._http.send(self._request(call), stream=True)
            with contextlib.closing(answer):
                if not answer.is_success:
                    answer.read()
                    return attempts.pause(answer)
                with whole_file.opened(path) as file:
                    for piece in answer.iter_bytes():
                        file.write(piece)
        except httpx.TransportError as error:
            return attempts.pause(error)
        return None

    def _settle(self, part: many.Part) -> None:
        """Send a part until each row has its answer."""
        while (pause := part.take(self._ask(part.call()))) is not None:
            time.sleep(pause)

    def _send_all(self, parts: Iterator[many.Part], each: Callable[[Learned], object] | None) -> LearnedMany:
        total = LearnedMany()
        for part in parts:
            self._settle(part)
            many.count(total, part, each)
        return total
