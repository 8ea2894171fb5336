"""What there is to say about a model in service, as JSON has it: its summary, its weights, why it says what it says."""

from __future__ import annotations

import math
from typing import Any

from ...data.text_columns import FOR_NAMES
from ...errors import InputError
from ...inference.explanation import explain
from ...metrics.evaluation import Evaluation
from ...models.by_feature import ranked
from ...models.curve_panels import panels
from ...models.model import BIAS
from ...models.one_vs_all import OneVsAll
from .model import ServedModel

_SENT_AS = {"number": "number", "flag": "number", "boolean": "boolean"}  # by the kind of a column; others as text
LARGE = 64 << 20  # bytes: of a larger model neither features nor members are listed, because that takes too long


def finite(value: Any) -> Any:
    """Numbers that JSON does not have become null, also within lists and mappings."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value


def metrics_of(evaluation: Evaluation) -> dict[str, Any]:
    """Metrics by name, and the training loss, of which curves are drawn."""
    return {**evaluation.metrics, "loss": evaluation.loss} if evaluation.examples else {}


def summary(served: ServedModel) -> dict[str, Any]:
    """What a list of models says of each."""
    model, evaluation = served.model, served.evaluation
    notes = []
    if served.task == "regression" and served.examples and served.options.get("task") is None:
        low, high = (math.nan, math.nan) if evaluation is None else evaluation._labels
        if {low, high} <= {0.0, 1.0} and low != high:
            notes.append('labels 0 and 1 are learned as numbers; for two classes create it with "task": "binary"')
    if model is not None and model.limited_labels:
        notes.append(f"{model.limited_labels:,} labels far outside the range of all others were learned as its limit")
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
        "members": {} if model is None or not model.examples or model.nbytes > LARGE else finite(model.members),
        "classes": served.classes,
        "examples": served.examples,
        "weight": 0.0 if evaluation is None else evaluation.weight,
        "metrics": {} if evaluation is None else finite(metrics_of(evaluation)),
        "judged_by": "loss" if evaluation is None else evaluation.judged_by,
        "created": served.created / 1e6,
        "bytes": served.nbytes,
        "notes": notes,
    }


def progress(served: ServedModel) -> dict[str, Any]:
    """How good it was, in all detail."""
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
        "progressive": finite(metrics_of(evaluation)),
        "metrics_ci": finite(list(evaluation.interval)),
        "curve": finite([[one.examples, one.loss, one.since_last, one.error_rate] for one in evaluation.curve]),
        "baseline": finite(served.baselines) or None,
        "served": finite(metrics_of(as_served)) or None,
        "joined": finite(metrics_of(at_learning)) or None,
        "delay_cost": finite(cost),
    }


def explanation(served: ServedModel, features: Any, label: Any = None) -> dict[str, Any]:
    """Each feature's part in a prediction."""
    if served.model is None:
        raise InputError("the model has learned nothing yet, so there is nothing to explain")
    why = explain(served.model, features, label)
    said = served.predict(features)
    return {
        **finite(said.answer()),
        "score": finite(why.score),
        "label": why.label,
        "bias": finite(why.bias),
        "unknown": why.unknown,
        "contributions": [
            {
                "feature": part.feature,
                "value": finite(part.value),
                "weight": finite(part.weight),
                "contribution": finite(part.contribution),
            }
            for part in why.contributions
        ],
    }


def features(served: ServedModel, most: int = 100) -> dict[str, Any]:
    """The features that matter most, first those that matter most of all; of several classes, by class."""
    model = served.model
    if model is None or not model.examples:
        return {"features": [], "curves": []}
    if model.nbytes > LARGE:
        raise InputError("the model is too large to list its features here; download it and use `unitless inspect`")
    scales = model.scales
    weights: Any = model.weights
    importance: Any = model.importance
    if isinstance(model, OneVsAll):
        by_class: dict[Any, Any] = {
            str(label): _listed(weights[label], scales, importance[label], most) for label in model.classes
        }
        return {"classes": by_class, "features": _joined(by_class, most), "curves": _curves(served)}
    return {"features": _listed(weights, scales, importance, most), "curves": _curves(served)}


def columns(served: ServedModel) -> list[tuple[str, str]] | int | None:
    """What a row has for the model: names, each of "number", "boolean" or "text".

    A model that was trained on arrays has no names: then the number of columns. None: that is not known. Of text the
    model knows features `name=value`; the name stands before the first `=`.
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


def _listed(weights: Any, scales: Any, importance: Any, most: int) -> list[dict[str, Any]]:
    return [
        {
            "feature": name,
            "weight": finite(weights.get(name)),
            "scale": finite(scales.get(name)),
            "importance": finite(value),
        }
        for name, value in ranked(importance, most)
        if name != BIAS
    ]


def _joined(by_class: dict[Any, Any], most: int) -> list[dict[str, Any]]:
    """By feature: the largest importance that it has for any class."""
    found: dict[Any, dict[str, Any]] = {}
    for own in by_class.values():
        for one in own:
            known = found.get(one["feature"])
            if known is None or (one["importance"] or 0.0) > (known["importance"] or 0.0):
                found[one["feature"]] = {**one, "weight": None}
    return sorted(found.values(), key=lambda one: -(one["importance"] or 0.0))[:most]


def _curves(served: ServedModel) -> list[dict[str, Any]]:
    model = served.model
    if model is None or not model._bends() or isinstance(model, OneVsAll):
        return []
    return [
        {
            "feature": panel.column,
            "importance": finite(panel.importance),
            "x": panel.texts or finite(panel.x.tolist()),
            "y": finite(panel.y[:, 0].tolist()),
            "text": bool(panel.texts),
        }
        for panel in panels(model._form_reading(), [0])
    ]
