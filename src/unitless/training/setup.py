"""The setup of a training: the data, how it is read, the model, the plan. It does not change during the training."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import inputs
from ..data import Reader, ReadOptions, Schema, Source, Target, open_source
from ..data import labels as task_labels
from ..data.fitting import fitting_source
from ..data.label_values import LabelValues
from ..data.read_options import Reading, names_and_values
from ..data.sources.files import check_output
from ..data.sources.in_memory import Arrays
from ..errors import Option, OptionError, Phrase
from ..models import file as model_file
from ..models.learner import Learner
from ..models.one_vs_all import OneVsAll
from ..options import ModelType, check_names
from .cluster import Cluster
from .defaults import DataFacts, new_model, resolve
from .plan import Plan


@dataclass(frozen=True)
class ModelRequest:
    """The arguments of `train` about the model: task, positive label, options of the learner."""

    task: str | None
    positive: Any
    options: dict[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "positive", _label_text(self.positive))
        given = {name: value for name, value in self.options.items() if value is not None}
        _check_option_names(given)
        object.__setattr__(self, "options", given)

    def target(self, labels: LabelValues, column: str | None = None) -> Target:
        """The target (task and classes) for the labels that were found; `column` is its name, for messages."""
        return task_labels.infer_target(labels, self.task, self.options.get("loss"), self.positive, column)

    @property
    def names_task(self) -> bool:
        """Whether the user's arguments determine the task."""
        return self.task is not None or self.positive is not None or "loss" in self.options

    def model(self, target: Target, data: DataFacts, model_type: ModelType | None = None) -> Learner | OneVsAll:
        """A new model for a target; of a given model type, or of that of the options."""
        options = self.options if model_type is None else {**self.options, "model_type": model_type}
        return new_model(resolve(target.task, data, options), target.task)


@dataclass(frozen=True)
class Setup:
    """The setup of a training.

    Args:
        source: the data.
        reader: reads the data as batches of rows.
        request: the arguments about the model.
        plan: the arguments about passes, hold-out, order and output.
        fitted: whether the data is learned as a fit; otherwise it is a stream.
        resumed: the model that learns more, with the record of its training; None for a new model.
    """

    source: Source
    reader: Reader
    request: ModelRequest
    plan: Plan
    fitted: bool
    resumed: Learner | OneVsAll | None = None
    record: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        source: Any,
        target: Any,
        weight: Any,
        reading: dict[str, Any],
        request: ModelRequest,
        plan: Plan,
        resume: Any = None,
    ) -> Setup:
        """Make a setup from the arguments of `train`."""
        arguments = (("target", target), ("weight", weight), ("groups", plan.groups))
        given = {name: value for name, value in arguments if value is not None}
        columns, arrays = names_and_values(given)
        model = model_file.load(resume) if isinstance(resume, str | os.PathLike) else getattr(resume, "model", resume)
        options = _read_options(model, {**columns, **reading})
        opened = open_source(source, options)
        if isinstance(opened, Arrays) and columns:
            opened, taken = opened.without(columns)
            arrays, options = {**arrays, **taken}, replace(options, target=None, weight=None, groups=None)
        if arrays and opened.files:  # a pipe counts as a file
            raise OptionError("for files, target, weight and groups must be names of columns; arrays were given")
        check_output(plan.output, opened.files, "the model")
        if model is not None:
            opened = _resumed_source(model, opened, options)
        fitted = plan.shuffle and opened.at_hand
        if not fitted:
            _check_stream(plan, opened)
        schema = None if model is None else _resumed_schema(model, request, options)
        for name, value in arrays.items():
            arrays[name] = value if isinstance(value, list) else inputs.as_array(value, name)
        reader = Reader(
            opened,
            options,
            schema,
            arrays.get("target"),
            arrays.get("weight"),
            drop_invalid=True,
            groups=arrays.get("groups"),
        )
        return cls(opened, reader, request, plan, fitted, model, {} if model is None else model._training or {})


def _resumed_source(model: Any, source: Source, options: ReadOptions) -> Source:
    """The data as a resumed model reads it."""
    if not isinstance(model, Learner | OneVsAll) or model._training is None:
        raise OptionError("only a model that was made by train can be resumed")
    return fitting_source(source, Schema.read(model._training["schema"]), options, labeled=True)


def _resumed_schema(model: Learner | OneVsAll, request: ModelRequest, options: ReadOptions) -> Schema:
    """The columns of a resumed model; raises `OptionError` for arguments that contradict its training."""
    assert model._training is not None
    if request.options or request.task or request.positive:
        given = next(iter(request.options), "task")
        raise OptionError("is determined by the model that is resumed; leave it out", option=given)
    schema = Schema.read(model._training["schema"])
    for name in ("target", "weight", "offset", "groups"):
        if getattr(options, name) not in (None, getattr(schema, name)):
            raise OptionError(
                f"is {getattr(options, name)!r}, but the model was trained with {getattr(schema, name)!r}", option=name
            )
    return schema


def _read_options(resumed: Any, given: dict[str, Any]) -> ReadOptions:
    """The reading options: the user's; for a resumed model, those of its training where the user gave none."""
    training = getattr(resumed, "_training", None)
    if training is None:
        return ReadOptions(**given)
    return ReadOptions.settled(training["reading"], **{n: value for n, value in given.items() if value not in ((), [])})


def _check_stream(plan: Plan, source: Source) -> None:
    """Refuse arguments that need more than one reading of a stream."""
    if plan.groups is not None:
        raise OptionError(
            Phrase(f"{source.name} is a stream, from which no rows are held out at random; leave out ")
            + Phrase(Option("groups"))
        )
    if plan.passes == "auto":
        raise OptionError(Phrase(f"{source.name} is a stream; ", Option("passes"), " must be a number"))
    if (plan.passes or 1) > 1 and not source.repeatable:
        raise OptionError(Phrase(f"{source.name} can be read only once; ", Option("passes"), " must be 1"))


def _label_text(positive: Any) -> str | None:
    """The positive label as data has it: text, also where the user gives a number or a boolean."""
    if isinstance(positive, bool | np.bool_):
        return "true" if positive else "false"
    if isinstance(positive, int | float | np.number):
        return task_labels.number_text(float(positive))
    if not isinstance(positive, str | None):
        raise OptionError(f"is {positive!r}; it must be one of the labels", option="positive")
    return positive


def _check_option_names(given: Iterable[str]) -> None:
    """Refuse options that no learner has, and point to `Reading` and `Cluster` for theirs."""
    for name in given:
        if name in Reading.__dataclass_fields__:
            raise OptionError(f"there is no option {name!r} of learners", advice=f"give reading=ul.Reading({name}=...)")
        if name in Cluster.__dataclass_fields__:
            raise OptionError(f"there is no option {name!r} of learners", advice=f"give cluster=ul.Cluster({name}=...)")
    check_names(given, others=Plan.__dataclass_fields__)
