"""Compare two versions of unitless: each of our contenders runs with both versions, in turns; ratios of their times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import machine
import report
import threads
import workloads
from builds import Build
from contenders import Contender
from data import Store
from rounds import measure

NAMES = [*workloads.ALL, "threads"]


def _groups(name: str, store: Store) -> list[tuple[str, Sequence[Contender]]]:
    """The titles and contenders chosen by this name."""
    if name != "threads":
        return [(workloads.ALL[name].title, workloads.ALL[name].contenders(store))]
    counts = threads.counts(machine.cores())
    return [(f"Threads: {task.name}", task.contenders(store, counts)) for task in threads.ALL]


def _both(contenders: Sequence[Contender], store: Store, rounds: int, title: str, old: Build) -> list[dict[str, Any]]:
    """Our contenders, as measured with this version and with the other."""
    mine = [one for one in contenders if one.by == "unitless"]
    pairs = [(one, one.renamed(f"{one.name}, {old.commit}", old)) for one in mine]
    measured = {one.name: one for one in measure([one for pair in pairs for one in pair], store, rounds, title)}
    found = []
    for new, before in pairs:
        if before.name in measured:  # otherwise the old version does not support it
            found.append({"new": measured[new.name].asdict(), "old": measured[before.name].asdict()})
    return found


def run(names: list[str], store: Store, rounds: int, old: Build) -> list[dict[str, Any]]:
    """Measure and print the chosen workloads."""
    results = []
    for name in names:
        for title, contenders in _groups(name, store):
            pairs = _both(contenders, store, rounds, title, old)
            results.append({"name": name, "title": title, "commit": old.commit, "pairs": pairs})
            print(f"{title}\n{report.as_text(report.comparison(results[-1]))}\n", flush=True)
    return results
