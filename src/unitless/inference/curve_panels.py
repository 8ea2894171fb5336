"""The selection of a model's curves to draw, and the names of their lines."""

from __future__ import annotations

from typing import Any

from .. import figures
from ..errors import Option, OptionError, Phrase
from ..models.any_model import model_of
from ..models.curve_panels import MOST, Panel, panels
from .explanation import class_number

CLASSES = 6  # classes whose curves are drawn, if there are more


def curve_panels(model: Any, most: int | None = MOST, label: Any = None) -> tuple[list[Panel], list[str]]:
    """The panels of a model's curves, and the names of their lines: the classes, if there are several."""
    model = model_of(model)
    if not model._bends():
        raise OptionError(
            "a linear model has no curves",
            advice=Phrase("train it with ", Option("model_type", "curves"), " or ", Option("model_type", "trees")),
        )
    form = model._form_reading()
    if model.task != "classes":
        if label is not None:
            raise OptionError(f"class {label!r}: this model has no classes of its own; leave it out")
        return panels(form, [0], most), [""]
    if label is not None:
        heads = [class_number(model, label)]
    else:
        reach = dict.fromkeys(range(len(model._class_labels)), 0.0)
        for by_head in form.importance().values():
            reach = {head: max(reach[head], float(by_head[head])) for head in reach}
        heads = sorted(sorted(reach, key=lambda head: -reach[head])[:CLASSES])
    return panels(form, heads, most), [figures.short_name(model._class_labels[head]) for head in heads]
