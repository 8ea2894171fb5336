"""Reader: single records of a log that another process writes."""

from __future__ import annotations

import bisect
import os
from pathlib import Path

from ..events import Record
from .damage import dropped_at
from .segments import OpenFiles, Segment, TornHeaderError, listed, opened, parsed, record_at


class Reader:
    """Reads records by their position. Nothing is checked but what is read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._segments: list[Segment] = []
        self._open = OpenFiles()
        self._end = 0  # the end of the last file when it was last looked at

    def read(self, position: int) -> Record:
        """The record that begins at a position."""
        segment = self._at(position)
        return record_at(segment, self._open.handle(segment.path), position)

    def close(self) -> None:
        """Close all files."""
        self._open.close_all()

    def _at(self, position: int) -> Segment:
        """The file that contains a position."""
        if position >= self._end and not self._grown(position):
            self._look()
        index = bisect.bisect_right(self._segments, position, key=lambda segment: segment.base) - 1
        if index < 0:
            raise dropped_at(self.folder, position)
        return self._segments[index]

    def _grown(self, position: int) -> bool:
        """Whether the last known file now contains a position."""
        if self._segments:
            last = self._segments[-1]
            self._end = last.position(os.fstat(self._open.handle(last.path)).st_size)
        return position < self._end

    def _look(self) -> None:
        """Find the files."""
        self.close()  # an empty file may have been replaced by one of another version
        known = {segment.path: segment for segment in self._segments}
        self._segments = []
        for path in listed(self.folder):
            try:
                with opened(path) as handle:
                    segment = known.get(path) or parsed(path, handle)
                    self._end = segment.position(os.fstat(handle).st_size)
            except (FileNotFoundError, TornHeaderError):  # it was dropped meanwhile, or is being made
                continue
            self._segments.append(segment)
