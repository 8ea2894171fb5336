"""Several learners over one reading of the data: every batch goes to each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..data import Batch
from ..data.progress import Progress
from ..errors import DivergedError, OptionError
from ..options import Rule
from ..rules import RULES
from .fitting import shuffled
from .interruption import interruptible
from .run import Run
from .watched import Watched

AnyRun = TypeVar("AnyRun", bound=Run)


@dataclass
class Contender(Generic[AnyRun]):
    """One learner's run, the time that it took, and where it diverged, if it did: from there on it is left out."""

    rule: Rule
    run: AnyRun
    seconds: float = 0.0
    diverged: str | None = None

    def take(self, batch: Batch) -> None:
        """Learn a batch, unless the learner has diverged."""
        if self.diverged is not None:
            return
        start = time.perf_counter()
        if not self.run.fitted:  # what is fitted was counted when it was read
            self.run.progress.read_in(batch)
        try:
            self.run.learn(batch)
        except DivergedError as error:
            self.diverged = error.where
        self.seconds += time.perf_counter() - start


class SharedRun(Generic[AnyRun]):
    """Runs of the same data with the same settings, that differ in their rule alone.

    Args:
        rules: which.
        source: the data.
        make: a run for a source and a rule.
    """

    def __init__(self, rules: Iterable[str], source: Any, make: Callable[[Any, Rule], AnyRun]) -> None:
        self.progress = Progress()
        self.interrupted = False
        self.contenders: list[Contender[AnyRun]] = []
        for rule in checked_rules(rules):
            run = make(self.contenders[0].run.source if self.contenders else source, rule)
            self.contenders.append(Contender(rule, run))
        self.source, self._reader = self.contenders[0].run.source, self.contenders[0].run.reader
        for contender in self.contenders:
            contender.run.reader = self._reader

    @property
    def going(self) -> list[Contender[AnyRun]]:
        """Those that have not diverged."""
        return [contender for contender in self.contenders if contender.diverged is None]

    def _take(self, batch: Batch) -> None:
        """Every contender learns a batch."""
        for contender in self.contenders:
            contender.take(batch)

    def go(self, watch: Callable[[Any], None] | None) -> None:
        """To the end of the data, until interrupted, or until all have diverged. As each would alone: see `train`."""
        first = self.contenders[0].run
        with interruptible() as interrupted:
            watched = Watched(self, watch, interrupted)
            if not first.fitted:
                self._passes(lambda: self._reader.batches(None, interrupted), watched)
            else:
                with shuffled(first, watched) as rows:
                    for contender in self.contenders[1:]:
                        contender.run.begin_like(first)
                    held = first.plan.held_rows(rows.rows) if first.plan.holdout else 0
                    if not interrupted():
                        first.check_rows(rows.rows)
                        self._passes(lambda: rows.batches(0, rows.rows - held), watched)
                        for contender in self.going:
                            contender.run.progress.rows = first.read
                            contender.run.score_rows(rows.batches(rows.rows - held), held)
            self.interrupted = interrupted()
            for contender in self.contenders:
                if contender.run.model is not None:
                    contender.run.passes.finish(contender.run.model)

    def _passes(self, batches: Callable[[], Iterator[Batch]], watched: Watched) -> None:
        passes = self.contenders[0].run.plan.passes
        assert isinstance(passes, int)
        while self.progress.passes < passes and self.going:
            self.progress.rows = self.progress.consumed = 0
            for batch in batches():
                self._take(batch)
                self.progress.rows += batch.rows
                self.progress.consumed = batch.consumed
                if watched.tell() or not self.going:
                    break
            if watched.stopped():
                return
            self.progress.passes += 1
            for contender in self.going:
                contender.run.check_learned()
                contender.run.check_values()
                contender.run.progress.passes += 1
                if self.progress.passes < passes:
                    contender.run.begin_pass()


def checked_rules(rules: Iterable[str]) -> list[Rule]:
    """Rules that exist, each once."""
    names = [rules] if isinstance(rules, str) else list(rules)
    known = [rule.name for rule in RULES.values()]
    if not names:
        raise OptionError("is empty; name at least one", option="rules")
    for name in names:
        if name not in known:
            raise OptionError(f"has {name!r}; there are {', '.join(map(repr, known))}", option="rules")
        if names.count(name) > 1:
            raise OptionError(f"has {name!r} twice", option="rules")
    return [rule for name in names for rule in known if rule == name]
