"""A model as plain numbers: JSON from which scores can be computed in any language.

    format, version   "unitless coefficients", 2
    task              "regression", "binary" or "classes"
    target            the column that is predicted, if it has a name
    classes           binary: the negative label, then the positive; classes: all labels; otherwise null
    loss              the training loss
    link              the meaning of a score: "identity" (the prediction), "logistic" (the probability is
                      1 / (1 + exp(-score))), "exp" (the predicted rate is exp(score)), "softmax" (the probabilities of
                      several classes are exp(score), divided by their sum)
    intercept         a number; for several classes a list of numbers, one for each class
    limits            null, or the smallest and the largest score
    features          for each feature: name (text, or a column's number from 0), weight, mean (only for centered
                      columns), scale, importance
    products          for each interaction: features (two names), weight, scale, importance

    score = intercept + sum of weight · (x - mean) + sum of weight · (x - mean) · (x - mean) of the products

The default of mean is 0. x is the number in the column of that name, in the unit of the data. A feature called
column=value is 1 where the column has that text; for a column of words, where the text contains that word or pair of
words; for a column of n-grams, where a word of the text, in lower case between < and >, contains that n-gram. Missing
values are left out of the sums, except that the feature column=(missing) is then 1. Features that are not listed are
left out too. Binary: a score above 0 stands for the positive label. For several classes weights, importances and scores
are lists, in the order of the classes, and the largest score is predicted; with link "logistic" the probabilities are
those of the single scores, divided by their sum.

Models with several members (with curves or trees, or with `ensemble=True`) have version 3, or version 4 if some members
are coupled. Instead of `intercept`, `limits`, `features` and `products` they have

    model_type        "linear", "curves", "trees" or "curves only"
    members           models whose scores are mixed, each with a name ("curves", "trees", "linear", "softmax", "newton",
                      "forgetting", "snag"), its own intercept, limits, features and products, and terms of its score:
      curves          for each: column, thresholds (rising), weights (one more), missing (a weight). The weight of x is
                      that of its place: weights[i], i being the number of thresholds below x; a column that has no
                      value has the weight `missing`
      trees           for each: lists with one entry for each node: column (null: a leaf), above, text, next, weight.
                      Start at node 0: if the column's value is above `above` (null: if there is a value), or equals
                      the text, go to node next + 1; otherwise, or without a value, go to node next. Add the leaf's
                      weight
      coupled         only in version 4: true if the classes' scores are those of a softmax. With p = exp(score),
                      divided by their sum, the member's score of a class is then log(p / (1 - p)), within ±log 1e15
    mixture           null if there is one member, whose score is the model's. Otherwise kind, top (the weights of the
                      members and after them, the stackers), stackers (weights; some also covariance), limits (or null),
                      for odds and classes also last: the last label that was learned

The mixture of members' scores s, by kind:

    numbers     m = mean of s; a stacker's score is m + sum of weights · (s - m), within the limits;
                score = sum of top · (the members' scores, then the stackers')
    odds        x = s within ±30, followed by last (1, -1; 0: none);
                a stacker's score is sum of weights · x / sqrt(1 + π/8 · x'·covariance·x);
                p = sum of top · 1 / (1 + exp(-score)) over members and stackers;
                score = log(p / (1 - p)), within ±log 1e15
    classes     p = a member's 1 / (1 + exp(-score)) by class, divided by their sum; x = log p, at least -30,
                and 1 for the class with the number last, 0 for the others;
                a stacker has score = sum of weights · x by class, d = x of the class with the largest score - x of the
                second, and p = softmax(score / sqrt(1 + π/8 · d'·covariance·d));
                p = sum of top · (the members' p, then the stackers'); score = log(p / (1 - p)), within ±log 1e15
    scores      score = sum of top · s

The scores are those of `predict(extrapolate=True)`, which is linear beyond the training range. Numbers are
written with enough digits to restore the same float64.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..errors import OptionError
from ..inputs import Float64
from ..models.by_feature import ByFeature
from ..models.form_reading import Curve, RawColumn, Tree
from ..models.learner import Learner
from ..models.model import Feature
from ..models.one_vs_all import OneVsAll
from ..models.sweep import Sweep
from .linear import Linear, exportable, linear
from .members import MemberArrays, mixed_model

VERSION, SEVERAL, COUPLED = 2, 3, 4


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
    exported = exportable(model)
    mixed = exported._mixes()
    plain = mixed_coefficients(exported) if mixed else coefficients(exported)
    try:
        # Models with several members have many numbers: they are written on one line.
        return json.dumps(plain, indent=None if mixed else 2, ensure_ascii=False, allow_nan=False) + "\n"
    except ValueError:
        raise OptionError("one of the model's numbers is beyond a float64's range in the data's unit") from None


def coefficients(model: Learner | OneVsAll) -> dict[str, Any]:
    """The coefficients of a linear model as a dictionary."""
    plain = linear(model, extrapolate=True)
    several = model.task == "classes"
    return {**_about(model, plain, VERSION), **_terms(plain, model.scales, model._of_heads("importance"), several)}


def mixed_coefficients(model: Learner | OneVsAll) -> dict[str, Any]:
    """The coefficients of a model of several members as a dictionary."""
    whole = mixed_model(model, extrapolate=True)
    names = whole.members[0].linear.names
    several = model.task == "classes"
    coupled = any(member.coupled for member in whole.members)
    members = [
        {
            "name": member.name,
            **_terms(member.linear, member.scales, member.importance, several),
            **_leaves(member, whole.columns, names, several),
            **({"coupled": member.coupled} if coupled else {}),
        }
        for member in whole.members
    ]
    mixture = whole.mixture
    return {
        **_about(model, whole.members[0].linear, COUPLED if coupled else SEVERAL),
        "model_type": whole.model_type,
        "members": members,
        "mixture": None
        if mixture is None
        else {
            "kind": mixture.kind,
            "top": mixture.top.tolist(),
            "stackers": [
                {"weights": one.weights.tolist()}
                | ({} if one.covariance is None else {"covariance": one.covariance.tolist()})
                for one in mixture.stackers
            ],
            "limits": None if mixture.limits is None else list(mixture.limits),
            **({"last": int(mixture.last)} if mixture.kind in ("odds", "classes") else {}),
        },
    }


def _about(model: Learner | OneVsAll, plain: Linear, version: int) -> dict[str, Any]:
    return {
        "format": "unitless coefficients",
        "version": version,
        "task": plain.task,
        "target": None if model._training is None else model._training["schema"]["target"],
        "classes": plain.labels or None,
        "loss": plain.loss.name,
        # The mixture combines log odds.
        "link": "softmax" if plain.loss.coupled and version == VERSION else plain.loss.link.name,
    }


def _terms(plain: Linear, scales: ByFeature, importance: list[ByFeature], several: bool) -> dict[str, Any]:
    """The linear terms."""

    def head(values: Float64) -> Any:
        """The values of the only score, or one list for each class."""
        return values.tolist() if several else float(values[0])

    def learned(feature: Feature, weights: Float64) -> dict[str, Any]:
        parts = np.array([one.get(feature, 0.0) for one in importance])
        return {"weight": head(weights), "scale": scales.get(feature, 0.0), "importance": head(parts)}

    features = []
    for name, weights, mean, centered in zip(plain.names, plain.weights, plain.means, plain.centered, strict=True):
        about: dict[str, Any] = {"name": name, **learned(name, weights)}
        if centered:
            about["mean"] = float(mean)
        features.append(about)
    pairs = [[plain.names[left], plain.names[right]] for left, right in plain.factors.tolist()]
    products = [
        {"features": pair, **learned(name, weights)}
        for pair, name, weights in zip(pairs, plain.product_names, plain.product_weights, strict=True)
    ]
    return {
        "intercept": head(plain.intercepts),
        "limits": None if plain.limits is None else list(plain.limits),
        "features": features,
        "products": products,
    }


def _leaves(member: MemberArrays, columns: list[RawColumn], names: list[Feature], several: bool) -> dict[str, Any]:
    """The curves and trees of a member."""

    def heads(values: Float64) -> Any:
        return values.tolist() if several else values[:, 0].tolist()

    def curve(one: Curve) -> dict[str, Any]:
        weights = one.weights if len(one.thresholds) else np.zeros_like(one.weights)
        missing = one.missing.tolist() if several else float(one.missing[0])
        return {
            "column": columns[one.column].name,
            "thresholds": one.thresholds.tolist(),
            "weights": heads(weights),
            "missing": missing,
        }

    def tree(one: Tree) -> dict[str, Any]:
        nodes = range(len(one.child))
        leaf = [int(one.child[k]) == k for k in nodes]
        asked = [columns[int(one.column[k])].name for k in nodes]
        above = one.low.tolist()
        text = [not leaf[k] and columns[int(one.column[k])].text and above[k] > -np.inf for k in nodes]
        words = [str(names[int(one.low[k] + 0.5) - 1]).removeprefix(f"{asked[k]}=") if text[k] else None for k in nodes]
        weights = heads(one.weights)
        return {
            "column": [None if leaf[k] else asked[k] for k in nodes],
            "above": [above[k] if not leaf[k] and not text[k] and np.isfinite(above[k]) else None for k in nodes],
            "text": words,
            "next": [None if leaf[k] else int(one.child[k]) for k in nodes],
            "weight": [weights[k] if leaf[k] else None for k in nodes],
        }

    return {"curves": [curve(one) for one in member.curves], "trees": [tree(one) for one in member.trees]}
