"""The rows that the benchmarks of the server send: 20 numbers in different units and two classes."""

from __future__ import annotations

import json
import random

FEATURES = 20


def rows(count: int, seed: int = 0) -> list[tuple[dict[str, float], bool]]:
    """Features by name, and a label that depends on them."""
    chance = random.Random(seed)
    weights = [chance.gauss(0, 1) for _ in range(FEATURES)]
    made = []
    for _ in range(count):
        values = [chance.gauss(0, 1) for _ in range(FEATURES)]
        label = sum(w * x for w, x in zip(weights, values, strict=True)) + chance.gauss(0, 1) > 0
        features = {f"x{k:02}": float(f"{x * 10.0 ** (k % 5):.5g}") for k, x in enumerate(values)}
        made.append((features, label))
    return made


def as_json(features: dict[str, float], label: bool | None = None) -> bytes:
    """The body of a request, or a line of one."""
    row = {"features": features} if label is None else {"features": features, "label": label}
    return json.dumps(row, separators=(",", ":")).encode()


def as_vw(features: dict[str, float], label: bool | None = None) -> bytes:
    """A line of Vowpal Wabbit's text."""
    start = "" if label is None else "1 " if label else "-1 "
    return f"{start}| {' '.join(f'{name}:{value!r}' for name, value in features.items())}\n".encode()
