"""A progress bar in notebooks, for work that nobody else watches. Elsewhere there is none."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

from . import html, shown

Watcher = Callable[[Any], None]

_PATIENCE = 0.4  # seconds: what takes less shows no bar
_PAUSE = 0.2  # seconds between two looks


@contextlib.contextmanager
def watching(given: Watcher | Literal[False] | None) -> Iterator[Watcher | None]:
    """Choose the callback after every batch: the function that was given; otherwise, in a notebook, a bar.

    Args:
        given: the option `progress` of `train`, `score` and others; False for no bar.
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
    """Before the first row is read: tell a watcher that has a method `opened`."""
    if (tell := getattr(watch, "opened", None)) is not None:
        tell(run)


def in_notebook() -> bool:
    """Whether this runs in a notebook, which shows HTML and can change it later."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class _Bar:
    """One line of a notebook's output that changes while the work goes on."""

    def __init__(self) -> None:
        self._start = self._last = time.monotonic()
        self._handle: Any = None
        self._said = ""

    def show(self, run: Any) -> None:
        """After a batch."""
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
        """The bar goes, and the count of rows stays."""
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
    """How much of this pass is done, if that is known."""
    if getattr(run, "fitted", False) and run.evaluation is not None:  # all rows have been read, and are learned now
        return float(run.progress.rows / max(1, run.read))
    total = run.source.total_bytes
    return None if not total else float(run.progress.consumed / total)


def _drawn(share: float | None) -> html.Html:
    if share is None:
        return html.Html("")
    inner = html.tag("div", "", f"height:100%;width:{100 * min(1.0, share):.1f}%;background:{html.RISE};")
    frame = "display:inline-block;width:14em;height:.7em;margin-right:.8em;background:rgba(128,128,128,.25);"
    return html.tag("div", inner, frame, aria_hidden="true")
