"""A model as plain numbers, for use where there is no unitless: weights in the data's units, as JSON.

The file holds:

    task       "regression", "binary" or "classes"; null if `train` did not make the model
    target     the column that is predicted, if it has a name
    classes    binary: the negative label, then the positive; classes: all labels; otherwise null
    link       what a score stands for: "identity" (itself), "logistic" (a probability is 1 / (1 + exp(-score))),
               "exp" (a rate is exp(score))
    bias       a number; with many classes, by class
    weights    by feature; with many classes, by class and feature
    products   [feature, feature, weight] of each interaction; with many classes, by class
    means      of centred columns: what to take for a value that is missing

    score = bias + sum of weight · x + sum of weight · x · x of the products

x is the number in the column of that name as it is in the data, and 1 for a feature called column=value where the
column has that text. This is the model without its limits, `predict(extrapolate=True)`: means and the target's offset
are part of the bias. Binary: a score above 0 is the positive label. Many classes: the largest score wins.
"""

from __future__ import annotations

from typing import Any

from .data.labels import Target
from .errors import OptionError
from .learner import Learner
from .model import BIAS
from .one_vs_all import OneVsAll
from .reading import Reading

_LINKS = {"logistic": "logistic", "poisson": "exp"}


def coefficients(model: Learner | OneVsAll) -> dict[str, Any]:
    """The model's numbers, as this module describes.

    >>> import unitless as ul
    >>> from unitless.coefficients import coefficients
    >>> m = ul.Learner()
    >>> _ = m.learn([{"x": float(i % 10)} for i in range(1000)], [3.0 * (i % 10) + 1 for i in range(1000)])
    >>> plain = coefficients(m)
    >>> abs(plain["bias"] + plain["weights"]["x"] * 5 - m.predict_one({"x": 5.0}, extrapolate=True)) < 1e-9
    True
    """
    if model.options.bits is not None:
        raise OptionError("a model with bits has hashed its features' names away; train without bits to name weights")
    training = model._training or {}
    target = Target.read(training["target"]) if model._training is not None else None
    reading = model._reading()
    if isinstance(model, OneVsAll):
        names = [str(label) for label in model.classes]
        parts = [_part(reading, head) for head in range(len(names))]
        bias, weights, products = (dict(zip(names, column, strict=True)) for column in zip(*parts, strict=True))
        classes: list[str] | None = names
    else:
        bias, weights, products = _part(reading, 0)  # type: ignore[assignment]
        classes = target.classes if target is not None and target.task == "binary" else None
    return {
        "format": "unitless coefficients",
        "version": 1,
        "task": None if target is None else target.task,
        "target": (training.get("schema") or {}).get("target"),
        "classes": classes,
        "loss": model.options.loss,
        "link": _LINKS.get(model.options.loss, "identity"),
        "bias": bias,
        "weights": weights,
        "products": products,
        "means": _means(reading),
    }


def _part(reading: Reading, head: int) -> tuple[float, dict[str, float], list[list[Any]]]:
    """Bias, weights and products of one score."""
    by_name = reading.weights(reading.leader(head))
    weights: dict[str, float] = {}
    products: list[list[Any]] = []
    for slot, feature in zip(reading.state["slots"].tolist(), reading.features, strict=True):
        if slot in reading.products:
            left, right = (_name(reading, number) for number in reading.products[slot])
            products.append([left, right, by_name[feature]])
        elif slot:
            weights[str(feature)] = by_name[feature]
    return by_name.get(BIAS, 0.0), weights, products


def _means(reading: Reading) -> dict[str, float]:
    state = reading.state
    means = state["centre_means"].reshape(-1, 2)[:, 0].tolist()
    settled = zip(state["centre_features"].tolist(), state["centre_kinds"].tolist(), means, strict=True)
    return {_name(reading, feature): mean for feature, kind, mean in settled if kind}


def _name(reading: Reading, number: int) -> str:
    names = reading.state["names"]
    return str(number - 1) if names is None else names[number - 1]
