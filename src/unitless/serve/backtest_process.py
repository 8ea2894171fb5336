"""The process that gives a new model the history of its stream: `python -m unitless.serve.backtest_process FOLDER`.

It replays the whole stream, from a state that knows nothing of the rows that are to be left out, and teaches the model
what the stream learns, so that the model learns exactly the rows that it would have learned had it been there: which
rows those are depends on ids, and on what the champion of the time took.

What it receives, a line of JSON each:

    {"do": "begin", "created": base64, "seq": n, "result": path}    the model; records up to n count
    {"do": "advance", "seq": n}                                      and now those up to n
    {"do": "finish", "seq": n}                                      go so far, write the model to `result`, end

What it sends: {"seq": n, "progress": 0 to 1}, again when it has reached the last record that counts; at the end with
"done": true.
"""

from __future__ import annotations

import base64
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import msgspec

from .. import whole_file
from ..errors import Error
from .child import Parent
from .events import Record
from .log import Tail
from .log.reader import Reader
from .origin import NEW, Skipped
from .served import ServedModel
from .streams import starts
from .streams.stream import Created, Lesson

_BYTES = 1 << 20  # how much of the log is read per step
_OFTEN = 0.25  # seconds between reports
_WAIT = 0.2  # seconds


class Backtest:
    """One model that learns from history."""

    def __init__(self, folder: Path, parent: Parent) -> None:
        self._folder, self._parent = folder, parent
        self._counts = self._start = 0
        self._finish = False
        self._read: deque[Record] = deque()

    def run(self) -> None:
        """Learn the history until the server asks for the model."""
        begin = self._begin()
        created = msgspec.msgpack.decode(base64.b64decode(begin["created"]), type=Created)
        reader = Reader(self._folder / "log")
        start, stream, model = starts.load(self._folder, created, reader.read)
        skipped = Skipped(start.source.skipped)

        def learn(lesson: Lesson) -> None:
            if lesson.seq > start.seq:
                lesson.teach(model, skipped.places(lesson.seq, lesson.rows, lesson.prediction))

        stream.listeners.append(learn)
        limits = None
        self._start = stream.seq
        tail = Tail(self._folder / "log", stream.seq + 1)
        reported = 0.0
        while True:
            if not self._read:
                self._read.extend(tail.read(_BYTES))
            moved = False
            while self._read and (record := self._read[0]).seq + record.rows - 1 <= self._counts:
                if stream.limits is not limits:
                    limits = stream.limits
                    model.growth.limit(limits, start.source.model or created.name)
                stream.apply(record)
                self._read.popleft()
                moved = True
            done = self._finish and stream.seq >= self._counts
            if done:
                model.name = created.name
                if start.source.model != NEW:
                    model.begin_anew()
                whole_file.write(begin["result"], msgspec.msgpack.encode(model.parts()), private=True)
            if done or not moved or time.monotonic() - reported > _OFTEN:
                reported = time.monotonic()
                self._tell(stream.seq, done)
            if done:
                return
            self._hear(0.0 if moved else _WAIT)

    def _begin(self) -> dict[str, Any]:
        while not (received := self._parent.receive(_WAIT)):
            pass
        self._counts = received[0]["seq"]
        return received[0]

    def _hear(self, timeout: float) -> None:
        for message in self._parent.receive(timeout):
            self._counts = message["seq"]
            self._finish = message["do"] == "finish"

    def _tell(self, seq: int, done: bool) -> None:
        progress = (seq - self._start) / max(1, self._counts - self._start)
        self._parent.send(seq=seq, progress=round(progress, 4), **({"done": True} if done else {}))


def read_result(path: Path) -> ServedModel:
    """Read the model that the process has written."""
    return ServedModel.from_parts(msgspec.msgpack.decode(path.read_bytes(), type=dict[str, bytes]))


if __name__ == "__main__":
    parent = Parent()
    try:
        Backtest(Path(sys.argv[1]), parent).run()
    except (Error, OSError) as error:
        parent.send(seq=0, progress=0.0, error=str(error))
        sys.exit(1)
