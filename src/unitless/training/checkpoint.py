"""Checkpoints: the record of a training in its model file, from which `train(resume=...)` continues."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..data import Position, Target
from ..data.progress import Progress
from ..data.sources.file_identity import labels_of
from ..errors import InputError, OptionError
from ..models.training_record import record
from .passes import Passes

if TYPE_CHECKING:
    from .training import Training


@dataclass
class Earlier:
    """What happened to the model before this training.

    Args:
        files: the files that the model has learned.
        known: whether the rows of this training may be among them.
        midway: whether this training was interrupted and continues where it stopped.
    """

    files: list[Any] = field(default_factory=list)
    known: bool = False
    midway: bool = False


def save(training: Training, path: str | None = None) -> None:
    """Write the model to a file with the record that is needed to resume its training.

    Args:
        training: the training.
        path: the file. Default: the plan's output file.
    """
    path = path or training.plan.output
    if path is not None and training.model is not None:
        describe(training)
        training.model.save(path)


def describe(training: Training) -> None:
    """Give the model the record of its training, as its file stores it."""
    session, setup, progress, earlier = training.session, training.setup, training.progress, training.earlier
    assert session is not None
    session.wait()  # the model contains its errors, which a background worker counts
    importance, counted = training.findings.importance, dict[str, Any]()
    if not progress.done:
        counted = {
            "content": setup.source.content(progress.consumed),
            **session.metrics.state(),
            "best": training.passes.plain() if training.passes.best else None,
            "rounds": training.rounds,
        }
    session.model._training = record(
        training.schema,
        session.target,
        {**setup.reader.options.kept(training.schema.family), **setup.reader.found},
        progress.renamed(labels_of(setup.source.files)),
        source=training.identity,
        before=earlier.files,
        known=earlier.known,
        plan=setup.plan.plain(setup.fitted),
        importance=None if importance is None else importance.asdict(),
        **counted,
    )
    session.model._earlier = None if progress.done else training.passes.state


def resume(training: Training) -> None:
    """Resume the model of the setup: where its training was interrupted, or at the beginning of new data."""
    setup, earlier = training.setup, training.earlier
    model, stored, source = setup.resumed, setup.record, setup.source
    assert model is not None
    target, before = Target.read(stored["target"]), Progress.read(stored["progress"])
    earlier.files = [*(stored["before"] or []), *((stored["source"] or []) if before.done else [])]
    if before.done:
        earlier.known = not training.identity or any(file in earlier.files for file in training.identity)
        training.take(model, target)
        return
    differs = _changed(training, before)
    if differs is not None and source.tailed and stored["source"] == training.identity:
        training.findings.remark(f"{source.name} has changed since training stopped; it is read from its beginning")
        before.position, before.within, before.consumed = Position(), 0, 0
    elif differs is not None:
        raise InputError(
            f"training of this model was interrupted after {before.rows:,} rows of other files than "
            f"{source.name}: {differs}; give the same files to resume it"
        )
    then, now = stored["plan"] or {}, setup.plan.plain(setup.fitted)
    if then != now:
        other = ", ".join(f"{name} {_setting(then.get(name))}" for name in now if then.get(name) != now[name])
        raise OptionError(
            f"training of this model was begun with other settings: {other or then}; give the same ones to resume it"
        )
    training.progress = before.renamed({label: name for name, label in labels_of(source.files).items()})
    earlier.midway, earlier.known, training.rounds = True, stored["known"] is True, stored["rounds"]
    training.take(model, target)
    assert training.session is not None
    training.session.metrics.restore(model, stored)
    if stored["best"] is not None:
        training.passes = Passes.read(stored["best"], model._earlier)


def _changed(training: Training, before: Progress) -> str | None:
    """How the data differs from the data of the interrupted training; None if it does not."""
    source, stored = training.source, training.setup.record
    if stored["source"] != training.identity:
        return _differing(stored["source"], training.identity)
    same = stored["content"] == source.content(before.consumed)
    return None if same else f"{source.name} has other content than when training stopped"


def _setting(value: Any) -> str:
    """A setting of the plan for messages, from the form in which a model file stores it."""
    if value is None:
        return "as usual"
    try:
        return f"{float.fromhex(value):g}"
    except (TypeError, ValueError):  # it is not a fraction
        return str(value)


def _differing(then: Any, now: list[Any]) -> str:
    """How two lists of names, sizes and digests differ."""
    if not isinstance(then, list) or not all(isinstance(file, list) and len(file) == 3 for file in then):
        return "the model file does not name them"
    if len(then) != len(now):
        return f"they were {len(then):,}, not {len(now):,}"
    (name, size, _), (found, found_size, _) = next((a, b) for a, b in zip(then, now, strict=True) if a != b)
    if name != found:
        return f"then there was {str(name)!r} in place of {found!r}"
    if size == found_size:
        return f"{found} has the same size as then, but other content"
    return f"{found} had {size} bytes then and has {found_size} now"
