"""The description of the server's addresses, OpenAPI 3.1, made from the records that read and write their JSON."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ...version import __version__
from . import inference_v2
from .answering import LARGE, MODES
from .bodies import ARROW, CSV, LINES

JSON, PROBLEM = "application/json", "application/problem+json"


class Prediction(msgspec.Struct):
    """A row to predict. With an id it waits for its label."""

    features: dict[str, Any] | list[float]
    id: str | None = None
    level: float | None = None


class Example(msgspec.Struct):
    """A row to learn."""

    features: dict[str, Any] | list[float]
    label: str | float | bool
    weight: float = 1.0
    id: str | None = None


class Label(msgspec.Struct):
    """The label of an earlier prediction."""

    id: str
    label: str | float | bool
    weight: float = 1.0


class Predicted(msgspec.Struct):
    """What a model says of a row, and after which record."""

    score: float
    prediction: str | float | bool | None
    seq: int
    model: str
    probability: float | None = None
    scores: dict[str, float] | None = None
    probabilities: dict[str, float] | None = None
    unknown: list[str] | None = None
    status: str | None = None
    level: float | None = None
    low: float | None = None
    high: float | None = None
    set: list[str | float | bool] | None = None


class Learned(msgspec.Struct):
    """What came of a row: "learned" or "duplicate"; the score is that of the model before it learned the row."""

    score: float
    seq: int
    status: str


class Rows(msgspec.Struct):
    """Rows that a replay leaves out.

    A place is a sequence number, or a time as ISO 8601 has it. `skip` lists sequence numbers, ids and pairs of places,
    the first and the last (null: the last of the log). `until` is the last place that is learned.
    """

    skip: list[int | str | list[int | str | None]] = []
    until: int | str | None = None


class Replay(Rows, kw_only=True):
    """A new model like another one, without some rows."""

    name: str
    role: Literal["challenger", "shadow"] = "challenger"


class Replayed(msgspec.Struct):
    """Which history a model learned before it joined: that of which model, up to which record, without which ones."""

    of: str | None
    seq: int
    skipped: list[list[int]]


class Model(msgspec.Struct):
    """What a new model is to be: its place, and options as those of `unitless.Learner`."""

    stream: str | None = None
    role: str | None = None
    replay: bool | Rows = False
    task: str | None = None
    classes: list[str | float | bool] | None = None
    missing: str | None = None
    loss: str | None = None
    model_type: str | None = None
    members: str | None = None
    learning_rate: float | str | None = None
    interactions: str | int | list[list[str]] | None = None
    bits: int | None = None
    quantile: float | None = None
    sparsity: float | str | None = None
    l2: float | None = None


class Summary(msgspec.Struct):
    """A model in short."""

    name: str
    stream: str
    role: str
    status: str
    examples: int
    metrics: dict[str, float | None]
    notes: list[str]
    progress: float | None = None
    task: str | None = None
    loss: str | None = None
    model_type: str | None = None
    members: dict[str, float | None] = {}
    classes: list[str | float | bool] | None = None
    weight: float = 0.0
    judged_by: str = "loss"
    waiting: int = 0
    seq: int = 0
    created: float = 0.0
    bytes: int = 0


class Details(Summary):
    """A model."""

    options: dict[str, Any] = {}
    replay: Replayed | None = None
    features: int | None = 0
    columns: dict[str, str] = {}  # of text, where they are not names of categories: "date", ..., "left out"
    digest: int = 0


class ServerFacts(msgspec.Struct):
    """The server."""

    version: str
    started: float
    durability: str
    replica: bool
    seq: int


class Quarantined(msgspec.Struct):
    """A stream that could not be recovered, and is not served."""

    name: str
    problem: str
    folder: str


class Models(msgspec.Struct):
    """All models and the server."""

    models: list[Summary]
    quarantined: list[Quarantined]
    server: ServerFacts


class Log(msgspec.Struct):
    """How far a log is."""

    seq: int
    synced_seq: int
    snapshot_seq: int
    bytes: int
    segments: int
    lag: int


class Rival(msgspec.Struct):
    """A model of the same stream."""

    name: str
    role: str
    metrics: dict[str, float | None]


class Metrics(msgspec.Struct):
    """How good a model is, by predictions that it made before it learned the rows."""

    name: str
    stream: str
    seq: int
    time: float
    examples: int
    progressive: dict[str, float | None]
    curve: list[list[float | None]]
    waiting: int
    expired: int
    duplicates: int
    rejected: int
    models: list[Rival]
    log: Log
    moments: dict[str, list[dict[str, Any]]]
    recent: list[dict[str, Any]]
    metrics_ci: list[float | None] | None = None
    baseline: dict[str, Any] | None = None
    served: dict[str, float | None] | None = None
    joined: dict[str, float | None] | None = None
    delay_cost: float | None = None


class Features(msgspec.Struct):
    """A row to explain."""

    features: dict[str, Any] | list[float]


class Contribution(msgspec.Struct):
    """A feature's part in a score."""

    feature: str
    value: float | str | bool | None
    contribution: float | None


class Explanation(msgspec.Struct):
    """Why a model says what it says."""

    score: float
    prediction: str | float | bool | None
    bias: float | None
    contributions: list[Contribution]


class Weight(msgspec.Struct):
    """What a feature matters."""

    feature: str
    weight: float | None
    scale: float | None
    importance: float | None


class Curve(msgspec.Struct):
    """What a feature adds to the score, by its value."""

    feature: str
    x: list[float | str | None]
    y: list[float | None]


class Weights(msgspec.Struct):
    """What matters to a model."""

    features: list[Weight]
    curves: list[Curve]
    classes: dict[str, list[Weight]] | None = None


class Snapshot(msgspec.Struct):
    """The last record that a snapshot has."""

    stream: str
    snapshot_seq: int


class State(msgspec.Struct):
    """A snapshot: the last record that it has, its time, rows learned by then, its size, and which models it has."""

    seq: int
    time: str
    rows: int
    bytes: int
    models: list[str]


class Snapshots(msgspec.Struct):
    """The snapshots of a stream, oldest first."""

    stream: str
    snapshots: list[State]


class Status(msgspec.Struct, omit_defaults=True):
    """Whether the server lives, or is ready; which streams could not be recovered (without a token: how many)."""

    status: str
    quarantined: dict[str, str] | int | None = None


class ProblemDetails(msgspec.Struct):
    """Why a request was not carried out (RFC 9457)."""

    title: str
    status: int
    type: str = "about:blank"
    detail: str | None = None
    row: int | None = None


_NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "A stream, which its champion answers for, or one of its models.",
    "schema": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"},
}
_SEQ = {
    "name": "Unitless-Min-Seq",
    "in": "header",
    "description": "Wait until this record has been applied, at most five seconds.",
    "schema": {"type": "integer"},
}
_ANSWERS = {
    "name": "answers",
    "in": "query",
    "description": "Of many rows: which have a line of their own. Where not all have one, the last line is a summary. "
    f"Default: all; problems for rows to learn if the body has more than {LARGE:,} bytes or no Content-Length.",
    "schema": {"type": "string", "enum": list(MODES)},
}
_WHY = {
    400: "The body cannot be parsed.",
    401: "The token is missing or not known.",
    403: "The token's role is too low.",
    404: "There is no such model or id.",
    409: "The name or the id is taken by something else.",
    410: "The label came too late.",
    413: "The body is too large.",
    415: "The body is of another type.",
    422: "The row or an option cannot be used.",
    429: "Too many rows wait.",
    503: "The server recovers, or its disk is full.",
}


def _query(name: str, about: str, kind: str = "string") -> dict[str, Any]:
    return {"name": name, "in": "query", "description": about, "schema": {"type": kind}}


class _Document:
    """Collects the addresses and the records that they use."""

    def __init__(self) -> None:
        self.paths: dict[str, dict[str, Any]] = {}
        self._used: list[Any] = [ProblemDetails]

    def _ref(self, record: Any) -> dict[str, Any]:
        if record not in self._used:
            self._used.append(record)
        return {"schema": {"$ref": f"#/components/schemas/{record.__name__}"}}

    def add(
        self,
        method: str,
        path: str,
        about: str,
        *,
        takes: dict[str, Any] | None = None,
        gives: dict[str, Any] | None = None,
        status: int = 200,
        problems: tuple[int, ...] = (),
        more: tuple[dict[str, Any], ...] = (),
        open: bool = False,
    ) -> None:
        """Describe one address."""
        words = [part.strip("{}").replace(".", "_") for part in path.split("/") if part]
        described: dict[str, Any] = {
            "summary": about,
            "operationId": "_".join([method, *words]) if words else f"{method}_page",
        }
        parameters = [*([_NAME] if "{name}" in path else []), *more]
        if parameters:
            described["parameters"] = parameters
        if takes is not None:
            described["requestBody"] = {"required": True, "content": self._content(takes)}
        good: dict[str, Any] = {"description": "Done." if gives is None else about}
        if gives is not None:
            good["content"] = self._content(gives)
        described["responses"] = {str(status): good}
        needed = (*problems, *(() if open else (401, 403)), *((404,) if "{name}" in path else ()))
        for problem in sorted(set(needed)):
            error = {JSON: inference_v2.InferError} if path.startswith("/v2") else {PROBLEM: ProblemDetails}
            described["responses"][str(problem)] = {"description": _WHY[problem], "content": self._content(error)}
        if open:
            described["security"] = []
        self.paths.setdefault(path, {})[method] = described

    def _content(self, kinds: dict[str, Any]) -> dict[str, Any]:
        return {kind: {} if record is None else self._ref(record) for kind, record in kinds.items()}

    def encoded(self) -> bytes:
        """The whole document."""
        _, components = msgspec.json.schema_components(self._used, ref_template="#/components/schemas/{name}")
        return msgspec.json.encode(
            {
                "openapi": "3.1.0",
                "info": {
                    "title": "unitless",
                    "version": __version__,
                    "summary": "A learning server that loses nothing.",
                },
                "security": [{"token": []}],
                "paths": self.paths,
                "components": {
                    "schemas": components,
                    "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
                },
            }
        )


def document() -> bytes:
    """The description of all addresses."""
    found = _Document()
    one = "/v1/models/{name}"
    page = {"text/html": None}
    found.add("get", "/", "The live page.", gives=page, open=True)
    found.add("get", "/page/{path}", "A file of the page.", gives={"*/*": None}, open=True, more=(_path("path"),))
    found.add("get", "/health/live", "The process lives.", gives={JSON: Status}, open=True)
    ready = "Rows can be learned: 503 if the disk is full or a log has failed."
    found.add("get", "/health/ready", ready, gives={JSON: Status}, problems=(503,), open=True)
    found.add("get", "/openapi.json", "This description.", gives={JSON: None}, open=True)
    found.add("get", "/metrics", "Numbers for Prometheus.", gives={"text/plain": None})
    found.add("get", "/v1/models", "All models.", gives={JSON: Models})
    found.add(
        *("put", one, "Make a model. The same request again changes nothing."),
        takes={JSON: Model, "application/octet-stream": None},
        gives={JSON: Details},
        status=201,
        problems=(400, 409, 415, 422, 429, 503),
    )
    found.paths[one]["put"]["responses"]["200"] = {
        "description": "It is there already, made by the same request.",
        "content": found._content({JSON: Details}),
    }
    found.paths[one]["put"]["responses"]["202"] = {
        "description": "It learns from the history of its stream first, and joins when it has.",
        "content": found._content({JSON: Summary}),
    }
    found.add("get", one, "A model.", gives={JSON: Details})
    found.add("delete", one, "Delete a model; with the last one its stream.", status=204, problems=(409,))
    found.add("post", one + "/promote", "Make a model the champion of its stream.", gives={JSON: Details})
    found.add(
        *("post", one + "/replay", "Make a model like this one, without some rows; it joins as a challenger."),
        takes={JSON: Replay},
        gives={JSON: Summary},
        status=202,
        problems=(400, 409, 415, 422, 429, 503),
    )
    found.paths[one + "/replay"]["post"]["responses"]["200"] = {
        "description": "It is there already, made by the same request.",
        "content": found._content({JSON: Details}),
    }
    found.add("get", one + "/snapshots", "The snapshots of its stream.", gives={JSON: Snapshots})
    found.add("post", one + "/snapshot", "Write a snapshot now.", gives={JSON: Snapshot}, problems=(503,))
    found.add(
        *("get", one + "/file", "The model as a file."), gives={"application/octet-stream": None}, problems=(422,)
    )
    for action, about, takes, gives in (
        ("predict", "Predict a row, or many.", Prediction, Predicted),
        ("learn", "Learn a row, or many.", Example, Learned),
        ("label", "Learn the labels of earlier predictions.", Label, Learned),
    ):
        batches = {LINES: takes, CSV: None, ARROW: None}
        found.add(
            *("post", f"{one}/{action}", about),
            takes={JSON: takes, **batches},
            gives={JSON: gives, LINES: gives},
            problems=(400, 409, 413, 415, 422, 429, 503, *((410,) if action == "label" else ())),
            more=(
                _query("model", "Another model of the stream."),
                _query("label", "The column with the labels, in CSV and Arrow; label if not given."),
                _ANSWERS,
                _SEQ,
            ),
        )
    found.add(
        *("get", one + "/explain", "Why a model says what it says, of a prediction that waits or of features."),
        gives={JSON: Explanation},
        problems=(400, 422),
        more=(_query("id", "Of a prediction."), _query("features", "JSON."), _query("model", "Another model.")),
    )
    found.add(
        *("post", one + "/explain", "Why a model says what it says."),
        takes={JSON: Features},
        gives={JSON: Explanation},
        problems=(400, 415, 422),
        more=(_query("model", "Another model of the stream."),),
    )
    found.add(
        *("get", one + "/weights", "What matters to a model."),
        gives={JSON: Weights},
        problems=(422,),
        more=(_query("most", "How many features.", "integer"),),
    )
    found.add("get", one + "/metrics", "How good a model is.", gives={JSON: Metrics})
    found.add("get", one + "/events", "What happens, as it happens.", gives={"text/event-stream": None})
    found.add("get", "/v2", "The server, for the Open Inference Protocol.", gives={JSON: None}, open=True)
    found.add("get", "/v2/health/live", "The process lives.", gives={JSON: None}, open=True)
    found.add("get", "/v2/health/ready", "Requests are taken.", gives={JSON: None}, problems=(503,), open=True)
    for one in ("/v2/models/{name}", f"/v2/models/{{name}}/versions/{inference_v2.VERSION}"):
        found.add("get", one, "A model's versions, inputs and outputs.", gives={JSON: None})
        found.add("get", one + "/ready", "Whether a model is ready.", gives={JSON: None})
        found.add(
            *("post", one + "/infer", "Predict rows."),
            takes={JSON: inference_v2.InferRequest},
            gives={JSON: inference_v2.InferResponse},
            problems=(400, 413, 415, 422),
        )
    return found.encoded()


def _path(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
