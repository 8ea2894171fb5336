"""Rows of Vowpal Wabbit's text in a log: a record has some lines, which the core reads and learns in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..events import Record

if TYPE_CHECKING:
    from .stream import Outcome, Stream


def learn_text(stream: Stream, record: Record) -> list[Outcome]:
    """What comes of a record of labelled lines."""
    raise NotImplementedError
