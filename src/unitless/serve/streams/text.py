"""Rows of Vowpal Wabbit's text in a log: a record has some lines, which the core reads and learns in one call."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from ..events import Record
from ..served import ServedModel
from ..served.vw import VwText, work
from .stream import Lesson, Outcome

if TYPE_CHECKING:
    from .stream import Stream


def learn_text(stream: Stream, record: Record, text: VwText) -> list[Outcome]:
    """What comes of a record of lines: one outcome, with the predictions of every model.

    Every model learns the lines that have labels; those that the champion does not take, none does.
    """
    champion = stream.models[stream.champion]
    predicted = {champion.name: work(champion, text)}
    problems = predicted[champion.name].problems
    for model in stream.models.values():
        if model is not champion:
            predicted[model.name] = work(model, text, without=problems)
    for listener in stream.listeners:
        listener(Lesson(record.seq, record.rows, None, partial(_taught, text=text, problems=problems)))
    refused = sum(text.has_label(row) for row in problems)
    stream.counts["learned"] += text.labeled - refused
    stream.counts["refused"] += refused
    first = None if 0 in problems else champion.score_of(predicted[champion.name].predictions[0])
    return [Outcome("learned", record.seq, champion.name, lines=predicted, score=first)]


def _taught(model: ServedModel, without: Collection[int], text: VwText, problems: Collection[int]) -> None:
    work(model, text, without={*without, *problems})
