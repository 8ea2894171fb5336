"""Gives the rows of a source in random order, in bounded memory.

The order is that of a hash of the seed and the row number. It depends on nothing else: not on the storage of the rows,
the chunks or the memory. Rows that fit into memory stay there. If they do not fit, the rows in memory are sorted and
written to a temporary file, again and again. Then the range of hashes is divided into intervals whose rows fit into
memory, and for each interval its rows are read back from all that was written.

The held-out rows come last, after the copies of held-out rows, which are set aside (`kin.py`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ... import _core, inputs
from ...errors import InputError
from ...locks import forkable_lock
from ..columns.schema import first_rows
from ..labels import Texts
from ..reader import Batch
from ..sources.located_rows import Places
from ..threads import prefetched
from .content import content_hashes
from .kin import ASIDE, HELD, LEARNED, Held, Kin
from .random_order import MASK, SPAN, Order, hashes, hashes_of, unhashed
from .records import BLOCK, Index
from .spilled_rows import Segment, SpillFile
from .stored_rows import StoredRows, concatenated

if TYPE_CHECKING:
    from typing_extensions import Self

_CELLS = 64  # at most so many intervals of hashes are written separately
_LEAST = 16  # at least so many rows are in memory together, whatever their size
_PER_ROW = 24  # bytes for a row's number, hash and place in the order


def batch_rows(data: inputs.Input) -> tuple[int, int]:
    """Return the number of rows in the first batch, which decides the task, and in later batches.

    It depends only on the number of columns, so that it is the same for all formats.
    """
    if isinstance(data, inputs.Frame):
        columns = len(data.names)
    elif isinstance(data, inputs.Dense):
        columns = data.array.shape[1]
    else:
        return 4096, 4096
    usual = max(64, min(16384, (1 << 19) // max(1, columns)))
    return max(first_rows(columns), usual), usual


@dataclass(frozen=True)
class _Interval:
    """Rows that are in memory together: those with hashes from `low` to `high`, which are rows `first` to `last`.

    They are of one part (`kin.py`); None if the rows are not divided into parts.
    """

    cells: range
    low: int
    high: int
    first: int = 0
    last: int = 0
    part: int | None = None


class Shuffle:
    """Rows in random order. They are added, sealed, and then returned in batches, as often as needed.

    Args:
        seed: the random seed.
        memory: the bytes that the rows may use. More rows go to a temporary file; the order does not change.
        folder: the folder of that file. Default: None, the system's folder for temporary files.
        held: returns how many of a number of rows are held out. Default: None; no row is held out, and rows are not
            compared with each other.
    """

    def __init__(
        self, seed: int, memory: int, folder: str | None = None, held: Callable[[int], int] | None = None
    ) -> None:
        self.rows = 0
        self.held = Held()  # which rows are held out; it is known when the rows are sealed
        self._seed, self._folder = seed, folder
        # The other half is for batches between the source, this object and the learner.
        self._limit = max(1, memory // 2)
        self._wanted = held
        self._kin = None if held is None else Kin(self._limit // 2)
        self._block = min(BLOCK, max(4096, self._limit // 16))
        self._stored: StoredRows = StoredRows(self._block)
        self._places = Places()
        self._file: SpillFile | None = None
        self._bits = 0  # bits of the hash that select the cell
        self._cells: list[list[Segment]] = []
        self._sizes: list[int] = []  # bytes in memory of the rows of each cell
        self._labels: list[str] = []
        self._batch_rows: tuple[int, int] | None = None
        self._indices = 0, 0  # libsvm: from the first to before the second, if all of them were seen in order
        self._sealed = self._closed = False
        self._order: Order | None = None
        self._intervals: list[_Interval] = []
        self._loaded: tuple[_Interval, StoredRows, Index, Index] | None = None
        self._kept: dict[_Interval, tuple[StoredRows, Index, Index] | None] = {}  # they stay in memory when loaded
        self._lock = forkable_lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Release all rows, and remove the temporary file."""
        self._closed = True
        self._stored, self._loaded, self._kept, self._order = StoredRows(), None, {}, None
        if self._file is not None:
            self._file.close()

    @property
    def learned(self) -> int:
        """The number of rows that are neither held out nor set aside; they come first."""
        return self.rows - self.held.aside - self.held.count

    @property
    def how(self) -> str:
        """How the rows are stored, for a report."""
        if self._file is None:
            return "in memory"
        return f"through a temporary file of {math.ceil(self._file.size / 1e6):,} MB"

    # ------------------------------------------------------------------------------------------------ in

    def add(self, batch: Batch) -> None:
        """Add the next rows of the source."""
        assert not self._sealed
        if not batch.rows:
            return
        if self._batch_rows is None:
            self._batch_rows = batch_rows(batch.data)
        if isinstance(batch.data, inputs.TextRows):
            self._indices = batch.data.read.first_index, batch.data.read.next_index
        try:
            self._stored.add(batch)
        except InputError as error:
            raise error.at(**batch.place.at(0)) from None
        self._places.add(batch.place, batch.rows)
        self.rows += batch.rows
        hashed = 0
        if self._kin is not None:
            self._kin.add(lambda: content_hashes(batch.data, batch.labels, batch.offset), batch.groups, batch.rows)
            hashed = self._kin.nbytes
        if self._stored.nbytes + _PER_ROW * self._stored.rows + self._places.nbytes + hashed > self._limit:
            self._spill()

    def seal(self) -> None:
        """Finish adding rows, and choose those that are held out."""
        self._sealed = True
        if self._kin is not None and self._wanted is not None:
            self.held = self._kin.held(self._seed, self._wanted(self.rows))
            self._kin = None
        if self._file is None:
            self._order = Order(self._seed, self.rows, self.held.parts)
            return
        if self._stored.rows:
            self._spill()
        self._intervals = self._planned()

    def _spill(self) -> None:
        """Write the rows in memory to the file, sorted by hash and divided into cells."""
        stored = self._stored
        if self._file is None:
            self._file = SpillFile(self._folder)
            self._bits = min(_CELLS, max(1, stored.rows // 64)).bit_length() - 1
            self._cells = [[] for _ in range(1 << self._bits)]
            self._sizes = [0] * len(self._cells)
        first = self.rows - stored.rows
        found = hashes(self._seed, first, self.rows)
        found.sort()
        edges = np.array([cell << (64 - self._bits) for cell in range(1, len(self._cells))], np.uint64)
        cuts = [0, *np.searchsorted(found, edges).tolist(), len(found)]
        numbers = unhashed(self._seed, found)
        per_row = stored.nbytes / stored.rows + _PER_ROW
        for cell, segments in enumerate(self._cells):
            here = numbers[cuts[cell] : cuts[cell + 1]]
            if not len(here):
                continue
            batch = stored.gather(here - first, self._places.of(here))
            if isinstance(batch.labels, Texts):
                self._labels = self._recoded(batch)
            segments.append(self._file.write(batch, here))
            self._sizes[cell] += int(per_row * len(here))
        self._stored = StoredRows(self._block)

    def _recoded(self, batch: Batch) -> list[str]:
        """Return the values of all text labels; the labels of the batch become places among them."""
        labels = batch.labels
        assert isinstance(labels, Texts)
        known = {value: code for code, value in enumerate(self._labels)}
        if labels.values != self._labels[: len(labels.values)]:
            places = [known.setdefault(value, len(known)) for value in labels.values]
            batch.labels = Texts(np.array([*places, -1], np.int32)[labels.codes], labels.values)
        return list(known)

    def _planned(self) -> list[_Interval]:
        """Return the intervals of hashes whose rows fit into memory: several cells, one cell, or a part of one."""
        width, limit = 1 << (64 - self._bits), self._limit
        few = self.held.parts is not None and sum(self._sizes) / self.rows * (self.rows - self.learned) <= limit / 4
        if few:  # then the rows that are not learned stay in memory, next to the rows of an interval
            limit -= limit // 4
        plan: list[_Interval] = []
        begin = taken = 0
        whole = True
        for cell, size in enumerate(self._sizes):
            if size > limit or taken + size > limit:
                if begin < cell:
                    plan.append(_Interval(range(begin, cell), begin * width, cell * width - 1))
                begin, taken = cell, 0
            if size > limit:
                rows = sum(segment.rows for segment in self._cells[cell])
                parts = max(1, min(math.ceil(1.1 * size / limit), rows // _LEAST))
                cuts = [cell * width + k * width // parts for k in range(parts + 1)]
                plan += [_Interval(range(cell, cell + 1), cuts[k], cuts[k + 1] - 1) for k in range(parts)]
                begin, whole = cell + 1, False
            else:
                taken += size
        if begin < len(self._sizes):
            plan.append(_Interval(range(begin, len(self._sizes)), begin * width, MASK))
        if self.held.parts is not None:
            whole_range = [_Interval(range(len(self._sizes)), 0, MASK)]
            several = [(part, whole_range if few and part != LEARNED else plan) for part in (LEARNED, ASIDE, HELD)]
            counts = [count for part, some in several for count in self._counted(some, self.held.parts == part)]
            plan = [replace(one, part=part) for part, some in several for one in some]
        elif whole:
            counts = [sum(segment.rows for cell in one.cells for segment in self._cells[cell]) for one in plan]
        else:
            counts = self._counted(plan)
        ends = np.cumsum(counts).tolist()
        plan = [replace(one, first=end - count, last=end) for one, count, end in zip(plan, counts, ends, strict=True)]
        self._kept = {one: None for one in plan if few and one.part != LEARNED}
        return plan

    def _counted(self, plan: list[_Interval], mask: NDArray[np.bool_] | None = None) -> list[int]:
        """Return the number of rows in each interval; only of those in the mask if there is one."""
        highs, counts = np.array([one.high for one in plan], np.uint64), np.zeros(len(plan), np.int64)
        for first in range(0, self.rows, SPAN):
            found = hashes(self._seed, first, min(self.rows, first + SPAN))
            if mask is not None:
                found = found[mask[first : first + SPAN]]
            counts += np.bincount(np.searchsorted(highs, found), minlength=len(highs))
        return [int(count) for count in counts]

    # ------------------------------------------------------------------------------------------------ out

    def batches(
        self, first: int = 0, last: int | None = None, stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[Batch]:
        """Return batches of the rows `first` up to, but not including, `last` of the random order; end once `stopped`.

        Another thread makes the batches ahead of time.
        """
        assert self._sealed
        assert not self._closed
        last = self.rows if last is None else min(last, self.rows)
        if first >= last:
            return iter(())
        assert self._batch_rows is not None
        if self._order is not None and last - first <= self._batch_rows[0]:  # a single batch needs no other thread
            return itertools.takewhile(lambda _: not stopped(), self._led(self._batches(first, last)))
        return prefetched(lambda: self._led(self._batches(first, last)), stopped)

    def _led(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Return the batches; if features are named by indices, the first batch has all of them in ascending order.

        In the order of the file, the reader of libsvm does this.
        """
        for number, batch in enumerate(batches):
            if isinstance(batch.data, inputs.TextRows) and number == 0 and self._indices[0] < self._indices[1]:
                rows = np.arange(batch.rows, dtype=np.int64)
                read = _core.gather_text([batch.data.read], np.zeros_like(rows), rows, *self._indices)
                batch.data = inputs.TextRows(read)
            yield batch

    def _batches(self, first: int, last: int) -> Iterator[Batch]:
        assert self._batch_rows is not None
        size, usual = self._batch_rows
        if self._order is not None:
            while first < last:
                rows = self._order[first : min(last, first + size)]
                yield self._stored.gather(rows, self._places.of(rows))
                first, size = first + len(rows), usual
            return
        assert self._file is not None
        usual = min(usual, max(256, self._limit // 32 * self.rows // self._file.size))
        waiting: list[Batch] = []  # fewer rows than a batch, from one or several intervals
        count = 0
        for interval in self._intervals:
            if interval.last <= first or interval.first >= last:
                continue
            stored, numbers, places = self._load(interval)
            begin, end = max(first, interval.first) - interval.first, min(last, interval.last) - interval.first
            while begin < end:
                taken = min(end - begin, size - count)
                rows = places[begin : begin + taken]
                waiting.append(stored.gather(rows, self._places.of(numbers[rows])))
                begin, count = begin + taken, count + taken
                if count == size:
                    yield concatenated(waiting)
                    waiting, count, size = [], 0, usual
            del stored, numbers, places
        if waiting:
            yield concatenated(waiting)

    def _load(self, interval: _Interval) -> tuple[StoredRows, Index, Index]:
        """Return the rows of an interval, their numbers, and their places in the order of the hashes."""
        with self._lock:
            if interval in self._kept:
                kept = self._kept[interval] = self._kept[interval] or self._read(interval)
                return kept
            if self._loaded is None or self._loaded[0] != interval:
                self._loaded = None
                self._loaded = interval, *self._read(interval)
            return self._loaded[1:]

    def _read(self, interval: _Interval) -> tuple[StoredRows, Index, Index]:
        assert self._file is not None
        stored = StoredRows(self._block)
        numbers = np.empty(interval.last - interval.first, np.int64)
        for cell in interval.cells:
            for segment in self._cells[cell]:
                batch, rows = self._file.read(segment, self._labels)
                found = hashes_of(self._seed, rows)
                inside = (found >= np.uint64(interval.low)) & (found <= np.uint64(interval.high))
                if interval.part is not None and self.held.parts is not None:
                    inside &= self.held.parts[rows] == interval.part
                batch = batch.select(inside)
                numbers[stored.rows : stored.rows + batch.rows] = rows[inside]
                stored.add(batch)
        found = hashes_of(self._seed, numbers)
        return stored, numbers, np.argsort(found).astype(np.int64, copy=False)
