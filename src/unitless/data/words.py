"""Columns of words: a comment, a title, a message."""

from __future__ import annotations

from collections.abc import Sequence


def looks_like_words(texts: Sequence[str]) -> bool:
    """Whether the different texts of a column look like sentences, and not like names of categories."""
    return False
