"""Recognizes models that Vowpal Wabbit wrote, by the beginning of their files."""

from __future__ import annotations

import re


def is_vw_text(text: str) -> bool:
    """Return whether a text is what `vw --readable_model` and `vw --invert_hash` write."""
    lines = text.split("\n", 6)
    return lines[0].startswith("Version ") and any(line.startswith("Min label:") for line in lines[1:4])


def is_vw_file(data: bytes) -> bool:
    """Return whether data is a file of `vw -f`, which begins with the length of a version and the version."""
    found = re.match(rb"([\x06-\x20])\0\0\0(\d{1,3}\.\d{1,3}\.\d{1,3}[^\0]{0,12}\0)", data)
    return found is not None and found[1][0] == len(found[2])


def is_vw_model(data: bytes) -> bool:
    """Return whether data is a model of Vowpal Wabbit, judged by its first bytes."""
    return is_vw_file(data) or is_vw_text(data[:4096].decode(errors="replace"))
