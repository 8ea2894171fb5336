"""Descriptions of a model in service as JSON: summary, metrics, features and explanations of predictions."""

from __future__ import annotations

import math
from typing import Any

from ...data.columns.text_columns import FOR_NAMES
from ...errors import InputError
from ...inference.explanation import explain
from ...metrics.evaluation import Evaluation
from ...models.by_feature import ranked
from ...models.curve_panels import panels
from ...models.model import BIAS
from ...presentation.json_values import plain
from ..wire import Curve, Explained, Explanation, Judged, OfModel, Weight, Weights
from .bandit import ServedBandit
from .model import ServedModel

_SENT_AS = {"number": "number", "flag": "number", "boolean": "boolean"}  # by column type; others: text
LARGE = 64 << 20  # bytes; features and members of a larger model are not listed, because that would take too long


def metrics_of(evaluation: Evaluation) -> dict[str, Any]:
    """Metrics by name, and the training loss, which the charts of the live page show."""
    return {**evaluation.metrics, "loss": evaluation.loss} if evaluation.examples else {}


def known_metrics(served: ServedModel) -> dict[str, Any]:
    """The metrics of a model, or of a bandit, as JSON."""
    if isinstance(served, ServedBandit):
        return plain(served.metrics)  # type: ignore[no-any-return]
    return {} if served.evaluation is None else plain(metrics_of(served.evaluation))


def summary(served: ServedModel) -> OfModel:
    """Describe a model in the list of models."""
    model, evaluation = served.model, served.evaluation
    notes = []
    if served.task == "regression" and served.examples and served.options.get("task") is None:
        low, high = (math.nan, math.nan) if evaluation is None else evaluation.label_limits
        if {low, high} <= {0.0, 1.0} and low != high:
            notes.append('labels 0 and 1 are learned as numbers; for two classes create it with "task": "binary"')
    if model is not None and model.limited_labels:
        notes.append(f"{model.limited_labels:,} labels far outside the range of all others were learned as its limit")
    if model is not None and model.options.penalty_note is not None:
        notes.append(str(model.options.penalty_note))
    if (columns := served.columns) is not None:
        for name, differed in columns.left_out.items():
            notes.append(
                f"column {name[:80]!r} is left out: {differed:,} of its first {FOR_NAMES:,} texts differ; if it "
                'matters, create the model with "text": ["column"]'
            )
    if served.rejected:
        notes.append(f"{served.rejected:,} rows that others learned were refused; the last: {served.last_refusal}")
    return {
        "name": served.name,
        "role": served.role,
        "task": served.task,
        "loss": None if model is None else model.options.loss,
        "model_type": None if model is None else model.model_type,
        "members": {} if model is None or not model.examples or model.nbytes > LARGE else plain(model.members),
        "classes": served.classes,
        "examples": served.examples,
        "weight": 0.0 if evaluation is None else evaluation.weight,
        "metrics": known_metrics(served),
        "judged_by": "loss" if evaluation is None else evaluation.judged_by,
        "created": served.created / 1e6,
        "bytes": served.nbytes,
        "notes": notes,
    }


def progress(served: ServedModel) -> Judged:
    """Progressive metrics with their confidence interval, learning curve, baselines, and the cost of late labels."""
    evaluation = served.evaluation
    if evaluation is None or served.model is None:
        return {"progressive": {}, "metrics_ci": None, "curve": [], "baseline": None, "served": None, "joined": None}
    assert served.served is not None
    assert served.joined is not None
    as_served, at_learning = served.served, served.joined
    cost = None
    if as_served.examples:
        cost = as_served.loss - at_learning.loss
    return {
        "progressive": plain(metrics_of(evaluation)),
        "metrics_ci": plain(list(evaluation.interval)),
        "curve": plain([[one.examples, one.loss, one.since_last, one.error_rate] for one in evaluation.curve]),
        "baseline": plain(served.baselines) or None,
        "served": plain(metrics_of(as_served)) or None,
        "joined": plain(metrics_of(at_learning)) or None,
        "delay_cost": plain(cost),
    }


def explanation(served: ServedModel, features: Any) -> Explanation:
    """Explain a prediction: what each column, and each feature, adds to the score."""
    if served.model is None:
        raise InputError("the model has learned no rows yet, so it cannot explain predictions")
    why = explain(served.model, features)
    predicted: Explained = plain(served.predict(features).answer())
    return {
        **predicted,
        "score": plain(why.score),
        "label": why.label,
        "base_value": plain(why.base_value),
        "unknown": why.unknown,
        "contributions": [
            {"column": part.column, "value": plain(part.value), "contribution": plain(part.contribution)}
            for part in why.contributions
        ],
        "features": [
            {
                "feature": part.feature,
                "value": plain(part.value),
                "weight": plain(part.weight),
                "contribution": plain(part.contribution),
            }
            for part in why.features
        ],
    }


def features(served: ServedModel, most: int = 100) -> Weights:
    """The features with the largest effects, in order; with several classes, also by class."""
    model = served.model
    if model is None or not model.examples:
        return {"features": [], "curves": []}
    if model.nbytes > LARGE:
        raise InputError("the model is too large to list its features here; download it and use `unitless inspect`")
    scales = model.scales
    weights: Any = model.weights
    effects: Any = model.importance
    if model.task == "classes":
        by_class = {str(label): _listed(weights[label], scales, effects[label], most) for label in model._class_labels}
        return {"classes": by_class, "features": _joined(by_class, most), "curves": _curves(served)}
    return {"features": _listed(weights, scales, effects, most), "curves": _curves(served)}


def columns(served: ServedModel) -> list[tuple[str, str]] | int | None:
    """The columns of the model's rows: pairs of a name and "number", "boolean" or "text".

    For a model that was trained on arrays, which have no names: the number of columns. None if the columns are unknown.
    A text value is a feature `name=value`, so the name of the column ends before the first `=`.
    """
    model = served.model
    if model is None or model.nbytes > LARGE:
        return None
    schema = (model._training or {}).get("schema") or {}
    if schema.get("family") == "table":
        return [(name, _SENT_AS.get(kind, "text")) for name, kind in schema["columns"]]
    state = model._snapshot(False)
    if state["columns"] is not None:
        return int(state["columns"])
    names = (name.partition("=") for name in state["names"] or ())
    return list({name: "text" if text else "number" for name, text, _ in names}.items())


def _listed(weights: Any, scales: Any, effects: Any, most: int) -> list[Weight]:
    return [
        {
            "feature": name,
            "weight": plain(weights.get(name)),
            "scale": plain(scales.get(name)),
            "effect": plain(value),
        }
        for name, value in ranked(effects, most)
        if name != BIAS
    ]


def _joined(by_class: dict[str, list[Weight]], most: int) -> list[Weight]:
    """Features with their largest effect over all classes."""
    found: dict[str | int, Weight] = {}
    for own in by_class.values():
        for one in own:
            known = found.get(one["feature"])
            if known is None or (one["effect"] or 0.0) > (known["effect"] or 0.0):
                found[one["feature"]] = {**one, "weight": None}
    return sorted(found.values(), key=lambda one: -(one["effect"] or 0.0))[:most]


def _curves(served: ServedModel) -> list[Curve]:
    model = served.model
    if model is None or not model._bends() or model.task == "classes":
        return []
    return [
        {
            "feature": panel.column,
            "effect": plain(panel.importance),
            "x": panel.texts or plain(panel.x.tolist()),
            "y": plain(panel.y[:, 0].tolist()),
            "text": bool(panel.texts),
        }
        for panel in panels(model._form_reading(), [0])
    ]
