"""A progress bar for notebooks. Outside of notebooks no bar is shown."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

from . import html, shown

Watcher = Callable[[Any], None]

_PATIENCE = 0.4  # seconds; shorter work shows no bar
_PAUSE = 0.2  # seconds between updates


@contextlib.contextmanager
def watching(given: Watcher | Literal[False] | None) -> Iterator[Watcher | None]:
    """Choose the callback that is called after every batch, and end it when the work is done.

    Args:
        given: the option `progress` of `train`, `evaluate` and others: a callback; False for none; None for a bar in a
            notebook and nothing elsewhere.
    """
    if given is not None or not in_notebook():
        yield given or None
        return
    bar = _Bar()
    try:
        yield bar.show
    finally:
        bar.end()


def opened(watch: Watcher | None, run: Any) -> None:
    """Call the method `opened` of a watcher that has one; this happens before the first row is read."""
    if (tell := getattr(watch, "opened", None)) is not None:
        tell(run)


def in_notebook() -> bool:
    """Return whether this process belongs to a notebook, which shows HTML and can change it later."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class _Bar:
    """A line in the output of a notebook cell that is updated during the work."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._handle: Any = None
        self._said = ""

    def show(self, run: Any) -> None:
        """Update the bar after a batch."""
        now = time.monotonic()
        progress = run.progress
        rows = progress.rows or getattr(run, "read", 0)
        self._said = f"{rows:,} rows"
        if now - self._start < _PATIENCE or now - self._last < _PAUSE:
            return
        self._last = now
        evaluation = getattr(run, "evaluation", None)
        parts = [self._said, f"{rows / max(progress.seconds, 1e-9):,.0f} rows/s"]
        if progress.passes:
            parts.insert(0, f"pass {progress.passes + 1}")
        if evaluation is not None and evaluation.examples:
            parts.append(f"loss {shown.number(evaluation.now.loss)}")
        self._put(html.joined([_drawn(_share(run)), html.tag("span", ", ".join(parts))]))

    def end(self) -> None:
        """Remove the bar and leave the number of rows."""
        if self._handle is not None:
            self._put(html.tag("span", f"{self._said} in {time.monotonic() - self._start:.1f} s"))

    def _put(self, line: html.Html) -> None:
        from IPython.display import HTML, display  # noqa: PLC0415  (only notebooks have it)

        page = HTML(html.tag("div", line, "opacity:.8;font-size:90%;font-variant-numeric:tabular-nums;"))
        if self._handle is None:
            self._handle = display(page, display_id=True)
        else:
            self._handle.update(page)


def _share(run: Any) -> float | None:
    """Return the share of the current pass that is done; None if it is not known."""
    if getattr(run, "fitted", False) and run.evaluation is not None:  # all rows are read; now they are learned
        return float(run.progress.rows / max(1, run.read))
    total = run.source.total_bytes
    return None if not total else float(run.progress.consumed / total)


def _drawn(share: float | None) -> html.Html:
    if share is None:
        return html.Html("")
    inner = html.tag("div", "", f"height:100%;width:{100 * min(1.0, share):.1f}%;background:{html.RISE};")
    frame = "display:inline-block;width:14em;height:.7em;margin-right:.8em;background:rgba(128,128,128,.25);"
    return html.tag("div", inner, frame, aria_hidden="true")
