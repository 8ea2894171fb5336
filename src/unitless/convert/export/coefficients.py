"""A model as plain numbers: JSON that anyone can score with, in any language.

    format, version   "unitless coefficients", 2
    task              "regression", "binary" or "classes"
    target            the column that is predicted, if it has a name
    classes           binary: the negative label, then the positive; classes: all labels; otherwise null
    loss              what was minimised
    link              what a score stands for: "identity" (itself), "logistic" (a probability, 1 / (1 + exp(-score))),
                      "exp" (a rate, exp(score))
    intercept         a number; with many classes a list of numbers, one for each
    limits            null, or the least and the largest score
    features          for each: name (text, or a column's number from 0), weight, mean (of centred columns only), scale,
                      importance
    products          for each interaction: features (two names), weight, scale, importance

    score = intercept + sum of weight · (x - mean) + sum of weight · (x - mean) · (x - mean) of the products

The mean is 0 where none is given. x is the number in the column of that name as it is in the data, and 1 for a feature
called column=value where the column has that text. What is missing is left out of the sums, and so are features that
are not listed. Binary: a score above 0 is the positive label. With many classes weights and importances are lists, in
the order of the classes, and so is the score: the largest wins; with link "logistic" the classes' probabilities are
those of their scores, divided by their sum.

This is `predict(extrapolate=True)`: the model without what it does beyond the values that it has seen. Numbers are
written with as many digits as bring back the same float64.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ...errors import OptionError
from ...inputs import Float64
from ...models.learner import Learner
from ...models.model import Feature
from ...models.one_vs_all import OneVsAll
from ...models.sweep import Sweep
from .linear import exportable, linear

VERSION = 2


def to_json(model: Learner | OneVsAll | Sweep) -> str:
    """The model's coefficients as JSON text, enough to compute its scores by hand.

    Example:
        >>> import json, unitless as ul
        >>> m = ul.Learner()
        >>> _ = m.learn([{"x": float(i % 10)} for i in range(1000)], [3.0 * (i % 10) + 1 for i in range(1000)])
        >>> plain = json.loads(ul.to_json(m))
        >>> score = plain["intercept"] + plain["features"][0]["weight"] * 5
        >>> abs(score - m.predict_one({"x": 5.0})) < 1e-9
        True
    """
    plain = coefficients(exportable(model))
    try:
        return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError:
        raise OptionError("one of the model's numbers is beyond a float64's range in the data's unit") from None


def coefficients(model: Learner | OneVsAll) -> dict[str, Any]:
    """The same as a dictionary."""
    plain = linear(model, extrapolate=True)
    several = isinstance(model, OneVsAll)
    scales, by_head = model.scales, model.importance
    importance: Any = list(by_head.values()) if several else [by_head]

    def head(values: Float64) -> Any:
        """Of one score, or of each class's."""
        return values.tolist() if several else float(values[0])

    def learned(feature: Feature, weights: Float64) -> dict[str, Any]:
        parts = np.array([one.get(feature, 0.0) for one in importance])
        return {"weight": head(weights), "scale": scales.get(feature, 0.0), "importance": head(parts)}

    features = []
    for name, weights, mean, centred in zip(plain.names, plain.weights, plain.means, plain.centred, strict=True):
        about: dict[str, Any] = {"name": name, **learned(name, weights)}
        if centred:
            about["mean"] = float(mean)
        features.append(about)
    pairs = [[plain.names[left], plain.names[right]] for left, right in plain.factors.tolist()]
    products = [
        {"features": pair, **learned(name, weights)}
        for pair, name, weights in zip(pairs, plain.product_names, plain.product_weights, strict=True)
    ]
    return {
        "format": "unitless coefficients",
        "version": VERSION,
        "task": plain.task,
        "target": ((model._training or {}).get("schema") or {}).get("target"),
        "classes": plain.labels or None,
        "loss": plain.loss.name,
        "link": plain.loss.link.name,
        "intercept": head(plain.intercepts),
        "limits": None if plain.limits is None else list(plain.limits),
        "features": features,
        "products": products,
    }
