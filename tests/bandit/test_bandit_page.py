"""The page of benchmarks/bandits.py, written from made-up results."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_the_page_has_every_number_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    page, vw = importlib.import_module("bandit_page"), importlib.import_module("bandit_vw")
    ours = {"ours": 0.75, "linear": 0.6, "full": 0.9, "constant": 0.25, "us": 90.0, "actions": 3.0, "rounds": 5000.0}
    settings = dict.fromkeys([*vw.SETTINGS, vw.OTHER_UNIT], 0.5)
    better = settings | {vw.SETTINGS[-1]: 0.776}
    by_seed = {
        "bank": [ours | settings, ours | settings | {"ours": 0.65}],
        "houses (price)": [ours | better, ours | better],
    }
    wrong = {f"{kind}, {share:g}": 12 for kind in ("range", "no range", "plain") for share in (0.5, 0.1)}
    text = page.written(page.Results(by_seed, wrong, 1000, {"linear": (41.0, 8.0), "trees": (68.0, 33.0)}))
    assert "| **`ul.Bandit()`, no option** | **0.725** |" in text
    assert "the best of 60 settings of each task, chosen afterwards | 0.638 |" in text
    assert "on 1 of 2 tasks. It is more than 0.01 below it on houses (price)." in text
    assert "| bank | 3 | 5,000 | **0.700** | 0.050 | 0.500 | 0.500 | 0.500 | 0.900 | 0.250 |" in text
    assert "| houses (price) | 3 | 5,000 | 0.750 | 0.000 | **0.776** | **0.776** | 0.500 | 0.900 | 0.250 |" in text
    assert "| trees | 68 µs | 33 µs |" in text
    assert "| 10% of its rows | 1.20% | 1.20% | 1.20% |" in text
    assert "{" not in text
