"""Several learners over one reading of the data, for `compare` and `sweep`: each of them learns every batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from ..data import Batch
from ..data.progress import Progress
from ..errors import DivergedError, OptionError
from ..options import Rule
from ..presentation import notebook_bar
from ..rules import RULES
from .fit import shuffled
from .interruption import interruptible
from .training import Training
from .watched import Watched

AnyTraining = TypeVar("AnyTraining", bound=Training)


@dataclass
class Contender(Generic[AnyTraining]):
    """The training of one learner, its time, and where it diverged; from there on it learns no more batches."""

    rule: Rule
    training: AnyTraining
    seconds: float = 0.0
    diverged: str | None = None

    def take(self, batch: Batch) -> None:
        """Learn a batch, unless the learner has diverged."""
        if self.diverged is not None:
            return
        start = time.perf_counter()
        if not self.training.fitted:  # the rows of a fit were counted when they were read
            self.training.progress.read_in(batch)
        try:
            self.training.learn(batch)
        except DivergedError as error:
            self.diverged = error.where
        self.seconds += time.perf_counter() - start


class Contest(Generic[AnyTraining]):
    """Trainings with the same data and settings that differ in their rule alone.

    Args:
        rules: the update rules, one for each learner.
        source: the data.
        make: makes a training for a source and a rule.
    """

    def __init__(self, rules: Iterable[str], source: Any, make: Callable[[Any, Rule], AnyTraining]) -> None:
        self.progress = Progress()
        self.interrupted = False
        self.contenders: list[Contender[AnyTraining]] = []
        for rule in checked_rules(rules):
            first = self.contenders[0].training.setup if self.contenders else None
            training = make(source if first is None else first.source, rule)
            if first is not None:  # one reader, which infers the columns once
                training.setup = replace(training.setup, reader=first.reader)
            self.contenders.append(Contender(rule, training))
        self.source = self.contenders[0].training.source

    @property
    def going(self) -> list[Contender[AnyTraining]]:
        """The contenders that have not diverged."""
        return [contender for contender in self.contenders if contender.diverged is None]

    def _take(self, batch: Batch) -> None:
        """Let every contender learn a batch."""
        for contender in self.contenders:
            contender.take(batch)

    def go(self, progress: Callable[[Any], None] | Literal[False] | None) -> None:
        """Learn to the end of the data, until interrupted, or until all have diverged; each learns as in `train`.

        Args:
            progress: called after every batch. None: a bar in notebooks; False: nothing.
        """
        first = self.contenders[0].training
        with notebook_bar.watching(progress) as watch, interruptible() as interrupted:
            notebook_bar.opened(watch, self)
            watched = Watched(self, watch, interrupted)
            if not first.fitted:
                self._passes(lambda: first.reader.batches(None, interrupted), watched)
            else:
                plan = first.plan
                with shuffled(first, watched, plan.held_rows if plan.holdout else lambda _: 0) as rows:
                    for contender in self.contenders[1:]:
                        contender.training.share_rows(first)
                    held = rows.held.count
                    if not interrupted():
                        first.check_rows(rows.rows)
                        self._passes(lambda: rows.batches(0, rows.learned), watched)
                        for contender in self.going:
                            contender.training.progress.rows = first.read
                            contender.training.score_holdout(rows.batches(rows.rows - held), held)
            self.interrupted = interrupted()
            for contender in self.contenders:
                contender.training.progress.done = not self.interrupted
                if contender.training.model is not None:
                    contender.training.passes.finish(contender.training.model)

    def _passes(self, batches: Callable[[], Iterator[Batch]], watched: Watched) -> None:
        passes = self.contenders[0].training.plan.passes
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
                contender.training.check_learned()
                contender.training.check_values()
                contender.training.progress.passes += 1
                if self.progress.passes < passes:
                    contender.training.begin_pass()


def checked_rules(rules: Iterable[str]) -> list[Rule]:
    """The names of rules without duplicates; raises `OptionError` for one that does not exist."""
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
