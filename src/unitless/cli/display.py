"""What people see: a line of progress, tables, a summary. Plain text when it is not a terminal that looks on."""

from __future__ import annotations

import math
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import shown
from . import failures

_PAUSE = 0.1  # seconds between two looks at a run

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

    from ..data import Source
    from ..data.schema import Schema
    from ..metrics.evaluation import Moment


number, short = shown.number, shown.short


def console(stderr: bool = False) -> Console:
    """Where to print: colours only on a terminal."""
    from rich.console import Console  # noqa: PLC0415

    stream = sys.stderr if stderr else sys.stdout
    return Console(stderr=stderr, highlight=False, soft_wrap=not stream.isatty())


def table(title: str | None, header: Sequence[str], rows: Iterable[Sequence[Any]], left: int = 1) -> None:
    """A table on the standard output: ruled on a terminal, plain columns elsewhere."""
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
    widths = [max(len(name), *(len(row[k]) for row in cells)) if cells else len(name) for k, name in enumerate(header)]
    if title:
        print(title)
    for row in [list(header), *cells]:
        line = (
            cell.ljust(width) if k < left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(line).rstrip())


def facts(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and values, aligned; on a terminal, long values go on below their own beginning."""
    shown = [(name, value) for name, value in pairs if value]
    width = max((len(name) for name, _ in shown), default=0)
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


def share(value: float) -> str:
    """As a percentage."""
    return f"{value:.2%}"


def count(value: int, what: str) -> str:
    """So many of something."""
    return f"{value:,} {what}{'s' * (value != 1)}"


def intervals(metrics: dict[str, float], level: float) -> list[tuple[str, str]]:
    """How good intervals or sets are, as a line of facts; none if nothing is known."""
    if "coverage" not in metrics:
        return []
    name, size = ("intervals", "width") if "width" in metrics else ("sets", "set_size")
    held = f"{100 * level:.4g}% {name} hold {share(metrics['coverage'])} of the rows"
    return [(name[:-1], f"{held}, mean {size.replace('_', ' ')} {number(metrics[size])}")]


def rates(rate: Any) -> str:
    """A learning rate, or the range of those of classes."""
    if not isinstance(rate, dict):
        return shown.rate(rate)
    values = sorted(rate.values())
    if not values:
        return ""
    first, last = shown.rate(values[0]), shown.rate(values[-1])
    return first if first == last else f"{first} to {last}, by class"


def learned(outcome: Any, interrupted: bool, kept: bool = True) -> str:
    """How many rows there were, and what became of them."""
    stopped, details = interrupted and outcome.passes > 0, outcome.details
    rows = [count(outcome.rows if not stopped else details.learned, "row")]
    rows += [f"interrupted in pass {outcome.passes + 1}"] if stopped else []
    rows += [f"in random order ({details.shuffled})"] if outcome.fitted else ["in their own order"]
    rows += [f"{details.held_out:,} held out"] if details.held_out else []
    rows += [f"{details.unlabeled:,} without label"] if details.unlabeled else []
    rows += [f"{details.skipped:,} skipped"] if details.skipped else []
    rows += [f"{outcome.passes} passes"] if outcome.passes > 1 and not stopped else []
    if outcome.fitted and kept and not interrupted:
        of_pass = f" of pass {details.selected_pass}" if outcome.passes > 1 else ""
        rows += [f"the {outcome.selected} weights{of_pass} selected"]
    return ", ".join(rows)


def main_metric(metrics: Mapping[str, float], by: str) -> str:
    """The metric that people look at first, where models are judged by this one."""
    return f"accuracy {share(metrics['accuracy'])}" if by == "error_rate" else f"{by} {number(metrics[by])}"


def of_pass(outcome: Any) -> str:
    """Which pass was interrupted, if it was not the first."""
    return f" of pass {outcome.passes + 1}" if outcome.passes > 0 else ""


class Watching:
    """What the library calls while it works: when the data is open, and after each batch.

    Args:
        watch: which shows the progress.
        check: gives the source, or refuses it.
    """

    def __init__(self, watch: Watch, check: Callable[[Any], Source]) -> None:
        self._watch, self._check = watch, check

    def opened(self, run: Any) -> None:
        """The data is open; nothing has been read."""
        self._watch.start(self._check(run).total_bytes)

    def __call__(self, run: Any) -> None:
        self._watch.show(run)


class Watch:
    """Progress of a run on the standard error: a table at powers of two, and on a terminal a bar below it."""

    _tail = "loss {task.fields[loss]}, since last {task.fields[since]}"

    def __init__(self, quiet: bool) -> None:
        self._quiet, self._shown, self._judged = quiet, 0, 0
        self.remarked: list[str] = []  # notes that people have seen
        self._total: int | None = None
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._out = None if quiet else console(stderr=True)
        self._terminal = not quiet and sys.stderr.isatty()
        self._looked = -math.inf
        self._owed: Any = None  # a run that has more to show than was shown

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._owed is not None:
            self._looked = -math.inf
            self.show(self._owed)
        if self._bar is not None:
            self._bar.stop()

    def start(self, total: int | None) -> None:
        """The data is open: so many bytes are to come."""
        self._total = total
        if not self._terminal:
            return
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            DownloadColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        columns: list[Any] = [SpinnerColumn(), TextColumn("{task.fields[rows]:,} rows")]
        columns.append(TextColumn("[cyan]{task.fields[speed]:,.0f} rows/s[/]"))
        if total:
            columns += [BarColumn(), DownloadColumn(), TimeRemainingColumn()]
        columns.append(TextColumn(self._tail))
        self._bar = Progress(*columns, console=self._out, transient=True)
        self._bar.start()
        self._task = self._bar.add_task("", total=total, rows=0, speed=0.0, loss="-", since="-")

    def show(self, run: Any) -> None:
        """After a batch."""
        if self._quiet:
            return
        if self._is_soon(run):
            return
        self._remark(run)
        if run.evaluation is None:  # the rows are read, to be put into random order
            return self._advance(run.progress, "-", "-", rows=run.read)
        if run.rounds is not None:
            return self._show_rounds(run)
        if self._shown == 0 and run.evaluation.history:
            self._head(run)
        for moment in run.evaluation.history[self._shown :]:
            self._line(moment)
        self._shown = len(run.evaluation.history)
        for done, losses in list(run.passes.losses.items())[self._judged :]:
            said = ", ".join(f"{number(loss)} ({kept} weights)" for kept, loss in losses.items())
            self.say(f"pass {done}: loss on the held-out rows {said}")
        self._judged = len(run.passes.losses)
        now = run.evaluation.now
        share = run.progress.rows / max(1, run.read) if run.fitted else None  # of the pass
        self._advance(run.progress, number(now.loss), number(now.since_last), share)

    def _is_soon(self, run: Any) -> bool:
        """Whether this can wait: while another thread counts, every look waits for it."""
        now = time.monotonic()
        soon = run.beside.apart and now - self._looked < _PAUSE
        self._owed = run if soon else None
        self._looked = self._looked if soon else now
        return bool(soon)

    def _remark(self, run: Any) -> None:
        """What was noticed on the way, when it is noticed."""
        for note in run.remarks[len(self.remarked) :]:
            self.say(f"note: {failures.written(note)}")
            self.remarked.append(note)

    def _show_rounds(self, run: Any) -> None:
        """One line for each round in which several partitions have learned."""
        if self._shown == 0 and run.told and self._out is not None:
            self._out.print(str(run.target), markup=False, style="bold" if self._terminal else None)
            header = f"{'round':>6}{'rows':>12}{'loss':>12}{'held out':>12}{'seconds':>9}{'merging':>9}"
            self._out.print(header, style="dim" if self._terminal else None)
        for told in run.told[self._shown :]:
            losses = "".join(f"{'-' if math.isnan(loss) else number(loss):>12}" for loss in (told.loss, told.held_loss))
            times = "".join(f"{'-' if math.isnan(one) else f'{one:.2f}':>9}" for one in (told.seconds, told.merging))
            self.say(f"{told.number:>6}{told.rows:>12,}{losses}{times}")
        self._shown = len(run.told)
        now, share = run.evaluation.now, run.progress.rows / max(1, run.read)
        self._advance(run.progress, number(now.loss), number(now.since_last), share)

    def _advance(
        self, progress: Any, loss: str = "", since: str = "", share: float | None = None, rows: int | None = None
    ) -> None:
        if self._bar is not None and self._task is not None:
            rows = progress.rows if rows is None else rows
            done = progress.consumed if share is None else share * (self._total or 0)
            self._bar.update(
                self._task,
                completed=done,
                rows=rows,
                speed=rows / max(progress.seconds, 1e-9),
                loss=loss,
                since=since,
            )

    def _head(self, run: Any) -> None:
        assert self._out is not None
        error = f"{'error':>10}" if run.evaluation.history[0].error_rate is not None else ""
        self._out.print(str(run.target), markup=False, style="bold" if self._terminal else None)
        header = f"{'loss':>12}{'since last':>12}{error}{'examples':>14}"
        self._out.print(header, style="dim" if self._terminal else None)

    def _line(self, moment: Moment) -> None:
        assert self._out is not None
        error = f"{moment.error_rate:>10.2%}" if moment.error_rate is not None else ""
        self._out.print(f"{number(moment.loss):>12}{number(moment.since_last):>12}{error}{moment.examples:>14,}")

    def say(self, message: str) -> None:
        """A remark on the standard error."""
        if self._out is not None:
            self._out.print(message, markup=False)


class Board(Watch):
    """Progress of several learners side by side: the loss of each, one column for each."""

    _tail = "{task.fields[loss]}"

    def show(self, runs: Any) -> None:
        """After a batch."""
        if self._quiet:
            return
        self._remark(runs.contenders[0].run)
        going = [one for one in runs.contenders if one.run.evaluation is not None]
        shown = max((len(one.run.evaluation.history) for one in going), default=0)
        if self._shown == 0 and shown and self._out is not None:
            self._out.print(str(going[0].run.target), markup=False, style="bold" if self._terminal else None)
            names = "".join(f"{one.rule:>12}" for one in runs.contenders)
            self._out.print(f"{'examples':>12}{names}   progressive loss", style="dim" if self._terminal else None)
        for k in range(self._shown, shown):
            self._row([one.run.evaluation.history[k : k + 1] for one in going])
        self._shown = shown
        leading = min(
            ((one.run.evaluation.now.loss, one.rule) for one in runs.going if one.run.evaluation is not None),
            default=(math.nan, ""),
        )
        self._advance(runs.progress, f"least loss: {leading[1]} {number(leading[0])}" if leading[1] else "")

    def _row(self, moments: list[list[Moment]]) -> None:
        assert self._out is not None
        examples = next(found[0].examples for found in moments if found)
        losses = "".join(f"{number(found[0].loss) if found else '-':>12}" for found in moments)
        self._out.print(f"{examples:>12,}{losses}")


class Counter(Watch):
    """Progress of work that has no loss to show yet: on a terminal a bar, elsewhere nothing."""

    _tail = ""

    def show(self, runs: Any) -> None:
        """After a batch."""
        self._advance(runs.progress)


class Steps:
    """Progress of work in named steps: on a terminal a bar, elsewhere a line whenever another part begins."""

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
        """A part of about so many steps."""
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(name, total=steps)

    def told(self, what: str) -> None:
        """A step is done."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=1, description=what)
        elif self._out is not None and (part := what.partition(":")[0]) != self._part:
            self._part = part
            self._out.print(part, markup=False)

    def transferred(self, received: int, total: int | None) -> None:
        """So many bytes of a download are here."""
        if self._bar is None:
            return
        if self._transfer is None:
            self._transfer = self._bar.add_task("download", total=total)
        self._bar.update(self._transfer, completed=received, total=total)
        if received == total:
            self._bar.remove_task(self._transfer)
            self._transfer = None

    def say(self, message: str) -> None:
        """A remark on the standard error."""
        if self._out is not None:
            self._out.print(message, markup=False)


def notes_on_odd(odd: Mapping[str, Any], schema: Schema) -> None:
    """Say which columns had values that are not what they hold."""
    from ..data.schema import VALUE  # noqa: PLC0415  (only few commands read data)

    for name, (count, place, value) in list(odd.items())[:5]:
        what = VALUE[str(schema.kinds.get(name, schema.target_kind))]
        more = f"; so are {count - 1:,} more" if count > 1 else ""
        where = f"{value!r} in {shown.place(place)} is not {what} that can be used, and is treated as missing{more}"
        print(f"note: column {name!r}: {where}", file=sys.stderr)
