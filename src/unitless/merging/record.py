"""The training record of a merged model: the columns and labels that its parts agree on."""

from __future__ import annotations

from typing import Any

from ..data import Schema, Target
from ..data.progress import Progress
from ..errors import MergeError, Option, Phrase
from ..models.training_record import record


def merged_training(models: list[tuple[str, Any]], base: tuple[str, Any] | None = None) -> dict[str, Any]:
    """Merge the training records of models: raises a MergeError if they differ in columns or labels.

    Models come with their names. If some were made by `train`, the others must not have learned anything.
    """
    models = [(name, model) for name, model in models if model._training is not None or model.examples]
    everyone = [*models, *([base] if base is not None else [])]
    trained = [(name, model._training) for name, model in everyone if model._training is not None]
    for name, model in everyone:
        if model._training is None:
            raise MergeError(f"{name} was not made by train, but {trained[0][0]} was; merge models of one kind")
    first, training = trained[0]
    schema, target = Schema.read(training["schema"]), Target.read(training["target"])
    for name, other in trained[1:]:
        _check_same_data((first, schema, target), (name, Schema.read(other["schema"]), Target.read(other["target"])))
        if other["reading"] != training["reading"]:
            raise MergeError(f"{first} and {name} were trained with other options of reading (dates, missing)")
    progress = [Progress.read(model._training["progress"]) for _, model in models]
    start = Progress.read(base[1]._training["progress"]) if base is not None else Progress()
    total = Progress(done=True, passes=1)
    for count in ("rows", "learned", "skipped", "unlabeled", "held", "consumed"):
        # A model that learned more data after a finished training counts only those rows.
        setattr(total, count, getattr(start, count) + sum(getattr(part, count) for part in progress))
    for part in (start, *progress):
        total.missing.update(part.missing)
    source = [file for _, model in models for file in model._training["source"] or []]
    return record(schema, target, training["reading"], total, source=source)


def _check_same_data(a: tuple[str, Schema, Target], b: tuple[str, Schema, Target]) -> None:
    """Check that two models have the same columns and labels."""
    (first, schema, target), (second, other_schema, other_target) = a, b
    both = f"{first} and {second} cannot be merged: "
    if schema.target != other_schema.target:
        raise MergeError(f"{both}one predicts {schema.target!r}, the other {other_schema.target!r}")
    if target.task != other_target.task:
        tasks = f"one is of the task {target.task}, the other {other_target.task}"
        raise MergeError(Phrase(f"{both}{tasks}; give ", Option("task"), " to both"))
    if target.classes != other_target.classes:
        one, other = target.classes, other_target.classes
        if sorted(one) == sorted(other):
            raise MergeError(f"{both}the positive label is {one[1]!r} in one, {other[1]!r} in the other")
        raise MergeError(f"{both}the labels are {' and '.join(one)} in one, {' and '.join(other)} in the other")
    if target.number != other_target.number:
        raise MergeError(f"{both}the labels are numbers in one, text in the other")
    if schema.family != other_schema.family:
        raise MergeError(f"{both}they were trained on other kinds of data ({schema.family}, {other_schema.family})")
    if schema.weight != other_schema.weight:
        raise MergeError(f"{both}the weights are {schema.weight!r} in one, {other_schema.weight!r} in the other")
    if schema.offset != other_schema.offset:
        raise MergeError(f"{both}the offsets are {schema.offset!r} in one, {other_schema.offset!r} in the other")
    for name in dict.fromkeys([*schema.kinds, *other_schema.kinds]):
        one_kind, another = schema.kinds.get(name), other_schema.kinds.get(name)
        if one_kind is None or another is None:
            raise MergeError(f"{both}only one of them has the column {name!r}")
        if {one_kind, another} == {"flag", "number"}:
            began = (
                f"column {name!r} began with nothing but zeros and ones in one of them, and so is not centered there"
            )
            advice = ("; train them with ", Option("numbers", name), ", or both without centering")
            raise MergeError(Phrase(f"{both}{began}", *advice))
        if one_kind != another:
            raise MergeError(f"{both}column {name!r} contains {one_kind}s in one, {another}s in the other")
