"""Models that Vowpal Wabbit wrote, recognized by how their files begin."""

from __future__ import annotations

import re


def is_vw_text(text: str) -> bool:
    """Is it the text that `vw --readable_model` and `vw --invert_hash` write?"""
    lines = text.split("\n", 6)
    return lines[0].startswith("Version ") and any(line.startswith("Min label:") for line in lines[1:4])


def is_vw_file(data: bytes) -> bool:
    """Is it the file that `vw -f` writes? It begins with its version, and before that its length."""
    found = re.match(rb"([\x06-\x20])\0\0\0(\d{1,3}\.\d{1,3}\.\d{1,3}[^\0]{0,12}\0)", data)
    return found is not None and found[1][0] == len(found[2])


def is_vw_model(data: bytes) -> bool:
    """Is it one of them, by its first bytes?"""
    return is_vw_file(data) or is_vw_text(data[:4096].decode(errors="replace"))
