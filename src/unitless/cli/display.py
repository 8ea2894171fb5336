"""What commands print for people: progress, tables, a summary. Colors and rules only on a terminal."""

from __future__ import annotations

import math
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..presentation import shown
from ..presentation.sections import Facts, Section, Table, text
from . import failures

_PAUSE = 0.1  # seconds between two updates of the progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from ..data import Source
    from ..data.columns.schema import Schema
    from ..metrics.history import Moment


number, short, share, count, rates = shown.number, shown.short, shown.share, shown.count, shown.rates


def console(stderr: bool = False) -> Console:
    """The standard output, or the standard error, for rich: colored only on a terminal."""
    from rich.console import Console  # noqa: PLC0415

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, soft_wrap=not stream.isatty())


def table(title: str | None, header: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> None:
    """Print a table on the standard output: with rules on a terminal, as plain columns elsewhere."""
    cells = [[str(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        from rich import box  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415

        ruled = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
        for k, name in enumerate(header):
            ruled.add_column(name, justify="left" if k < left else "right", overflow="fold")
        for row in cells:
            ruled.add_row(*(_escaped(cell) for cell in row))
        console().print(ruled)
        return
    if title:
        print(title)
    print(shown.table(header, cells, left))


def show(sections: Iterable[Section]) -> None:
    """Print sections on the standard output."""
    found = [section for section in sections if section.content]
    if not sys.stdout.isatty():
        if found:
            print(text(found))
        return
    facts_of = [part.known for section in found for part in section.content if isinstance(part, Facts)]
    width = max((len(name) for known in facts_of for name, _ in known), default=0)
    for k, section in enumerate(found):
        if k:
            print()
        if section.title:
            console().print(section.title, markup=False, style="bold")
        for j, part in enumerate(section.content):
            if j:
                print()
            if isinstance(part, Facts):
                facts(part.known, width)
            elif isinstance(part, Table):
                table(None, part.header, part.rows, part.left)
            else:
                for line in part.lines:
                    _wrapped("- " if section.title else "", line)


def _wrapped(mark: str, line: str) -> None:
    """Print a line of text on a terminal; a long one is wrapped and indented by the width of the mark."""
    room = max(20, console().width - len(mark))
    line = ("\n" + " " * len(mark)).join(textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False))
    print(f"{mark}{line}")


def facts(pairs: Iterable[tuple[str, str]], width: int = 0) -> None:
    """Print names and values in two columns; on a terminal, long values are wrapped within theirs."""
    shown = [(name, value) for name, value in pairs if value]
    width = width or max((len(name) for name, _ in shown), default=0)
    if sys.stdout.isatty():
        out = console()
        room = max(20, out.width - width - 2)
        for name, value in shown:
            lines = textwrap.wrap(value, room, break_long_words=False, break_on_hyphens=False)
            text = ("\n" + " " * (width + 2)).join(lines)
            out.print(f"[bold cyan]{_escaped(name).ljust(width)}[/]  {_escaped(text)}")
        return
    for name, value in shown:
        print(f"{name.ljust(width)}  {value}")


def _escaped(text: str) -> str:
    from rich.markup import escape  # noqa: PLC0415

    return escape(text)


def of_pass(outcome: Any) -> str:
    """Words for the pass that was interrupted; empty for the first one."""
    return f" of pass {outcome.passes + 1}" if outcome.passes > 0 else ""


class Watching:
    """The progress callback that the library gets: it is called when the data is open, and after each batch.

    Args:
        watch: shows the progress.
        check: returns the source of a training, or raises an error if an output would replace it.
    """

    def __init__(self, watch: Watch, check: Callable[[Any], Source]) -> None:
        self._watch, self._check = watch, check

    def opened(self, run: Any) -> None:
        """Begin to show progress: the data is open, and nothing has been read."""
        self._watch.start(self._check(run).total_bytes)

    def __call__(self, run: Any) -> None:
        self._watch.show(run)


class Watch:
    """Progress of a training on the standard error: a line at each power of two of examples; on a terminal also a bar.

    Where the metric is the RMSE, it is shown instead of the squared loss, which is hard to read.
    """

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._shown, self._judged = quiet, 0, 0
        self._stage = ""  # a pass or a round, of which the bar shows the part that is done
        self._root = False  # whether the RMSE is shown instead of the loss
        self._loss = "loss"  # what the loss is called
        self._noted = 0  # how many notes have been printed
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._out = None if quiet else console(stderr=True)
        self._terminal = not quiet and sys.stderr.isatty()
        self._looked = -math.inf
        self._owed: Any = None  # a training whose last state has not been shown yet

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owed is not None:
            self._looked = -math.inf
            self.show(self._owed)
        if self._bar is not None:
            self._bar.stop()

    def start(self, total: int | None) -> None:
        """Begin to show progress.

        Args:
            total: the size of the data in bytes; None if it is not known.
        """
        if not self._terminal:
            return
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            Progress,
            SpinnerColumn,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.table import Column  # noqa: PLC0415

        def line() -> Column:
            return Column(no_wrap=True)

        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", table_column=line()),
            BarColumn(12),
            TaskProgressColumn(),
            TimeRemainingColumn(compact=True, table_column=line()),
            TextColumn("{task.fields[tail]}", table_column=line()),
            console=self._out,
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("reading", total=total, tail="")

    def show(self, run: Any) -> None:
        """Show the state of a training after a batch."""
        if self._quiet:
            return
        if self._is_soon(run):
            return
        self._remark(run)
        if run.evaluation is None:  # rows are read before they are shuffled
            return self._advance(run.progress, f"{run.read:,} rows read")
        self._name_metric(run)
        if run.rounds is not None:
            return self._show_rounds(run)
        if self._shown == 0 and run.evaluation.history:
            self._head(run)
        for moment in run.evaluation.history[self._shown :]:
            self._line(moment)
        self._shown = len(run.evaluation.history)
        for done, losses in list(run.passes.losses.items())[self._judged :]:
            found = ", ".join(f"{self._read(loss)} ({which} weights)" for which, loss in losses.items())
            self.say(f"pass {done}: {self._metric} on the held-out rows {found}")
        self._judged = len(run.passes.losses)
        if run.fitted:
            return self._advance_pass(run)
        self._advance(run.progress, tail=f"{self._metric} {self._read(run.evaluation.now.loss)}")

    def _advance_pass(self, run: Any) -> None:
        """Show how much of a pass is done, and the current metric."""
        judged = run.passes.losses.get(run.progress.passes)
        loss = run.evaluation.now.loss if judged is None else min(judged.values())
        where = "" if judged is None else " on held-out rows"
        of = "" if run.plan.is_auto else f" of {run.plan.passes}"
        stage = "held-out rows" if run.holdout_learned else f"pass {run.progress.passes + 1}{of}"
        learned = run.read - (0 if run.findings.kin is None else run.findings.kin.count)
        done = min(1.0, run.progress.rows / max(1, learned))
        self._advance_stage(stage, done, f"{self._metric} {self._read(loss)}{where}")

    def _name_metric(self, run: Any) -> None:
        """Choose the metric that is shown: the RMSE where numbers are predicted with squared loss, else the loss."""
        from ..metrics.shown_metrics import training_loss  # noqa: PLC0415  (only commands that learn need it)

        self._root = bool(run.evaluation.is_squared_error and run.evaluation.now.error_rate is None)
        self._loss = training_loss(run.model.options.loss, run.target.task)

    @property
    def _metric(self) -> str:
        return "RMSE" if self._root else self._loss

    def _read(self, loss: float) -> str:
        """A mean loss as people read it: its root where the RMSE is shown."""
        return number(math.sqrt(loss) if self._root else loss)

    def _is_soon(self, run: Any) -> bool:
        """Whether to show nothing now: where a background worker computes the metrics, each update waits for it."""
        now = time.monotonic()
        soon = run.session is not None and run.session.in_background and now - self._looked < _PAUSE
        self._owed = run if soon else None
        self._looked = self._looked if soon else now
        return bool(soon)

    def _remark(self, run: Any) -> None:
        """Print the notes that have been added since the last call."""
        for note in run.findings.remarks[self._noted :]:
            self.say(f"note: {failures.written(note)}")
        self._noted = len(run.findings.remarks)

    def _show_rounds(self, run: Any) -> None:
        """Print a line for each synchronization round."""
        if self._shown == 0 and run.findings.round_log and self._out is not None:
            self._out.print(str(run.target), markup=False, style="bold" if self._terminal else None)
            header = f"{'round':>6}{'rows':>12}{self._metric:>14}{'held out':>12}{'seconds':>9}{'merging':>9}"
            self._out.print(header, style="dim" if self._terminal else None)
        for one in run.findings.round_log[self._shown :]:
            losses = f"{self._read(one.loss):>14}{self._read(one.held_loss):>12}"
            times = "".join(f"{'-' if math.isnan(time) else f'{time:.2f}':>9}" for time in (one.seconds, one.merging))
            self.say(f"{one.number:>6}{one.rows:>12,}{losses}{times}")
        self._shown = len(run.findings.round_log)
        done = run.progress.rows / max(1, run.read)
        tail = f"{self._metric} {self._read(run.evaluation.now.loss)}"
        self._advance_stage(f"round {len(run.findings.round_log) + 1}", done, tail)

    def _advance(self, progress: Any, description: str = "", tail: str = "") -> None:
        """Show how much of the data has been read."""
        if self._bar is not None and self._task is not None:
            speed = progress.rows / max(progress.seconds, 1e-9)
            description = description or f"{progress.rows:,} rows, {speed:,.0f} rows/s"
            self._bar.update(self._task, completed=progress.consumed, description=description, tail=tail)

    def _advance_stage(self, stage: str, done: float, tail: str) -> None:
        """Show how much of a stage is done; the time that is left is that of the stage."""
        if self._bar is None or self._task is None:
            return
        if stage != self._stage:
            self._bar.reset(self._task, total=1.0, description=stage)
            self._stage = stage
        self._bar.update(self._task, completed=done, tail=tail)

    def _head(self, run: Any) -> None:
        assert self._out is not None
        error = f"{'error':>10}" if run.evaluation.history[0].error_rate is not None else ""
        self._out.print(str(run.target), markup=False, style="bold" if self._terminal else None)
        header = f"{self._metric:>14}{'since last':>12}{error}{'examples':>14}"
        self._out.print(header, style="dim" if self._terminal else None)

    def _line(self, moment: Moment) -> None:
        assert self._out is not None
        error = f"{moment.error_rate:>10.2%}" if moment.error_rate is not None else ""
        self._out.print(
            f"{self._read(moment.loss):>14}{self._read(moment.since_last):>12}{error}{moment.examples:>14,}"
        )

    def say(self, message: str) -> None:
        """Print a message on the standard error."""
        if self._out is not None:
            self._out.print(message, markup=False)


class Board(Watch):
    """Progress of several learners on the same rows: a column with the loss of each."""

    def show(self, runs: Any) -> None:
        """Show the state of all learners after a batch."""
        if self._quiet:
            return
        self._remark(runs.contenders[0].training)
        going = [one for one in runs.contenders if one.training.evaluation is not None]
        shown = max((len(one.training.evaluation.history) for one in going), default=0)
        if self._shown == 0 and shown and self._out is not None:
            self._out.print(str(going[0].training.target), markup=False, style="bold" if self._terminal else None)
            names = "".join(f"{one.rule:>12}" for one in runs.contenders)
            self._name_metric(going[0].training)
            self._out.print(
                f"{'examples':>12}{names}   progressive {self._metric}", style="dim" if self._terminal else None
            )
        for k in range(self._shown, shown):
            self._row([one.training.evaluation.history[k : k + 1] for one in going])
        self._shown = shown
        leading = min(
            ((one.training.evaluation.now.loss, one.rule) for one in runs.going if one.training.evaluation is not None),
            default=(math.nan, ""),
        )
        self._advance(
            runs.progress, tail=f"least {self._metric}: {leading[1]} {self._read(leading[0])}" if leading[1] else ""
        )

    def _row(self, moments: list[list[Moment]]) -> None:
        assert self._out is not None
        examples = next(found[0].examples for found in moments if found)
        losses = "".join(f"{self._read(found[0].loss) if found else '-':>12}" for found in moments)
        self._out.print(f"{examples:>12,}{losses}")


class Counter(Watch):
    """Progress of work without a metric: on a terminal a bar, elsewhere nothing."""

    def show(self, runs: Any) -> None:
        """Show how many rows have been read."""
        self._advance(runs.progress)


class Steps:
    """Progress of work in named steps: on a terminal a bar, elsewhere a line when a part begins."""

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._part = quiet, ""
        self._out = None if quiet else console(stderr=True)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._transfer: TaskID | None = None

    def __enter__(self) -> Steps:
        if not self._quiet and sys.stderr.isatty():
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

            shown = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*shown, console=self._out, transient=True)
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begun(self, name: str, steps: int) -> None:
        """Begin a part that has about this number of steps."""
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(name, total=steps)

    def told(self, what: str) -> None:
        """Count a step that is done."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=1, description=what)
        elif self._out is not None and (part := what.partition(":")[0]) != self._part:
            self._part = part
            self._out.print(part, markup=False)

    def transferred(self, received: int, total: int | None) -> None:
        """Show how many bytes of a download have been received."""
        if self._bar is None:
            return
        if self._transfer is None:
            self._transfer = self._bar.add_task("download", total=total)
        self._bar.update(self._transfer, completed=received, total=total)
        if received == total:
            self._bar.remove_task(self._transfer)
            self._transfer = None

    def say(self, message: str) -> None:
        """Print a message on the standard error."""
        if self._out is not None:
            self._out.print(message, markup=False)


def notes_on_invalid(invalid: Mapping[str, Any], schema: Schema) -> None:
    """Print a note for each column with values that could not be read as its type."""
    from ..data.columns.schema import VALUE  # noqa: PLC0415  (only few commands read data)

    for name, (found, place, value) in list(invalid.items())[:5]:
        what = VALUE[str(schema.kinds.get(name, schema.target_kind))]
        print(f"note: {shown.invalid(name, value, shown.place(place), what, found)}", file=sys.stderr)
