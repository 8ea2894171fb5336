"""The JSON between the server and its clients: each request and each answer, declared once.

The server writes these answers, the clients read them, and `/openapi.json` is made from these declarations. Answers
that programs compute with are records; those that people look at are dictionaries, as the server sent them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import msgspec

# ------------------------------------------------------------------------------------------ requests


class PredictRequest(msgspec.Struct, omit_defaults=True):
    """A row to predict. With an id it waits for its label; with a level the answer has limits of the prediction."""

    features: Mapping[str, Any] | Sequence[float]
    id: str | None = None
    level: float | None = None


class LearnRequest(msgspec.Struct, omit_defaults=True):
    """A row to learn."""

    features: Mapping[str, Any] | Sequence[float]
    label: Any
    id: str | None = None
    weight: float | None = None


class LabelRequest(msgspec.Struct, omit_defaults=True):
    """The label of an earlier prediction."""

    id: str
    label: Any
    weight: float | None = None


class RankRequest(msgspec.Struct, omit_defaults=True):
    """A decision that a bandit is to make. Without an id nothing is decided: the answer has the propensities alone.

    Actions are names, or features: by name, or in a list, where their positions are their names.
    """

    context: Mapping[str, Any]
    actions: Sequence[str | int | Mapping[str, Any]] | Mapping[str, Mapping[str, Any]]
    id: str | None = None
    deferred: bool = False


class RewardRequest(msgspec.Struct):
    """The reward of an earlier decision."""

    id: str
    reward: float


class ActivateRequest(msgspec.Struct):
    """A deferred decision is carried out. Until then it gets no default reward."""

    id: str


class ExplainRequest(msgspec.Struct):
    """A row to explain."""

    features: Mapping[str, Any] | Sequence[float]


class SkippedRows(msgspec.Struct):
    """Rows that a replay leaves out.

    A place is a sequence number, or a time in the form of ISO 8601. `skip` lists sequence numbers, ids and pairs of
    places, the first and the last (null: the end of the log). `until` is the last place that is learned.
    """

    skip: list[int | str | list[int | str | None]] = []
    until: int | str | None = None


class ReplayRequest(SkippedRows, forbid_unknown_fields=True, kw_only=True):
    """A new model like another one, without some rows."""

    name: str
    role: Literal["challenger", "shadow"] = "challenger"


class CreateRequest(msgspec.Struct):
    """A new model: its place among the models of a stream, and options as those of `unitless.Learner`.

    With the task "bandit" it is a bandit, with options as those of `unitless.Bandit`.
    """

    stream: str | None = None
    role: str | None = None
    replay: bool | SkippedRows = False
    task: str | None = None
    classes: list[str | float | bool] | None = None
    missing: str | None = None
    loss: str | None = None
    model_type: str | None = None
    ensemble: bool | None = None
    learning_rate: float | str | None = None
    interactions: str | int | list[list[str]] | None = None
    bits: int | None = None
    quantile: float | None = None
    sparsity: float | str | None = None
    l2: float | None = None
    n_trees: int | None = None
    max_leaves: int | None = None
    tree_patience: int | None = None
    random_state: int | None = None
    time_limit: float | None = None
    default_reward: float | None = None
    max_pending: int | None = None


# ------------------------------------------------------------------------------------------ answers to rows


@dataclass(frozen=True)
class Prediction:
    """The prediction of a model for a row.

    Args:
        prediction: a number, or a label.
        score: the number that the prediction is made from; of several classes that of the predicted one.
        seq: the record up to which the model had learned; of a prediction with an id, its own record.
        model: the model that answered.
        probability: of the prediction, where classes are predicted.
        probabilities: of each class.
        scores: of each class, where there are more than two.
        level: the probability with which `low`, `high` and `set` are right, if the request had a level.
        low: the label is not below this, with that probability.
        high: the label is not above this, with that probability.
        set: classes that contain the label.
        unknown: features that the model has never seen, and did not use; at most 20 are named.
        status: "duplicate" if a prediction with this id was made before.
    """

    prediction: Any
    score: float | None = None
    seq: int | None = None
    model: str | None = None
    probability: float | None = None
    probabilities: dict[str, float | None] | None = None
    scores: dict[str, float | None] | None = None
    level: float | None = None
    low: float | None = None
    high: float | None = None
    set: list[Any] | None = None
    unknown: list[str] | None = None
    status: str | None = None


@dataclass(frozen=True)
class Ranked:
    """The decision of a bandit.

    Args:
        propensities: the probability of each action, by name. They add up to 1.
        id: of the event, by which its reward is to come.
        action: the chosen action: its name or, of features in a list, its position.
        propensity: the probability of the chosen action.
        expected: the expected reward of each action; null before the first reward.
        seq: the record of the decision.
        model: the bandit.
        status: "duplicate" if the decision was made before; it is answered again.
    """

    propensities: dict[str, float]
    id: str | None = None
    action: str | int | None = None
    propensity: float | None = None
    expected: dict[str, float | None] | None = None
    seq: int | None = None
    model: str | None = None
    status: str | None = None


@dataclass(frozen=True)
class Learned:
    """The answer to a row that was learned.

    Args:
        status: "learned", or "duplicate" if a row with this id was learned before.
        score: the champion's score for the row before it was learned; 0 if it knew nothing yet. Rewards have none.
        seq: the record of the row.
    """

    status: str
    score: float | None = None
    seq: int | None = None


class ProblemDetails(msgspec.Struct):
    """Why a request, or a row of it, was not carried out (RFC 9457). `row` is counted from 0."""

    title: str
    status: int
    type: str = "about:blank"
    detail: str | None = None
    row: int | None = None


# ------------------------------------------------------------------------------------------ models


class Replayed(TypedDict):
    """Which history a model learned before it joined its stream."""

    of: str | None  # the model that was replayed; null: a new one
    seq: int  # the last record of that history
    skipped: list[list[int]]  # the first and the last record of each part that was left out


class _Known(TypedDict):
    name: str
    role: str  # "champion", "challenger" or "shadow"
    examples: int
    metrics: dict[str, float | None]  # progressive
    notes: list[str]


class OfModel(_Known, total=False):
    """What a model knows about itself. While it learns from history, only the required fields are known."""

    task: str | None
    loss: str | None
    model_type: str | None
    members: dict[str, float | None]
    classes: list[Any] | None
    weight: float  # the sum over the rows that were judged
    judged_by: str  # the metric that models are compared by
    created: float  # seconds since 1970
    bytes: int


class _InStream(OfModel):
    stream: str
    status: str  # "ready" or "replaying"
    progress: float | None  # how far a replay has come, from 0 to 1


class Summary(_InStream, total=False):
    """A model in short."""

    waiting: int  # ids that wait for their label
    seq: int


class Model(Summary, total=False):
    """A model in service."""

    options: dict[str, Any]
    replay: Replayed | None  # which rows it learned before it joined
    features: int | None  # null: the model is too large to count them
    columns: dict[str, str]  # text columns that do not have categories: "date", ..., "left out"
    digest: int  # a digest of all its scores


class Quarantined(TypedDict):
    """A stream that could not be recovered, and is not served."""

    name: str
    problem: str
    folder: str


class ServerState(TypedDict):
    """The server itself."""

    version: str
    started: float  # seconds since 1970
    durability: str
    replica: bool
    seq: int  # records of all streams


class Models(TypedDict):
    """All models, and the server itself."""

    models: list[Summary]
    quarantined: list[Quarantined]
    server: ServerState


class _Status(TypedDict):
    status: str


class Status(_Status, total=False):
    """Whether the server is live, or ready; which streams could not be recovered (without a token: how many)."""

    quarantined: dict[str, str] | int


# ------------------------------------------------------------------------------------------ looking at a model


class LogState(TypedDict):
    """The last sequence numbers of a log (written, on disk, in a snapshot), and its size."""

    seq: int
    synced_seq: int
    snapshot_seq: int
    bytes: int
    segments: int
    lag: int  # records that are not known to be on the disk


class ModelMetrics(TypedDict):
    """The metrics of one model of a stream."""

    name: str
    role: str
    metrics: dict[str, float | None]


class ActionValue(TypedDict):
    """How often a bandit chose an action, and what it would have earned with this action alone (estimated)."""

    action: str | int
    decisions: int
    share: float
    value: float | None


class BanditState(TypedDict):
    """How good a bandit is: its mean reward, and the estimated mean rewards of simpler policies."""

    decisions: int
    rewards: int
    mean_reward: float | None
    random: float | None  # actions that are drawn uniformly
    best_constant: float | None  # the best single action
    best_action: str | int | None
    pending: int
    expired: int
    actions: list[ActionValue]  # most frequent first; of actions with features those that were chosen last


class _Judged(TypedDict):
    progressive: dict[str, float | None]
    metrics_ci: list[float | None] | None
    curve: list[list[float | None]]  # examples, loss, loss since the last point, error rate
    baseline: dict[str, Any] | None
    served: dict[str, float | None] | None  # metrics of predictions that waited for their labels
    joined: dict[str, float | None] | None  # metrics for these rows, predicted when their labels arrived


class Judged(_Judged, total=False):
    """How good a model is, by predictions that it made before it learned the rows."""

    delay_cost: float | None  # the loss of served predictions minus that of predictions made when labels came


class Metrics(Judged):
    """How good a model is, and the state of its stream and its log."""

    name: str
    stream: str
    seq: int
    time: float
    examples: int
    waiting: int
    expired: int
    duplicates: int
    rejected: int
    models: list[ModelMetrics]
    log: LogState
    moments: dict[str, list[Any]]  # the last ten minutes by the second, the last day by the minute
    recent: list[Any]  # rows that were learned, newest first
    bandit: BanditState | None


class ColumnContribution(TypedDict):
    """What one column of the data adds to a score."""

    column: str | int
    value: Any
    contribution: float | None


class Contribution(TypedDict):
    """What one feature adds to a score."""

    feature: str | int
    value: Any
    weight: float | None
    contribution: float | None


class _Explained(TypedDict):
    prediction: Any


class Explained(_Explained, total=False):
    """A prediction that is explained."""

    probability: float | None
    probabilities: dict[str, float | None]
    scores: dict[str, float | None]


class Explanation(Explained):
    """Why a prediction is what it is."""

    score: float | None
    base_value: float | None
    label: Any
    unknown: list[str]
    contributions: list[ColumnContribution]
    features: list[Contribution]


class Weight(TypedDict):
    """The weight of a feature, and its effect: how far it moves the score at most."""

    feature: str | int
    weight: float | None
    scale: float | None
    effect: float | None


class Curve(TypedDict):
    """What a feature adds to the score, by its value."""

    feature: str | int
    effect: float | None
    x: list[Any]  # numbers or texts
    y: list[float | None]
    text: bool  # whether the values are texts


class _Weights(TypedDict):
    features: list[Weight]
    curves: list[Curve]


class Weights(_Weights, total=False):
    """The features of a model with the largest effects."""

    classes: dict[str, list[Weight]]


# ------------------------------------------------------------------------------------------ snapshots


class Written(TypedDict):
    """A snapshot that was written now: the last record that it has."""

    stream: str
    snapshot_seq: int


class Snapshot(TypedDict):
    """The state of a stream on disk."""

    seq: int  # the last record that it has
    time: str  # when that record was written
    rows: int  # learned by then
    bytes: int
    models: list[str]


class Snapshots(TypedDict):
    """The snapshots of a stream, oldest first."""

    stream: str
    snapshots: list[Snapshot]
