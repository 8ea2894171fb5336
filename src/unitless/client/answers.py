"""What a server answers, as typed records; answers that are only looked at are dictionaries, as they were sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypedDict

from ..errors import Error

if TYPE_CHECKING:
    from typing_extensions import Self


class ClientError(Error):
    """The server said no, or nothing.

    Args:
        title: what kind of problem it is.
        detail: what is wrong here, and what to do.
        status: of HTTP; None if there was no answer.
        fields: all that the server said (problem+json).
    """

    def __init__(
        self, title: str, detail: str = "", *, status: int | None = None, fields: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(title, advice=detail)
        self.title, self.detail, self.status, self.fields = title, detail, status, dict(fields or {})

    def __str__(self) -> str:
        said = f"{self.title}: {self.detail}" if self.detail else self.title
        return said if self.status is None else f"{self.status} {said}"


class _FromFields:
    """A record that is made from the fields of an answer; it leaves alone those that it does not know."""

    @classmethod
    def from_fields(cls, answer: Mapping[str, Any]) -> Self:
        known = {one.name for one in fields(cls)}  # type: ignore[arg-type]  # every subclass is a dataclass
        return cls(**{name: value for name, value in answer.items() if name in known})


@dataclass(frozen=True)
class Prediction(_FromFields):
    """What a model says of a row.

    Args:
        prediction: a number, or a label.
        score: the number behind it; of several classes that of the predicted one.
        probability: of the prediction, where classes are predicted.
        probabilities: of each class.
        scores: of each class, where there are more than two.
        level: the probability with which `low`, `high` and `set` hold, if limits were asked for.
        low: the truth is not below, with this probability; None: nothing is known of it.
        high: the truth is not above.
        set: classes among which the truth is, with this probability.
        unknown: features that the model has never seen, and did not use; at most 20 are named.
        model: who answered.
        seq: the place in the log up to which the model had learned, or where a prediction with an id stands.
    """

    prediction: Any = None
    score: float | None = None
    probability: float | None = None
    probabilities: dict[str, float] | None = None
    scores: dict[str, float] | None = None
    level: float | None = None
    low: float | None = None
    high: float | None = None
    set: list[Any] | None = None
    unknown: list[str] | None = None
    model: str | None = None
    seq: int | None = None


@dataclass(frozen=True)
class Learned(_FromFields):
    """That a row is learned.

    Args:
        status: "learned", or "duplicate" if a row with this id was learned before.
        score: what the champion said of the row before it was learned; 0 if it knew nothing yet.
        seq: the place of the row in the log.
    """

    status: str = "learned"
    score: float | None = None
    seq: int | None = None


@dataclass(frozen=True)
class RowProblem:
    """A row of many that was refused; the others are not affected.

    Args:
        row: counted from 0.
        error: what was wrong.
    """

    row: int
    error: ClientError


@dataclass
class LearnedMany:
    """What became of many rows.

    Args:
        learned: how many were learned.
        duplicates: how many had been learned before, by their id.
        problems: those that were refused.
        seq: the place of the last one in the log.
    """

    learned: int = 0
    duplicates: int = 0
    problems: list[RowProblem] = field(default_factory=list)
    seq: int | None = None

    @property
    def rows(self) -> int:
        """How many were sent."""
        return self.learned + self.duplicates + len(self.problems)


class Model(TypedDict, total=False):
    """A model in service."""

    name: str
    stream: str
    role: str  # "champion", "challenger" or "shadow"
    task: str | None
    loss: str | None
    model_type: str | None
    members: dict[str, float]
    classes: list[Any] | None
    examples: int
    weight: float
    metrics: dict[str, float]  # progressive
    judged_by: str | None
    waiting: int  # ids that wait for their label
    seq: int
    created: float
    status: str  # "ready", "replaying" or "recovering"
    progress: float | None
    bytes: int
    notes: list[str]
    options: dict[str, Any]
    replay: dict[str, Any] | None  # which rows it learned before it joined
    features: int
    digest: int


class Models(TypedDict):
    """All models, and the server itself."""

    models: list[Model]
    quarantined: list[dict[str, str]]  # streams that could not be recovered: name, problem, folder
    server: dict[str, Any]


class Snapshot(TypedDict):
    """The state of a stream on disk."""

    seq: int  # the last record that it has
    time: str  # of that record
    rows: int  # learned by then
    bytes: int
    models: list[str]


class Metrics(TypedDict, total=False):
    """How good a model is, and how its log is."""

    name: str
    seq: int
    time: float
    examples: int
    progressive: dict[str, float]
    metrics_ci: list[float]
    curve: list[list[float | None]]
    baseline: dict[str, float] | None
    served: dict[str, float] | None
    joined: dict[str, float] | None
    delay_cost: float | None
    waiting: int
    expired: int
    duplicates: int
    rejected: int
    models: list[dict[str, Any]]
    log: dict[str, Any]
    moments: dict[str, list[dict[str, Any]]]
    recent: list[dict[str, Any]]


class Contribution(TypedDict):
    """What one feature adds to a score."""

    feature: str
    value: Any
    contribution: float


class Explanation(TypedDict, total=False):
    """Why a prediction is what it is."""

    prediction: Any
    score: float
    bias: float
    contributions: list[Contribution]


Weight = TypedDict(
    "Weight", {"feature": str, "weight": float, "scale": float, "importance": float, "class": Any}, total=False
)


class Curve(TypedDict):
    """What a feature adds to the score, by its value."""

    feature: str
    x: list[float]
    y: list[float]


class Weights(TypedDict, total=False):
    """The most important features of a model."""

    features: list[Weight]
    curves: list[Curve]
